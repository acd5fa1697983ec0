"""The provider compacts for Codex: the words of the user stay, and an item that nobody can read."""

import random
from dataclasses import replace

import pytest

from compactlab.api import run
from compactlab.sim.core.message import Message, Part, Usage, verbatim
from compactlab.sim.core.view import Messages, View
from compactlab.sim.models.model import catalogue, find_model
from compactlab.sim.replay.host import Host, State
from compactlab.sim.replay.replay import Options, record
from compactlab.strategies import Codex, EndpointCompaction
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.codex import approx_tokens, counted_tokens, limit_of, newest_words
from compactlab.strategies.summarizers.catalogue import find_summarizer

SMALL = EndpointCompaction(item_tokens=20)
METRICS = ("recall_20k", "tokens_added", "compactions")


@pytest.fixture
def story(tell):
    """Messages of 110 tokens each. It is time at nine tenths of the window."""
    return lambda script, **more: tell(script, size=400, **more)


def test_a_second_one_leaves_one_item_and_the_context_moves_on(story, sent):
    prompts = sent(story("mua" + "ucrcra" * 4), SMALL, window=1000)
    assert any("summary-2" in prompt for prompt in prompts)
    for prompt in prompts:
        ids = prompt.split()
        assert sum(id.startswith("summary") for id in ids) <= 1
        assert ids.count("m1") == 1


def test_of_the_item_nobody_knows_more_than_its_size_and_what_it_stands_for(story, play):
    trace = play(story("muaucrcrcrcra"), SMALL, window=1000)
    both = zip(trace.steps, trace.prompts(), strict=True)
    ((part,),) = [prompt[-1].parts for step, prompt in both if step.compaction]
    assert (part.type, part.text, part.kind, part.name) == ("text", "", "opaque", "compaction")
    assert part.size == 20
    assert " ".join(source.id for source in part.sources) == "u2 a3 u4 c5 r6 c7 r8 c9 r10"


def test_with_the_tools_the_request_reads_the_cache_and_without_them_nothing(tell, play):
    told = tell("ua" * 10, size=4000, system=2000)
    calls = {
        tools: next(
            call
            for step in play(told, EndpointCompaction(tools=tools), window=20_000).steps
            for call in step.side
        ).usage
        for tools in (True, False)
    }
    assert calls[True].cache_read > calls[True].prompt * 0.9
    assert calls[False].cache_read == 0
    assert abs(calls[True].prompt - calls[False].prompt) < 10


def test_openais_models_have_the_window_that_codex_gives_them_and_others_all():
    def limit(trigger: float | None, model: str, window: int | None = None) -> float:
        return limit_of(trigger, Host(find_model(model).narrowed(window)))

    assert limit(None, "gpt-5-5") == limit(None, "gpt-6-2-astra") == 244_800
    assert limit(None, "gpt-6-2-sol") == limit(None, "gpt-6.1-terra+batch") == 450_000
    assert limit(None, "gpt-5-3-codex-spark") == 115_200
    assert limit(None, "gpt-5-5", 100_000) == 90_000
    assert limit(None, "claude-sonnet-4-5") == 180_000
    larger = next(m for m in catalogue().values() if m.provider != "openai" and m.window > 300_000)
    assert limit(None, larger.name) == larger.window * 9 // 10
    assert limit(50_000, "gpt-5-5") == 50_000
    assert limit(900_000, "gpt-5-5") == 244_800


def drawn(rng: random.Random) -> list[Message]:
    """Messages as a session of Codex has them: reasoning, calls, results, users, summaries."""
    messages = []
    for n in range(rng.randrange(12)):
        id, text = f"x{n}", "wörd " * rng.randrange(200)
        role = rng.choice(["user", "assistant", "tool"])
        parts = [verbatim(id, "text", text)]
        if role == "assistant" and rng.random() < 0.7:
            size = rng.randrange(2000)
            parts.insert(0, Part("thinking", "", "opaque", (), name="reasoning", size=size))
        if role == "tool":
            parts = [verbatim(id, "tool_result", text, call_id=id)]
        meta = role == "user" and rng.random() < 0.3
        messages.append(Message(id, role, tuple(parts), float(n), meta=meta))
    return messages


