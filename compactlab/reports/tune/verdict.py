"""The results of tuning in sentences: what to set, and how certain that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from compactlab.reports.analysis.bootstrap import FEWEST
from compactlab.reports.render.document import name
from compactlab.reports.render.text import NONE, counted, dollars, show
from compactlab.reports.tune.choice import SPLITS
from compactlab.reports.tune.tuned import CLOSE, Tried, Tuned


def called(tuned: Tuned, index: int) -> str:
    """The name of a setting in a sentence."""
    each = tuned.tried[index]
    if each.own:
        return f"its own rule ({_tokens(each)})" if each.size else "the strategy as given"
    return ", ".join(f"{field}={_written(value)}" for field, value in each.values.items())


def _written(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return name(str(value))


def _tokens(each: Tried) -> str:
    return f"about {each.size:,.0f} tokens"


def verdict(tuned: Tuned) -> Iterator[str]:
    """What to set, and the saving; or why nothing is recommended."""
    if not tuned.acts:
        yield "No setting ever compacted, so there is nothing to tune: the sessions are too short."
        return
    index, best = tuned.advised, tuned.best
    if index is None or best is None:
        recalls = [1 - each.missed.value for each in tuned.tried if each.missed is not None]
        most = show(max(recalls, default=None), "share")
        limit = show(tuned.target.recall, "share")
        yield (
            f"No setting keeps to the limit: recall of at least {limit}, of facts last stated "
            f"{tuned.lag:,} tokens ago or earlier. The highest recall is {most}."
        )
        return
    yield from _keep(tuned) if index == tuned.own else _take(tuned, index)


def _keep(tuned: Tuned) -> Iterator[str]:
    """Why the setting should stay."""
    own, candidate = tuned.tried[tuned.own], tuned.candidate
    kept = f"Keep {called(tuned, tuned.own)}"
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


def _take(tuned: Tuned, index: int) -> Iterator[str]:
    """What to set: its saving in held-out sessions, and its misses."""
    missed = _misses(tuned, index)
    lead = f"Set {called(tuned, index)}: "
    saving = tuned.saving
    if saving is not None and saving.low is not None and saving.high is not None and saving.cheaper:
        lead += (
            f"in sessions that had no say in the choice it costs {_change(saving.value)} its "
            f"own rule (95 % interval {_signed(saving.low)} to {_signed(saving.high)})"
        )
        yield f"{lead}{f', and misses {missed}' if missed else ''}."
        yield _here(tuned, index)
        return
    yield f"{lead}it keeps to the limit, and {called(tuned, tuned.own)} does not."
    yield _here(tuned, index)
    yield _saves(tuned)
    if missed:
        yield f"It misses {missed}."


def _here(tuned: Tuned, index: int) -> str:
    """The cost of a setting in the replayed sessions, and that of the default."""
    cost, own = tuned.tried[index].recovery, tuned.tried[tuned.own].recovery
    return (
        f"In these sessions {called(tuned, index)} costs {dollars(cost)} USD with recovery, "
        f"{_of_all(tuned, index)}; {called(tuned, tuned.own)} costs {dollars(own)} USD."
    )


def _misses(tuned: Tuned, index: int) -> str:
    """The misses of a setting and of the default; "" without needs."""
    missed, own = tuned.tried[index].missed, tuned.tried[tuned.own].missed
    if missed is None or own is None:
        return ""
    return (
        f"{show(missed.value, 'share')} of the needed facts last stated {tuned.lag:,} tokens ago "
        f"or earlier (own rule: {show(own.value, 'share')})"
    )


def _of_all(tuned: Tuned, index: int) -> str:
    """The rank of a setting among all."""
    every = counted(len(tuned.tried), "setting")
    if index == tuned.best or tuned.best is None:
        return f"the least of {every}"
    best, margin = tuned.tried[tuned.best], show(tuned.target.margin, "share")
    missed = f", missing {show(best.missed.value, 'share')}" if best.missed else ""
    return (
        f"within {margin} of the cheapest of {every} ({called(tuned, tuned.best)}, "
        f"{dollars(best.recovery)} USD{missed}), and misses least of these"
    )


def _saves(tuned: Tuned) -> str:
    """The saving in held-out sessions."""
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
    """The evaluation of a choice from half of the sessions on the other half."""
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
        text += f", with a recall of {show(held.recall, 'share')}"
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
    """The interval of the optimum, how flat it is, and the knee."""
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
    margin = show(tuned.target.margin, "share")
    if len(tuned.flat) > 1:
        yield f"Within {margin} of the cheapest: from {_range(tuned, tuned.flat)}."
    else:
        yield f"No other setting costs within {margin} of the cheapest."
    lowest = min((each.size for each in tuned.tried if each.size), default=None)
    if tuned.tried[tuned.best].size == lowest and len(tuned.tried) > 1:
        yield "The cheapest is the smallest that was tried: name smaller values with --over."
    if tuned.knee is not None:
        knee = tuned.tried[tuned.knee]
        missed = show(knee.missed.value, "share") if knee.missed else NONE
        yield (
            f"The knee between cost and recall is at {called(tuned, tuned.knee)}: it costs "
            f"{_change(knee.of_own.value)} its own rule and misses {missed}."
        )
    if tuned.spiral is not None:
        index, session, times = tuned.spiral
        yield (
            f"Under {called(tuned, index)} one session costs {times:.1f} times what it costs by "
            f"the own rule ({name(tuned.conversations[session])}): it compacts again and again."
        )


def _range(tuned: Tuned, indices: Sequence[int]) -> str:
    return f"{called(tuned, min(indices))} to {called(tuned, max(indices))}"


def memory(tuned: Tuned) -> Iterator[str]:
    """Sentences on memory: the limit on labelled facts, or the effect of summaries."""
    lag = f"last stated {tuned.lag:,} tokens ago or earlier"
    if not any(each.missed for each in tuned.tried):
        yield f"No call needs a fact {lag}: nothing is said of memory."
        return
    if not tuned.inferred:
        limit = show(tuned.target.recall, "share")
        shown = int((tuned.choice.shown() & tuned.choice.allowed()).sum())
        kept = int(tuned.choice.allowed().sum())
        text = (
            f"Limit: recall of at least {limit}, of facts {lag}. "
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
    for effect in tuned.summaries:
        index = next(at for at, each in enumerate(tuned.tried) if each.spec == effect.spec)
        what = f"Under {called(tuned, index)} summaries are"
        if effect.preserved is None:
            yield f"{what} not compared with summaries without content: these lose nothing."
            continue
        part = f"{show(effect.preserved.value, 'share')} of what these lose is kept"
        against = f"summaries without content ({part})"
        if effect.apart is None:
            yield f"{what} not compared with {against}: too few sessions."
        else:
            yield f"{what} {'' if effect.apart else 'not '}told from {against}."
