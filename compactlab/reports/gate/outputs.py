"""What a gate found: its words, and its outputs for people, programs and CI."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from compactlab.reports.gate.record import Subject, brief
from compactlab.reports.gate.rules import ANY, Outcome, Rule, same
from compactlab.reports.gate.verdict import Finding, Move, Span, Verdict, in_order
from compactlab.reports.render.document import (
    Block,
    Code,
    Column,
    Document,
    Folded,
    Heading,
    Items,
    Sentence,
    Table,
    Tone,
    name,
    rows,
    sentences,
)
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

Quote = Callable[[str], str]


@dataclass(frozen=True)
class Words:
    """Says what a gate found."""

    verdict: Verdict
    quote: Quote = clean

    @property
    def headline(self) -> str:
        """The outcome, how many rules it is of, and which metrics it says nothing of."""
        findings = self.verdict.findings
        counts = [
            f"{self.verdict.count(outcome):,} {word}"
            for outcome, word in (
                (Outcome.REGRESSED, "regressed"),
                (Outcome.CHANGED, f"changed{self._directions}"),
                (Outcome.UNJUDGED, "cannot be judged"),
                (Outcome.INCONCLUSIVE, "inconclusive"),
            )
            if self.verdict.count(outcome)
        ]
        of = f"of {counted(len(findings), 'check')}"
        text = f"{listed(counts)} {of}" if counts else f"{counted(len(findings), 'check')} passed"
        if self.verdict.obstacles and not self.verdict.count(Outcome.UNJUDGED):
            text += "; not everything can be judged" if findings else ""
        if self.verdict.valueless:
            text += f"; no value in any run: {enumerated([*self.verdict.valueless], _NAMED)}"
        if self.verdict.absent:
            text += f"; not in the baseline: {enumerated([*self.verdict.absent], _NAMED)}"
        return f"gate: {self.verdict.word}: {text}" if findings else f"gate: {self.verdict.word}"

    @property
    def _directions(self) -> str:
        """How many of the changes are worse, and how many better."""
        every = [f.direction for f in self.verdict.findings if f.outcome is Outcome.CHANGED]
        known = [f"{every.count(way):,} {way}" for way in ("worse", "better") if way in every]
        return f" ({', '.join(known)})" if known else ""

    def subject(self, subject: Subject | None) -> str:
        """A strategy with its model, and with its summariser where there are several."""
        if subject is None:
            return "nothing"
        text = f"{self.name(subject.label)} under {self.name(subject.model)}"
        return f"{text} with {self.name(subject.summarizer)}" if self._several else text

    @cached_property
    def _several(self) -> bool:
        """Whether there are several summarisers."""
        return len({f.subject.summarizer for f in self.verdict.findings if f.subject}) > 1

    def group(self, findings: Sequence[Finding]) -> str:
        """How many findings follow from the same, and from what."""
        first = findings[0]
        of = f" of {self.subject(first.subject)}" if first.follows == "strategy" else ""
        return f"{counted(len(findings), 'check')}{of}: {self.quote(first.reason)}"

    def name(self, name: str) -> str:
        """A name, made harmless and not longer than helps."""
        return self.quote(brief(name))

    def figures(self, finding: Finding) -> str:
        """What was and what is; "" where there is neither."""
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

    def details(self, finding: Finding) -> Iterator[str]:
        """Details of a finding, a sentence each."""
        if finding.reason:
            yield self.quote(finding.reason)
        if finding.span:
            yield from _of_span(finding.span, finding.demand.rule.metric)
        if where := self.scenarios(finding):
            yield where

    def text(self, finding: Finding) -> str:
        """Its figures and details in a line."""
        return "; ".join(filter(None, [self.figures(finding), *self.details(finding)]))

    def moves(self, finding: Finding) -> str:
        """The conversations that changed most, or are worst where none has changed."""
        if not finding.moved:
            return ""
        told = "; ".join(self.moved(move, finding) for move in finding.moved)
        return f"{self.kind_of_moves(finding)}: {told}"

    def kind_of_moves(self, finding: Finding) -> str:
        """Why its conversations are named."""
        changed = (m.before is not None and not same(m.before, m.after) for m in finding.moved)
        return "changed most" if finding.demand.rule.relative or any(changed) else "worst"

    def scenarios(self, finding: Finding) -> str:
        """Over which scenarios it was asked; "" for all."""
        if finding.demand.scenario == ANY:
            return ""
        return f"over scenarios {listed([*map(self.name, finding.demand.scenario)])}"

    def lost(self, finding: Finding) -> Iterator[str]:
        """The facts that were lost with a figure, a line each, and the command that shows how."""
        if finding.lost is not None:
            several = len({miss.conversation for miss in finding.lost.first}) > 1
            yield from map(self.quote, finding.lost.lines(several=several))
            if finding.lost.explain:
                yield self.quote(f"look: {finding.lost.explain}")

    def moved(self, move: Move, finding: Finding) -> str:
        """A conversation and what became of its figure."""
        share = METRICS[finding.demand.rule.metric].unit == "share"
        was, is_ = apart(move.before, move.after, share=share)
        text = is_ if move.before is None or was == is_ else f"{was} {_ARROW} {is_}"
        return f"{self.name(move.conversation)} {text}"


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
    """By how much a figure moved: a share in points, all else as a share of what it was.

    Where a rule limits it in the figure's own unit, in that.
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
    """How far a rule lets a figure move."""
    rule = finding.demand.rule
    if not rule.relative or rule.exact:
        return ""
    share = METRICS[rule.metric].unit == "share" and not rule.percent
    return f"allowed {replace(rule, amount=rule.amount * 100).text if share else rule.text}"


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{number(value, 3)}"