def recount(messages: list[Message], reported: Usage) -> float:
    """The rule of ``get_total_token_usage`` in the plainest words."""
    total = float(reported.prompt + reported.output)
    answers = [n for n, m in enumerate(messages) if m.role == "assistant"]
    for message in messages[(answers[-1] + 1 if answers else 0) :]:
        total += sum(-(-len(part.text.encode()) // 4) + part.size for part in message.parts)
    asked = [n for n, m in enumerate(messages) if m.role == "user" and not m.meta]
    for message in messages[: asked[-1] if asked else 0]:
        total += 1.25 * sum(p.size for p in message.parts if p.type == "thinking")
    return total


@pytest.mark.parametrize("seed", range(50))
def test_what_is_counted_is_what_the_plainest_recount_gives(seed):
    rng = random.Random(seed)
    messages, reported = drawn(rng), Usage(rng.randrange(9000), output=rng.randrange(900))
    host = Host(find_model("gpt-5-5"), State(log=Messages(messages), reported=reported))
    counted = counted_tokens(View((), Messages(messages)), host)
    assert abs(counted - recount(messages, reported)) <= 0.5


def retained(texts: list[str], budget: int) -> list[int]:
    """Tokens of what stays of some texts: newest first, the one that does not fit is cut."""
    left, sizes = budget, []
    for text in reversed(texts):
        if left:
            sizes.append(min(approx_tokens(text), left))
            left -= sizes[-1]
    return sizes[::-1]


@pytest.mark.parametrize("seed", range(30))
def test_the_newest_words_stay_up_to_the_budget(seed):
    rng = random.Random(seed)
    texts = ["x" * rng.randrange(1, 900) for _ in range(rng.randrange(8))]
    said = [Message(f"u{n}", "user", (verbatim(f"u{n}", "text", t),)) for n, t in enumerate(texts)]
    kept = newest_words(said, budget := rng.randrange(1, 700))
    expected = retained(texts, budget)
    assert [m.id for m in kept] == [f"u{n}" for n in range(len(texts))][-len(expected) :][
        : len(kept)
    ]
    assert [approx_tokens(m.text) for m in kept[1:]] == expected[1:]


def told_by(spec: str, model: str, tell) -> list[str]:
    told = tell("mua" + "ucrcra" * 4, size=400)
    options = Options(model, summarizer=find_summarizer("lexrank"), window=1000)
    trace = record(told, find_strategy(spec), options)
    return [" ".join(message.id for message in prompt) for prompt in trace.prompts()]


def test_codex_asks_the_provider_for_openais_models_and_itself_for_others(tell):
    for model, same in (("gpt-5-5", "endpoint_compaction"), ("claude-sonnet-4-5", "user_words")):
        assert told_by("codex", model, tell) == told_by(same, model, tell)
    assert told_by("codex", "gpt-5-5", tell) != told_by("user_words", "gpt-5-5", tell)


@pytest.mark.parametrize("model", ["gpt-5-5", "claude-sonnet-4-5"])
def test_a_route_can_be_asked_for_under_any_model(model, tell):
    local, remote = (told_by(f"codex(route={r!r})", model, tell) for r in ("local", "remote"))
    assert local == told_by("user_words", model, tell)
    assert remote == told_by("endpoint_compaction", model, tell)


def test_the_limit_is_that_of_either_route():
    for route in ("auto", "remote", "local"):
        (step,) = Codex(trigger=5000, route=route).steps()
        assert replace(step, trigger=None) != step


@pytest.mark.parametrize(
    "spec", ["codex", "endpoint_compaction", "server_compaction(opaque=True, trigger=0.8)"]
)
def test_an_item_of_a_measured_kind_has_its_size_and_holds_what_it_held(spec):
    """What nothing else in the prompt holds is kept, of all but the short kind."""
    recalls, sizes = {}, {}
    for kind in ("unknown", "project", "short", "long"):
        one = f"{spec}(item='{kind}')".replace(")(", ", ")
        results = run(
            "coding_agent(tokens=60000)", [one], ["gpt-5.6-sol"], window=40_000, controls=False,
            loop="open", tables=(), metrics=METRICS, seeds=2,
        )  # fmt: skip
        recalls[kind] = {each.seed: each.metrics["recall_20k"] for each in results.runs}
        sizes[kind] = sum(each.metrics["tokens_added"] for each in results.runs)
        assert all(each.metrics["compactions"] for each in results.runs)
    assert set(recalls["project"].values()) == set(recalls["long"].values()) == {1.0}
    assert all(recalls["short"][seed] < 1 for seed in recalls["short"])
    assert sizes["short"] < sizes["project"] < sizes["long"]
