"""OpenAI's prompt caches: on a grid of 128 tokens before GPT-5.6, at the ends of messages since."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, takewhile
from typing import Literal

from compactlab.sim.cache.policy import Cache, Expiring, Lookup, Request, Salt, Stored, ascending
from compactlab.sim.cache.prefixes import Automatic
from compactlab.sim.cache.prompt import Prompt

# OpenAI's prompt cache before GPT-5.6: the longest common prefix on a grid of 128 tokens.
#
# Sources: OpenAI's guide to prompt caching, and the recordings of Codex (2,365 calls of gpt-5.5 and
# codex-spark), as of 2026-11. Every cached count is a multiple of 128, though the guide gives an
# interval of 2,048 for 5.5. Prompts below 1,024 tokens are not cached (the guide now says that this
# depends on the settings of a request). Writing is free.


@dataclass(frozen=True)
class OpenaiGrid(Automatic):
    """OpenAI's models before GPT-5.6: any common prefix, in steps of a grid.

    Parameters
    ----------
    grid
        Tokens; measured, see above.
    minimum
        Tokens; the guide's former figure.
    idle
        Seconds. A retention of ``24h`` keeps a prefix "typically about 30 minutes" after its last
        use (the guide, 2026-09-23); use 300 to 600 for ``in_memory`` (5 to 10 minutes). Longer
        lifetimes, up to an hour or a day, are left out.
    loss
        Share of requests that are routed to a server without the prefix. The guide gives no figure;
        3 % of the recorded calls read nothing, for any reason, so that is an upper limit.
    """

    grid: int = 128
    minimum: int = 1024
    idle: float = 1800.0
    loss: float = 0.0


# OpenAI's prompt cache from GPT-5.6 on: prefixes end where messages end, and writing costs.
#
# Sources: OpenAI's guide to prompt caching and its API reference, as of 2026-09-23. A request
# writes up to four prefixes: one automatic at the end of the latest eligible message, and the
# latest three that the client marks (or the latest four in explicit mode). Eligible are user
# messages, the last of a run of tool outputs, and the leading developer block. Nothing is rounded.
# A read finds the longest written prefix, regardless of the number of blocks after it. Written
# tokens cost the write price *instead of* the input price. Tokens after the last such end are plain
# input.
#
# Writes are reported as :attr:`Lookup.write_5m <compactlab.sim.cache.policy.Lookup>`, the only
# class of writes of this policy: price lists carry OpenAI's write price there. One price list, but
# no page of OpenAI's, has a price for writes that are kept over 12 hours; it is left out.

# Most writes of a request: in total, and besides an automatic one; the guide, 2026-09-23.
MOST, MOST_BESIDE = 4, 3
PLACES = ("system", "context", "before", "last")

_Cause = tuple[str, int]


@dataclass(frozen=True)
class OpenaiEndings(Expiring):
    """OpenAI's models from GPT-5.6 on: prefixes up to the end of a message.

    Parameters
    ----------
    minimum
        Tokens below which a prefix is not written. OpenAI counts only visible tokens. Here all
        tokens of the prompt count, because the few that the provider adds are unknown.
    mode
        ``implicit``: the provider marks the latest eligible end by itself. ``explicit``: only the
        client's marks are cached.
    marks
        The client's marks: ``system`` (the end of the developer block), ``context`` (the end of the
        client's addition to it), ``last`` (the latest eligible end), ``before`` (the previous one).
        As at OpenAI, excess marks are dropped, from the front.
    lookback
        Eligible ends that a read checks, backwards from the last; marks of the request are always
        checked. 80 is from the API reference. (The guide has other figures: the first 2 and the
        latest 50 marks, and up to 20 earlier ends.)
    idle
        Seconds that a prefix lives after its last write or read, free of charge. OpenAI promises 30
        minutes or more.
    loss
        Share of requests that find nothing, because they are routed elsewhere. The guide calls
        the cache of these models reliable, without a figure.
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
            raise ValueError(f"marks: {unknown[0]!r} is not a mark: name {', '.join(PLACES)}")
        if self.minimum < 0 or self.lookback < 1 or self.idle < 0:
            raise ValueError("minimum and idle are not negative, and lookback is at least 1")
        if not 0 <= self.loss <= 1:
            raise ValueError(f"loss is a share between 0 and 1, not {self.loss}")

    def open(self) -> Cache:
        return _Endings(self)


