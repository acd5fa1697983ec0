"""The table of views: of each run the most forgetful compaction, message by message."""

from __future__ import annotations

from compactlab.sim.diff import Diff, Line, diff_of, losses, most_forgetful
from compactlab.sim.diff.excerpt import excerpt
from compactlab.sim.diff.line import FATES
from compactlab.sim.message import Message, Part
from compactlab.sim.metrics import Reading
from compactlab.sim.tables.messages import name_of, text_of, written
from compactlab.sim.tables.table import Column, Columns, Table

# Characters of a message that are told, of its beginning and of its end; and of what a strategy
# wrote into the system blocks, which stands in no other table.
HEAD, TAIL = 160, 80
SYSTEM = 4_000
# Of other parts, names are no tools.
_NAMED = ("tool_call", "tool_result")


def _of(reading: Reading) -> Columns:
    if not reading.paybacks:
        return {}
    found = losses(reading)
    index = most_forgetful(reading, found)
    return {} if index is None else columns_of(diff_of(reading, index, found))


def columns_of(diff: Diff) -> Columns:
    """The rows of one compaction."""
    lines, script = diff.lines, diff.script

    def name(message: Message | None) -> str:
        return name_of(message, script) if message is not None else ""

    return {
        "call": [diff.call] * len(lines),
        "fate": [line.fate for line in lines],
        "count": [line.count for line in lines],
        "message": [name(line.message) for line in lines],
        "became": [name(line.became) for line in lines],
        "role": [_role(line) for line in lines],
        "what": [_what(line) for line in lines],
        "tokens_before": [line.before for line in lines],
        "tokens_after": [line.after for line in lines],
        "text": [_text(line, diff) for line in lines],
        "facts_lost": [line.lost for line in lines],
        "facts_missed": [line.missed for line in lines],
        "facts": [[fact.id for fact in line.facts] for line in lines],
        "said": [[fact.said for fact in line.facts] for line in lines],
        "states": [[fact.state for fact in line.facts] for line in lines],
        "missed_at": [[str(fact.missed or "") for fact in line.facts] for line in lines],
    }


def written_in(diff: Diff) -> dict[str, str]:
    """What the messages of a compaction say that are not of the script, by their names."""
    messages = (m for line in diff.lines for m in (line.message, line.became) if m is not None)
    made = [message for message in messages if written(message, diff.script)]
    return {name_of(message, diff.script): text_of(message) for message in made}


def _role(line: Line) -> str:
    message = line.message or line.became
    return "system" if line.system else message.role if message else ""


def _what(line: Line) -> str:
    message = line.message or line.became
    if message is None:
        return ""
    return ", ".join(dict.fromkeys(map(_type, message.parts)))


def _type(part: Part) -> str:
    return f"{part.type} {part.name}".strip() if part.type in _NAMED else part.type


def _text(line: Line, diff: Diff) -> str:
    if line.system:
        return excerpt(line.shown, SYSTEM, 0)
    # What was written stands in the table of messages, whole.
    if line.message is None or written(line.message, diff.script):
        return ""
    return excerpt(line.shown, HEAD, TAIL)


VIEWS = Table(
    "views",
    "a message before and after one compaction of the run, in the open loop: the compaction by "
    "which most facts were forgotten that were needed later, then the one that took most away. "
    "Messages that say less are put together",
    {
        "call": Column("count", "number of the call before which it happened"),
        "fate": Column("text", "; ".join(f"{fate}: {meaning}" for fate, meaning in FATES.items())),
        "count": Column("count", "messages that the row stands for, all of that fate"),
        "message": Column("text", "the one before: its id, or # and a digest; empty of several"),
        "became": Column("text", "what stands for it after, where that is another one"),
        "role": Column("text", "who says it; system for the system blocks; empty of several"),
        "what": Column("text", "types of its parts, with the names of tools"),
        "tokens_before": Column(
            "count", "tokens in what would have been sent: the last prompt and what is new"
        ),
        "tokens_after": Column("count", "tokens in what was sent"),
        "text": Column(
            "text", "how what the script says begins and ends; for the rest see table messages"
        ),
        "facts_lost": Column("count", "facts that the prompt lost with it"),
        "facts_missed": Column("count", "of those, facts that a later call needed and not found"),
        "facts": Column("texts", "ids of the first of them, those that were missed before others"),
        "said": Column("texts", "what each of those says: key and value, shortened"),
        "states": Column("texts", "the state of each after it"),
        "missed_at": Column("texts", "the first call that needed each and lacked it; empty: none"),
    },
    _of,
)
