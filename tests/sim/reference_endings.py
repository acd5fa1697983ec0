"""OpenAI's cache from GPT-5.6 on by brute force: whole prefixes in a list, read from end to end."""

from dataclasses import dataclass, field

from compactlab.sim.cache import Lookup, OpenaiEndings
from compactlab.sim.core.view import View
from tests.sim.drawn import QUICK, Request
from tests.sim.reference_cache import Block, blocks_of, ends_of, sent_under, sizes_of


@dataclass
class Written:
    prefix: list[Block]
    touched: float
    visible: float


def plain_blocks(request: Request) -> list[Block]:
    """Each block with the settings on which it depends; images are none here."""
    return [(block, under[:3]) for block, under in sent_under(request.view, request.settings)]  # type: ignore[index]


def lengths_at_ends(view: View) -> list[int]:
    """How many blocks stand up to each eligible end, ascending."""
    lengths = [ends_of(view)["system"], len(view.system)]
    length, messages = len(view.system), view.messages
    for index, message in enumerate(messages):
        length += len(message.parts)
        goes_on = index + 1 < len(messages) and messages[index + 1].role == "tool"
        if message.role == "user" or (message.role == "tool" and not goes_on):
            lengths.append(length)
    return sorted(set(lengths) - {0})


@dataclass
class ReferenceEndings:
    policy: OpenaiEndings
    entries: list[Written] = field(default_factory=list)

    def request(self, request: Request, now: float) -> Lookup:
        blocks, sizes = plain_blocks(request), sizes_of(request.view, QUICK)
        own = request.mark if 0 < request.mark < len(request.view.messages) else 0
        if self.policy.mode == "explicit" and not self.policy.marks and not own:
            return Lookup()
        marked = self._marked(request.view, own)
        looked_at = {*marked, *self._walked(request.view)}
        found: list[Written] = []
        for length in looked_at:
            found += [e for e in self._alive(blocks[:length], now) if e.visible <= now]
        best = max(found, key=lambda entry: len(entry.prefix), default=None)
        read = 0
        if best is not None and not request.lost:
            best.touched, read = now, sum(sizes[: len(best.prefix)])
        most = read
        for length in marked:
            if sum(sizes[:length]) >= self.policy.minimum:
                most = max(most, sum(sizes[:length]))
                self._write(blocks[:length], now, now + request.latency)
        return Lookup(read, most - read)

    def _marked(self, view: View, messages: int) -> list[int]:
        ends = lengths_at_ends(view)
        behind_front = [end for end in ends if end > len(view.system)]
        last = (behind_front or ends)[-1:]
        places = {
            "system": [ends_of(view)["system"]],
            "context": [len(view.system)],
            "last": last,
            "before": ends[-2:-1],
        }
        own = {length for mark in self.policy.marks for length in places[mark]} - {0}
        if messages:
            leading = View(view.system, view.messages[:messages])
            own.add(len(blocks_of(leading)))
        if self.policy.mode == "explicit":
            return sorted(own)[-4:]
        return sorted({*sorted(own)[-3:], *last})

    def _walked(self, view: View) -> list[int]:
        """The latest ends; only marked ones where the client marks nothing that moves."""
        moves = "last" in self.policy.marks or "before" in self.policy.marks
        if self.policy.mode == "explicit" and not moves:
            return []
        return lengths_at_ends(view)[-self.policy.lookback :]

    def _alive(self, prefix: list[Block], now: float) -> list[Written]:
        return [
            entry
            for entry in self.entries
            if entry.prefix == prefix and now - entry.touched <= self.policy.idle
        ]

    def _write(self, prefix: list[Block], now: float, visible: float) -> None:
        known = self._alive(prefix, now)
        for entry in known:
            entry.touched, entry.visible = now, min(entry.visible, visible)
        if not known:
            self.entries.append(Written(prefix, now, visible))
