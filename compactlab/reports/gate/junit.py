"""What a gate found, as JUnit's XML: a test case a rule and strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compactlab.reports.gate.rules import Outcome
from compactlab.reports.gate.verdict import Finding, Verdict
from compactlab.reports.gate.words import Words
from compactlab.reports.text import clean

if TYPE_CHECKING:
    from junitparser import TestCase

_SUITE = "compactlab gate"


def junit(verdict: Verdict) -> bytes:
    """Write what a gate found for whatever shows the results of tests.

    What regressed is a failure; what cannot be judged, or is inconclusive, is an error. So is
    each obstacle, with a case of its own. Characters that XML cannot hold are replaced.

    Parameters
    ----------
    verdict
        What it found.

    Returns
    -------
    bytes
        XML in UTF-8.
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