def number(value: float | None, digits: int = _DIGITS) -> str:
    """A figure as short as it can be compared with a rule.

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
    """Two figures with so many digits that they look different if they are; shares in percent.

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

# The terminal shows so many failures; files have all.
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
    """What a gate found, for a terminal: of what only follows from a cause, how many."""
    words = Words(verdict, name)
    failed = verdict.shown
    spans = [finding for finding in verdict.findings if finding.holds and finding.span]
    lines = [
        *(_cannot_judge(reason) for reason in map(name, verdict.obstacles)),
        *(_cannot_judge(reason) for reason in map(words.group, verdict.folded)),
        *(_finding(words, finding) for finding in failed[:_MOST]),
        *_more(len(failed), "failed check", "more"),
        *(_finding(words, finding) for finding in spans[:_MOST]),
        *_more(len(spans), "check", "more passed by interval"),
        *((Sentence(f"note: {name(remark)}", "quiet"),) for remark in verdict.remarks),
        (Sentence(words.headline, _TONES[verdict.code]),),
    ]
    return Document((Items(tuple(lines)),))


def _cannot_judge(reason: str) -> tuple[Sentence]:
    return (Sentence(f"CANNOT JUDGE  {reason}", "doubtful"),)


def _more(number: int, noun: str, more: str) -> Iterator[tuple[Sentence]]:
    if number > _MOST:
        left = counted(number - _MOST, noun)
        yield (Sentence(f"and {left.replace(' ', f' {more} ', 1)}: {_IN_FULL}", "quiet"),)


def _finding(words: Words, finding: Finding) -> tuple[Sentence, ...]:
    mark, tone = _MARKS[finding.outcome]
    if way := _direction(finding):
        mark, tone = f"{mark} {way}", "good" if way == "better" else "bad"
    title = f"{mark}  {name(finding.name)}, {words.subject(finding.subject)}"
    lines = (
        Sentence(words.text(finding)),
        Sentence(words.moves(finding), "quiet"),
        *map(Sentence, words.lost(finding)),
    )
    return Sentence(title, tone), *(line for line in lines if line.text)


