"""OpenClaw 2026.9.6: the check of a summary, and how it is cut."""

from typing import Any

from compactlab.strategies.openclaw.compaction import rules_of, sections_of
from compactlab.strategies.openclaw.quality import Facts, Suffix, audit, finalised, identifiers
from tests.conformance.answers import Answer
from tests.conformance.answers.openclaw_sizes import TIGHT
from tests.conformance.busy import under
from tests.conformance.vectors import Case


def judged(case: Case) -> Any:
    asked = case.input
    if asked["fn"] == "identifiers":
        return identifiers(asked["text"])
    summary = case.shared["summaries"][asked["summary"]]
    facts = Facts(
        tuple(asked["identifiers"]),
        asked["latestAsk"] or "",
        asked.get("inRetained", False),
        asked.get("latestUnresolvedUserRequest", ""),
    )
    if asked["fn"] == "audit":
        return audit(summary, summary, [summary], facts)
    suffix = asked.get("suffix", "")
    found = finalised(summary, Suffix(suffix), asked["most"], facts)
    if asked["fn"] == "open":
        return {
            "summary": found.text,
            "reasons": audit(found.text, found.body.text, [summary], facts),
        }
    return {
        "summary": found.text,
        "structural": found.body.text,
        "infeasible": not found.feasible,
    }


def sections(case: Case) -> Any:
    names = ("Session Startup", "Red Lines")
    return sections_of(case.input["content"], names)


TOLD = under(
    "distilled_summary(agents_md='## Red Lines\\nnone', post_compaction_sections=('Red Lines',), "
    "keep_recent_tokens=4000)"
)

ANSWERS = [
    Answer(
        'extractSections(content, ["Session Startup","Red Lines"])',
        sections,
        (sections_of, rules_of),
        TOLD,
    ),
    Answer(
        "extractOpaqueIdentifiers, auditSummaryQuality, budgetCompactionSummary",
        judged,
        (identifiers, audit, finalised),
        TIGHT,
    ),
]