class _Endings(Cache):
    """Written prefixes by key."""

    def __init__(self, policy: OpenaiEndings) -> None:
        self._policy = policy
        # In explicit mode with constant marks, a read only checks the marks.
        moves = policy.mode == "implicit" or not {"before", "last"}.isdisjoint(policy.marks)
        self._lookback = policy.lookback if moves else 0
        self._entries: dict[int, Stored] = {}
        # The ends of written prefixes, by number of tokens: other keys are not computed.
        self._ends: dict[int, set[int]] = {}
        # For each sent prompt, the last written end and its key.
        self._tips: dict[Prompt, tuple[int, int]] = {}
        self._salt = Salt()
        self._name: Callable[[int], int] = int  # returns the key of a block of the current prompt

    def request(self, request: Request) -> Lookup:
        prompt, at, policy = request.prompt, request.at, self._policy
        totals = prompt.totals
        if not totals:
            return Lookup()
        own = request.mark if 0 < request.mark < len(prompt.starts) else 0
        if policy.mode == "explicit" and not policy.marks and not own:
            return Lookup(missed=ascending(0, ("no_cache", prompt.sent)))
        self._salt.take(request.settings, prompt)
        name = self._name = self._salt.names(prompt)
        ends = eligible_ends(prompt)
        last = next(ends, -1)
        marks = self._marks(prompt, last, prompt.starts[own] - 1 if own else -1)
        live, entry, missed = self._find(totals, chain((last,), ends), marks, at)
        held = totals[live] if live >= 0 else 0
        read = 0 if request.lost else held
        if entry is not None and read:
            entry.touched = at
        if missed or read < prompt.sent:
            if request.lost:
                missed.append(("eviction", held))
            missed += self._left_out(prompt, held)
        top, key, visible = -1, 0, at + request.latency
        for block in reversed(marks):
            if totals[block] >= policy.minimum:
                top, key = block, name(block)
                self._write(key, block, totals[block], at, visible)
        self._tips[prompt] = top, key
        new = max(0, totals[top] - read) if top >= 0 else 0
        return Lookup(read, new, missed=ascending(read, *missed) if missed else ())

    def _marks(self, prompt: Prompt, last: int, own: int) -> list[int]:
        """Return the blocks that a request writes, last first; ``own``: a client's mark, or -1."""
        marks, alone = self._policy.marks, self._policy.mode == "explicit"
        plain = marks == ("system",) and not alone and own < 0
        if plain and last >= prompt.front > 0:  # the usual case
            return [last, prompt.front - 1]
        marked = {last} if "last" in marks else set()
        if own >= 0:
            marked.add(own)
        if "before" in marks:
            marked.update(islice(eligible_ends(prompt), 1, 2))
        if "context" in marks:
            marked.add((prompt.starts[0] if prompt.starts else len(prompt.totals)) - 1)
        if "system" in marks:
            marked.add(prompt.front - 1)
        latest = sorted(marked, reverse=True)[: MOST if alone else MOST_BESIDE]
        if not alone and last not in latest:
            latest = sorted((*latest, last), reverse=True)
        return [block for block in latest if block >= 0]

    def _write(self, key: int, block: int, tokens: int, at: float, visible: float) -> None:
        """Write a prefix, or touch it if it is there."""
        known = self._entries.get(key)
        if known is None:
            self._entries[key] = Stored(at, visible)
            self._ends.setdefault(tokens, set()).add(block)
        else:
            known.visible = min(visible, known.visible) if self._lives(known, at) else visible
            known.touched = at

    def _lives(self, entry: Stored, at: float) -> bool:
        return at - entry.touched <= self._policy.idle

    def _find(
        self, totals: list[int], ends: Iterator[int], marks: list[int], at: float
    ) -> tuple[int, Stored | None, list[_Cause]]:
        """Return the longest readable prefix, or -1, and the causes for longer ones."""
        live, hit = -1, None
        causes: list[_Cause] = []
        for block, entry in self._known(totals, chain(islice(ends, self._lookback), marks)):
            if not self._lives(entry, at):
                causes.append(("ttl_expired", totals[block]))
            elif entry.visible > at:
                causes.append(("concurrent_cold", totals[block]))
            else:
                live, hit = block, entry
                break
        if self._lookback:
            for block, entry in self._known(totals, takewhile(live.__lt__, ends)):
                far = "lookback_miss" if self._lives(entry, at) else "ttl_expired"
                causes.append((far, totals[block]))
                break
        return live, hit, causes

    def _known(self, totals: list[int], blocks: Iterable[int]) -> Iterator[tuple[int, Stored]]:
        """Yield the blocks at which a written prefix ends, with the prefix."""
        ends, entries, name = self._ends, self._entries, self._name
        for block in blocks:
            here = ends.get(totals[block])
            if here is not None and block in here:
                entry = entries.get(name(block))
                if entry is not None:
                    yield block, entry

    def _left_out(self, prompt: Prompt, held: int) -> Iterator[_Cause]:
        """Yield tokens sent before that were not read because no prefix may end there.

        If the last prompt was changed before its last written end, the change is the cause instead.
        """
        if not held and prompt.sent < self._policy.minimum:
            yield "below_minimum", prompt.sent
        block, key = self._tips.get(prompt, (-1, 0))
        if block < 0 or (block < len(prompt.totals) and self._name(block) == key):
            yield "grid", prompt.sent


def eligible_ends(prompt: Prompt) -> Iterator[int]:
    """Yield the blocks at which OpenAI ends prefixes automatically, last first.

    These are the ends of user messages, of runs of tool outputs, of the client's addition to the
    developer block (a message for OpenAI), and of the developer block with the tools.
    """
    starts, messages = prompt.starts, prompt.view.messages
    end, behind = len(prompt.totals) - 1, ""
    for index in range(len(starts) - 1, -1, -1):
        start = starts[index]
        if end < start:  # not in the prompt
            continue
        role = messages[index].role
        if role == "user" or (role == "tool" and behind != "tool"):
            yield end
        end, behind = start - 1, role
    if end >= prompt.front:
        yield end
    if prompt.front:
        yield prompt.front - 1
