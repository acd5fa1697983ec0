"""The fit of `calibrated`: what recorded summaries kept is read right, and planted rates return."""

import math
import re
from dataclasses import replace
from pathlib import Path

import calibrate
import calibration
import numpy as np
import pytest
from calibration import Observation, Observed, auc, fit, left_out, logistic, observe
from hypothesis import given
from hypothesis import strategies as st

from compactlab.scenarios.catalogue import sources
from compactlab.scenarios.readers.native import write
from compactlab.sim.core.conversation import Fact
from compactlab.sim.core.stream import stream
from compactlab.strategies.summarizers.calibrated import Traits, find_calibration
from tests.summarizers.recorded import Recording, session

SHARED = Path(__file__).parents[3] / "shared"
NAMES = (
    "build_report", "tidal_fork", "amber_gate", "src/long/way/table.py", "RowError", "/srv/a/x.rs",
)  # fmt: skip
PLANTED = {"all": -1.0, "entity": 1.0, "mentions": 0.5, "age": -0.2, "carried": 1.0}


def plain(id: str = "s", folder: str = "r") -> Observed:
    """A summary that has to do with no fact yet."""
    (found,) = observe(session(id, ["a_kept"], ["b_lost"], folder=folder))
    return replace(found, facts=())


def planted(seed: int, facts: int = 3000) -> tuple[Observation, ...]:
    """Facts whose fates are drawn by known coefficients."""
    dice, made = stream(seed, "planted"), []
    for number in range(facts):
        kind = dice.choice(("entity", "tool_detail"))
        traits = Traits(
            kind, dice.randint(1, 16), dice.randint(0, 90_000), dice.random() < 0.2, False
        )
        odds = PLANTED["all"] + PLANTED.get(kind, 0)
        odds += sum(PLANTED.get(name, 0) * value for name, value in traits.features.items())
        kept = dice.random() < 1 / (1 + math.exp(-odds))
        fact = Fact(f"f{number}", kind, "", f"f{number}")  # type: ignore[arg-type]
        made.append(Observation(fact, traits, kept, False, 0, False))
    return tuple(made)


def test_planted_coefficients_come_back():
    found = fit([replace(plain(), facts=planted(1, 12_000))])
    difference = found["entity"] - found["tool_detail"]
    assert difference == pytest.approx(PLANTED["entity"], abs=0.15)
    for name in ("mentions", "age", "carried"):
        assert found[name] == pytest.approx(PLANTED[name], abs=0.15), name


@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_an_intercept_alone_is_the_share(hits):
    found = logistic(np.ones((len(hits), 1)), np.array(hits, np.float64))
    share = sum(hits) / len(hits)
    if 0 < share < 1:
        assert 1 / (1 + math.exp(-found[0])) == pytest.approx(share, abs=1e-4)
    else:
        assert np.isfinite(found).all()


def test_chances_that_are_left_out_are_right_on_average():
    parts = [replace(plain(f"s{n}"), facts=planted(n)) for n in range(4)]
    trials = left_out(parts, lambda summary: summary.session)
    assert trials is not None
    for trial in trials:
        assert (trial.groups, len(trial.kept)) == (4, 12_000)
        assert all(abs(chance - kept) < 0.05 for chance, kept in trial.fifths)
        assert trial.auc > 0.6


def test_what_is_left_out_has_no_say():
    """Where one session keeps all and the other nothing, each is thought to be as the other."""
    kept, lost = (
        tuple(each._replace(kept=is_kept) for each in planted(3, 50)) for is_kept in (True, False)
    )
    parts = [replace(plain("a"), facts=kept), replace(plain("b"), facts=lost)]
    trials = left_out(parts, lambda summary: summary.session)
    assert trials is not None
    assert [trial.auc for trial in trials] == [0, 0]


def test_equal_scores_tell_nothing_apart():
    hits = np.array([True, False, True, False])
    assert auc(np.zeros(4), hits) == 0.5
    assert auc(np.array([2.0, 1, 2, 1]), hits) == 1.0


def test_what_a_summary_keeps_is_read_with_what_it_depends_on():
    told = Recording()
    told.say("Please look at build_report, quickly.")
    told.say("I look at build_report.", "assistant")
    told.say("it prints tidal_fork and parse_rows and src/long/way/table.py", "tool")
    told.compact('The user said "Please look at build_report, quickly." It has table.py.')
    told.say("And now?")
    told.say("parse_rows", "assistant")
    told.say("I edit src/long/way/table.py, parse_rows, build_report, tidal_fork.", "assistant")
    (found,) = observe(told.told())
    facts = {each.fact.value: each for each in found.facts}
    assert {value: each.kept for value, each in facts.items()} == {
        "build_report": True,
        "parse_rows": False,
        "tidal_fork": False,
        "src/long/way/table.py": False,
    }
    traits = facts["build_report"].traits
    assert (traits.kind, traits.mentions, traits.messages) == ("entity", 2, ("m0",))
    assert facts["build_report"].quoted
    assert (facts["parse_rows"].traits.kind, facts["parse_rows"].traits.age) == ("tool_detail", 0)
    assert traits.age > 0
    assert facts["src/long/way/table.py"].shown == 1
    assert found.messages == (True,)
    assert (found.client, found.version, found.model) == (
        "claude_code", "2.1.39", "claude-opus-4-6",
    )  # fmt: skip