def _direction(finding: Finding) -> str:
    """Whether it is worse or better, where what is asked allows neither."""
    failed = finding.outcome in (Outcome.REGRESSED, Outcome.CHANGED)
    return finding.direction if failed and finding.demand.rule.exact else ""


# What a gate found, in full: for a comment on a pull request, for a step's summary, as JSON.

_SIGNS = {
    Outcome.HOLDS: "\N{WHITE HEAVY CHECK MARK}",
    Outcome.REGRESSED: "\N{CROSS MARK}",
    Outcome.CHANGED: "\N{LARGE ORANGE DIAMOND}",
    Outcome.INCONCLUSIVE: "\N{BLACK QUESTION MARK ORNAMENT}",
    Outcome.UNJUDGED: "\N{BLACK QUESTION MARK ORNAMENT}",
}
_HEADS = ("", "rule", "strategy", "before \N{RIGHTWARDS ARROW} after", "why", "conversations")


def report(verdict: Verdict) -> Document:
    """What a gate found: what failed in a table, the rest folded up."""
    words = Words(verdict, name)
    causes = (*map(name, verdict.obstacles), *map(words.group, verdict.folded))
    blocks: list[Block] = [
        Heading(capitalised(words.headline)),
        sentences([*(f"cannot judge: {each}" for each in causes), *map(name, verdict.remarks)]),
    ]
    if verdict.shown:
        blocks.append(_table(words, verdict.shown))
        blocks += [each for f in verdict.shown if f.lost for each in _lost(words, f)]
    if held := [finding for finding in in_order(verdict.findings) if finding.holds]:
        blocks.append(Folded(f"{counted(len(held), 'check')} passed", (_table(words, held),)))
    return Document(tuple(blocks), data=partial(_findings, verdict))


def _lost(words: Words, finding: Finding) -> Iterator[Block]:
    lines = [*words.lost(replace(finding, lost=finding.lost and replace(finding.lost, explain="")))]
    yield sentences([f"{name(finding.name)}, {words.subject(finding.subject)}:", *lines])
    if finding.lost and finding.lost.explain:
        yield Code((finding.lost.explain,))


def _table(words: Words, findings: Iterable[Finding]) -> Table:
    lines = [
        (
            " ".join(filter(None, [_SIGNS[finding.outcome], _direction(finding)])),
            name(finding.name),
            words.subject(finding.subject) if finding.subject else "",
            words.figures(finding),
            "; ".join(words.details(finding)),
            words.moves(finding),
        )
        for finding in findings
    ]
    return Table(tuple(Column(head, words=True) for head in _HEADS), rows(lines))


def _findings(verdict: Verdict) -> dict[str, Any]:
    """All findings, in the order of the rules; figures in full, infinite ones as text."""
    return {
        "verdict": verdict.word,
        "exit_code": verdict.code,
        "counts": {outcome.value: verdict.count(outcome) for outcome in Outcome},
        "obstacles": list(verdict.obstacles),
        "remarks": list(verdict.remarks),
        "not_in_baseline": list(verdict.absent),
        "without_value": list(verdict.valueless),
        "findings": [_finding_json(finding) for finding in verdict.findings],
    }


def _finding_json(finding: Finding) -> dict[str, Any]:
    demand, subject, span = finding.demand, finding.subject, finding.span
    rule = demand.rule
    limited = not rule.relative or (finding.before is not None and not rule.exact)
    entry: dict[str, Any] = {
        "metric": rule.metric,
        "rule": rule.text,
        "place": demand.place or None,
        "type": finding.type or None,
        "scenarios": None if demand.scenario == ANY else list(demand.scenario),
        "strategy": subject.strategy if subject else None,
        "label": subject.label if subject else None,
        "model": subject.model if subject else None,
        "summarizer": subject.summarizer if subject else None,
        "outcome": finding.outcome.value,
        "direction": finding.direction or None,
        "reason": finding.reason or None,
        "before": _number(finding.before),
        "after": _number(finding.after),
        "limit": _number(rule.limit(finding.before)) if limited else None,
        "moved": [_move(move) for move in finding.moved],
    }
    if lost := finding.lost:
        entry["lost"] = {
            "needs": lost.needs,
            "missed": lost.missed,
            "facts": [miss._asdict() for miss in lost.first],
            "explain": lost.explain,
        }
    if span:
        entry["interval"] = {
            "low": _number(span.low),
            "high": _number(span.high),
            "method": span.method or None,
            "conversations": span.conversations,
            "detectable": _number(span.detectable),
        }
    return entry


