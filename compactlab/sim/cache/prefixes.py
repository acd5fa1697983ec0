"""What a cache holds that finds the longest common prefix, and what such caches have in common."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from compactlab.sim.cache.policy import Cache, Expiring, Lookup, Request
from compactlab.sim.cache.prompt import Prompt
from compactlab.sim.cache.salt import Salt

# What a cache holds that finds the longest common prefix: a tree of prompts, block by block.
#
# A node stands for a prefix that ends with a block, and its parent for the prefix that is a block
# shorter. Whatever a request touches, it touches with all that leads there; so only the *tip*,
# the last node of a prompt, is given the time, and a node's real time is the latest beneath it.
# What goes is always a leaf, and then its parent takes over the later of the two times: a
# prompt's deepest blocks go first, and every node comes and goes once. A request costs what is
# not shared with the prompt that was last sent, however long the session is.

# Nodes that are gone and still known, so that the cause of a miss can be told; the longest gone
# are forgotten first, and of one prompt the deepest. A choice of ours: some 10 MB at most.
_REMEMBERED = 100_000

_Touch = tuple[float, int]  # when, and by which request: no two are equal
_NEVER: _Touch = (-math.inf, 0)
_Name = Callable[[int], int]  # of the prefix that ends with a block


class Lengths(NamedTuple):
    """How far a prompt is held, in tokens: each reaches at least as far as the one before."""

    readable: int  # what is stored and can be read
    stored: int  # what is stored, though perhaps by a request whose answer has not begun
    known: int  # what was stored once, as far as that is remembered


class _Node:
    """A stored prefix that ends with a block."""

    __slots__ = ("children", "held", "key", "pages", "parent", "touch", "visible")

    def __init__(self, key: int, parent: _Node | None, pages: int, visible: float) -> None:
        self.key = key
        self.parent = parent
        self.pages = pages  # full pages of the whole prefix
        self.held = pages  # so many of them are stored: only a leaf ever lacks some
        self.visible = visible  # from when it can be read; never earlier than its parent
        self.children = 0
        self.touch = _NEVER

    @property
    def own(self) -> int:
        """Pages that are held for this node alone."""
        return self.held - self.parent.pages if self.parent else self.held


_Found = tuple[Lengths, int, _Node | None]


class Prefixes:
    """The prompts that are stored, one cache's for one model.

    Capacity is in pages, of which those that were touched longest ago go. A page is its prompt's,
    with all before it, so pages of two prompts are the same only where the prompts are the same to
    the page's end.
    """

    def __init__(
        self, *, idle: float = math.inf, capacity: float = math.inf, page: int = 1
    ) -> None:
        self._idle, self._capacity, self._page = idle, capacity, page
        self._room = capacity * page
        self._nodes: dict[int, _Node] = {}
        self._gone: OrderedDict[int, None] = OrderedDict()
        # Tips by the time of their touch. An entry is void if the node was touched again, or has
        # children: then its turn comes when it is a leaf.
        self._queue: deque[tuple[_Touch, _Node]] = deque()
        self._salt = Salt()
        self.name: _Name = int  # of the prompt that was sent last
        self._requests = self._size = 0

    def send(self, request: Request) -> Lengths:
        """Look a prompt up, then store it and let go of what has become too old or too much."""
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
        """How far the prompt is held, how many of the blocks that fit are stored, and the last."""
        nodes, gone, totals, agreed = self._nodes, self._gone, prompt.totals, prompt.agreed
        if 0 < agreed < fits and (next := name(agreed)) not in nodes and next not in gone:
            tip = nodes.get(name(agreed - 1))
            if tip is not None and tip.held == tip.pages and tip.visible <= at:
                whole = totals[agreed - 1]  # as nearly always: no more and no less than last time
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
        if ever >= self._room:  # what did not fit was never stored
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
        """Add the blocks of a prompt from one that is not stored to the last, and touch that."""
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
        """Let go of a leaf; its parent may become the next, by the same touch."""
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
        """Let go of leaves, page by page, until the rest fits."""
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
    """The largest number for which something holds, where it holds for all smaller ones and for 0.

    Numbers near a first guess are tried first, then those twice as far off.

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


# A cache that reads the longest common prefix, cut down to what the provider's grid allows.
#
# The finest thing that is known to be shared is a block, that is a part of a message: two parts
# that begin alike count as different from their first token on. What a model wrote is stored only
# when it comes back as part of a prompt, though a server may well hold it from when it was
# written.


class LongestPrefix(Cache):
    """Reads what it can of the longest prefix, writes for nothing, and says why it read no more."""

    def __init__(self, prefixes: Prefixes, *, grid: int, minimum: int, gone: str) -> None:
        self._prefixes = prefixes
        self._grid, self._minimum, self._gone = grid, minimum, gone

    def request(self, request: Request) -> Lookup:
        """Look up, then store."""
        most = request.prompt.tokens - 1  # the answer hangs on the last: it is always computed
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
        """Each cause with how far the prompt would have been read but for it."""
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


# What automatic caches have in common: no marks, no write price, entries that die when idle.


@dataclass(frozen=True)
class Automatic(Expiring):
    """A provider that stores every prompt by itself and reads the longest common prefix.

    A changed setting misses all that stands behind its level. The lifetime that a request asks
    for is not heard: there is nothing to ask for.

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
        """Start an empty cache."""
        held = Prefixes(idle=self.idle)
        return LongestPrefix(held, grid=self.grid, minimum=self.minimum, gone="ttl_expired")
