"""What every strategy keeps to at the edges; the rest of the contract is in `test_battery`.

Replayed are the line-up at its defaults, and strategies in sizes in which they act on short
conversations.
"""

import pytest

from compactlab.sim.core.view import Messages
from compactlab.strategies import ALL_STRATEGIES
from compactlab.strategies.catalogue import find_strategy

SUMMARISING = "reserve_tokens=1000, reserve_tokens_floor=0, keep_recent_tokens=400"
PLANNED = "token_budget(reserve_tokens_floor=500, min_dynamic_reserve_tokens=200)"
SMALL = (
    "sliding_window(keep=1)",
    "sliding_window(keep=4)",
    "turn_slice(history_limit=2)",
    "turn_slice(history_limit=1)",
    "random_keep(share=0.3)",
    PLANNED,
    f"auto_compact({SUMMARISING})",
    f"auto_compact({SUMMARISING}, rides='live')",
    f"recency_buffer(keep_messages=2, keep_tokens=150, {SUMMARISING})",
    f"auto_compact({SUMMARISING}) + context_recovery(messages=3, chars=50)",
    f"{PLANNED} + summary_sidecar(threshold=0.1)",
    f"auto_compact({SUMMARISING}) + turn_slice(history_limit=1) + summary_sidecar(threshold=0.1)",
)
WINDOW = 2500

# Who may send a prompt without the last words of the user, and why.
MAY_LOSE_THE_USER = {
    "sliding_window": "counts messages, and a turn may have more",
    "auto_compact": "cuts inside of a long turn, as pi does",
    "recency_buffer": "the same, but that the words may stand in the buffer",
}


def pairs(messages: Messages) -> tuple[set[str], set[str]]:
    parts = [part for message in messages for part in message.parts]
    return (
        {part.call_id for part in parts if part.type == "tool_call"},
        {part.call_id for part in parts if part.type == "tool_result"},
    )


@pytest.mark.parametrize("spec", [*ALL_STRATEGIES, *SMALL])
def test_it_survives_a_conversation_in_which_nothing_is_said(spec, tell, play):
    assert play(tell(""), find_strategy(spec)).steps == []
    (step,) = play(tell("a"), find_strategy(spec)).steps
    assert len(step.added) == 0


def test_its_spec_and_its_label_name_it_again():
    nested = "trigger=(('tokens', 5), (('messages', 3), ('fraction', 0.5))), keep=('tokens', 9)"
    for strategy in map(find_strategy, (*ALL_STRATEGIES, *SMALL, f"rolling_summary({nested})")):
        assert find_strategy(strategy.spec) == find_strategy(strategy.label) == strategy


@pytest.mark.parametrize("name", sorted(MAY_LOSE_THE_USER))
def test_who_may_lose_the_last_words_of_the_user_does(name, tell, sent):
    spec = next(spec for spec in SMALL if spec.startswith(name) and "keep=1)" not in spec)
    prompts = sent(tell("u" + "cr" * 12 + "a", size=400), find_strategy(spec), window=WINDOW)
    assert any("u1" not in prompt.split() for prompt in prompts)


def test_a_result_that_comes_late_keeps_its_call(tell, play):
    """A reminder of the client, say, may stand between a call and its result."""
    story = tell("ua ucmra" * 8, size=100)
    broken = []
    for spec in SMALL:
        trace = play(story, find_strategy(spec), window=1400)
        for step, prompt in zip(trace.steps, trace.prompts(), strict=True):
            calls, results = pairs(prompt)
            all_calls, all_results = pairs(step.log)
            if results & all_calls - calls or calls & all_results - results:
                broken.append(spec)
                break
    assert not broken


@pytest.mark.parametrize("spec", SMALL)
def test_a_prompt_is_never_empty(spec, tell, sent):
    """A provider takes no request without a message."""
    assert all(sent(tell("uc3rrracrcr a", size=400), find_strategy(spec), window=WINDOW))
