"""Fitting: what is measured in conversations, and the profile that is made of it."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compactlab.scenarios.engine.profile import Breaks, Spread, find_profile, profile_of
from compactlab.scenarios.fitting import (
    BREAK_FROM,
    Fit,
    Row,
    Samples,
    closeness,
    estimate,
    kolmogorov_smirnov,
    measure,
    pauses,
    quantile,
    quantiles,
    spread,
    worst,
)
from compactlab.scenarios.plain import ResearchAssistant
from compactlab.sim.core.conversation import Conversation, Event, Rewind
from compactlab.sim.core.message import Call, Message, Part, Role, verbatim
from compactlab.sim.core.stream import stream
from compactlab.sim.core.toml import Section, parse_toml

CODING = find_profile("coding")


def said(role: Role, time: float, *parts: tuple[str, str], meta: bool = False) -> Message:
    """A message of (type, words) parts; a call of a tool is written as `tool_call:name`."""
    id = f"at-{time}"
    made = []
    for kind, words in parts:
        type, _, name = kind.partition(":")
        made.append(verbatim(id, type, words, name=name, is_error=words == "failed"))  # type: ignore[arg-type]
    call = Call() if role == "assistant" else None
    return Message(id, role, tuple(made), time, meta, call)


def conversation(*events: Event) -> Conversation:
    held = Part("text", "", "opaque", (), size=500)
    return Conversation("c", "story", events, (held,), seed=0)


TWO_TURNS = conversation(
    said("user", 100, ("text", "one two three")),
    said("assistant", 104, ("thinking", "hm hm"), ("tool_call:Bash", "{}"), ("tool_call:ls", "{}")),
    said("tool", 105, ("tool_result:Bash", "one two")),
    said("tool", 105.5, ("tool_result:ls", "failed")),
    said("user", 106, ("text", "a reminder"), meta=True),
    said("assistant", 108, ("text", "one two"), ("tool_call:shell", "{}")),
    said("tool", 109, ("tool_result:shell", "one")),
    said("assistant", 112, ("text", "one two three four")),
    said("user", 9_112, ("text", "one")),
    said("assistant", 9_113, ("text", "one")),
)


def test_what_is_measured_in_a_conversation() -> None:
    found = measure([TWO_TURNS])
    assert found.sizes == {"user": [3, 1], "thinking": [2], "text": [2], "answer": [4, 1]}
    assert found.results == {"bash": [2, 1]}  # and an error, which is short whatever the tool
    assert {tool: len(given) for tool, given in found.arguments.items()} == {"bash": 2, "ls": 1}
    assert found.waits == {"assistant": [4, 2, 3, 1], "tool": [1, 0.5, 1], "user": [9_000]}
    assert found.calls == [3, 1]
    assert dict(found.tools) == {"bash": 2, "ls": 1}
    assert {key: (s.hits, s.of) for key, s in found.shares.items()} == {
        "text": (1, 2),
        "thinking": (1, 4),
        "pair": (1, 2),
        "error": (1, 3),
    }
    assert (found.system, found.turns) == ([500], [2])


def test_growth_and_shares_add_up() -> None:
    found = measure([TWO_TURNS])
    before, after = 3, found.written[-1]
    assert before + sum(found.growth) + after == found.tokens[0]
    assert found.tool_share == [(2 + 1 + 1) / found.tokens[0]]
    assert len(found.growth) == len(found.written) - 1


def test_no_time_passes_where_none_is_told_nor_from_branch_to_branch() -> None:
    timeless = [msgspec.structs.replace(message, time=0.0) for message in TWO_TURNS.messages]
    assert measure([conversation(*timeless)]).waits == {}
    first, answer, *_ = TWO_TURNS.messages
    again = said("user", 500, ("text", "no"))
    branched = measure([conversation(first, answer, Rewind(first.id), again)])
    assert branched.waits == {"assistant": [4]}
    assert branched.growth == []


def test_pooled_samples_are_those_of_each() -> None:
    once, twice = measure([TWO_TURNS]), measure([TWO_TURNS] * 2)
    assert twice.written == once.written * 2
    assert twice.tools == once.tools + once.tools
    assert twice.shares["text"].value == once.shares["text"].value


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 9.0]), min_size=1), st.integers(1, 100))
def test_a_quantile_is_a_sample_with_that_many_below(samples: list[float], percent: int) -> None:
    found = quantile(sorted(samples), percent / 100)
    below = sum(each <= found for each in samples)
    assert found in samples
    assert below * 100 >= percent * len(samples)
    assert (below - samples.count(found)) * 100 < percent * len(samples)


@pytest.mark.parametrize("planted", [Spread(20, 1.6), Spread(245, 1.0, 4_000), Spread(7, 0)])
def test_a_planted_spread_is_found(planted: Spread) -> None:
    rng = stream(0, "spread")
    found = spread([planted.draw(rng) for _ in range(2_000)], 0.001)
    assert found.median == pytest.approx(planted.median, rel=0.1)
    assert found.sigma == pytest.approx(planted.sigma, abs=0.1)
    assert found.most <= planted.most


@pytest.mark.parametrize("share", [0.0, 0.03, 0.1, 0.3])
@pytest.mark.parametrize("waits", [Spread(68, 1.3), Spread(120, 1.4), Spread(20, 0.5)])
def test_planted_breaks_are_told_from_long_waits(waits: Spread, share: float) -> None:
    rng, planted = stream(0, "pauses"), Breaks(share)
    drawn = [planted.draw(rng) if rng.random() < share else waits.draw(rng) for _ in range(4_000)]
    found, breaks = pauses(drawn)
    assert breaks.share == pytest.approx(share, abs=0.02)
    assert found.median == pytest.approx(waits.median, rel=0.1)
    assert found.sigma == pytest.approx(waits.sigma, abs=0.1)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60))
def test_any_pauses_are_parted(samples: list[float]) -> None:
    waits, breaks = pauses(samples)
    assert waits.median > 0
    assert waits.sigma >= 0
    assert 0 <= breaks.share <= 1
    assert breaks.shortest <= breaks.longest
    assert breaks.shortest == BREAK_FROM


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=12),
    st.lists(st.integers(0, 6), min_size=1, max_size=12),
)
def test_the_distance_is_that_of_the_definition(one: list[int], other: list[int]) -> None:
    def up_to(samples: list[int], value: float) -> float:
        return len([each for each in samples if each <= value]) / len(samples)

    naive = max(abs(up_to(one, value) - up_to(other, value)) for value in range(7))
    assert kolmogorov_smirnov(sorted(one), sorted(other)) == pytest.approx(naive)


def test_samples_of_one_distribution_are_as_near_as_chance_says() -> None:
    rng = stream(0, "chance")
    draws = [sorted(rng.gauss(0, 1) for _ in range(50)) for _ in range(400)]
    rows = [Row("x", "", one, other) for one, other in zip(draws[::2], draws[1::2], strict=True)]
    further = sum(row.distance > row.chance for row in rows if row.distance and row.chance)
    # 5 % of 200, and three standard deviations around.
    assert abs(further - 10) <= 10


def test_what_is_alike_is_not_apart_and_the_worst_is_named() -> None:
    one, other = Samples(calls=[1, 2, 3] * 10), Samples(calls=[1, 2, 3] * 5)
    (row,) = closeness(one, other)
    assert (row.name, row.distance) == ("calls per turn", 0)
    one.sizes["user"], other.sizes["user"] = [5] * 20, [50] * 9
    assert [(each.name, each.distance) for each in closeness(one, other)] == [
        ("user", None),
        ("calls per turn", 0),
    ]
    other.sizes["user"] *= 2
    assert [each.distance for each in closeness(one, other)] == [1, 0]
    bad = worst(closeness(one, other))
    assert bad
    assert bad.name == "user"
    assert quantiles(bad.recorded) == (5, 5, 5, 5)
    assert worst(closeness(Samples(), Samples())) is None


def test_a_profile_says_what_it_was_measured_on() -> None:
    fit = estimate(measure([TWO_TURNS] * 10), "two", "Made up.", CODING)
    assert profile_of(Section(parse_toml(fit.toml()))) == fit.profile
    lines = dict(line.split("  # ") for line in fit.toml().splitlines() if "  # " in line)
    told = {line.partition(" = ")[0]: note for line, note in lines.items()}
    assert told["calls"] == "n = 20"
    assert told['"bash"'] == "n = 20"
    assert told['"tools and system prompt"'] == "n = 10"
    assert "not measured: of coding" not in told.values()
    assert fit.profile.sizes["user"] == Spread(1.0, 0.857, 3.0)  # ln(3 / 1) / 1.2816
    assert fit.profile.waits["assistant"].most == 4
    assert fit.profile.tools == {"bash": 0.6667, "ls": 0.3333}


def test_what_is_not_told_is_another_profile_s() -> None:
    empty = estimate(Samples(), "coding", CODING.source, CODING)
    assert empty.profile == replace(CODING, tools={})
    notes = [line.partition("  # ")[2] for line in empty.toml().splitlines() if " = " in line]
    assert set(notes[2:]) == {"not measured: of coding"}
    some = estimate(Samples(results={"bash": [5] * 10}), "some", "Made up.", CODING)
    # The sizes of other tools are that of any result.
    assert some.profile.sizes.keys() == {"text", "answer", "thinking", "bash", "result"}


def test_a_planted_profile_comes_back_from_what_is_made_by_it(tmp_path: Path) -> None:
    # Medians within a quarter, sigmas within 0.25, shares within 0.06. What states and uses facts
    # comes on top of what is said: of that it is only known that it is not much smaller. Turns are
    # long against results, as what a turn has no tokens left for is cut.
    planted = replace(
        find_profile("research"),
        sizes={
            **find_profile("research").sizes,
            "user": Spread(60, 0.8, 1_500),
            "thinking": Spread(90, 1.0, 1_500),
            "search": Spread(300, 0.9, 5_000),
            "open": Spread(500, 0.7, 9_000),
        },
        calls=Spread(12, 0.5),
        waits={"assistant": Spread(8, 0.9), "tool": Spread(3, 1.0), "user": Spread(100, 1.0)},
        shares={"text": 0.5, "thinking": 0.2, "pair": 0.2, "error": 0.1},
        tools={"search": 0.4, "open": 0.3, "table": 0.1, "note": 0.2},
        breaks=Breaks(0.1),
    )
    file = tmp_path / "planted.toml"
    file.write_text(planted.toml(), encoding="utf-8")
    long = ResearchAssistant(turns=30, tokens=240_000, profile=str(file))
    found = estimate(measure(map(long.conversation, (0, 1))), "", "", CODING).profile
    for key in ("thinking", "search", "open"):
        near(found.sizes[key], planted.sizes[key])
    for key in ("assistant", "tool"):
        near(found.waits[key], planted.waits[key])
    for key in ("user", "text", "answer"):
        assert found.sizes[key].median > 0.75 * planted.sizes[key].median
    for key in ("thinking", "pair", "error"):
        assert found.shares[key] == pytest.approx(planted.shares[key], abs=0.06)
    for key, share in planted.tools.items():
        assert found.tools[key] == pytest.approx(share, abs=0.06)
    assert sum(found.system.values()) == sum(planted.system.values())
    # Sixty pauses would tell little; many short turns tell more of them.
    short = ResearchAssistant(turns=400, tokens=60_000, profile=str(file))
    found = estimate(measure(map(short.conversation, (0, 1))), "", "", CODING).profile
    near(found.waits["user"], planted.waits["user"])
    assert found.breaks.share == pytest.approx(0.1, abs=0.06)


def near(found: Spread, planted: Spread) -> None:
    assert found.median == pytest.approx(planted.median, rel=0.25)
    assert found.sigma == pytest.approx(planted.sigma, abs=0.25)


@given(name=st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
@example("line\u2028separator")
@example('a " = b\u202ec\x85')
def test_any_tool_name_is_read_back_from_a_written_profile(name) -> None:
    coding = find_profile("coding")
    profile = replace(coding, tools={**coding.tools, name: 0.5})
    written = Fit(profile, {f"tools.{name}": 3}, "coding").toml()
    assert profile_of(Section(parse_toml(written), "fitted.toml")).tools == profile.tools
    unseen = {"Cc", "Cf", "Co", "Zl", "Zp"}
    assert not any(unicodedata.category(sign) in unseen for sign in written if sign != "\n")
