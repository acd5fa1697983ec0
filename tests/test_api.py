"""The two functions that most people need: names or objects, and defaults that make sense."""

from dataclasses import dataclass
from typing import Any

import pytest
from inline_snapshot import snapshot

import compactlab
from compactlab import api
from compactlab.request.names import plan
from compactlab.scenarios.catalogue import USUAL
from compactlab.scenarios.coding_agent import CodingAgent
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError, ModelError, UsageError
from compactlab.sim.core.message import Call, Message, Usage, verbatim
from compactlab.sim.experiment.shard import DEFAULT_MODEL
from compactlab.sim.replay.strategy import Strategy
from compactlab.strategies import DEFAULT_STRATEGIES
from compactlab.strategies.controls import KeepAll
from compactlab.strategies.summarizers.catalogue import find_summarizer
from compactlab.strategies.windows import SlidingWindow
from tests.lines import refusal

SMALL = "coding_agent(turns=2, tokens=3000)"
CHAT = '[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]'


@dataclass(frozen=True)
class LastWords(Strategy):
    """Send the newest messages of the user, an idea of five minutes ago."""

    keep: int = 1

    def compact(self, view: Any, host: Any) -> Any:
        return view.with_messages([m for m in view.messages if m.role == "user"][-self.keep :])


@pytest.fixture(scope="module")
def made() -> Conversation:
    """A small conversation that was made up."""
    return CodingAgent(turns=2, tokens=3000).conversation(seed=0)


def recorded() -> Conversation:
    question = Message("u", "user", (verbatim("u", "text", "hi"),), 1_760_000_000.0)
    call = Call("claude-opus-4-5", Usage(uncached=900, output=5))
    answer = Message("a", "assistant", (verbatim("a", "text", "ho"),), 1_760_000_009.0, call=call)
    return Conversation("recorded", "pi", (question, answer))


def test_a_strategy_may_be_named_or_given(made):
    named = list(api.replay(made, "sliding_window(keep=4)"))
    assert named == list(api.replay(made, SlidingWindow(keep=4)))
    assert len(named) == len(made.calls)


def test_one_sees_the_bill_of_every_call(made):
    for step in api.replay(made, "keep_all"):
        assert step.usage.prompt - step.usage.cache_read == sum(step.causes.values())


def test_ones_own_idea_is_replayed_like_any_other(made):
    assert all(len(step.added) <= 1 for step in api.replay(made, LastWords()))
    results = api.run([made], [LastWords(keep=2), "keep_all"])
    assert [run.strategy for run in results.runs] == ["last_words(keep=2)", "keep_all()"]
    assert not results.failed


def test_the_default_model_is_the_recorded_one_or_a_current_one(made):
    assert next(api.replay(recorded(), "keep_all")).model == "claude-opus-4-5"
    assert next(api.replay(made, "keep_all")).model == DEFAULT_MODEL
    assert next(api.replay(made, "keep_all", "claude-haiku-4-5")).model == "claude-haiku-4-5"


def test_a_recording_is_replayed_with_what_its_prompts_held_besides():
    assert next(api.replay(recorded(), "keep_all")).usage.prompt == pytest.approx(900, abs=2)


def test_a_summariser_may_be_named_or_given(made):
    tight = "auto_compact(reserve_tokens=500, keep_recent_tokens=300)"
    named = list(api.replay(made, tight, summarizer="lexrank", window=13_500))
    given = list(api.replay(made, tight, summarizer=find_summarizer("lexrank"), window=13_500))
    assert named == given
    assert any(step.side for step in named)


def test_a_seed_moves_the_dice(made):
    def kept(seed: int) -> list[int]:
        return [len(step.added) for step in api.replay(long, "random_keep", seed=seed)]

    long = CodingAgent(turns=8, tokens=3000).conversation(seed=0)
    assert kept(1) == kept(1)
    assert len({tuple(kept(seed)) for seed in range(5)}) > 1


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ({"strategy": "keep_al"}, "did you mean keep_all"),
        ({"strategy": "sliding_window(kep=3)"}, "did you mean keep"),
        ({"strategy": "sliding_window(keep='x')"}, "keep must be a whole number"),
        ({"strategy": "sliding_window(keep=0)"}, "keep must be at least 1"),
        ({"strategy": "sliding_window(keep=3"}, "parenthesis"),
        ({"strategy": "turn_slice + keep_all"}, "session, turn, request"),
        ({"strategy": ""}, "unknown strategy ''"),
        ({"summarizer": "lexrnk"}, "did you mean lexrank"),
    ],
)
def test_a_wrong_name_is_an_error_at_once_with_the_nearest(arguments, advice, made):
    with pytest.raises(UsageError, match=advice.replace("(", r"\(")):
        api.replay(made, **{"strategy": "keep_all", **arguments})


