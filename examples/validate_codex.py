"""Hold the compaction of Codex against those that recorded sessions show.

``python examples/validate_codex.py FOLDER...``: rollouts of Codex in which the provider has
compacted. Without a name, and beside a folder that has one of the same name with ``-more``, both
are taken. The exit code is 1 if a bar is missed, and 2 if a file cannot be used.

- *One step at a time.* Before each recorded call the strategy is asked what it would do with the
  prompt that the log shows and the usage that was reported; so no error adds up.
- *Fires at.* The call before which the strategy first acts, counted from the recorded one (-1: one
  call too early), and the tokens of the last report at each. It must act before the same call.
- *Stays.* Tokens of the first prompt afterwards. Ours: what stood before the first message of the
  session (its first prompt less the texts of its messages), the texts that the strategy leaves,
  and the compaction item.
- *Order.* The ids of the messages that stay, told by their texts.
- *Half.* For each session, both figures that are fitted (what an earlier turn's reasoning counts,
  and what an item weighs) are fitted anew to all others. Sessions are of one repository.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from verdict import Verdict

from compactlab import CompactlabError, Conversation, Host, Message, View
from compactlab.scenarios.readers import transcript
from compactlab.sim.core.message import Part, Usage, plain
from compactlab.sim.core.view import Messages
from compactlab.sim.models.model import Model, find_model
from compactlab.sim.replay.host import Services, State
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.codex import EndpointCompaction, counted_tokens, limit_of

FOLDER = "../shared/recorded"
MORE = "-more"
RATIOS = [n / 20 for n in range(41)]
STAYS = 0.10


@dataclass
class Moment:
    """A recorded call: what the strategy would have been asked before it."""

    view: View
    host: Host
    compacted: bool  # whether the recorded agent had compacted
    prompt: int  # tokens of the prompt that was sent, as reported
    sent: list[str]  # the messages that were sent, where the agent had compacted


@dataclass
class Session:
    """The calls of a rollout."""

    name: str
    front: int = 0  # tokens in front of the first message
    moments: list[Moment] = field(default_factory=list)

    @property
    def compactions(self) -> list[Moment]:
        """The calls before which the agent had compacted."""
        return [moment for moment in self.moments if moment.compacted]


def main(arguments: Sequence[str] | None = None) -> int:
    """Hold what is predicted against what is recorded; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folders", nargs="*", type=Path, default=[Path(FOLDER)])
    try:
        sessions = list(sessions_of(parser.parse_args(arguments).folders))
    except CompactlabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if len(sessions) < 2:
        print("error: two sessions of Codex with a compaction are needed", file=sys.stderr)
        return 2
    verdict = Verdict()
    found = sum(len(session.compactions) for session in sessions)
    verdict.basis(
        f"for each session, the others ({found} compactions in {len(sessions)} sessions)",
        "the session that was left out",
    )
    for session in sessions:
        judge(session, [other for other in sessions if other is not session], verdict)
    ratio, item = fitted(sessions)
    verdict.aside(f"fitted on all: reasoning counts {ratio:.2f} times, an item {item} tokens")
    return verdict.code()


def sessions_of(folders: Sequence[Path]) -> Iterator[Session]:
    """The sessions of Codex below some folders in which something was compacted."""
    more = [folder.with_name(folder.name + MORE) for folder in folders]
    for folder in [*folders, *(each for each in more if each.is_dir())]:
        for path in sorted(folder.rglob("*.jsonl")):
            if '"compacted"' not in path.read_text("utf-8"):
                continue
            for conversation in transcript.read(path):
                if (session := read(conversation)).compactions:
                    yield session


