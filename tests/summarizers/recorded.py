"""Recorded sessions whose compactions are planted: what each summary keeps is known."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from compactlab.sim.core.conversation import Compaction, Conversation, Event
from compactlab.sim.core.message import Call, Message, Part, Role, Source, verbatim


@dataclass
class Recording:
    """Says one thing after another, and is compacted now and then, as an agent is."""

    id: str = "session"
    folder: str = "repository"
    client: str = "claude-code"
    events: list[Event] = field(default_factory=list)

    def say(self, text: str, role: Role = "user") -> str:
        id = f"m{len(self.events)}"
        call = Call("claude-opus-4-6", version="claude-code 2.1.39") if role != "user" else None
        kind = "tool_result" if role == "tool" else "text"
        part = verbatim(id, kind, text, name="bash" if role == "tool" else "")
        call = call if role == "assistant" else None
        self.events.append(Message(id, role, (part,), call=call))
        return id

    def compact(self, summary: str) -> None:
        """All that was said so far is replaced by a summary; "" is one that nobody can read."""
        covered = tuple(Source(e.id) for e in self.events if isinstance(e, Message))
        id = f"m{len(self.events)}"
        part = Part("text", summary, "summary", covered)
        made = Message(id, "user", (part,) if summary else (), meta=True)
        self.events.append(Compaction((made,) if summary else ()))

    def told(self) -> Conversation:
        source = f"logs/{self.folder}/{self.id}.jsonl"
        return Conversation(self.id, self.client, tuple(self.events), source=source)


def session(
    id: str,
    kept: Iterable[str],
    lost: Iterable[str],
    *,
    folder: str = "repository",
    client: str = "claude-code",
    ask: str = "",
) -> Conversation:
    """A session in which a tool names things, a summary keeps some, and all are used again."""
    kept, lost = list(kept), list(lost)
    told = Recording(id, folder, client)
    told.say("Please have a look at it all.")
    told.say("I look.", "assistant")
    for name in (*kept, *lost):
        told.say(f"there is {name} in it", "tool")
    quoted = ""
    if ask:
        told.say(ask)
        quoted = f' The user said: "{ask}"'
    told.compact(f"What was found: {', '.join(kept)}.{quoted}")
    told.say("Go on, then.")
    told.say(f"I use {' and '.join((*kept, *lost))} now.", "assistant")
    return told.told()
