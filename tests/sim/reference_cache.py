"""Anthropic's cache by brute force: whole prefixes in a list, and a naive walk over them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from compactlab.sim.cache import Anthropic, Lookup, Settings
from compactlab.sim.cache.prompt import CLIENT_CONTEXT, TOOLS
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.core.view import View
from tests.sim.drawn import Request

Block = tuple[object, ...]
SECONDS = {"5m": 300, "1h": 3600}


def blocks_of(view: View) -> list[Block]:
    """What the model reads, block by block."""
    blocks = [_content("system", part) for part in view.system]
    return blocks + [_content(m.role, part) for m in view.messages for part in m.parts]


def parts_of(view: View) -> list[Part]:
    """The part of each block."""
    return [*view.system, *(part for message in view.messages for part in message.parts)]


def sizes_of(view: View, tokenizer: Tokenizer) -> list[int]:
    """Tokens of each block."""
    return [tokenizer.part(part) for part in parts_of(view)]


def _content(role: str, part: Part) -> Block:
    seen = (role, part.type, part.name, part.call_id, part.is_error, part.text)
    return (*seen, part.size, part.sources) if part.size else seen


def shared_blocks(one: list[Block], other: list[Block]) -> int:
    """How many leading blocks are equal."""
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count


def without_old_thoughts(view: View) -> View:
    """A view as a model sees it that drops the thinking of earlier turns."""
    turns = [index for index, message in enumerate(view.messages) if message.starts_turn]
    messages = []
    for index, message in enumerate(view.messages):
        spoken = tuple(part for part in message.parts if part.type != "thinking")
        old = index < max(turns, default=0)
        messages.append(Message(message.id, message.role, spoken) if old else message)
    return view.with_messages(messages)


def ends_of(view: View) -> dict[str, int]:
    """How many blocks stand up to the end of the tools, of the system prompt, of everything."""
    names = [part.name for part in view.system]
    system = names.index(CLIENT_CONTEXT) if CLIENT_CONTEXT in names else len(names)
    everything = len(parts_of(view))
    ends = {"tools": names.count(TOOLS), "system": system, "context": len(names)}
    return {**ends, "last": everything, "auto": everything}


def sent_under(view: View, settings: Settings) -> list[Block]:
    """Each block with all settings that its being found again depends on."""
    ends = ends_of(view)
    blocks: list[Block] = []
    for index, block in enumerate(blocks_of(view)):
        under: Block = (settings.tools,)
        if index >= ends["tools"]:
            under = (settings.tools, settings.system)
        if index >= ends["system"]:
            under = (*settings,)
        blocks.append((block, under))
    return blocks


def own_mark(view: View, messages: int) -> int:
    """Blocks up to the end of so many leading messages, if others follow and it may be marked."""
    if not 0 < messages < len(view.messages):
        return 0
    leading = View(view.system, view.messages[:messages])
    parts = parts_of(leading)
    return len(parts) if may_be_marked(parts[-1]) else 0


@dataclass
class Entry:
    prefix: tuple[Block, ...]
    touched: float
    life: float
    visible: float

    def dies(self) -> float:
        return self.touched + self.life


@dataclass
class ReferenceCache:
    """An entry a line; who asks, reads all of them."""

    policy: Anthropic
    tokenizer: Tokenizer
    entries: list[Entry] = field(default_factory=list)

    def request(self, request: Request, at: float) -> Lookup:
        view, lost = request.view, request.lost
        blocks, sizes = sent_under(view, request.settings), sizes_of(view, self.tokenizer)
        marked = self._marked(view, request.ttl or self.policy.ttl, request.mark)
        found = [] if lost else [self._walk(view, blocks, length, at) for length in marked]
        for entry in {id(entry): entry for entry in found if entry}.values():
            entry.touched = at
        a = sum(sizes[: max((len(entry.prefix) for entry in found if entry), default=0)])
        b = c = a
        for length, lifetime in marked.items():
            tokens = sum(sizes[:length])
            if tokens >= self.policy.minimum:
                if lost or not self._readable(blocks[:length], at):
                    self._write(tuple(blocks[:length]), at, lifetime, at + request.latency)
                b = max(b, tokens) if lifetime == "1h" else b
                c = max(c, tokens)
        return Lookup(a, c - b, b - a)

    def _marked(self, view: View, ttl: str, messages: int = 0) -> dict[int, str]:
        """Lengths of the prefixes that end at a mark, with the lifetime asked for."""
        marks = [(index, own or ttl) for index, _, own in self.policy_marks()]
        lives = [SECONDS[own] for _, own in marks]
        if lives != sorted(lives, reverse=True):
            raise ValueError("HTTP 400: a longer lifetime behind a shorter one")
        own_of = dict(marks)
        if {"last", "auto"} <= set(own_of) and own_of["last"] != own_of["auto"]:
            raise ValueError("HTTP 400: one block with two lifetimes")
        parts, ends, marked = parts_of(view), ends_of(view), dict[int, str]()
        for index, own in marks:
            fit = [n for n in range(1, ends[index] + 1) if may_be_marked(parts[n - 1])]
            if fit and index in ("last", "auto") and len(marks) < 4:
                length = own_mark(view, messages)
                if max(marked, default=0) < length < fit[-1]:
                    marked[length] = own
            if fit:
                marked.setdefault(fit[-1], own)
        return marked

    def policy_marks(self) -> list[tuple[str, str, str]]:
        return [mark.partition(":") for mark in self.policy.marks]

    def _walk(self, view: View, blocks: list[Block], length: int, at: float) -> Entry | None:
        """The longest entry that can be read within the look-back."""
        for end in self._positions(parts_of(view), length):
            entry = self._readable(blocks[:end], at)
            if entry:
                return entry
        return None

    def _positions(self, parts: list[Part], length: int) -> Iterator[int]:
        """Lengths of the prefixes at the first positions from a mark backwards."""
        position = 0
        for end in range(length, 0, -1):
            kind = parts[end - 1].type
            in_run = end < length and kind == parts[end].type and kind.startswith("tool")
            if not (in_run and self.policy.runs_are_one):
                position += 1
            if position <= self.policy.lookback:
                yield end

    def _readable(self, prefix: list[Block], at: float) -> Entry | None:
        for entry in self.entries:
            if entry.prefix == tuple(prefix) and entry.visible <= at <= entry.dies():
                return entry
        return None

    def _write(self, prefix: tuple[Block, ...], at: float, lifetime: str, visible: float) -> None:
        """Write an entry; one that lives and was not found becomes one with it."""
        new = Entry(prefix, at, SECONDS[lifetime] * self.policy.share, visible)
        for old in list(self.entries):
            if old.prefix == prefix:
                self.entries.remove(old)
                if at <= old.dies():
                    new.visible = min(new.visible, old.visible)
                    if old.dies() >= new.dies():
                        new.touched, new.life = old.touched, old.life
        self.entries.append(new)


def may_be_marked(part: Part) -> bool:
    """Not thinking, and not an empty text."""
    if part.type == "thinking":
        return False
    return part.type != "text" or part.text != "" or part.size > 0
