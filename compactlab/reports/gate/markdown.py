"""What a gate found, in Markdown: for a comment on a pull request and for a step's summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compactlab.reports.gate.rules import Outcome
from compactlab.reports.gate.verdict import Finding, Verdict, in_order
from compactlab.reports.gate.words import Words
from compactlab.reports.markdown import code, line
from compactlab.reports.text import capitalised, counted

_MARKS = {
    Outcome.HOLDS: "\N{WHITE HEAVY CHECK MARK}",
    Outcome.REGRESSED: "\N{CROSS MARK}",
    Outcome.INCONCLUSIVE: "\N{BLACK QUESTION MARK ORNAMENT}",
    Outcome.UNJUDGED: "\N{BLACK QUESTION MARK ORNAMENT}",
}
_HEADS = ("", "rule", "strategy", "before \N{RIGHTWARDS ARROW} after", "why", "moved most")


def markdown(verdict: Verdict) -> str:
    """Write what a gate found as GitHub's Markdown.

    Names that come from outside stand in code spans, where nothing is a link, an image, a mention
    or HTML.

    Parameters
    ----------
    verdict
        What it found.
    """
    words = Words(verdict, code)
    lines = [f"### {capitalised(words.headline)}", ""]
    lines += [f"- cannot judge: {code(obstacle)}" for obstacle in verdict.obstacles]
    lines += [f"- cannot judge: {words.together(each)}" for each in verdict.folded]
    lines += [f"- {code(remark)}" for remark in verdict.remarks]
    if verdict.obstacles or verdict.folded or verdict.remarks:
        lines.append("")
    if verdict.told:
        lines += [*_table(words, verdict.told), ""]
    held = [finding for finding in in_order(verdict.findings) if finding.holds]
    if held:
        # Folded up, so that what failed is what one sees.
        lines += ["<details>", f"<summary>{counted(len(held), 'check')} passed</summary>", ""]
        lines += [*_table(words, held), "", "</details>", ""]
    return "\n".join(lines)


def _table(words: Words, findings: Iterable[Finding]) -> Iterator[str]:
    yield line(_HEADS)
    yield line([":--"] * len(_HEADS))
    for finding in findings:
        yield line([
            _MARKS[finding.outcome],
            code(finding.name),
            words.subject(finding.subject) if finding.subject else "",
            words.figures(finding),
            "; ".join(words.details(finding)),
            "; ".join(map(words.moved, finding.moved)),
        ])  # fmt: skip
