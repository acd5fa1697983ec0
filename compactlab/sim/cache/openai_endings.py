"""OpenAI's prompt cache from GPT-5.6 on: prefixes end where messages end, and writing costs.

OpenAI's guide to prompt caching and its API reference, as of 2026-09-23: a request writes up to
four prefixes, one by itself at the end of the latest eligible message and the latest three that
the client marks (or the latest four, if the client alone is to say); a user message is eligible,
the last of a run of tool outputs, and the developer block in front. Nothing is rounded. A read
finds the longest written prefix, however many blocks behind. What is written costs the write
price *instead of* the input price; what lies behind the last such end is plain input.

Writes are told as :attr:`Lookup.write_5m <compactlab.sim.cache.policy.Lookup>`, which for this
policy is the one class of writes that there is: price lists carry OpenAI's write price there. A
price for writes that are kept over 12 hours stands in one price list and in no page of OpenAI's;
it is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice, takewhile
from typing import Literal, NamedTuple

from compactlab.sim.cache.missed import ascending
from compactlab.sim.cache.policy import Cache, CachePolicy, Lookup, Request
from compactlab.sim.cache.salt import Salt
from compactlab.sim.prompt import Prompt

# Writes of a request, in all and where one of them is the provider's own; the guide, 2026-09-23.
MOST, MOST_BESIDE = 4, 3
PLACES = ("system", "context", "before", "last")

_Cause = tuple[str, int]


@dataclass(frozen=True)
class OpenaiEndings(CachePolicy):
    """The policy of OpenAI's models from GPT-5.6 on.

    Parameters
    ----------
    minimum
        Tokens below which a prefix is not written. OpenAI counts visible tokens only; here all
        tokens of the prompt are, the few that the provider adds being unknown.
    mode
        ``implicit``: the provider marks the latest eligible end by itself. ``explicit``: it does
        not, and without a mark of the client nothing is cached.
    marks
        Where the client marks: ``system`` (the end of the developer block), ``context`` (the end
        of what the client adds to it), ``last`` (the latest eligible end), ``before`` (the one
        before that). Those that are too many are dropped, the foremost first, as OpenAI does.
    lookback
        Eligible ends that a read looks at, backwards from the last; those that the request
        itself marks are looked at in any case. 80 is the API reference's figure. (The guide counts
        otherwise: the first 2 and the latest 50 marks, and up to 20 earlier ends.)
    idle
        Seconds that a prefix lives from when it was last written or read, which costs nothing.
        OpenAI promises these 30 minutes and says that it may be longer.
    loss
        Share of requests that find nothing, because they are routed elsewhere. The guide calls
        the cache of these models reliable, without a figure.

    Raises
    ------
    ValueError
        If a figure is impossible, or a mark not known.
    """

    minimum: int = 1024
    mode: Literal["implicit", "explicit"] = "implicit"
    marks: tuple[str, ...] = ("system",)
    lookback: int = 80
    idle: float = 1800.0
    loss: float = 0.0

    def __post_init__(self) -> None:
        unknown = [mark for mark in self.marks if mark not in PLACES]
        if unknown:
            raise ValueError(f"marks: {unknown[0]!r} is no mark: name {', '.join(PLACES)}")
        if self.minimum < 0 or self.lookback < 1 or self.idle < 0:
            raise ValueError("minimum and idle are not negative, and lookback is at least 1")
        if not 0 <= self.loss <= 1:
            raise ValueError(f"loss is a share between 0 and 1, not {self.loss}")

    def open(self) -> Cache:
        """Start an empty cache."""
        return _Endings(self)

    def lifetime(self, ttl: str = "") -> float:
        """Seconds that a prefix lives unread."""
        return self.idle

    def shortened(self, share: float) -> OpenaiEndings:
        """The same rules with a lifetime of such a share."""
        return replace(self, idle=self.idle * share)


class _Entry(NamedTuple):
    """A written prefix: when it was last touched, and from when it can be read."""

    touched: float
    visible: float


class _Endings(Cache):
    """Written prefixes by key."""

    def __init__(self, policy: OpenaiEndings) -> None:
        self._policy = policy
        # Where the client alone marks, and never what moves, a read looks nowhere else.
        moves = policy.mode == "implicit" or not {"before", "last"}.isdisjoint(policy.marks)
        self._lookback = policy.lookback if moves else 0
        self._entries: dict[int, _Entry] = {}
        # Of the written prefixes, by their tokens, where they end: elsewhere no key is asked for.
        self._ends: dict[int, set[int]] = {}
        # Of each prompt that was sent, the last end that was written, and its key.
        self._tips: dict[Prompt, tuple[int, int]] = {}
        self._salt = Salt(images=False)

    def request(self, request: Request) -> Lookup:
        """Look up, then write."""
        prompt, at, policy = request.prompt, request.at, self._policy
        totals = prompt.totals
        if not totals:
            return Lookup()
        if policy.mode == "explicit" and not policy.marks:
            return Lookup(missed=ascending(0, ("no_cache", prompt.sent)))
        self._salt.take(request.settings, prompt)
        ends = eligible_ends(prompt)
        last = next(ends, -1)
        marks = self._marks(prompt, last)
        live, missed = self._find(prompt, chain((last,), ends), marks, at)
        held = totals[live] if live >= 0 else 0
        read = 0 if request.lost else held
        if read:
            key = self._key(prompt, live)
            self._entries[key] = _Entry(at, self._entries[key].visible)
        if missed or read < prompt.sent:
            missed += [("eviction", held), *self._left_out(prompt, held)]
        written = [block for block in marks if totals[block] >= policy.minimum]
        for block in written:
            self._write(prompt, block, at, at + request.latency)
        top = written[0] if written else -1
        self._tips[prompt] = top, self._key(prompt, top) if written else 0
        new = max(0, totals[top] - read) if written else 0
        return Lookup(read, new, missed=ascending(read, *missed) if missed else ())

    def _key(self, prompt: Prompt, block: int) -> int:
        return prompt.key(block) ^ self._salt.of(block)

    def _marks(self, prompt: Prompt, last: int) -> list[int]:
        """Where a request writes, the last block first."""
        marks = self._policy.marks
        marked = {last} if "last" in marks else set()
        if "before" in marks:
            marked.update(islice(eligible_ends(prompt), 1, 2))
        if "context" in marks:
            marked.add((prompt.starts[0] if prompt.starts else len(prompt.totals)) - 1)
        if "system" in marks:
            marked.add(prompt.front - 1)
        alone = self._policy.mode == "explicit"
        latest = sorted(marked, reverse=True)[: MOST if alone else MOST_BESIDE]
        if not alone and last not in latest:
            latest.insert(0, last)
        return [block for block in latest if block >= 0]

    def _write(self, prompt: Prompt, block: int, at: float, visible: float) -> None:
        """Write a prefix, or touch it if it is there."""
        key = self._key(prompt, block)
        known = self._entries.get(key)
        if known is not None and self._lives(known, at):
            visible = min(visible, known.visible)
        self._entries[key] = _Entry(at, visible)
        self._ends.setdefault(prompt.totals[block], set()).add(block)

    def _lives(self, entry: _Entry, at: float) -> bool:
        return at - entry.touched <= self._policy.idle

    def _find(
        self, prompt: Prompt, ends: Iterator[int], marks: list[int], at: float
    ) -> tuple[int, list[_Cause]]:
        """Look backwards for the longest prefix that can be read; -1 if there is none.

        And say why longer ones cannot.
        """
        totals = prompt.totals
        live, causes = -1, []
        for block, entry in self._known(prompt, chain(islice(ends, self._lookback), marks)):
            if not self._lives(entry, at):
                causes.append(("ttl_expired", totals[block]))
            elif entry.visible > at:
                causes.append(("concurrent_cold", totals[block]))
            else:
                live = block
                break
        if self._lookback:
            for block, entry in self._known(prompt, takewhile(live.__lt__, ends)):
                far = "lookback_miss" if self._lives(entry, at) else "ttl_expired"
                causes.append((far, totals[block]))
                break
        return live, causes

    def _known(self, prompt: Prompt, blocks: Iterable[int]) -> Iterator[tuple[int, _Entry]]:
        """Those of the blocks where a written prefix ends, with it."""
        totals, ends = prompt.totals, self._ends
        for block in blocks:
            if totals[block] in ends and block in ends[totals[block]]:
                entry = self._entries.get(self._key(prompt, block))
                if entry is not None:
                    yield block, entry

    def _left_out(self, prompt: Prompt, held: int) -> Iterator[_Cause]:
        """What was sent before and could not be read for where prefixes may end.

        If the prompt last sent was changed before the last end that was written of it, the change
        is to blame, and not where the ends are.
        """
        if not held and prompt.sent < self._policy.minimum:
            yield "below_minimum", prompt.sent
        block, key = self._tips.get(prompt, (-1, 0))
        if block < 0 or (block < len(prompt.totals) and self._key(prompt, block) == key):
            yield "grid", prompt.sent


def eligible_ends(prompt: Prompt) -> Iterator[int]:
    """Blocks at which OpenAI lets a prefix end by itself, the last one first.

    These are the ends of user messages and of runs of tool outputs, of what a client adds behind
    the developer block (a message, to OpenAI), and of the developer block with the tools before it.
    """
    end, behind = len(prompt.totals) - 1, ""
    for start, message in zip(reversed(prompt.starts), reversed(prompt.view.messages), strict=True):
        if end < start:  # nothing of it is in the prompt
            continue
        role = message.role
        if role == "user" or (role == "tool" and behind != "tool"):
            yield end
        end, behind = start - 1, role
    if end >= prompt.front:
        yield end
    if prompt.front:
        yield prompt.front - 1
