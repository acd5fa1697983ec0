"""What the laws are tried on: sessions that grow, shrink, change, jump back and fall asleep."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from hypothesis import strategies as st

from compactlab.sim import cache
from compactlab.sim.cache import CachePolicy, Lookup, Settings
from compactlab.sim.cache.prompt import CLIENT_CONTEXT, TOOLS, Prompt
from compactlab.sim.core.message import Message, Part, PartType, Role, Source
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.core.view import Messages, View
from compactlab.sim.models.model import Model
from compactlab.sim.replay.meter import Bill, Meter

QUICK = Tokenizer("chars4")

ROLES: list[Role] = ["user", "assistant", "tool"]
WORDS = ["a", "hello", "hello world", "x" * 50, "\N{ROCKET} lift-off", "\ud800 alone"]
CROWDS = [1, 2, 5, 10, 15, 19, 20, 21, 35]
CHANGES = ["append", "append", "append", "cut", "edit", "system", "copy", "back"]

CHANGE = st.sampled_from(CHANGES)
ROLE = st.sampled_from(ROLES)
SMALL = st.integers(0, 3)
GAP = st.sampled_from([0.0, 1.0, 60.0, 299.0, 300.0, 301.0, 1800.0, 3600.0, 3601.0])
LIFE = st.sampled_from(["", "", "5m", "1h"])
PLAIN = Settings()
OTHER = st.sampled_from(
    [Settings("x"), Settings("", "x"), Settings("", "", "x"), Settings("x", "x")]
)
SETTINGS = st.integers(0, 4).flatmap(lambda n: OTHER if n == 4 else st.just(PLAIN))
LATENCY = st.sampled_from([0.0, 0.0, 1.0, 60.0, 400.0])
LOST = st.integers(0, 7).map(lambda n: n == 7)
OWN = st.sampled_from([0, 0, 0, 1, 2, 5])


@dataclass(frozen=True)
class Request:
    """A prompt, the seconds since the last one, and the lifetime that the client asks for.

    And under what it was sent, how long its answer takes to begin, whether it finds nothing, and
    how many leading messages end at a mark of their own.
    """

    view: View
    after: float = 0.0
    ttl: str = ""
    settings: Settings = PLAIN
    latency: float = 0.0
    lost: bool = False
    mark: int = 0


def model_under(policy: CachePolicy, name: str = "toy") -> Model:
    """A model that counts quickly."""
    return Model(name, 200_000, 0, QUICK, "anthropic/claude-sonnet-4-5", policy)


def text(words: str, *, size: int = 0, name: str = "", origin: str = "m") -> Part:
    return Part("text", words, "verbatim", (Source(origin),), name, size=size)


def sized(id: str, *sizes: int, role: Role = "user") -> Message:
    """A message with a part of that many tokens for each size."""
    return Message(id, role, tuple(text("", size=size, origin=id) for size in sizes))


def part(type: PartType, words: str, *, size: int = 0, origin: str = "m") -> Part:
    """A part of any type; a tool's call or result is one of the same tool."""
    name = "bash" if type.startswith("tool") else ""
    return Part(type, words, "verbatim", (Source(origin),), name, name, size=size)


PARTS_OF_SYSTEM = st.lists(st.sampled_from([*WORDS, ""]).map(text), max_size=2).map(tuple)
DEFINITIONS = (text("bash(command)", name=TOOLS), text("read(path)", name=TOOLS))
CONTEXT = (text("cwd: /", name=CLIENT_CONTEXT),)
# System blocks, with or without tools and what a client adds to each session.
SYSTEMS = st.builds(
    lambda *groups: tuple(itertools.chain(*groups)),
    st.sampled_from([(), (), DEFINITIONS[:1], DEFINITIONS]),
    PARTS_OF_SYSTEM,
    st.sampled_from([(), CONTEXT]),
)