def read(conversation: Conversation) -> Session:
    """What the agent was asked, call by call."""
    session = Session(conversation.id)
    answers = {message.id: message for message in conversation.messages}
    before: Messages | None = None
    trace = record(conversation, find_strategy("as_recorded"), Options())
    known: dict[str, Message] = {}
    log = Messages()
    reported: Usage | None = None
    for step, sent in zip(trace.steps, trace.prompts(), strict=True):
        for message in step.log[len(log) :]:
            known.setdefault(text_of(message), message)
        model = find_model(step.model)
        usage = answers[step.answer].call.usage  # type: ignore[union-attr]
        if usage is None:
            continue
        prompt = Messages([known.get(text_of(message), message) for message in sent])
        if before is None:
            session.front = usage.prompt - said(prompt, model)
        else:
            view = View((), Messages([*before, *step.log[len(log) :]]))
            host = Host(model, State(log=step.log, reported=reported), Services(sealed))
            ids = [message.id for message in prompt]
            session.moments.append(Moment(view, host, step.compaction, usage.prompt, ids))
        before, log, reported = prompt, step.log, usage
    return session


def sealed(host: Host, view: View, request: SummaryRequest) -> tuple[Part, ...]:
    """Some answer: nobody can read what it says."""
    return (plain("sealed"),)


def text_of(message: Message) -> str:
    """The text of a message; its id where it has none."""
    return message.text or message.id


def said(messages: Sequence[Message], model: Model) -> int:
    """Tokens of what messages say in words."""
    parts = (part for message in messages for part in message.parts)
    return sum(model.tokenizer.text(part.text) for part in parts)


def left(moment: Moment) -> list[Message]:
    """The messages that the strategy leaves, if it acts."""
    return list(EndpointCompaction(trigger=2).compact(moment.view, moment.host).messages)


def is_item(message: Message) -> bool:
    """Whether a message is a compaction item."""
    return any(part.kind == "opaque" and part.name == "compaction" for part in message.parts)


def fires(moment: Moment, ratio: float) -> bool:
    """Whether it is time."""
    messages = moment.view.messages
    end = len(messages)
    while end and messages[end - 1].role == "user":
        end -= 1
    counted = counted_tokens(View((), messages[:end]), moment.host, ratio)
    return counted >= limit_of(EndpointCompaction().trigger, moment.host)


def fitted(sessions: Sequence[Session]) -> tuple[float, int]:
    """What reasoning counts, by the fewest calls that are wrong; and the median item."""
    moments = [moment for session in sessions for moment in session.moments]
    wrong = [sum(fires(m, ratio) != m.compacted for m in moments) for ratio in RATIOS]
    best = [ratio for ratio, n in zip(RATIOS, wrong, strict=True) if n == min(wrong)]
    items = [m.prompt - rest(s, m) for s in sessions for m in s.compactions]
    return best[len(best) // 2], round(statistics.median(items))


def rest(session: Session, moment: Moment) -> int:
    """Tokens of the first prompt afterwards without the item."""
    words = [message for message in left(moment) if not is_item(message)]
    return session.front + said(words, moment.host.model)


def judge(session: Session, others: Sequence[Session], verdict: Verdict) -> None:
    """Say for each compaction of a session what was predicted, and what was recorded."""
    ratio, item = fitted(others)
    start = 0
    for index, moment in enumerate(session.moments):
        if not moment.compacted:
            continue
        window = session.moments[start : index + 1]
        start = index + 1
        first = next((n for n, each in enumerate(window) if fires(each, ratio)), None)
        at = tokens(moment)
        if first is None:
            verdict.bar(f"{session.name}: at {at:,}; ours has not fired there", False)
        else:
            off = first + 1 - len(window)
            told = f"{session.name}: at {at:,}; ours at {tokens(window[first]):,} ({off:+d} calls)"
            verdict.bar(told, off == 0)
        stays = rest(session, moment) + item
        error = stays / moment.prompt - 1
        told = f"{moment.prompt:,} tokens stay; ours {stays:,} ({error:+.1%})"
        verdict.bar(told, abs(error) <= STAYS)
        ours = [message.id for message in left(moment) if not is_item(message)]
        same = moment.sent[: len(ours)] == ours
        verdict.bar(f"order of the {len(ours)} messages that stay", same)


def tokens(moment: Moment) -> int:
    """Tokens of the last report."""
    usage = moment.host.reported
    return usage.prompt + usage.output if usage else 0


if __name__ == "__main__":
    sys.exit(main())
