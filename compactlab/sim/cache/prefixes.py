"""Caches that find the longest common prefix, and the policies that are nothing more."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from compactlab.sim.cache.policy import Cache, CachePolicy, Expiring, Lookup, Request, Salt
from compactlab.sim.cache.prompt import Prompt

# The storage of a longest-prefix cache: a tree of prompts, block by block.
#
# A node is a prefix that ends with a block; its parent is the prefix without that block. A request
# touches all nodes on its path. So only the *tip*, the last node of a prompt, stores the time; the
# time of any node is the latest in its subtree. Only leaves are evicted, and then the parent
# inherits the later time. So the deepest blocks of a prompt go first, and each node is added and
# removed once. A request costs only the blocks that it does not share with the previous prompt,
# regardless of the session's length.

# Evicted nodes that are remembered, to find the cause of a miss. The oldest are forgotten first,
# and the deepest of a prompt. A choice of ours: some 10 MB at most.
_REMEMBERED = 100_000

_Touch = tuple[float, int]  # time and request number: no two are equal
_NEVER: _Touch = (-math.inf, 0)
_Name = Callable[[int], int]  # returns the key of the prefix that ends with a block


class Lengths(NamedTuple):
    """The cached lengths of a prompt in tokens, in ascending order."""

    readable: int  # stored and readable
    stored: int  # stored, but perhaps by a request whose answer has not begun
    known: int  # stored at some time, if still remembered


class _Node:
    """A stored prefix that ends with a block."""

    __slots__ = ("children", "held", "key", "pages", "parent", "touch", "visible")

    def __init__(self, key: int, parent: _Node | None, pages: int, visible: float) -> None:
        self.key = key
        self.parent = parent
        self.pages = pages  # full pages of the whole prefix
        self.held = pages  # stored pages: only a leaf may lack some
        self.visible = visible  # the time from which it can be read; never before its parent
        self.children = 0
        self.touch = _NEVER

    @property
    def own(self) -> int:
        """The pages that only this node needs."""
        return self.held - self.parent.pages if self.parent else self.held


_Found = tuple[Lengths, int, _Node | None]


class Prefixes:
    """The stored prompts of one cache and model.

    Capacity is in pages; the least recently touched are evicted. A page belongs to its whole
    prefix, so two prompts share a page only if they are equal up to its end.
    """

    def __init__(
        self, *, idle: float = math.inf, capacity: float = math.inf, page: int = 1
    ) -> None:
        self._idle, self._capacity, self._page = idle, capacity, page
        self._room = capacity * page
        self._nodes: dict[int, _Node] = {}
        self._gone: OrderedDict[int, None] = OrderedDict()
        # Tips by touch time. An entry is void if its node was touched again or has children; the
        # node is queued again when it becomes a leaf.
        self._queue: deque[tuple[_Touch, _Node]] = deque()
        self._salt = Salt()
        self.name: _Name = int  # keys of the prompt that was sent last
        self._requests = self._size = 0

    def send(self, request: Request) -> Lengths:
        """Look up a prompt, store it, and evict nodes that are too old or exceed the capacity."""
        prompt, at = request.prompt, request.at
        self._salt.take(request.settings, prompt)
        name = self.name = self._salt.names(prompt)
        while self._queue and at - self._queue[0][0][0] > self._idle:
            touch, node = self._queue.popleft()
            if not node.children and node.touch == touch:
                self._drop(node)
        fits = len(prompt.totals)
        if prompt.tokens > self._room:
            fits = bisect_left(prompt.totals, self._room) + 1
        lengths, blocks, tip = self._find(prompt, name, fits, at)
        self._store(prompt, tip, (blocks, fits), at, at + request.latency)
        if self._size > self._capacity:
            self._shrink()
        return lengths

    def _find(self, prompt: Prompt, name: _Name, fits: int, at: float) -> _Found:
        """Return the cached lengths, the number of stored blocks that fit, and the last node."""
        nodes, gone, totals, agreed = self._nodes, self._gone, prompt.totals, prompt.agreed
        if 0 < agreed < fits and (next := name(agreed)) not in nodes and next not in gone:
            tip = nodes.get(name(agreed - 1))
            if tip is not None and tip.held == tip.pages and tip.visible <= at:
                whole = totals[agreed - 1]  # the usual case: the same as last time
                return Lengths(whole, whole, whole), agreed, tip

        def node_of(blocks: int) -> _Node | None:
            return nodes.get(name(blocks - 1)) if blocks else None

        def was_stored(blocks: int) -> bool:
            key = name(blocks - 1)
            return key in nodes or key in gone

        known = blocks = _most(was_stored, min(agreed, fits), fits)
        node = node_of(known)
        if node is None:
            if not known:
                return Lengths(0, 0, 0), 0, None
            blocks = _most(lambda n: node_of(n) is not None, known, known)
            node = node_of(blocks)
        ever = totals[known - 1]
        if ever >= self._room:  # the excess was never stored
            ever = max(ever, prompt.sent)
        if node is None:
            return Lengths(0, 0, ever), 0, None
        stored = totals[blocks - 1] if node.held == node.pages else node.held * self._page
        if node.visible <= at:
            return Lengths(stored, stored, ever), blocks, node
        seen = _most(lambda n: (node := node_of(n)) is not None and node.visible <= at, 0, blocks)
        return Lengths(totals[seen - 1] if seen else 0, stored, ever), blocks, node

    def _store(
        self,
        prompt: Prompt,
        node: _Node | None,
        blocks: tuple[int, int],
        at: float,
        visible: float,
    ) -> None:
        """Add the blocks of a prompt from the first unstored one on, and touch the last."""
        nodes, totals, page, name = self._nodes, prompt.totals, self._page, self.name
        first, fits = blocks
        above = node
        while above is not None and above.visible > visible:
            above.visible, above = visible, above.parent
        before = 0
        if node is not None:
            before, node.held = node.held, node.pages
        for block in range(first, fits):
            key = name(block)
            parent, node = node, _Node(key, node, totals[block] // page, visible)
            if parent is not None:
                parent.children += 1
            nodes[key] = node
        assert node is not None
        self._size += node.pages - before
        self._requests += 1
        node.touch = at, self._requests
        self._queue.append((node.touch, node))

    def _drop(self, leaf: _Node) -> None:
        """Evict a leaf; its parent may become the next leaf with the same touch."""
        del self._nodes[leaf.key]
        self._gone[leaf.key] = None
        self._gone.move_to_end(leaf.key)
        if len(self._gone) > _REMEMBERED:
            self._gone.popitem(last=False)
        self._size -= leaf.own
        parent = leaf.parent
        if parent is not None:
            parent.children -= 1
            if parent.touch < leaf.touch:
                parent.touch = leaf.touch
                if not parent.children:
                    self._queue.appendleft((parent.touch, parent))

    def _shrink(self) -> None:
        """Evict leaves, page by page, until the rest fits."""
        while self._size > self._capacity:
            touch, node = self._queue.popleft()
            if node.children or node.touch != touch:
                continue
            spare = math.ceil(self._size - self._capacity)
            if spare < node.own:
                node.held -= spare
                self._size -= spare
                self._queue.appendleft((touch, node))
            else:
                self._drop(node)


def _most(holds: Callable[[int], bool], near: int, most: int) -> int:
    """Return the largest number with a property that holds for 0 and all smaller numbers.

    Search near a first guess, with doubling distances.

    Examples
    --------
    >>> _most(lambda n: n <= 7, 5, 100), _most(lambda n: n <= 7, 90, 100)
    (7, 7)
    """
    step = 1
    if not near or holds(near):
        low, high = near, most + 1
        while low + step <= most:
            if not holds(low + step):
                high = low + step
                break
            low, step = low + step, step * 2
    else:
        low, high = 0, near
        while high > step:
            if holds(high - step):
                low = high - step
                break
            high, step = high - step, step * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


# A cache that reads the longest common prefix, rounded down to the provider's grid.
#
# The smallest shared unit is a block (a part of a message): two parts with a common beginning count
# as different from their first token on. Model output is stored only when it comes back as part of
# a prompt, although a server may have stored it earlier.


class LongestPrefix(Cache):
    """Reads the longest prefix, writes for free, and gives the causes of misses."""

    def __init__(self, prefixes: Prefixes, *, grid: int, minimum: int, gone: str) -> None:
        self._prefixes = prefixes
        self._grid, self._minimum, self._gone = grid, minimum, gone

    def request(self, request: Request) -> Lookup:
        most = request.prompt.tokens - 1  # the last token is always computed, for the answer
        if most < 0:
            return Lookup()
        held = self._prefixes.send(request)
        read = self._readable(min(held.readable, most))
        if request.lost or read < held.known:
            missed = self._missed(held, read, most, lost=request.lost)
            return Lookup(0 if request.lost else read, missed=missed)
        return Lookup(read)

    def _readable(self, tokens: int) -> int:
        points = tokens - tokens % self._grid
        return points if points >= self._minimum else 0

    def _missed(
        self, held: Lengths, read: int, most: int, *, lost: bool
    ) -> tuple[tuple[str, int], ...]:
        """Return each cause with the length that would have been read without it."""
        last = "grid" if held.known >= self._minimum else "below_minimum"
        if not lost and held.readable == held.known:  # as nearly always
            return ((last, held.known),)
        stored, known = (self._readable(min(n, most)) for n in (held.stored, held.known))
        edge = 0 if lost else read
        missed = []
        for cause, upto in (
            ("eviction", read),
            ("concurrent_cold", stored),
            (self._gone, known),
            (last, held.known),
        ):
            if upto > edge:
                missed.append((cause, upto))
                edge = upto
        return tuple(missed)


# Common behaviour of automatic caches: no marks, no write price, entries expire when idle.


@dataclass(frozen=True)
class Automatic(Expiring):
    """A provider that stores every prompt by itself and reads the longest common prefix.

    A changed setting misses everything after its level. The lifetime in a request is ignored.

    Parameters
    ----------
    grid
        Tokens: reads are multiples of that.
    minimum
        Tokens below which nothing is read.
    idle
        Seconds that a prefix lives after the start of the last request that touched it.
    loss
        Share of requests that find nothing, because they are routed elsewhere.
    """

    grid: int = 1
    minimum: int = 0
    idle: float = 0.0
    loss: float = 0.0

    def __post_init__(self) -> None:
        if self.grid < 1:
            raise ValueError(f"grid is at least 1 token, not {self.grid}")
        if self.minimum < 0 or self.idle < 0:
            raise ValueError("minimum and idle are not negative")
        if not 0 <= self.loss <= 1:
            raise ValueError(f"loss is a share between 0 and 1, not {self.loss}")

    def open(self) -> Cache:
        held = Prefixes(idle=self.idle)
        return LongestPrefix(held, grid=self.grid, minimum=self.minimum, gone="ttl_expired")


@dataclass(frozen=True)
class Paged(CachePolicy):
    """A model on your own servers, as with vLLM: any common prefix, in pages, until evicted.

    vLLM's automatic prefix caching, as of 2026-11: a page of 16 tokens is identified by its tokens
    and all tokens before it. Only full pages are stored. The last token of a prompt is always
    computed. Unused pages are evicted in the order of their last use, the deepest of a request
    first. Nothing expires by age.

    Simplifications: requests of several sessions are sequential, so no page is held by two at once
    and none is stored twice. A prompt larger than the whole cache keeps its first pages, where vLLM
    would not admit it.

    Parameters
    ----------
    capacity
        Cached tokens of all sessions together. The default is an assumption: beside the weights of
        a 70B model (140 GB), eight GPUs of 80 GB filled to nine tenths have room for 1.3 million
        tokens of 320 KiB; some of that is in use.
    page
        Tokens of a page; 16 is vLLM's default.
    """

    capacity: int = 1_000_000
    page: int = 16

    def __post_init__(self) -> None:
        if self.page < 1:
            raise ValueError(f"page is at least 1 token, not {self.page}")
        if self.capacity < 0:
            raise ValueError("capacity is not negative")

    def open(self) -> Cache:
        held = Prefixes(capacity=self.capacity // self.page, page=self.page)
        return LongestPrefix(held, grid=self.page, minimum=0, gone="eviction")

    def lifetime(self, ttl: str = "") -> float:
        return math.inf

    def shortened(self, share: float) -> Paged:
        return replace(self, capacity=int(self.capacity * share))


@dataclass(frozen=True)
class Xai(Automatic):
    """xAI's models: any common prefix, in steps of a grid, separate per server.

    xAI's pages on prompt caching, as of 2026-11: no write price; the longest common prefix; entries
    are on the server of the request, to which a conversation's id is pinned. Load or a restart may
    remove an entry at any time, so no lifetime is guaranteed. Third parties measured steps of 128
    tokens (a gateway's 124 calls of grok-4.6, 2026-08); xAI documents no steps and no minimum.

    Parameters
    ----------
    grid
        Tokens; as measured by third parties.
    minimum
        Tokens; none is documented.
    idle
        Seconds; an assumption, as none is documented: the longer of the 5 to 10 minutes that
        OpenAI gives for entries held in memory.
    loss
        Share of requests that find nothing: other servers, restarts, load. No figure is known; 0
        fits a client that pins a server without load.
    """

    grid: int = 128
    minimum: int = 0
    idle: float = 600.0
    loss: float = 0.0