def test_the_second_summary_has_the_first_before_it():
    told = Recording()
    told.say("The names are one_name, two_name and old_name.")
    told.say("I see.", "assistant")
    told.compact("Names: one_name and two_name.")
    told.say("Once more, two_name it is.")
    told.say("I see.", "assistant")
    told.compact("Still two_name.")
    told.say("Go on with them.")
    told.say("I use one_name, two_name and old_name.", "assistant")
    first, second = observe(told.told())
    assert first.before == ()
    facts = {each.fact.value: each for each in second.facts}
    assert set(facts) == {"one_name", "two_name"}  # what is gone cannot be kept
    assert [facts[name].traits.mentions for name in ("one_name", "two_name")] == [0, 1]
    assert all(each.traits.carried for each in facts.values())
    assert [facts[name].kept for name in ("one_name", "two_name")] == [False, True]
    assert second.request.previous == first.parts


def test_a_summary_that_nobody_can_read_is_passed_over():
    told = Recording()
    told.say("Look at some_name.")
    told.compact("")
    told.say("I use some_name.", "assistant")
    assert list(observe(told.told())) == []


def test_the_client_with_most_summaries_is_fitted_and_others_are_told():
    found = [
        summary
        for n in range(3)
        for summary in observe(
            session(f"s{n}", ["a_kept"], ["b_lost"], client="pi" if n else "claude-code")
        )
    ]
    model = calibration.calibrate(found, "2026-11-23")
    assert (model.client, set(model.clients)) == ("pi", {"pi", "claude_code"})
    assert model.source.endswith("2 summaries of pi in 2 sessions, 4 facts; 2026-11-23")


def test_what_a_quoted_message_states_is_no_proof_of_a_good_memory():
    """Such facts are left out of the fit: whether a message is quoted is drawn apart."""
    ask = "Please take care of the name_in_question, as ever."
    found = list(observe(session("s", ["a_kept", "name_in_question"], ["b_lost"], ask=ask)))
    told = {each.fact.value: each.quoted for each in found[0].facts}
    assert told["name_in_question"]
    assert not told["a_kept"]
    assert calibration.calibrate(found).clients["claude_code"].quoted == 0.5


def test_the_script_writes_a_model_that_is_read_again(tmp_path, capsys):
    for n in range(3):
        kept, lost = NAMES[n : n + 3], (*NAMES[:n], *NAMES[n + 3 :])
        file = tmp_path / "repository" / f"s{n}.jsonl"
        file.parent.mkdir(exist_ok=True)
        write(session(f"s{n}", kept, lost), file)
    own = tmp_path / "own.toml"
    assert calibrate.main([str(tmp_path), "-o", str(own), "--date", "2026-11-23"]) == 0
    model = find_calibration(str(own))
    size = "3 summaries of claude_code in 3 sessions, 18 facts"
    assert model.source == f"fitted to {size}; 2026-11-23"
    out = capsys.readouterr().out
    assert re.search(r"^ +all +18 +50\.0% ", out, re.MULTILINE)
    assert re.search(r"^sessions +3 +18 +[01]\.\d{3} ", out, re.MULTILINE)
    assert calibrate.main([str(tmp_path / "none.jsonl")]) == 2


@pytest.mark.slow
def test_the_packages_model_is_that_of_the_recordings_and_meets_its_bars():
    """Of sessions that were left out: an AUC of at least 0.68, and fifths within 0.05."""
    folders = [SHARED / name for name in ("recorded", "recorded-more")]
    if not all(folder.is_dir() for folder in folders):
        pytest.skip("needs the recordings in ../shared")
    loaded = (source.named(c) for source in sources(folders)[0] for c in source.load())
    summaries = [
        summary for conversation in loaded for summary in calibration.observe(conversation)
    ]
    built_in = find_calibration()
    assert calibration.calibrate(summaries, built_in.source.rpartition("; ")[2]) == built_in
    own = [summary for summary in summaries if summary.client == built_in.client]
    trials = calibration.left_out(own, lambda summary: summary.session)
    assert trials is not None
    assert trials[0].auc >= 0.68
    assert max(abs(chance - kept) for chance, kept in trials[0].fifths) <= 0.05