def test_an_unknown_model_is_an_error_with_the_nearest(made):
    said = refusal(ModelError, lambda: next(api.replay(made, "keep_all", "claude-sonet-4-5")))
    assert said == snapshot("""\
unknown model 'claude-sonet-4-5'; did you mean claude-sonnet-4-5 or claude-sonnet-5-5 or
claude-sonnet-4-6? Or name another, e.g. --model claude-sonnet-4-5, or NAME@none for one
without a cache (compactlab list models), or write it down with its prices in a file of
your own: --models FILE\
""")


def test_conversations_may_be_named_or_given_or_lie_in_files(made, tmp_path):
    file = tmp_path / "chat.json"
    file.write_text(CHAT)
    results = api.run([made, SMALL, file, str(file)], [KeepAll()], [DEFAULT_MODEL])
    assert [(run.conversation, run.status) for run in results.runs] == [
        ("coding_agent-0", "ok"),
        ("coding_agent-0", "ok"),
        ("chat", "ok"),
    ]
    given, named, _ = results.runs
    assert (given.digest, given.metrics, given.rows) == (named.digest, named.metrics, named.rows)
    assert given.source_key != named.source_key


def test_what_is_given_twice_is_run_once(made, tmp_path):
    """A source is the same if it has the same name, seed and content."""
    longer = CodingAgent(turns=3, tokens=3000).conversation(seed=0)
    given = [made, SMALL, made, longer, SMALL]
    twice = (given, ["keep_all", KeepAll(), "keep_all()"], [DEFAULT_MODEL] * 2)
    results = api.run(*twice, loop="open", metrics=["calls"])
    assert [run.digest for run in results.runs] == [made.digest, longer.digest, made.digest]
    stored = api.run(*twice, loop="open", metrics=["calls"], out=tmp_path)
    assert stored.runs == results.runs
    assert len(stored.query("SELECT run FROM runs")) == 3


def test_a_folder_stands_for_its_transcripts(tmp_path):
    (tmp_path / "chat.json").write_text(CHAT)
    (tmp_path / "notes.txt").write_text("no transcript")
    results = api.run([tmp_path], ["keep_all"], ["gpt-5@none"])
    assert [run.conversation for run in results.runs] == ["chat"]
    assert results.manifest["skipped_files"] == 1


def test_what_is_not_understood_is_passed_over_unless_told_otherwise(tmp_path):
    talk = tmp_path / "talk.jsonl"
    lines = ['{"role": "user", "content": "go"}', '{"role": "assistant", "content": "ok"}', "{"]
    talk.write_text("\n".join(lines))
    results = api.run(talk, ["keep_all"], ["gpt-5@none"])
    assert [run.passed_over for run in results.runs] == ["1 x line that is not JSON (1 character)"]
    refused = api.run(talk, ["keep_all"], ["gpt-5@none"], strict=True)
    assert [run.status for run in refused.runs] == ["unreadable"]
    assert len(api.explain(talk, "keep_all", "gpt-5@none").entries) == 1
    with pytest.raises(InputError, match=r"talk\.jsonl:3: not JSON"):
        api.explain(talk, "keep_all", "gpt-5@none", strict=True)


def test_seeds_make_so_many_conversations(made):
    results = api.run([SMALL, made], ["keep_all"], seeds=2)
    assert sorted((run.conversation, run.seed) for run in results.runs) == [
        ("coding_agent-0", 0),
        ("coding_agent-0", 0),
        ("coding_agent-0", 1),
        ("coding_agent-1", 1),
    ]


def test_the_line_up_runs_by_default(made):
    results = api.run([made])
    assert len(results.runs) == len(DEFAULT_STRATEGIES)
    assert not results.failed
    assert len(results.frame()) == len(DEFAULT_STRATEGIES)


