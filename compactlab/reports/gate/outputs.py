"""The findings of a gate in words, and its outputs for people, programs and CI."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from compactlab.reports.gate.record import brief
from compactlab.reports.gate.rules import ANY, Outcome, Rule, same
from compactlab.reports.gate.verdict import Finding, Misses, Move, Span, Verdict, in_order
from compactlab.reports.render.document import (
    Block,
    Code,
    Document,
    Folded,
    Heading,
    Items,
    Sentence,
    Tone,
    name,
    sentences,
    with_names,
)
from compactlab.reports.render.fields import Field, data_of, hidden, table_of
from compactlab.reports.render.text import (
    capitalised,
    clean,
    counted,
    enumerated,
    listed,
    plain,
    without_inline_commands,
)
from compactlab.sim.metrics import METRICS

_ARROW = "\N{RIGHTWARDS ARROW}"
_NONE = "no value"
_DIGITS = 6
_NAMED = 8

# Findings in words; external names are marked, as in a document.


def headline(verdict: Verdict) -> str:
    """The outcome, the number of rules, and the metrics without any value."""
    findings = verdict.findings
    if not findings:
        return f"gate: {verdict.word}"
    changed = [f.direction for f in findings if f.outcome is Outcome.CHANGED]
    ways = [f"{changed.count(way):,} {way}" for way in ("worse", "better") if way in changed]
    counts = [
        f"{verdict.count(outcome):,} {word}"
        for outcome, word in (
            (Outcome.REGRESSED, "regressed"),
            (Outcome.CHANGED, f"changed ({', '.join(ways)})" if ways else "changed"),
            (Outcome.UNJUDGED, "cannot be judged"),
            (Outcome.INCONCLUSIVE, "inconclusive"),
        )
        if verdict.count(outcome)
    ]
    checks = counted(len(findings), "check")
    text = f"{listed(counts)} of {checks}" if counts else f"{checks} passed"
    if verdict.obstacles and not verdict.count(Outcome.UNJUDGED):
        text += "; not everything can be judged"
    if verdict.valueless:
        text += f"; no value in any run: {enumerated([*verdict.valueless], _NAMED)}"
    if verdict.absent:
        text += f"; not in the baseline: {enumerated([*verdict.absent], _NAMED)}"
    return f"gate: {verdict.word}: {text}"


def subject_of(finding: Finding, verdict: Verdict) -> str:
    """A strategy with its model, and its summariser if there are several."""
    subject = finding.subject
    if subject is None:
        return "nothing"
    text = f"{_brief(subject.label)} under {_brief(subject.model)}"
    return f"{text} with {_brief(subject.summarizer)}" if verdict.summarizers > 1 else text


def _brief(text: str) -> str:
    """A name, truncated."""
    return name(brief(text))


def _group(findings: Sequence[Finding], verdict: Verdict) -> str:
    """How many findings follow from the same cause, and which."""
    first = findings[0]
    of = f" of {subject_of(first, verdict)}" if first.follows == "strategy" else ""
    return f"{counted(len(findings), 'check')}{of}: {name(first.reason)}"


def _causes(verdict: Verdict) -> list[str]:
    """Why something cannot be judged."""
    return [*map(name, verdict.obstacles), *(_group(each, verdict) for each in verdict.folded)]


def figures_of(finding: Finding) -> str:
    """The old and the new figure; "" if there is neither."""
    if finding.before is None and finding.after is None:
        return ""
    share = METRICS[finding.demand.rule.metric].unit == "share"
    unit = "" if share else f" {METRICS[finding.demand.rule.metric].unit}"
    was, is_ = apart(finding.before, finding.after, share=share)
    if finding.before is None:
        return f"{is_}{unit}"
    if finding.after is None:
        return f"{was}{unit} {_ARROW} {is_}"
    if same(finding.before, finding.after):
        return f"{is_}{unit}, as before"
    moved = [_difference(finding.demand.rule, finding.before, finding.after), _allowed(finding)]
    told = "; ".join(filter(None, moved))
    return f"{was} {_ARROW} {is_}{unit}{f' ({told})' if told else ''}"


def details_of(finding: Finding) -> Iterator[str]:
    """Details of a finding, one sentence each."""
    if finding.reason:
        yield name(finding.reason)
    if finding.span:
        yield from _of_span(finding.span, finding.demand.rule.metric)
    if where := _scenarios(finding):
        yield where


def text_of(finding: Finding) -> str:
    """Figures and details in one line."""
    return "; ".join(filter(None, [figures_of(finding), *details_of(finding)]))


def moves_of(finding: Finding) -> str:
    """The conversations that changed most, or the worst ones if none changed."""
    moves = "; ".join(moved_of(finding))
    return f"{_kind_of_moves(finding)}: {moves}" if moves else ""


def _kind_of_moves(finding: Finding) -> str:
    """Why its conversations are named."""
    changed = (m.before is not None and not same(m.before, m.after) for m in finding.moved)
    return "changed most" if finding.demand.rule.relative or any(changed) else "worst"


def moved_of(finding: Finding) -> Iterator[str]:
    """Conversations with their old and new figures."""
    for move in finding.moved:
        share = METRICS[finding.demand.rule.metric].unit == "share"
        was, is_ = apart(move.before, move.after, share=share)
        text = is_ if move.before is None or was == is_ else f"{was} {_ARROW} {is_}"
        yield f"{_brief(move.conversation)} {text}"


def _scenarios(finding: Finding) -> str:
    """The scenarios that the rule covers; "" for all."""
    if finding.demand.scenario == ANY:
        return ""
    return f"over scenarios {listed([*map(_brief, finding.demand.scenario)])}"


def lost_of(finding: Finding) -> Iterator[str]:
    """The facts lost with a figure, one line each, and the command that shows how."""
    if finding.lost is not None:
        several = len({miss.conversation for miss in finding.lost.facts}) > 1
        yield from map(name, finding.lost.lines(several=several))
        if finding.lost.explain:
            yield name(f"look: {finding.lost.explain}")


def _of_span(span: Span, metric: str) -> Iterator[str]:
    over, share = counted(span.conversations, "conversation"), METRICS[metric].unit == "share"
    if span.low is not None and span.high is not None:
        low, high = apart(span.low, span.high, share=share)
        yield f"95% interval {low} to {high} ({span.method}, {over})"
    if span.detectable is None:
        yield "the smallest detectable change is unknown"
    else:
        least = f"{number(span.detectable * 100)} points" if share else number(span.detectable)
        yield f"smallest detectable change {least}"


def _difference(rule: Rule, before: float, after: float) -> str:
    """The change of a figure: points for shares, else relative to the old one.

    If a rule limits it in the figure's unit, the change is in that unit.
    """
    if METRICS[rule.metric].unit == "share":
        return f"{_signed((after - before) * 100)} points"
    if rule.relative and not rule.exact and not rule.percent and math.isfinite(after - before):
        return _signed(after - before)
    if not before or not math.isfinite(before) or not math.isfinite(after):
        return ""
    share = (after - before) / abs(before)
    return f"{share:+.1%}" if abs(share) >= 0.0005 else ""


def _allowed(finding: Finding) -> str:
    """The change that a rule allows."""
    rule = finding.demand.rule
    if not rule.relative or rule.exact:
        return ""
    share = METRICS[rule.metric].unit == "share" and not rule.percent
    return f"allowed {replace(rule, amount=rule.amount * 100).text if share else rule.text}"


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{number(value, 3)}"


def number(value: float | None, digits: int = _DIGITS) -> str:
    """A figure, as short as a comparison with a rule permits.

    Examples
    --------
    >>> number(1234567.0), number(0.16666666), number(1234.5678), number(None)
    ('1,234,567', '0.166667', '1,234.57', 'no value')
    """
    if value is None or math.isnan(value):
        return _NONE
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if float(value).is_integer():
        return f"{value:,.0f}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(places, 15)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def apart(one: float | None, other: float | None, *, share: bool = False) -> tuple[str, str]:
    """Two figures with enough digits to look different if they are; shares in percent.

    Examples
    --------
    >>> apart(0.3, 0.3000000001), apart(5 / 6, 0.479, share=True), apart(1.0, None, share=True)
    (('0.3', '0.3000000001'), ('83.3%', '47.9%'), ('100%', 'no value'))
    """
    write = _percent if share else number
    for digits in (3 if share else _DIGITS, 10, 17):
        pair = write(one, digits), write(other, digits)
        if one == other or pair[0] != pair[1]:
            break
    return pair


def _percent(value: float | None, digits: int) -> str:
    return _NONE if value is None else f"{number(value * 100, digits)}%"


# For the terminal: short, causes first.

# The terminal shows up to this many failures; files have all.
_MOST = 30
_MARKS: dict[Outcome, tuple[str, Tone]] = {
    Outcome.HOLDS: ("ok", "good"),
    Outcome.REGRESSED: ("REGRESSED", "bad"),
    Outcome.CHANGED: ("CHANGED", "doubtful"),
    Outcome.INCONCLUSIVE: ("INCONCLUSIVE", "doubtful"),
    Outcome.UNJUDGED: ("CANNOT JUDGE", "doubtful"),
}
_TONES: tuple[Tone, ...] = ("good", "bad", "doubtful")
_IN_FULL = "--markdown, --json and --junit show all"


def in_short(verdict: Verdict) -> Document:
    """The findings for a terminal: those that follow from a cause are only counted."""
    failed = verdict.shown
    spans = [finding for finding in verdict.findings if finding.holds and finding.span]
    lines = [
        *((Sentence(f"CANNOT JUDGE  {cause}", "doubtful"),) for cause in _causes(verdict)),
        *(_finding(finding, verdict) for finding in failed[:_MOST]),
        *_more(len(failed), "failed check", "more"),
        *(_finding(finding, verdict) for finding in spans[:_MOST]),
        *_more(len(spans), "check", "more passed by interval"),
        *((Sentence(f"note: {name(remark)}", "quiet"),) for remark in verdict.remarks),
        (Sentence(headline(verdict), _TONES[verdict.code]),),
    ]
    return Document((Items(tuple(lines)),))


def _more(number: int, noun: str, more: str) -> Iterator[tuple[Sentence]]:
    if number > _MOST:
        left = counted(number - _MOST, noun)
        yield (Sentence(f"and {left.replace(' ', f' {more} ', 1)}: {_IN_FULL}", "quiet"),)


def _finding(finding: Finding, verdict: Verdict) -> tuple[Sentence, ...]:
    mark, tone = _MARKS[finding.outcome]
    if way := _direction(finding):
        mark, tone = f"{mark} {way}", "good" if way == "better" else "bad"
    title = f"{mark}  {name(finding.name)}, {subject_of(finding, verdict)}"
    lines = (
        Sentence(text_of(finding)),
        Sentence(moves_of(finding), "quiet"),
        *map(Sentence, lost_of(finding)),
    )
    return Sentence(title, tone), *(line for line in lines if line.text)


def _direction(finding: Finding) -> str:
    """Whether the change is worse or better, if the rule allows neither."""
    failed = finding.outcome in (Outcome.REGRESSED, Outcome.CHANGED)
    return finding.direction if failed and finding.demand.rule.exact else ""


# The full findings: for a comment on a pull request, a step's summary, or JSON.

_SIGNS = {
    Outcome.HOLDS: "\N{WHITE HEAVY CHECK MARK}",
    Outcome.REGRESSED: "\N{CROSS MARK}",
    Outcome.CHANGED: "\N{LARGE ORANGE DIAMOND}",
    Outcome.INCONCLUSIVE: "\N{BLACK QUESTION MARK ORNAMENT}",
    Outcome.UNJUDGED: "\N{BLACK QUESTION MARK ORNAMENT}",
}


def report(verdict: Verdict) -> Document:
    """Report the findings: failures in a table, the rest collapsed."""
    blocks: list[Block] = [
        Heading(capitalised(headline(verdict))),
        sentences(
            [*(f"cannot judge: {each}" for each in _causes(verdict)), *map(name, verdict.remarks)]
        ),
    ]
    fields = (
        Field("", text=lambda f: f"{_SIGNS[f.outcome]} {_direction(f)}".strip(), words=True),
        Field("", "name", "rule", words=True),
        Field(
            "",
            text=lambda f: subject_of(f, verdict) if f.subject else "",
            label="strategy",
            words=True,
        ),
        Field("", text=figures_of, label=f"before {_ARROW} after", words=True),
        Field("", text=lambda f: "; ".join(details_of(f)), label="why", words=True),
        Field("", text=moves_of, label="conversations", words=True),
    )
    if verdict.shown:
        blocks.append(table_of(fields, verdict.shown))
        blocks += [each for f in verdict.shown if f.lost for each in _lost(f, f.lost, verdict)]
    if held := [finding for finding in in_order(verdict.findings) if finding.holds]:
        blocks.append(Folded(f"{counted(len(held), 'check')} passed", (table_of(fields, held),)))
    return Document(tuple(blocks), data=partial(_findings, verdict))


def _lost(finding: Finding, lost: Misses, verdict: Verdict) -> Iterator[Block]:
    lines = lost_of(replace(finding, lost=replace(lost, explain="")))
    yield sentences([f"{name(finding.name)}, {subject_of(finding, verdict)}:", *lines])
    if lost.explain:
        yield Code((lost.explain,))


def _findings(verdict: Verdict) -> dict[str, Any]:
    """All findings in the order of the rules; full precision, infinities as text."""
    return {
        "verdict": verdict.word,
        "exit_code": verdict.code,
        "counts": {outcome.value: verdict.count(outcome) for outcome in Outcome},
        "obstacles": list(verdict.obstacles),
        "remarks": list(verdict.remarks),
        "not_in_baseline": list(verdict.absent),
        "without_value": list(verdict.valueless),
        "findings": [data_of(_FINDING, finding) for finding in verdict.findings],
    }


def _limit(finding: Finding) -> float | str | None:
    rule = finding.demand.rule
    limited = not rule.relative or (finding.before is not None and not rule.exact)
    return _number(rule.limit(finding.before)) if limited else None


_SPAN = hidden(
    low=lambda span: _number(span.low),
    high=lambda span: _number(span.high),
    method=lambda span: span.method or None,
    conversations="conversations",
    detectable=lambda span: _number(span.detectable),
)
_FINDING = hidden(
    metric="demand.rule.metric",
    rule="demand.rule.text",
    place=lambda finding: finding.demand.place or None,
    type=lambda finding: finding.type or None,
    scenarios=lambda finding: None if finding.demand.scenario == ANY else finding.demand.scenario,
    strategy="subject.strategy",
    label="subject.label",
    model="subject.model",
    summarizer="subject.summarizer",
    outcome="outcome",
    direction=lambda finding: finding.direction or None,
    reason=lambda finding: finding.reason or None,
    before=lambda finding: _number(finding.before),
    after=lambda finding: _number(finding.after),
    limit=_limit,
    moved=lambda finding: [*map(_move, finding.moved)],
    lost="lost",
    interval=lambda finding: finding.span and data_of(_SPAN, finding.span),
)


def _move(move: Move) -> dict[str, Any]:
    before, after = _number(move.before), _number(move.after)
    return {"conversation": move.conversation, "before": before, "after": after}


def _number(value: float | None) -> float | str | None:
    if value is not None and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return plain(value)


# The findings as JUnit XML: one test case per rule and strategy.

_SUITE = "compactlab gate"


def junit(verdict: Verdict) -> bytes:
    """Write the findings as JUnit XML for viewers of test results.

    A regression or change is a failure. A rule that cannot be judged or is inconclusive is an
    error. So is each obstacle, with its own test case.
    """
    cases = [
        *(_stopped(f"obstacle {n}", reason) for n, reason in enumerate(verdict.obstacles, 1)),
        *(_case(finding, verdict) for finding in verdict.findings),
    ]
    cases = cases or [_stopped("rules", "there was nothing to judge")]
    kinds = [result.tag for case in cases for result in case]
    xml = Element("testsuites", name=_SUITE)
    suite = SubElement(
        xml,
        "testsuite",
        name=_SUITE,
        tests=f"{len(cases)}",
        errors=f"{kinds.count('error')}",
        failures=f"{kinds.count('failure')}",
        skipped="0",
        time="0.0",
    )
    suite.extend(cases)
    written: bytes = tostring(xml, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _test(title: str, group: str) -> Element:
    return Element("testcase", name=title, classname=group, time="0.0")


def _stopped(title: str, reason: str) -> Element:
    case = _test(title, _SUITE)
    SubElement(case, "error", message=clean(reason), type=Outcome.UNJUDGED.value)
    return case


def _case(finding: Finding, verdict: Verdict) -> Element:
    # Viewers may show only one of two cases with the same name.
    where = f", {_scenarios(finding)}" if _scenarios(finding) else ""
    title, subject = f"{clean(finding.name)}{where}", subject_of(finding, verdict)
    case = _test(with_names(title), with_names(subject))
    text = with_names(text_of(finding))
    if finding.holds:
        SubElement(case, "system-out").text = text
        return case
    kind = "failure" if finding.outcome in (Outcome.REGRESSED, Outcome.CHANGED) else "error"
    text = ": ".join(filter(None, [_direction(finding), text]))
    result = SubElement(case, kind, message=text, type=finding.outcome.value)
    moves = [f"  {each}" for each in moved_of(finding)]
    head = [f"{_kind_of_moves(finding)}:"] * bool(moves)
    result.text = with_names("\n".join([text, *head, *moves, *lost_of(finding)]))
    return case


# The findings as workflow commands of GitHub Actions: annotations on a run's page.

# GitHub shows this many per step; the last one says how many more there are.
_SHOWN = 10
# The maximum size of a step's summary on GitHub, in bytes.
_SUMMARY = 1024 * 1024
_CUT = "\n\nThe rest was too long for this page.\n"


def commands(verdict: Verdict) -> list[str]:
    """Workflow commands, one per line: an error for each obstacle and each failed rule.

    Rules that only fail for a cause shown elsewhere share one command with their number.
    """
    messages = [("gate: cannot judge", cause) for cause in _causes(verdict)]
    messages += (_annotation(finding, verdict) for finding in verdict.shown)
    if len(messages) > _SHOWN:
        more = counted(len(messages) - _SHOWN + 1, "check")
        messages[_SHOWN - 1 :] = [("gate", f"{more} more did not pass")]
    return [command("error", title, with_names(message)) for title, message in messages]


def _annotation(finding: Finding, verdict: Verdict) -> tuple[str, str]:
    text = "; ".join(filter(None, [subject_of(finding, verdict), text_of(finding)]))
    way = f": {_direction(finding)}" if _direction(finding) else ""
    title = f"gate: {finding.name} {finding.outcome.value}{way}"
    return title, "\n".join(filter(None, [text, moves_of(finding), *lost_of(finding)]))


def command(kind: str, title: str, message: str) -> str:
    r"""A workflow command; its texts are escaped, so they cannot start another one.

    Examples
    --------
    >>> command("error", "a:b,c", "100%\n::error::x")
    '::error title=a%3Ab%2Cc::100%25%0A::error::x'
    """
    lines = "\n".join(map(clean, message.split("\n")))
    return f"::{kind} title={_property(clean(title))}::{_data(lines)}"


def _data(text: str) -> str:
    text = without_inline_commands(text)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summary(markdown: str) -> str:
    """Markdown cut at a line to the maximum size of a step's summary.

    Examples
    --------
    >>> summary("short")
    'short'
    """
    content = markdown.encode()
    if len(content) <= _SUMMARY:
        return markdown
    head = content[: _SUMMARY - len(_CUT.encode())]
    return head[: head.rfind(b"\n")].decode("utf-8", "ignore") + _CUT