TEXT = st.builds(
    text,
    st.sampled_from(WORDS),
    size=st.sampled_from([0, 0, 0, 7, 300]),
    origin=st.sampled_from(["m", "n"]),
)
TYPES: list[PartType] = ["thinking", "tool_call", "tool_result"]
OF_AGENTS = st.builds(part, st.sampled_from(TYPES), st.sampled_from(["", "ls -l", "x" * 50]))
PICTURE = st.just(part("image", "", size=1200))
PART = st.one_of(TEXT, TEXT, OF_AGENTS, OF_AGENTS, PICTURE, st.just(text("")))
FEW = st.lists(PART, min_size=1, max_size=3).map(tuple)
CROWD = st.builds(lambda part, count: (part,) * count, PART, st.sampled_from(CROWDS))
PARTS = FEW | CROWD
MESSAGES = st.builds(Message, st.just("m"), ROLE, PARTS)


def copied(message: Message) -> Message:
    """Another message of the same content."""
    return Message(message.id, message.role, message.parts)


def changed(draw: st.DrawFn, view: View, past: list[View], ids: Iterator[int]) -> View:
    """The next view of a session."""
    change, old = draw(CHANGE), view.messages
    if change == "back":
        return draw(st.sampled_from([*past, view]))
    if change == "system":
        return view.with_system(*draw(SYSTEMS))
    if change == "cut":
        return view.with_messages(old[draw(SMALL) :])
    if change == "copy":
        return View(view.system, Messages(map(copied, old)))
    new = Message(f"m{next(ids)}", draw(ROLE), draw(PARTS))
    if change == "edit" and old:
        at = draw(SMALL) % len(old)
        return view.with_messages([*old[:at], new, *old[at + 1 :]])
    return view.append(new)


@st.composite
def views(draw: st.DrawFn, most: int = 10) -> list[View]:
    """Views of one session, one after the other."""
    view, past, ids = View(draw(SYSTEMS)), [], itertools.count()
    for _ in range(draw(st.integers(1, most))):
        view = changed(draw, view, past, ids)
        past.append(view)
    return past


@st.composite
def requests(draw: st.DrawFn, most: int = 10) -> list[Request]:
    """A session: what is sent, when, under what, and for how long it is to be kept."""
    how = GAP, LIFE, SETTINGS, LATENCY, LOST, OWN
    return [Request(view, *map(draw, how)) for view in draw(views(most))]


@st.composite
def growing(draw: st.DrawFn, most_blocks: int = 19, most: int = 12) -> list[View]:
    """Views of a session that only ever grows, by a bounded number of blocks a call."""
    view, grown = View((text("You are an agent."),)), []
    for call in range(draw(st.integers(1, most))):
        blocks, size = draw(st.integers(1, most_blocks)), draw(st.sampled_from([1, 7, 300]))
        view = view.append(sized(f"m{call}", *[size] * blocks))
        grown.append(view)
    return grown


def reason_of(last: View | None, view: View) -> str:
    """Why a view is not the last one, as a replay would say it."""
    if last is None:
        return "cold_start"
    if last.system != view.system:
        return "system_changed"
    kept = last.messages.shared(view.messages)
    return "append" if kept == len(last.messages) else "history_edit"


def billed(model: Model, session: list[Request], meter: Meter | None = None) -> list[Bill]:
    """What each request of a session comes to."""
    meter, now, last, bills = meter or Meter(), 0.0, None, []
    seen: set[str] = set()
    for request in session:
        now += request.after
        meter.tokens(model, request.view)
        ids = {message.id for message in request.view.messages}
        reason = reason_of(last, request.view)
        bills.append(meter.request(model, now, request.ttl, ids - seen, reason))
        last, seen = request.view, seen | ids
    return bills


class Client:
    """Sends one request after the other to one cache, and keeps the clock."""

    def __init__(self, opened: cache.Cache, *, strips: bool = False) -> None:
        self.cache, self.prompt, self.now = opened, Prompt(QUICK, strips=strips), 0.0

    def send(self, request: Request) -> Lookup:
        self.now += request.after
        self.prompt.move(request.view)
        how = request.settings, request.latency, request.lost, request.mark
        told = self.cache.request(cache.Request(self.prompt, self.now, request.ttl, *how))
        self.prompt.mark_sent()
        return told
