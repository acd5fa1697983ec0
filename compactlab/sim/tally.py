"""The token counts of a source's texts, so that what was counted once is never counted again.

Counts are kept in the order in which a source's conversations hold their texts, a few bytes each:
whoever has the source knows which is which.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import msgspec

from compactlab.sim.conversation import Conversation
from compactlab.sim.tokens import ENCODINGS, chars4, encoding, loaded

Counts = dict[str, list[int]]
"""By encoding, the tokens of each text; -1 where nobody has asked."""

_MOST = 1 << 28  # bytes of counts of a source: what would be more is none of ours
_decode = msgspec.msgpack.Decoder(list[Counts]).decode


def counted(conversation: Conversation) -> Counts:
    """What has been counted of a conversation's texts since counts were forgotten.

    Parameters
    ----------
    conversation
        The conversation.
    """
    texts = _texts(conversation)
    found = {}
    for each in loaded():
        if each.encode is not chars4 and any(text in each.counts for text in texts):
            found[each.name] = [each.counts.get(text, -1) for text in texts]
    return found


def recall(conversation: Conversation, counts: Counts) -> None:
    """Put counts where they are looked up; those of another conversation are passed over.

    Parameters
    ----------
    conversation
        The conversation.
    counts
        Its counts, of :func:`counted`.
    """
    texts = _texts(conversation)
    for name, numbers in counts.items():
        if name in ENCODINGS and len(numbers) == len(texts):
            pairs = zip(texts, numbers, strict=True)
            # No token is shorter than a byte; what is beyond that was counted by nobody.
            held = {text: n for text, n in pairs if 0 <= n <= len(text.encode("utf-8", "replace"))}
            encoding(name).counts.update(held)


def packed(counts: Sequence[Counts]) -> bytes:
    """The counts of a source, a conversation after the other, for a file."""
    return zlib.compress(msgspec.msgpack.encode(counts, order="deterministic"))


def unpacked(content: bytes) -> list[Counts]:
    """The counts that a file holds; none if it is damaged, as they can be had again."""
    reader = zlib.decompressobj()
    try:
        told = reader.decompress(content, _MOST)
        return _decode(told) if reader.eof and not reader.unused_data else []
    except (zlib.error, msgspec.DecodeError):
        return []


def _texts(conversation: Conversation) -> list[str]:
    """Each text once, in the order in which they stand there."""
    spoken = (part for message in conversation.messages for part in message.parts)
    parts = (*conversation.system, *spoken)
    return list(dict.fromkeys(part.text for part in parts if part.text))