def _move(move: Move) -> dict[str, Any]:
    before, after = _number(move.before), _number(move.after)
    return {"conversation": move.conversation, "before": before, "after": after}


def _number(value: float | None) -> float | str | None:
    if value is not None and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return plain(value)


# What a gate found, as JUnit's XML: a test case a rule and strategy.

_SUITE = "compactlab gate"


def junit(verdict: Verdict) -> bytes:
    """Write what a gate found for whatever shows the results of tests.

    What regressed or changed is a failure; what cannot be judged, or is inconclusive, is an error.
    So is each obstacle, with a case of its own.
    """
    words = Words(verdict)
    cases = [
        *(_stopped(f"obstacle {n}", reason) for n, reason in enumerate(verdict.obstacles, 1)),
        *(_case(words, finding) for finding in verdict.findings),
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


def _case(words: Words, finding: Finding) -> Element:
    # Of two cases of one name, whoever shows them may show one.
    where = f", {words.scenarios(finding)}" if words.scenarios(finding) else ""
    case = _test(f"{clean(finding.name)}{where}", words.subject(finding.subject))
    text = words.text(finding)
    moves = "".join(f"\n  {words.moved(move, finding)}" for move in finding.moved)
    lost = "".join(f"\n{line}" for line in words.lost(finding))
    if finding.holds:
        SubElement(case, "system-out").text = text
        return case
    kind = "failure" if finding.outcome in (Outcome.REGRESSED, Outcome.CHANGED) else "error"
    text = ": ".join(filter(None, [_direction(finding), text]))
    result = SubElement(case, kind, message=text, type=finding.outcome.value)
    told = f"{text}\n{words.kind_of_moves(finding)}:{moves}" if moves else text
    result.text = f"{told}{lost}"
    return case


# What a gate found, as workflow commands of GitHub Actions: notes on the page of a run.

# GitHub shows so many of a step; the last one says how many more there are.
_SHOWN = 10
# What GitHub takes as the summary of a step, in bytes.
_SUMMARY = 1024 * 1024
_CUT = "\n\nThe rest was too long for this page.\n"


def commands(verdict: Verdict) -> list[str]:
    """Workflow commands, a line each: an error for each obstacle and for each rule that fails.

    Rules that only fail for a cause that is shown anyway are one command, with their number.
    """
    words = Words(verdict)
    causes = (*verdict.obstacles, *map(words.group, verdict.folded))
    messages = [("gate: cannot judge", cause) for cause in causes]
    messages += (_annotation(words, finding) for finding in verdict.shown)
    if len(messages) > _SHOWN:
        more = counted(len(messages) - _SHOWN + 1, "check")
        messages[_SHOWN - 1 :] = [("gate", f"{more} more did not pass")]
    return [command("error", title, message) for title, message in messages]


def _annotation(words: Words, finding: Finding) -> tuple[str, str]:
    text = "; ".join(filter(None, [words.subject(finding.subject), words.text(finding)]))
    lines = "\n".join(filter(None, [text, words.moves(finding), *words.lost(finding)]))
    way = f": {_direction(finding)}" if _direction(finding) else ""
    return f"gate: {finding.name} {finding.outcome.value}{way}", lines


def command(kind: str, title: str, message: str) -> str:
    r"""A workflow command, in which nothing of its texts can begin another one.

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
    """Markdown as the summary of a step may be long: cut at a line, if it is longer.

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
