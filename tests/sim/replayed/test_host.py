"""The door of a strategy: what it tells, what it hides, and its random numbers."""

import random
from typing import Any

import pytest

from compactlab.sim.core.message import Message, Part, verbatim
from compactlab.sim.core.view import View
from compactlab.sim.replay.strategy import Pipeline


def draws(
    kit: Any, *, seed: int = 0, id: str = "story", purpose: str = "toss", name: str = "Act"
) -> list[float]:
    drawn = []

    def draw(view: View, host: Any) -> View:
        drawn.append(host.rng(purpose).random())
        return view

    script = kit.Story().user("1").answer("1").user("2").answer("2").script(id=id)
    kit.replayed(script, kit.act(draw, name=name), seed=seed)
    return drawn


def test_the_same_names_give_the_same_draws_at_every_ask(kit):
    first, second = draws(kit)
    assert first == second
    assert draws(kit) == [first, second]


@pytest.mark.parametrize(
    "other", [{"seed": 1}, {"id": "tale"}, {"purpose": "dice"}, {"name": "Deed"}]
)
def test_another_name_gives_other_draws(other, kit):
    assert draws(kit, **other) != draws(kit)


def test_a_neighbour_changes_nobodys_draws(kit):
    alone, together = [], []

    def drawing(into: list[float], name: str) -> Any:
        def draw(view: View, host: Any) -> View:
            into.append(host.rng("toss").random())
            return view

        return kit.act(draw, name=name)

    script = kit.Story().user("1").answer("1").script()
    kit.replayed(script, drawing(alone, "Mine"))
    kit.replayed(script, Pipeline((drawing([], "Other"), drawing(together, "Mine"))))
    assert alone == together


def test_global_randomness_is_not_touched(kit):
    random.seed(1)
    before = random.getstate()
    draws(kit)
    assert random.getstate() == before


def test_it_reports_what_the_last_call_was_billed(kit, story):
    witness = kit.Witness(lambda view, host: host.reported)
    steps = kit.replayed(
        story.user("1").answer("1").user("2").answer("2").script(), witness.strategy
    ).steps
    assert witness.seen == [None, steps[0].usage]


def test_it_knows_the_window_of_the_run(kit, story):
    witness = kit.Witness(lambda view, host: (host.window, host.model.name))
    script = story.user("1").answer("1").script()
    kit.replayed(script, witness.strategy, window=500)
    kit.replayed(script, witness.strategy)
    kit.replayed(script, witness.strategy, window=10**9)
    assert witness.seen == [(500, kit.model), (400_000, kit.model), (400_000, kit.model)]


@pytest.mark.parametrize(
    ("model", "ttl", "seconds"),
    [
        ("gpt-5@anthropic", "", 300.0),
        ("gpt-5@anthropic", "1h", 3600.0),
        ("gpt-5@none", "", 0.0),
    ],
)
def test_it_knows_how_long_the_cache_lives(model, ttl, seconds, kit, story):
    witness = kit.Witness(lambda view, host: host.cache_lifetime)
    kit.replayed(story.user("1").answer("1", ttl=ttl).script(), witness.strategy, model=model)
    assert witness.seen == [seconds]


def test_it_counts_as_the_model_does(kit, story):
    part = verbatim("m", "text", kit.prose(100))
    message = Message("m", "user", (part, part))
    view = View((part,), View().append(message, message).messages)
    witness = kit.Witness(
        lambda _, host: [host.count(x) for x in (part.text, part, message, view.messages, view)]
    )
    script = story.user("1").answer("1").script()
    kit.replayed(script, witness.strategy)
    kit.replayed(script, witness.strategy, model="claude-sonnet-4-5")
    assert witness.seen == [[100, 100, 200, 400, 500], [112, 112, 224, 448, 560]]


def test_opaque_parts_count_their_size(kit, story):
    image = Part("image", "", "opaque", (), size=1600)
    witness = kit.Witness(lambda _, host: host.count(image))
    kit.replayed(story.user("1").answer("1").script(), witness.strategy)
    assert witness.seen == [1600]


def test_what_the_recorded_agent_compacted_is_told_when_it_happened(kit, story):
    story.user("1").answer("1").compacted("so far").user("2").answer("2")
    witness = kit.Witness(
        lambda view, host: [(r.last, len(r.compaction.inserted)) for r in host.recorded]
    )
    kit.replayed(story.script(), witness.strategy)
    assert witness.seen == [[], [("a1", 1)]]


def test_the_future_is_nowhere(kit, story):
    """Whatever can be reached from the door, the secret of the next message is not in it."""
    seen: list[str] = []

    def look(view: View, host: Any) -> View:
        if len(host.log) == 1:
            open_to_all = {k: v for k, v in vars(host).items() if not k.startswith("_")}
            seen.append(repr((view, open_to_all, list(host.log), list(view.messages))))
        return view

    script = story.user("1").answer("SECRET").user("SECRET").answer("SECRET").script()
    kit.replayed(script, kit.act(look))
    assert len(seen) == 1
    assert "SECRET" not in seen[0]
