"""pi's compaction: the cut, what is summarised, the requests for it, and what comes of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.view import View
from compactlab.sim.models.model import find_model
from compactlab.sim.replay.host import Host, Services
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.mechanisms.estimate import estimate_pictured
from compactlab.strategies.pi.compaction import AutoCompact, budgets
from compactlab.strategies.pi.preparation import (
    Files,
    Preparation,
    file_section,
    find_cut_point,
    follows,
    prepare,
)
from compactlab.strategies.pi.summary import (
    BEGINNING,
    FIRST,
    PREFIX,
    UPDATE,
    Scribe,
    longest_summary,
    pi_summary,
    serialise,
    text_of,
)
from tests.conformance.answers import Answer, Excluded
from tests.conformance.answers.pi_tokens import tokens_of
from tests.conformance.busy import under
from tests.conformance.pi import entries, message_of, messages
from tests.conformance.pi import message as converted
from tests.conformance.vectors import Case

BUSY = under("auto_compact(reserve_tokens_floor=0, keep_recent_tokens=4000)")
NEWEST = under("pi")
KINDS = {FIRST: "initial", UPDATE: "update", PREFIX: "turn_prefix", BEGINNING: "turn_prefix"}
FOCUS = "\n\nAdditional focus: "


def cut_point(case: Case) -> Any:
    session = entries(case.named("sessions", "entries"))
    start, end = case.input["startIndex"], case.input["endIndex"]
    cut = find_cut_point(session, start, end, case.input["keepRecentTokens"], case.version)
    return {
        "firstKeptEntryIndex": cut.first_kept,
        "turnStartIndex": cut.turn_start,
        "isSplitTurn": cut.split,
    }


def prepared(case: Case, keep_recent_tokens: float) -> Preparation | None:
    originals = case.named("sessions", "entries")

    def reported(told: Message) -> float | None:
        usage = (message_of(originals[int(told.id)]) or {}).get("usage")
        return tokens_of(usage) if isinstance(usage, Mapping) else None

    return prepare(entries(originals), keep_recent_tokens, case.version, reported)


def preparation(case: Case) -> Any:
    originals = case.named("sessions", "entries")
    found = prepared(case, case.input["settings"]["keepRecentTokens"])
    if found is None:
        return None
    return {
        "firstKeptEntryId": originals[found.first_kept]["id"],
        "messagesToSummarize": [told(m, originals, case.version) for m in found.history],
        "turnPrefixMessages": [told(m, originals, case.version) for m in found.prefix],
        "isSplitTurn": found.split,
        "tokensBefore": found.tokens_before,
        "previousSummary": text_of(found.previous) if compacted(originals) else None,
        "fileOps": {
            "read": list(found.files.read),
            "written": list(found.files.written),
            "edited": list(found.files.edited),
        },
    }


def told(message: Message, originals: Sequence[Mapping[str, Any]], version: str) -> Any:
    """Write a message as the vectors do: by its entry, or what was made of an entry."""
    index = int(message.id)
    if originals[index]["type"] != "message":
        made = {"$made": index, "tokens": estimate_pictured(message)}
        return made if follows(version, "edits") else message_of(originals[index])
    if message.parts == converted(originals[index]["message"], message.id).parts:
        return {"$entry": index}
    return {"$edited": index, "tokens": estimate_pictured(message)}


def compacted(originals: Sequence[Mapping[str, Any]]) -> bool:
    return any(entry["type"] == "compaction" for entry in originals)


class Stub:
    """Answers like the stub of the vectors, and remembers what it was asked."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def summarize(self, host: Host, view: View, request: SummaryRequest) -> tuple[Part, ...]:
        instructions, _, focus = request.instructions.partition(FOCUS)
        number, kind = len(self.calls) + 1, KINDS[instructions]
        conversation, _, rest = request.transcript.partition("\n</conversation>")
        previous = rest.partition("<previous-summary>\n")[2]
        for heading in ("<conversation>\n", "# Conversation\n"):
            conversation = conversation.removeprefix(heading)
        self.calls.append(
            {
                "call": number,
                "kind": kind,
                "maxTokens": request.max_tokens,
                "previousSummary": previous.removesuffix("\n</previous-summary>") or None,
                "additionalFocus": focus or None,
                "conversation": conversation,
                **({} if request.marked else {"cacheRetention": "none"}),
            }
        )
        return (Part("text", f"SUMMARY-{number}({kind})", "synthetic", ()),)


def compaction(case: Case) -> Any:
    found = prepared(case, case.input["keepRecentTokens"])
    if found is None:
        return None
    stub = Stub()
    host = Host(find_model("claude-sonnet-4-5"), _services=Services(summarize=stub.summarize))
    scribe = Scribe(View(), host, case.input["reserveTokens"], case.version)
    focus = case.input.get("customInstructions") or ""
    summary = pi_summary(scribe, found, focus) + file_section(found.files)
    return {
        "calls": stub.calls,
        "result": {
            "summary": text_of(summary),
            "firstKeptEntryId": case.named("sessions", "entries")[found.first_kept]["id"],
            "tokensBefore": found.tokens_before,
            "details": lists(found.files),
        },
    }


def limit(case: Case) -> Any:
    given = (case.input[name] for name in ("characters", "contextWindow", "maxTokens"))
    return longest_summary(*given)


def settings(case: Case) -> Any:
    given, defaults = case.input["compaction"], AutoCompact()
    ordinary = {
        "reserveTokens": defaults.reserve_tokens,
        "keepRecentTokens": defaults.keep_recent_tokens,
        **given,
    }
    names = ("reserveTokens", "keepRecentTokens")
    overrides = [
        (model, *(own.get(name, ordinary[name]) for name in names))
        for model, own in given.get("modelOverrides", {}).items()
    ]
    found = budgets(*(ordinary[name] for name in names), overrides, case.input["model"])
    return dict(zip(names, found, strict=True))


def lists(files: Files) -> dict[str, list[str]]:
    return {"readFiles": list(files.only_read), "modifiedFiles": list(files.modified)}


def serialised(case: Case) -> Any:
    return serialise(messages(case.named("conversations")), case.version)


def file_operations(case: Case) -> Any:
    read, written, edited = (
        dict.fromkeys(case.input[kind], "") for kind in ("read", "written", "edited")
    )
    files = Files(read, written, edited)
    return {**lists(files), "text": text_of(file_section(files))}


COMPACT = "compact(prepareCompaction(entries))"
EXCLUDED = [
    Excluded(COMPACT, "*", "calls[*].reasoning", "summarisers here have no thinking to be set"),
    Excluded(COMPACT, "*", "calls[*].prompt_length", "the wording of prompts is our own"),
    Excluded(COMPACT, "*", "calls[*].prompt_sha256_16", "the wording of prompts is our own"),
]
ANSWERS = [
    Answer("findCutPoint", cut_point, (find_cut_point,), BUSY),
    Answer("prepareCompaction", preparation, (prepare, find_cut_point), BUSY),
    Answer(COMPACT, compaction, (pi_summary, Scribe.history, Scribe.prefix, prepare), BUSY),
    Answer("serializeConversation(convertToLlm(messages))", serialised, (serialise,), BUSY),
    Answer("clampMaxTokensToContext", limit, (longest_summary,), NEWEST),
    Answer("getCompactionSettings", settings, (budgets,), NEWEST),
    Answer("computeFileLists + formatFileOperations", file_operations, (file_section,), BUSY),
]
