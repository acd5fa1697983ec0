"""The recency buffer: the newest of what would be summarised, word for word (pull request 3968)."""

from __future__ import annotations

from collections.abc import Sequence

from compactlab.sim.message import Message, Part
from compactlab.strategies.mechanisms.estimate import estimate, role_of
from compactlab.strategies.mechanisms.pi.summary import lines, plain

KEEP_MESSAGES = 10
KEEP_TOKENS = 2000
HEADING = "\n\n---\n\n## Recent Context (preserved verbatim)\n\n"

_NAMES = {"user": "User", "assistant": "Assistant"}
# Roles whose words stand where the original looks for them.
_SPOKEN = {"bashExecution", "branchSummary", "compactionSummary"}


def buffered(
    messages: Sequence[Message],
    keep_messages: float | None = None,
    keep_tokens: float | None = None,
    enabled: bool = True,
) -> int:
    """How many of the newest messages go into the buffer: ``computeRecencyBufferSlice``.

    Whichever limit is hit first. The newest goes in even if it alone has more tokens than that,
    unless no message at all is wanted. Calls and their results may be torn apart.

    Parameters
    ----------
    messages
        What would be summarised.
    keep_messages
        Messages, at most; 2.5 are 3. None for 10.
    keep_tokens
        Tokens, at most. None for 2,000.
    enabled
        Whether there is a buffer.
    """
    most = KEEP_MESSAGES if keep_messages is None else keep_messages
    budget = KEEP_TOKENS if keep_tokens is None else keep_tokens
    count, tokens = 0, 0
    for message in reversed(messages) if enabled else ():
        tokens += estimate(message)
        if count >= most or (count and tokens > budget):
            break
        count += 1
    return count


def words(message: Message) -> list[Part]:
    """The words of a message: ``extractMessageText``.

    Calls, thinking and images vanish, and so does what is no content to the original: a command
    that the user ran, a summary.
    """
    if role_of(message) in _SPOKEN:
        return []
    said = [part for part in message.parts if part.type in ("text", "tool_result")]
    return lines(Part("text", p.text, p.kind, p.sources) for p in said)


def quoted(message: Message) -> list[Part]:
    """A message in the buffer, with who said it: ``formatMessageForRecencyBuffer``."""
    role = role_of(message)
    return [plain(f"**{_NAMES.get(role, role)}:** "), *words(message)]


def buffer_section(messages: Sequence[Message]) -> list[Part]:
    """The buffer as it stands under a summary; nothing if it is empty."""
    parts: list[Part] = []
    for message in messages:
        parts += [plain("\n\n" if parts else HEADING), *quoted(message)]
    return parts
