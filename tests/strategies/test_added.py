"""What strategies put into prompts, counted: nothing that was said, and everything else."""

import pytest

from compactlab.sim.metrics import RunData
from compactlab.sim.metrics.behaviour import tokens_added
from compactlab.strategies import ALL_STRATEGIES
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.openclaw.sidecar import HEADER

MODEL = "claude-sonnet-4-5"
DROPPING = ("keep_all", "keep_none", "random_keep", "sliding_window(keep=3)", "turn_slice")
CHAT = "ua" * 8


@pytest.fixture
def added(play):
    """The figure, and a recount of every prompt, part by part."""

    def both(story, spec, **more):
        trace = play(story, find_strategy(spec), **more)
        said = {id(part) for message in story.messages for part in message.parts}
        count = trace.catalogue.find(MODEL).tokenizer.part
        recount = 0
        for step, prompt in zip(trace.steps, trace.prompts(), strict=True):
            blocks = [part for part in step.system if part.kind != "opaque"]
            parts = [*blocks, *(part for message in prompt for part in message.parts)]
            recount += sum(count(part) for part in parts if id(part) not in said)
        return tokens_added(RunData(trace, story)), recount

    return both


@pytest.mark.parametrize("spec", DROPPING)
def test_who_only_drops_adds_nothing(spec, tell, added):
    assert added(tell("ucra" * 6), spec) == (0, 0)


@pytest.mark.parametrize("spec", ALL_STRATEGIES)
def test_it_is_what_a_recount_gives(spec, tell, added):
    figure, recount = added(tell("ucrcra" * 8, size=4_000), spec, window=9_000)
    assert figure == recount


def test_the_loop_of_the_first_sidecar_can_be_seen_in_it(tell, play, added):
    """Its blocks stay, and are quoted in the next: what it adds grows with the square of the turns
    and faster, where the hardened one adds a block a turn at most."""
    first, _ = added(tell(CHAT), "summary_sidecar(hardened=False)")
    hardened, _ = added(tell(CHAT), "summary_sidecar(threshold=0.0)")
    assert first > 3 * hardened > 0
    short, _ = added(tell(CHAT[: len(CHAT) // 2]), "summary_sidecar(hardened=False)")
    assert first > 4 * short
    (*_, last) = play(tell(CHAT), find_strategy("summary_sidecar(hardened=False)")).prompts()
    assert sum(message.text.count(HEADER) for message in last) > len(CHAT) // 2