def test_the_default_conversation_is_a_scenario():
    (source,) = plan().sources
    assert source.name.startswith("coding_agent(turns=40, tokens=300000)")


@pytest.mark.parametrize("wrong", [{"seeds": 0}, {"window": 0}, {"window": -5}, {"jobs": 0}])
def test_numbers_below_one_are_refused(wrong, made):
    with pytest.raises(UsageError, match="at least 1"):
        api.run([made], ["keep_all"], **wrong)


@pytest.mark.parametrize(
    ("arguments", "error", "advice"),
    [
        ({"conversations": ["coding_agnt"]}, UsageError, "did you mean coding_agent"),
        ({"conversations": ["coding_agent(turn=3)"]}, UsageError, "did you mean turns"),
        ({"conversations": ["no/such/file.jsonl"]}, InputError, "no/such/file.jsonl"),
        ({"strategies": ["keep_nun"]}, UsageError, "did you mean keep_none"),
        ({"summarizer": "lex"}, UsageError, "lexrank"),
        ({"models": ["claude-sonet-4-5"]}, UsageError, "did you mean claude-sonnet-4-5"),
        ({"models": "claude-sonnet-4-5@nun"}, UsageError, "did you mean none"),
    ],
)
def test_what_is_named_wrongly_stops_a_run_before_it_begins(arguments, error, advice):
    with pytest.raises(error, match=advice):
        plan(**{"conversations": [SMALL], "strategies": ["keep_all"], **arguments})


def test_results_can_be_used_as_a_table(made):
    frame = api.run([made], ["keep_all", "keep_none"]).frame().set_index("strategy")
    assert frame.loc["keep_all()", "forward_need"] == 1
    assert frame.loc["keep_none()", "forward_need"] < 1
    assert frame["cost_usd"].gt(0).all()


def test_the_suite_is_all_usual_scenarios_with_the_same_size():
    planned = plan("suite(tokens=20000)", "keep_all", seeds=2)
    names = [source.name for source in planned.sources]
    assert names == [f"{name}(tokens=20000)-{seed}" for name in USUAL for seed in (0, 1)]
    assert len(USUAL) == 10
    assert not {"delegation", "working_set", "high_floor"} & set(USUAL)
    with pytest.raises(UsageError, match="tokns"):
        plan("suite(tokns=1)", "keep_all")


def test_the_closed_loop_stands_beside_the_open_one_in_a_row():
    script = "coding_agent(turns=12, tokens=30000)"
    frame = api.run(script, ["keep_all", "keep_none"], loop="closed").frame().set_index("strategy")
    kept, dropped = frame.loc["keep_all()"], frame.loc["keep_none()"]
    assert kept.amnesia_need == kept.rereads_per_100_calls == 0
    assert kept.cost_with_recovery_usd == kept.cost_usd
    assert dropped.amnesia_need > 0
    assert dropped.rereads_per_100_calls + dropped.questions_per_100_calls > 0
    assert refusal(UsageError, lambda: api.run(script, "keep_all", loop="shut")) == snapshot(
        "a loop is 'open' or 'closed', not 'shut'"
    )


def test_files_of_a_strategy_can_be_kept_in_a_folder(tmp_path):
    made = CodingAgent(turns=2, tokens=9000).conversation(seed=0)
    strategy = "offload_outputs(max_text_chars=900, preview_chars=200)"
    folder, held = compactlab.Folder(tmp_path / "files"), dict[str, str]()
    on_disk = list(compactlab.replay(made, strategy, files=folder))
    in_memory = list(compactlab.replay(made, strategy, files=held))
    assert on_disk == in_memory == list(compactlab.replay(made, strategy))
    assert held
    assert dict(folder) == held
    explained: dict[str, str] = {}
    api.explain(made, strategy, files=explained)
    assert explained == held


def test_what_is_no_text_is_not_kept_in_a_folder(tmp_path):
    folder = compactlab.Folder(tmp_path)
    with pytest.raises(InputError) as error:
        folder["a"] = b"bytes"  # type: ignore[assignment]
    assert str(error.value) == snapshot("'a': the content is not text")
    folder["half"] = "\ud800"
    assert dict(folder) == {"half": "?"}
