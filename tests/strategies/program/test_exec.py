"""A program as a strategy does what a class in Python would do, to the byte."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.message import Message, Part, Source, plain
from compactlab.sim.core.view import Phase, View
from compactlab.sim.models.model import built_in
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.replay import Options, replay
from compactlab.sim.replay.sizes import Unseen
from compactlab.sim.replay.strategy import Lifetime, Strategy
from compactlab.sim.replay.summarize import SummaryRequest
from compactlab.sim.replay.trace import Step
from compactlab.strategies.catalogue import find_strategy, known_strategy
from compactlab.strategies.controls import KeepAll
from compactlab.strategies.mechanisms.text import transcript
from compactlab.strategies.program.exec import Exec
from compactlab.testing.contract import MODEL, Recap, check_strategy
from compactlab.testing.drawn import draw
from tests.lines import refusal
from tests.strategies.program.conftest import command

NUMBERS = st.integers(0, 10_000)


def steps(conversation: Conversation, strategy: Strategy, window: int = 50_000) -> list[Step]:
    options = Options(MODEL, summarizer=Recap(), window=window, overhead=Unseen())
    return list(replay(conversation, strategy, options))


@pytest.mark.parametrize("how", ["nothing", "ids", "parts", "openai", "anthropic"])
@given(number=NUMBERS)
@settings(max_examples=15, deadline=None)
def test_a_program_that_keeps_all_is_keep_all(obedient, how, number):
    conversation, window = draw(number)
    assert steps(conversation, obedient(how), window) == steps(conversation, KeepAll(), window)


@dataclass(frozen=True)
class Last(Strategy):
    """The last messages."""

    messages: int

    def compact(self, view: View, host: Host) -> View:
        return view.with_messages(view.messages[-self.messages :])


@pytest.mark.parametrize("how", ["last", "openai last"])
@given(number=NUMBERS, messages=st.sampled_from((1, 2, 7)))
@settings(max_examples=10, deadline=None)
def test_what_is_cut_off_is_cut_off(obedient, how, number, messages):
    conversation, window = draw(number)
    ours = steps(conversation, Last(messages), window)
    assert steps(conversation, obedient(how, messages), window) == ours


@dataclass(frozen=True)
class Cleared(Strategy):
    """No result of a tool is sent."""

    lifetime: ClassVar[Lifetime] = Lifetime.REQUEST
    made: dict[str, Message] = field(default_factory=dict, compare=False)

    def compact(self, view: View, host: Host) -> View:
        return view.with_messages(map(self._cleared, view.messages))

    def _cleared(self, message: Message) -> Message:
        if message.role != "tool":
            return message
        part = msgspec.structs.replace(
            message.parts[0], text="[cleared]", kind="stub", sources=(Source(message.id, 0),)
        )
        stub = msgspec.structs.replace(message, parts=(part,))
        return self.made.setdefault(message.id, stub)


def billed(steps: list[Step]) -> list[object]:
    """What was sent and billed, without the names of messages."""
    return [
        (step.usage, step.causes, step.shared, [message.parts for message in step.added])
        for step in steps
    ]


@pytest.mark.parametrize("how", ["request", "openai clear"])
@given(number=NUMBERS)
@settings(max_examples=10, deadline=None)
def test_what_is_cleared_costs_what_it_costs_when_a_class_does_it(obedient, how, number):
    conversation, window = draw(number)
    ours = billed(steps(conversation, Cleared(), window))
    assert billed(steps(conversation, obedient(how), window)) == ours


def test_the_same_edit_is_the_same_message(obedient, tell):
    first, *_, last = steps(tell("ucracracra"), obedient("request"))
    assert last.shared > first.shared, "what was cleared once is not sent anew"


@dataclass(frozen=True)
class Summarising(Strategy):
    """All but two messages are summarised whenever there are more than six."""

    rides: Literal["live", "fresh"] = "fresh"

    def compact(self, view: View, host: Host) -> View:
        if len(view.messages) <= 6:
            return view
        old = tuple(view.messages[:-2])
        read = transcript(old) if self.rides == "fresh" else ""
        request = SummaryRequest(old, 100, transcript=read, rides=self.rides)
        parts = host.summarize(view, request)
        id = f"program:{len(host.compactions) + 1}"
        summary = [Message(id, "user", (plain("So far:"), *parts), host.now, meta=True)]
        return view.with_messages([*(summary if parts else []), *view.messages[-2:]])


@pytest.mark.parametrize("rides", ["fresh", "live"])
def test_a_summary_is_made_and_billed_as_for_a_class(obedient, tell, rides):
    """Whoever does not write out what is to be read is billed for the reading all the same."""
    conversation = tell("ucracracraucracra", size=400)
    ours = steps(conversation, Summarising(rides))
    assert any(call.usage.prompt > 400 for step in ours for call in step.side)
    assert steps(conversation, obedient("summary", rides)) == ours


@dataclass(frozen=True)
class Quotes(Recap):
    """The recap, and after it word for word what is quoted in the one before, or the first text."""

    def summarize(self, request: SummaryRequest, count: Callable[[str], int]) -> tuple[Part, ...]:
        first = next(p for m in request.messages for p in m.parts if p.type == "text")
        old = [part for part in request.previous if part.kind == "verbatim"]
        return (*super().summarize(request, count), *(old or [first]))


@dataclass(frozen=True)
class CarryingOn(Strategy):
    """All but two messages are summarised, the summary before is carried on."""

    def compact(self, view: View, host: Host) -> View:
        if len(view.messages) <= 6:
            return view
        before = [m for m in view.messages if any(p.kind == "summary" for p in m.parts)]
        old = tuple(m for m in view.messages[:-2] if m not in before)
        previous = tuple(part for message in before for part in message.parts)
        read = "\n\n".join([*(part.text for part in previous), transcript(old)])
        parts = host.summarize(view, SummaryRequest(old, 100, previous, transcript=read))
        id = f"program:{len(host.compactions) + 1}"
        summary = Message(id, "user", parts, host.now, meta=True)
        return view.with_messages([summary, *view.messages[-2:]])


def test_what_a_summary_quotes_stays_a_quotation_and_is_carried_on(obedient, tell):
    """Its parts are put in as they come, and the next summary is asked for with them."""
    conversation = tell("ucracracraucracracra", size=400)
    options = Options(MODEL, summarizer=Quotes(), window=50_000, overhead=Unseen())
    ours, theirs = (
        list(replay(conversation, strategy, options))
        for strategy in (CarryingOn(), obedient("carry"))
    )
    summaries = {m.id: m for step in theirs for m in step.added if m.id.startswith("program:")}
    assert len(summaries) > 1
    assert all([p.kind for p in m.parts] == ["summary", "verbatim"] for m in summaries.values())
    assert theirs == ours


def test_a_message_of_its_own_can_be_summarised_and_has_an_id(obedient, tell):
    """A summary that it made before is one of the messages of the next request."""
    asked: list[SummaryRequest] = []

    @dataclass(frozen=True)
    class Listens(Recap):
        def summarize(
            self, request: SummaryRequest, count: Callable[[str], int]
        ) -> tuple[Part, ...]:
            asked.append(request)
            return super().summarize(request, count)

    options = Options(MODEL, summarizer=Listens(), window=50_000, overhead=Unseen())
    list(replay(tell("ucracracraucracra", size=400), obedient("own"), options))
    own = asked[0].messages[0]
    assert (own.id, own.text, own.meta) == ("program:1", "Before:\ngo", True)
    assert asked[0].messages[1].id == own.parts[1].sources[0].id


def test_of_a_detached_turn_nothing_enters_the_session(obedient, tell):
    conversation = tell("ucracrau", size=400)
    told = steps(conversation, obedient("detached"))
    side = [call for step in told for call in step.side]
    assert {call.purpose for call in side} == {"flush"}
    assert not any(call.waits for call in side)
    assert [step.added for step in told] == [step.added for step in steps(conversation, KeepAll())]


def test_a_transcript_of_the_programs_own_is_what_is_read(obedient, tell):
    conversation = tell("ucracracraucracra", size=400)
    told = steps(conversation, obedient("summary", "fresh", "Nothing much was said."))
    side = [call for step in told for call in step.side]
    assert side
    assert all(call.usage.prompt < 400 for call in side)


def test_notes_are_taken_back_by_a_rewind(obedient, tell):
    seen: list[int] = []

    @dataclass(frozen=True)
    class Looking(Strategy):
        phases: ClassVar[frozenset[Phase]] = frozenset({Phase.BEFORE_CALL})
        inner: Strategy

        def compact(self, view: View, host: Host) -> View:
            after = self.inner.compact(view, host)
            seen.append(host.notes["asked"])
            return after

    steps(tell("uaua<1aua"), Looking(obedient("notes")))
    assert seen == [1, 2, 1, 2]


def test_an_extra_turn_is_part_of_the_view_and_of_the_bill(obedient, tell):
    found = steps(tell("uaua"), obedient("turn"))
    assert [call.purpose for step in found for call in step.side] == ["flush", "flush"]
    texts = [part.text for message in found[-1].added for part in message.parts]
    assert "Write down what matters." in texts


def test_files_are_the_replays_own(obedient, tell):
    files: dict[str, str] = {}
    options = Options(MODEL, summarizer=Recap(), overhead=Unseen(), files=files)
    found = list(replay(tell("uaua"), obedient("files"), options))
    assert files == {"a/b.txt": "xx"}
    assert [step.added[-1].parts[0].text for step in found] == ["[None]", "[x]"]
    stored = [step.outside.stored for step in found]
    assert stored == [(("a/b.txt", "x"),), ()], "what a handle leads to can be fetched"


def test_it_counts_as_the_model_does(obedient, tell):
    (step,) = steps(tell("ua"), obedient("count"))
    count = Host(built_in().find(MODEL)).count
    assert step.added[-1].parts[0].text == str(count("one two three"))


def test_it_is_asked_in_a_silence_that_is_as_long_as_it_wants(obedient):
    program = obedient("idle")
    assert program.phases == {Phase.ON_IDLE}
    assert program.idle_after == 60


def test_its_argument_need_not_be_named():
    one, other = map(
        find_strategy, ("exec('node x.mjs')", "exec(command='node x.mjs', timeout=60)")
    )
    assert one == other == Exec("node x.mjs")
    assert one.label == "exec(command='node x.mjs')"
    assert find_strategy(one.spec) == one


@pytest.mark.parametrize("text", ["exec", "exec()", "exec('')", "exec('  ')", 'exec("\'")'])
def test_a_command_that_is_none_is_refused(text):
    with pytest.raises(UsageError):
        find_strategy(text)


def test_a_program_that_is_not_there_is_named():
    said = refusal(UsageError, lambda: known_strategy("exec('no-such-program-at-all')"))
    assert said == snapshot(
        "the program 'no-such-program-at-all' cannot be started: No such file or directory"
    )


def test_no_shell_reads_the_command(tell, tmp_path):
    trap = tmp_path / "trap"
    program = Exec(command("obedient.py", "nothing", ";", "touch", trap, "&&", f"$(touch {trap})"))
    assert len(steps(tell("ua"), program)) == 1
    assert not trap.exists()


def test_what_the_command_names_and_the_hello_says_belongs_to_its_identity(tmp_path):
    source = "\n".join(
        (
            "import json, sys",
            "for line in sys.stdin:",
            "    hello = {'protocol': 1, 'name': 'n', 'version': 'VERSION'}",
            "    print(json.dumps({'type': 'hello', **hello}), flush=True)",
        )
    )
    file = tmp_path / "program.py"
    digests = []
    for text in (source, source + "\n# more", source.replace("VERSION", "2")):
        file.write_text(text)
        digests.append(Exec(command(str(file))).outside)
    assert len(set(digests)) == 3
    assert Exec(command(str(file))).outside == digests[-1]


def test_a_program_that_keeps_the_contract_is_found_to():
    assert check_strategy(Exec(command("obedient.py", "ids")), 12) == []


def test_what_a_program_carries_over_is_found():
    found = check_strategy(Exec(command("obedient.py", "carries over")), 12)
    assert "repeatable" in {broken.rule for broken in found}


def test_it_is_started_again_after_it_has_failed(disobedient, tell):
    program = disobedient("dies")
    for _ in range(2):
        with pytest.raises(Exception, match="ended with exit code 3"):
            steps(tell("ua"), program)
