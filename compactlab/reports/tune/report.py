"""What was found by tuning, as a report: for each strategy what to set, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from compactlab.reports.analysis.bootstrap import FEWEST
from compactlab.reports.analysis.preservation import Share
from compactlab.reports.render.document import (
    Block,
    Chart,
    Code,
    Column,
    Document,
    Heading,
    Sentence,
    Sentences,
    Table,
    TableRow,
    name,
    sentences,
)
from compactlab.reports.render.text import NONE, counted, dollars, lag_from, listed, show
from compactlab.reports.tune.choice import SPLITS, Ratio
from compactlab.reports.tune.data import data
from compactlab.reports.tune.found import Found
from compactlab.reports.tune.grid import grid
from compactlab.reports.tune.survey import Picked
from compactlab.reports.tune.tuned import CLOSE, TRIGGER, Tried, Tuned

TIMES = "\N{MULTIPLICATION SIGN}"
_TAKE, _BEST, _MAYBE, _NEAR, _KNEE, _OUT = ">", "*", "~", "=", "k", "!"
_MEANINGS = {
    _TAKE: "to take",
    _BEST: "cheapest with recovery",
    _MAYBE: "may be the cheapest (95 %)",
    _NEAR: "within the margin of the cheapest",
    _KNEE: "knee between cost and needs missed",
    _OUT: "not allowed: below the limit of recall, or more prompts exceed the window than by its "
    "own rule",
}
# The scripts of the page, in the order in which one uses what another defines.
SCRIPTS = ("report.js", "drawing.js", "settings.js")
_GRID = (
    "Every place of the slider is a setting that was replayed; nothing between them is computed. "
    "Windows have sessions of their own, so two windows are not compared."
)


def report(found: Found) -> Document:
    """The report for a terminal, Markdown and programs."""
    blocks: list[Block] = [*_scope(found)]
    for tuned in found.tuned:
        blocks += [Heading(_title(tuned, found), 2), *_about(tuned)]
    blocks += [sentences(_legend(found), "quiet"), sentences([_work(found)], "quiet")]
    return Document(tuple(blocks), data=partial(data, found))


def page(found: Found) -> Document:
    """The same as a page, with a chart of each strategy."""
    from compactlab.reports.tune.chart import chart  # for a page alone

    blocks: list[Block] = [Heading("At what size to compact", 1), *_scope(found)]
    for number, tuned in enumerate(found.tuned):
        drawn: Chart | None = chart(tuned, f"tune-{number}")
        first, *rest = _about(tuned)
        title = _title(tuned, found)
        blocks += [Heading(title, 2, f"tuned-{number}", tuned.label), first]
        blocks += [*([drawn] if drawn else []), *rest]
    if found.tuned:
        heads = [column.title for column in _COLUMNS[1:-1]]
        blocks += [Heading("Try a setting", 2, "settings"), sentences([_GRID], "quiet")]
        blocks += [grid(found.tuned, heads, called, _shown, _marked)]
    blocks += [Heading("How to read it", 2, "reading"), sentences(_legend(found))]
    blocks += [sentences([_work(found)], "quiet")]
    return Document(tuple(blocks))


# What was read.


def _scope(found: Found) -> Iterator[Block]:
    lines = [_of_window(each) for each in found.picked]
    yield sentences(lines, "quiet")
    yield sentences([f"Not read: {name(failure)}" for failure in found.failures], "bad")


def _of_window(picked: Picked) -> str:
    models = listed([f"{name(model)}" for model, _ in picked.models.most_common(4)])
    text = f"Window {picked.window:,} tokens ({models}): {counted(len(picked.chosen), 'session')}"
    if picked.shorter:
        share = show(picked.share, "share")
        text += f", the longest, with {share} of the prompt tokens; {picked.shorter:,} shorter ones"
        text += " are left out"
    if picked.quiet:
        text += f". {counted(picked.quiet, 'session')} more never reach the smallest trigger: no "
        text += "setting changes them"
    return f"{text}."


def _title(tuned: Tuned, found: Found) -> str:
    return f"{name(tuned.label)}, window {tuned.window:,} tokens"


# One strategy.


def _about(tuned: Tuned) -> Iterator[Block]:
    first, *others = verdict(tuned)
    yield Sentences((Sentence(first, "strong"), *map(Sentence, others)), bullets=False)
    yield _table(tuned)
    yield sentences([*held_out(tuned), *sureness(tuned), *memory(tuned)])
    yield from _paste(tuned)


def called(tuned: Tuned, place: int) -> str:
    """What a setting is called in a sentence."""
    each = tuned.tried[place]
    if each.own:
        return f"its own rule ({_tokens(each)})" if each.place else "the strategy as given"
    return ", ".join(f"{field}={_written(value)}" for field, value in each.values.items())


def _written(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return name(str(value))


def _tokens(each: Tried) -> str:
    return f"about {each.place:,.0f} tokens"


def verdict(tuned: Tuned) -> Iterator[str]:
    """What to set, and what that saves; or why nothing is said."""
    if not tuned.acts:
        yield "No setting ever compacted, so there is nothing to tune: the sessions are too short."
        return
    place, best = tuned.advised, tuned.best
    if place is None or best is None:
        recalls = [1 - each.missed.value for each in tuned.tried if each.missed is not None]
        most = show(max(recalls, default=None), "share")
        limit = show(tuned.asked.recall, "share")
        yield (
            f"No setting keeps to the limit: at least {limit} of the needs last stated "
            f"{tuned.lag:,} tokens ago or earlier must be met, and the most is {most}."
        )
        return
    yield from _keep(tuned) if place == tuned.own else _take(tuned, place)


def _keep(tuned: Tuned) -> Iterator[str]:
    """Why nothing is to be changed."""
    own, candidate = tuned.tried[tuned.own], tuned.candidate
    kept = f"Keep your setting, {called(tuned, tuned.own)}"
    if candidate is None or candidate == tuned.own:
        yield (
            f"{kept}: it costs {dollars(own.recovery)} USD with recovery, "
            f"{_of_all(tuned, tuned.own)}."
        )
        return
    yield f"{kept}: {counted(tuned.choice.conversations, 'session')} cannot show a better one."
    yield _here(tuned, candidate)
    yield _saves(tuned)
    if missed := _misses(tuned, candidate):
        yield f"It misses {missed}."


def _take(tuned: Tuned, place: int) -> Iterator[str]:
    """What to set: what it saves where it had no say, and what it misses."""
    missed = _misses(tuned, place)
    lead = f"Set {called(tuned, place)}: "
    saving = tuned.saving
    if saving is not None and saving.low is not None and saving.high is not None and saving.cheaper:
        lead += (
            f"in sessions that had no say in the choice it costs {_change(saving.value)} your "
            f"setting (95 % interval {_signed(saving.low)} to {_signed(saving.high)})"
        )
        yield f"{lead}{f', and misses {missed}' if missed else ''}."
        yield _here(tuned, place)
        return
    yield f"{lead}it keeps to the limit, and your setting, {called(tuned, tuned.own)}, does not."
    yield _here(tuned, place)
    yield _saves(tuned)
    if missed:
        yield f"It misses {missed}."


def _here(tuned: Tuned, place: int) -> str:
    """What a setting costs in the sessions that were replayed, and what the own rule costs."""
    cost, own = tuned.tried[place].recovery, tuned.tried[tuned.own].recovery
    return (
        f"In these sessions {called(tuned, place)} costs {dollars(cost)} USD with recovery, "
        f"{_of_all(tuned, place)}; {called(tuned, tuned.own)} costs {dollars(own)} USD."
    )


def _misses(tuned: Tuned, place: int) -> str:
    """Which needs a setting misses, and its own rule; "" where nothing is needed."""
    missed, own = tuned.tried[place].missed, tuned.tried[tuned.own].missed
    if missed is None or own is None:
        return ""
    return (
        f"{show(missed.value, 'share')} of the needs last stated {tuned.lag:,} tokens ago or "
        f"earlier (your setting: {show(own.value, 'share')})"
    )


def _of_all(tuned: Tuned, place: int) -> str:
    """How a setting stands among all that were tried."""
    every = counted(len(tuned.tried), "setting")
    if place == tuned.best or tuned.best is None:
        return f"the least of {every}"
    best, margin = tuned.tried[tuned.best], show(tuned.asked.margin, "share")
    missed = f", missing {show(best.missed.value, 'share')}" if best.missed else ""
    return (
        f"within {margin} of the cheapest of {every} ({called(tuned, tuned.best)}, "
        f"{dollars(best.recovery)} USD{missed}), and misses least of these"
    )


def _saves(tuned: Tuned) -> str:
    """What is saved where a session has no say in what is chosen for it."""
    saving = tuned.saving
    if saving is None:
        return "What it saves in other sessions cannot be told from one."
    if saving.low is None or saving.high is None:
        few = f"fewer than {FEWEST} sessions" if tuned.choice.conversations < FEWEST else "these"
        return (
            f"Chosen without the session that it is applied to, it costs {_change(saving.value)} "
            f"its own rule; {few} cannot tell whether others would, too."
        )
    ends = f"95 % interval {_signed(saving.low)} to {_signed(saving.high)}"
    text = (
        f"Chosen without the session that it is applied to, it costs {_change(saving.value)} its "
        f"own rule ({ends})"
    )
    if saving.cheaper:
        return f"{text}: a saving is shown."
    return f"{text}: a saving is not shown, these sessions cannot tell."


def _change(value: float) -> str:
    if abs(value - 1) < 0.0005:
        return "the same as"
    return f"{abs(value - 1):.1%} {'less' if value < 1 else 'more'} than"


def _signed(value: float) -> str:
    """A ratio as a change.

    Examples
    --------
    >>> _signed(0.875), _signed(1.02)
    ('\N{MINUS SIGN}12.5 %', '+2.0 %')
    """
    sign = "+" if value >= 1 else "\N{MINUS SIGN}"
    return f"{sign}{abs(100 * (value - 1)):.1f} %"


def held_out(tuned: Tuned) -> Iterator[str]:
    """What a choice on half of the sessions is worth on the other half."""
    held = tuned.held_out
    if held is None or not tuned.acts:
        return
    if held.chosen is None or held.best is None or held.regret is None:
        yield "Held out: no setting keeps to the limit on half of the sessions, so it cannot tell."
        return
    text = (
        f"Held out: {counted(held.chosen_on, 'session')} choose {called(tuned, held.chosen)}; on "
        f"the other {held.reported_on} that "
    )
    if held.chosen == held.best:
        text += "is the best, too"
    else:
        best = called(tuned, held.best)
        text += f"costs {held.regret:.1%} more than the best there, {best}"
    if held.recall is not None and not tuned.inferred:
        text += f", and meets {show(held.recall, 'share')} of the needs"
    yield f"{text}."
    if held.mean is None or held.close is None or held.high is None or held.kept is None:
        return
    text = (
        f"In {2 * SPLITS} random halves it costs {held.mean:.1%} more in the mean, and at most "
        f"{held.high:.1%} in 95 of 100; within {CLOSE:.0%} in {held.close:.0%} of them"
    )
    if not tuned.inferred:
        text += f"; the limit of recall is kept in {held.kept:.0%}"
    cannot = held.close < 0.95 or (not tuned.inferred and held.kept < 0.95)
    yield f"{text}: half of these sessions cannot tell the best setting." if cannot else f"{text}."


def sureness(tuned: Tuned) -> Iterator[str]:
    """Between which settings the optimum lies, how flat it is, and where the knee is."""
    if tuned.best is None or not tuned.acts:
        return
    if tuned.interval is None:
        yield f"With fewer than {FEWEST} sessions the optimum has no interval."
    elif len(tuned.interval) == len(tuned.tried):
        yield "No setting is shown to cost more than the best: these sessions cannot tell."
    elif len(tuned.interval) == 1:
        yield f"Only {called(tuned, tuned.interval[0])} may be the cheapest (95 %)."
    else:
        yield (
            f"The optimum lies from {_range(tuned, tuned.interval)} (95 %): "
            f"{len(tuned.interval)} of {len(tuned.tried)} settings may be the cheapest."
        )
    margin = show(tuned.asked.margin, "share")
    if len(tuned.flat) > 1:
        yield f"Within {margin} of the cheapest: from {_range(tuned, tuned.flat)}."
    else:
        yield f"No other setting costs within {margin} of the cheapest."
    lowest = min((each.place for each in tuned.tried if each.place), default=None)
    if tuned.tried[tuned.best].place == lowest and len(tuned.tried) > 1:
        yield "The cheapest is the smallest that was tried: name smaller values with --over."
    if tuned.knee is not None:
        knee = tuned.tried[tuned.knee]
        missed = show(knee.missed.value, "share") if knee.missed else NONE
        yield (
            f"The knee between cost and needs missed is at {called(tuned, tuned.knee)}: it costs "
            f"{_change(knee.of_own.value)} its own rule and misses {missed}."
        )
    if tuned.spiral is not None:
        place, session, times = tuned.spiral
        yield (
            f"Under {called(tuned, place)} one session costs {times:.1f} times what it costs by "
            f"the own rule ({name(tuned.conversations[session])}): it compacts again and again."
        )


def _range(tuned: Tuned, places: Sequence[int]) -> str:
    return f"{called(tuned, min(places))} to {called(tuned, max(places))}"


def memory(tuned: Tuned) -> Iterator[str]:
    """What is said of memory: a limit on labelled facts, or whether summaries say anything."""
    lag = f"last stated {tuned.lag:,} tokens ago or earlier"
    if not any(each.missed for each in tuned.tried):
        yield f"No call needs a fact {lag}: nothing is said of memory."
        return
    if not tuned.inferred:
        limit = show(tuned.asked.recall, "share")
        shown = int((tuned.choice.shown() & tuned.choice.allowed()).sum())
        kept = int(tuned.choice.allowed().sum())
        text = (
            f"Limit: at least {limit} of the needs {lag} are met. "
            f"{kept} of {len(tuned.tried)} settings keep to it here"
        )
        if shown:
            yield f"{text}; of {shown} that is shown for other sessions, too."
        else:
            yield (
                f"{text}; of none that is shown for others: it takes at least "
                f"{tuned.choice.needed()} sessions."
            )
        return
    yield (
        "Needs are inferred from recorded actions, so no limit is set on memory: the optimum is "
        "one of cost."
    )
    for told in tuned.told:
        place = next(at for at, each in enumerate(tuned.tried) if each.spec == told.spec)
        what = f"Under {called(tuned, place)} summaries are"
        if told.preserved is None:
            yield f"{what} not compared with summaries without content: these lose nothing."
            continue
        part = f"{show(told.preserved.value, 'share')} of what these lose is kept"
        against = f"summaries without content ({part})"
        if told.apart is None:
            yield f"{what} not compared with {against}: too few sessions."
        else:
            yield f"{what} {'' if told.apart else 'not '}told from {against}."


# The settings as a table.

_COLUMNS = (
    Column("setting", words=True),
    Column("cost USD", rank=3),
    Column("with recovery USD"),
    Column(f"{TIMES}own"),
    Column("missed"),
    Column("compactions", rank=2),
    Column("exceeds window", rank=4),
    Column("marks", words=True),
)


def _table(tuned: Tuned) -> Table:
    rows = [
        TableRow(_cells(tuned, place), "important" if place == tuned.advised else "")
        for place in range(len(tuned.tried))
    ]
    if tuned.keep_all is not None:
        # It misses nothing, so there is nothing to recover.
        whole = (f"{name('keep_all')}, for comparison", *[dollars(tuned.keep_all)] * 2)
        rows.append(TableRow((*whole, *[""] * (len(_COLUMNS) - len(whole))), "quiet"))
    return Table(_COLUMNS, tuple(rows), stacked=True)


def _cells(tuned: Tuned, place: int) -> tuple[str, ...]:
    each = tuned.tried[place]
    return (
        called(tuned, place),
        dollars(each.cost),
        dollars(each.recovery),
        _ratio(each.of_own),
        _share(each.missed),
        f"{each.compactions:,.0f}",
        show(each.over, "share"),
        _marks(tuned, place),
    )


def _shown(tuned: Tuned, place: int) -> tuple[str, ...]:
    """The cells between the name and the marks, which a page writes otherwise."""
    return _cells(tuned, place)[1:-1]


def _ratio(value: Ratio) -> str:
    if value.low is None or value.high is None or value.low == value.high:
        return f"{value.value:.3f}"
    return f"{value.value:.3f} [{value.low:.2f}, {value.high:.2f}]"


def _share(share: Share | None) -> str:
    if share is None:
        return NONE
    text = show(share.value, "share")
    if share.low is None or share.high is None:
        return text
    return f"{text} [{100 * share.low:.0f}, {100 * share.high:.0f}]"


def _marks(tuned: Tuned, place: int) -> str:
    return "".join(_carried(tuned, place))


def _carried(tuned: Tuned, place: int) -> list[str]:
    carried = {
        _TAKE: place == tuned.advised,
        _BEST: place == tuned.best,
        _MAYBE: tuned.interval is not None and place in tuned.interval,
        _NEAR: place in tuned.flat,
        _KNEE: place == tuned.knee,
        _OUT: not tuned.choice.allowed()[place],
    }
    return [mark for mark, carries in carried.items() if carries]


def _marked(tuned: Tuned, place: int) -> str:
    """The marks of a setting in words."""
    return "; ".join(_MEANINGS[mark] for mark in _carried(tuned, place))


# What to paste.


def _paste(tuned: Tuned) -> Iterator[Block]:
    taken = tuned.advised
    if taken is None or taken == tuned.own or not tuned.acts:
        return
    yield from _pasted(tuned, taken, "To set it")
    # Without a limit on memory the knee is the other one to choose from, if it is shown to save.
    knee = tuned.knee if tuned.inferred else None
    if knee is not None and knee != taken and tuned.tried[knee].of_own.cheaper:
        yield from _pasted(tuned, knee, f"Or, for {called(tuned, knee)},")


def _pasted(tuned: Tuned, place: int, why: str) -> Iterator[Block]:
    pasted = tuned.pasted(place)
    if pasted is None:
        if not tuned.tried[place].own and TRIGGER in tuned.tried[place].values:
            yield sentences(
                ["How a client sets this was not looked up: nothing is there to paste."]
            )
        return
    if pasted.lines:
        where = f"{why} in {pasted.client}, in {pasted.file}:"
        yield sentences([pasted.condition, where], bullets=False)
        yield Code(pasted.lines)
    yield sentences([*pasted.remarks, f"Source: {pasted.source}."], "quiet")


def _legend(found: Found) -> Iterator[str]:
    inferred = {tuned.inferred for tuned in found.tuned}
    lags = listed(sorted({lag_from(tuned.lag) for tuned in found.tuned}))
    yield "; ".join(f"{mark} {meaning}" for mark, meaning in _MEANINGS.items()) + "."
    yield (
        f"{TIMES}own: cost with recovery over that of the strategy as it was given, paired by "
        f"session, with its 95 % interval. Missed: share of needs at a lag {lags} that the prompt "
        "does not hold, the mean over sessions, with its 95 % interval for any distribution"
        + (" (inferred needs)." if inferred == {True} else ".")
    )
    yield (
        "Replays are simulated: summaries, and the agent that fetches, asks for or misuses what it "
        "lacks, are models of them."
    )


def _work(found: Found) -> str:
    work = found.work
    replayed = sum(tuned.runs for tuned in found.tuned)
    return (
        f"{counted(found.surveyed, 'file')} read; {counted(replayed, 'run')} in the curves; "
        f"{work.runs:,} run now, null summarisers among them ({counted(work.calls, 'call')}, "
        f"{work.seconds:,.0f} s)."
    )
