"""What a gate found: in short and in full, as JUnit's XML, and as annotations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from compactlab.reports.gate.rules import ANY, Outcome
from compactlab.reports.gate.verdict import Finding, Verdict, in_order
from compactlab.reports.gate.words import Words
from compactlab.reports.render.document import (
    Block,
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
from compactlab.reports.render.text import capitalised, clean, counted, plain

if TYPE_CHECKING:
    from junitparser import TestCase


# What a gate found, for the terminal: short, causes first.

# More failures than this are told in the files.
_TOLD = 30
_MARKS: dict[Outcome, tuple[str, Tone]] = {
    Outcome.HOLDS: ("ok", "good"),
    Outcome.REGRESSED: ("REGRESSED", "bad"),
    Outcome.INCONCLUSIVE: ("INCONCLUSIVE", "doubtful"),
    Outcome.UNJUDGED: ("CANNOT JUDGE", "doubtful"),
}
_TONES: tuple[Tone, ...] = ("good", "bad", "doubtful")
_IN_FULL = "--markdown, --json and --junit have all"


def in_short(verdict: Verdict) -> Document:
    """What a gate found, for a terminal: of what only follows from a cause, how many."""
    words = Words(verdict, name)
    failed = verdict.told
    spans = [finding for finding in verdict.findings if finding.holds and finding.span]
    lines = [
        *(_cannot_judge(told) for told in map(name, verdict.obstacles)),
        *(_cannot_judge(told) for told in map(words.together, verdict.folded)),
        *(_finding(words, finding) for finding in failed[:_TOLD]),
        *_more(len(failed), "failed check", "more"),
        *(_finding(words, finding) for finding in spans[:_TOLD]),
        *_more(len(spans), "check", "more passed by interval"),
        *((Sentence(f"note: {name(remark)}", "quiet"),) for remark in verdict.remarks),
        (Sentence(words.headline, _TONES[verdict.code]),),
    ]
    return Document((Items(tuple(lines)),))


def _cannot_judge(told: str) -> tuple[Sentence]:
    return (Sentence(f"CANNOT JUDGE  {told}", "doubtful"),)


def _more(number: int, noun: str, more: str) -> Iterator[tuple[Sentence]]:
    if number > _TOLD:
        left = counted(number - _TOLD, noun)
        yield (Sentence(f"and {left.replace(' ', f' {more} ', 1)}: {_IN_FULL}", "quiet"),)


def _finding(words: Words, finding: Finding) -> tuple[Sentence, ...]:
    mark, tone = _MARKS[finding.outcome]
    title = f"{mark}  {name(finding.name)}, {words.subject(finding.subject)}"
    said = "; ".join(filter(None, [words.figures(finding), *words.details(finding)]))
    moves = "; ".join(map(words.moved, finding.moved))
    lines = (Sentence(said), Sentence(f"most: {moves}" if moves else "", "quiet"))
    return Sentence(title, tone), *(line for line in lines if line.text)


# What a gate found, in full: for a comment on a pull request, for a step's summary, as JSON.

_SIGNS = {
    Outcome.HOLDS: "\N{WHITE HEAVY CHECK MARK}",
    Outcome.REGRESSED: "\N{CROSS MARK}",
    Outcome.INCONCLUSIVE: "\N{BLACK QUESTION MARK ORNAMENT}",
    Outcome.UNJUDGED: "\N{BLACK QUESTION MARK ORNAMENT}",
}
_HEADS = ("", "rule", "strategy", "before \N{RIGHTWARDS ARROW} after", "why", "moved most")


def report(verdict: Verdict) -> Document:
    """What a gate found: what failed in a table, the rest folded up."""
    words = Words(verdict, name)
    causes = (*map(name, verdict.obstacles), *map(words.together, verdict.folded))
    blocks: list[Block] = [
        Heading(capitalised(words.headline)),
        sentences([*(f"cannot judge: {each}" for each in causes), *map(name, verdict.remarks)]),
    ]
    if verdict.told:
        blocks.append(_table(words, verdict.told))
    if held := [finding for finding in in_order(verdict.findings) if finding.holds]:
        blocks.append(Folded(f"{counted(len(held), 'check')} passed", (_table(words, held),)))
    return Document(tuple(blocks), data=partial(_findings, verdict))


def _table(words: Words, findings: Iterable[Finding]) -> Table:
    lines = [
        (
            _SIGNS[finding.outcome],
            name(finding.name),
            words.subject(finding.subject) if finding.subject else "",
            words.figures(finding),
            "; ".join(words.details(finding)),
            "; ".join(map(words.moved, finding.moved)),
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
        "findings": [_finding_json(finding) for finding in verdict.findings],
    }


def _finding_json(finding: Finding) -> dict[str, Any]:
    demand, subject, span = finding.demand, finding.subject, finding.span
    rule = demand.rule
    limited = not rule.relative or (finding.before is not None and not rule.exact)
    told: dict[str, Any] = {
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
        "reason": finding.reason or None,
        "before": _number(finding.before),
        "after": _number(finding.after),
        "limit": _number(rule.limit(finding.before)) if limited else None,
        "moved": [
            {
                "conversation": move.conversation,
                "before": _number(move.before),
                "after": _number(move.after),
            }
            for move in finding.moved
        ],
    }
    if span:
        told["interval"] = {
            "low": _number(span.low),
            "high": _number(span.high),
            "method": span.method or None,
            "conversations": span.conversations,
            "detectable": _number(span.detectable),
        }
    return told


def _number(value: float | None) -> float | str | None:
    if value is not None and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return plain(value)


# What a gate found, as JUnit's XML: a test case a rule and strategy.

_SUITE = "compactlab gate"


def junit(verdict: Verdict) -> bytes:
    """Write what a gate found for whatever shows the results of tests.

    What regressed is a failure; what cannot be judged, or is inconclusive, is an error. So is
    each obstacle, with a case of its own. Characters that XML cannot hold are replaced.
    """
    from junitparser import Error, JUnitXml, TestCase, TestSuite

    words = Words(verdict)
    suite = TestSuite(_SUITE)
    for number, obstacle in enumerate(verdict.obstacles, 1):
        case = TestCase(f"obstacle {number}", _SUITE, 0)
        case.result = [Error(clean(obstacle), Outcome.UNJUDGED.value)]
        suite.add_testcase(case)
    for finding in verdict.findings:
        suite.add_testcase(_case(words, finding))
    if not len(suite):
        case = TestCase("rules", _SUITE, 0)
        case.result = [Error("there was nothing to judge", Outcome.UNJUDGED.value)]
        suite.add_testcase(case)
    xml = JUnitXml(_SUITE)
    xml.add_testsuite(suite)
    written: bytes = xml.tostring()  # type: ignore[no-untyped-call]
    return b"<?xml version='1.0' encoding='utf-8'?>\n" + written + b"\n"


def _case(words: Words, finding: Finding) -> TestCase:
    from junitparser import Error, Failure, TestCase

    # Of two cases of one name, whoever shows them may show one.
    where = f", {words.scenarios(finding)}" if words.scenarios(finding) else ""
    case = TestCase(f"{clean(finding.name)}{where}", words.subject(finding.subject), 0)
    told = "; ".join(filter(None, [words.figures(finding), *words.details(finding)]))
    moves = "".join(f"\n  {words.moved(move)}" for move in finding.moved)
    if finding.holds:
        case.system_out = told
        return case
    kind = Failure if finding.outcome is Outcome.REGRESSED else Error
    result = kind(told, finding.outcome.value)
    result.text = f"{told}\nmoved most:{moves}" if moves else told
    case.result = [result]
    return case


# What a gate found, as workflow commands of GitHub Actions: notes on the page of a run.

# GitHub shows so many of a step; the last one says how many more there are.
_SHOWN = 10
# What GitHub takes as the summary of a step, in bytes.
_SUMMARY = 1024 * 1024
_CUT = "\n\nThe rest was too long for this page.\n"


def commands(verdict: Verdict) -> list[str]:
    """Workflow commands, a line each: an error for each obstacle and for each rule that fails.

    Of rules that only fail for what is told anyway, there is one that says how many.
    """
    told = [
        (f"gate: {title}", message)
        for title, message in (*_obstacles(verdict), *_failures(verdict))
    ]
    if len(told) > _SHOWN:
        more = counted(len(told) - _SHOWN + 1, "check")
        told[_SHOWN - 1 :] = [("gate", f"{more} more are not passed")]
    return [command("error", title, message) for title, message in told]


def _obstacles(verdict: Verdict) -> Iterator[tuple[str, str]]:
    for obstacle in (*verdict.obstacles, *map(Words(verdict).together, verdict.folded)):
        yield "cannot judge", obstacle


def _failures(verdict: Verdict) -> Iterator[tuple[str, str]]:
    words = Words(verdict)
    for finding in verdict.told:
        told = [words.subject(finding.subject), words.figures(finding), *words.details(finding)]
        moves = ", ".join(map(words.moved, finding.moved))
        said = "; ".join(filter(None, told))
        yield f"{finding.name} {finding.outcome.value}", f"{said}\nmost: {moves}" if moves else said


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
    text = harmless(text)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def harmless(text: str) -> str:
    """Text in which no old workflow command stands: those count wherever they are in a line.

    Examples
    --------
    >>> harmless("a ##[add-mask]b")
    'a # #[add-mask]b'
    """
    return text.replace("##[", "# #[")


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
    kept = content[: _SUMMARY - len(_CUT.encode())]
    return kept[: kept.rfind(b"\n")].decode("utf-8", "ignore") + _CUT
