"""What would never come to an end is refused before it begins, with the limit and what to do."""

import pytest
from inline_snapshot import snapshot

from compactlab.request import file as experiment
from compactlab.request.names import plan, relative_strategy
from compactlab.scenarios import catalogue
from compactlab.scenarios.catalogue import Seeded, sources
from compactlab.scenarios.engine.story import Story
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import UsageError
from compactlab.sim.experiment import sweep
from tests.cli.conftest import TINY
from tests.lines import lines_with, refusal

MANY = 10**9
NOBODY = "'nobody',"
TOO_MANY = snapshot("""\
2
compactlab: more than 100,000 conversations are not run, each counted with all its seeds: name
fewer conversations or seeds\
""")


@pytest.fixture
def nothing_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """No source and no conversation may be made: there would be too many, or too large ones."""

    def make(*_: object) -> None:
        raise AssertionError("something is built")

    monkeypatch.setattr(catalogue, "_made", make)
    monkeypatch.setattr(Story, "conversation", make)


FILES = {
    "a number": f"seeds = {MANY}",
    "a number of its own": f'conversations = [{{ scenario = "rewinds", seeds = {MANY} }}]',
    "many scenarios": "seeds = 20_000\nconversations = ['suite']",
    "a grid": "conversations = [{ scenario = 'rewinds', tokens = [1, 2, 3], seeds = 50_000 }]",
}


@pytest.mark.usefixtures("nothing_made")
@pytest.mark.parametrize("name", FILES)
def test_more_seeds_than_can_be_run_are_refused(compactlab, tmp_path, name):
    (tmp_path / "my.toml").write_text(FILES[name])
    assert compactlab("run", tmp_path / "my.toml", "--dry-run").told(tmp_path) == TOO_MANY


@pytest.mark.usefixtures("nothing_made")
@pytest.mark.parametrize("seeds", [100_001, MANY, 10**30])
def test_more_seeds_than_can_be_run_are_refused_as_an_option_too(compactlab, seeds):
    done = compactlab("run", "--conversations", TINY, "--seeds", seeds, "--dry-run")
    assert done.told() == TOO_MANY


def test_a_transcript_is_counted_with_its_seeds_too(compactlab, chat, tmp_path):
    talk = chat(tmp_path / "talk.jsonl")
    done = compactlab("run", "--conversations", talk, "--seeds", MANY, "--dry-run")
    assert done.told(tmp_path) == TOO_MANY


@pytest.mark.usefixtures("nothing_made")
def test_python_is_told_the_same():
    said = refusal(UsageError, lambda: plan([Conversation("hello", "native", ())], seeds=MANY))
    assert said == snapshot("""\
more than 100,000 conversations are not run, each counted with all its seeds: name fewer
conversations or seeds\
""")
    assert refusal(UsageError, lambda: sources([Seeded("rewinds", range(MANY))])) == snapshot("""\
more than 100,000 conversations are not run, each counted with all its seeds: name fewer
conversations or seeds\
""")


def test_as_many_as_the_limit_are_run(monkeypatch):
    monkeypatch.setattr(catalogue, "MOST_SOURCES", 4)
    assert len(sources(["rewinds", "tool_flood"], 2)[0]) == 4
    with pytest.raises(UsageError):
        sources(["rewinds", "tool_flood"], 3)


def test_more_runs_than_can_be_run_are_refused(monkeypatch):
    """Each list may be short enough, and their product not."""
    monkeypatch.setattr(sweep, "MOST_CELLS", 8)
    compared = {"strategies": ["keep_all", "keep_none"], "models": ["gpt-5", "claude-sonnet-4-5"]}
    assert len(plan([TINY], seeds=2, **compared).conditions) == 4
    assert refusal(UsageError, lambda: plan([TINY], seeds=3, **compared)) == snapshot("""\
these are 12 runs, every conversation under every strategy, model, window and summariser;
more than 8 are not run: name fewer\
""")


@pytest.mark.usefixtures("nothing_made")
@pytest.mark.parametrize("field", ["turns", "tokens", "calls"])
@pytest.mark.parametrize("scenario", ["coding_agent", "suite", "adversarial"])
def test_a_scenario_has_a_size_that_can_be_made(compactlab, field, scenario):
    done = compactlab("run", "--conversations", f"{scenario}({field}={MANY})", "--dry-run")
    assert (done.code, done.out) == (2, "")
    assert f"{field} must be at most" in done.err


@pytest.mark.usefixtures("nothing_made")
@pytest.mark.parametrize("field", ["turns", "tokens", "calls"])
def test_a_scenario_of_a_file_has_its_place_named(compactlab, tmp_path, field):
    text = f"conversations = [{{ scenario = 'rewinds', {field} = [10, {MANY}] }}]"
    (tmp_path / "my.toml").write_text(text)
    done = compactlab("run", tmp_path / "my.toml", "--dry-run")
    assert (done.code, done.out) == (2, "")
    assert f"conversations[0].{field}[1]: must be at most" in done.err


@pytest.mark.usefixtures("nothing_made")
@pytest.mark.parametrize("command", ["inspect", "explain"])
def test_every_command_that_makes_one_refuses_it(compactlab, command):
    more = ("--strategies", "keep_all") if command == "explain" else ()
    assert compactlab(command, f"coding_agent(turns={MANY})", *more).told() == snapshot("""\
2
compactlab: coding_agent: turns must be at most 100,000: make several conversations\
""")


LONG = {
    "[[strategies]]": "[[strategies]]\nname = 'keep_all'\n" * 100_001,
    "summarizer": f"summarizer = [{'1,' * 100_001}]",
    "conversations": f"conversations = [{'1,' * 100_001}]",
    "models": f"models = [{'1,' * 100_001}]",
    "strategies[0].keep": "strategies = [{ name = 'sliding_window', "
    f"keep = [{'1,' * 100_001}] }}]",
}


@pytest.mark.parametrize("name", LONG)
def test_a_list_that_is_too_long_is_refused_before_anything_in_it_is_read(
    compactlab, tmp_path, monkeypatch, name
):
    def read(*_: object) -> None:
        raise AssertionError("an entry is read")

    for what in ("_strategy", "_summarizer", "_check"):
        monkeypatch.setattr(experiment.Expansion, what, read)
    monkeypatch.setattr(experiment, "models_of", read)
    (tmp_path / "my.toml").write_text(LONG[name])
    done = compactlab("run", tmp_path / "my.toml", "--dry-run")
    assert (done.code, done.out) == (2, "")
    told = f"{name.strip('[]')}: has 100,001 entries; more than 100,000 are not read: name fewer"
    assert told in done.err


def test_a_table_of_more_keys_than_any_class_has_is_refused(compactlab, tmp_path):
    keys = ", ".join(f"k{number} = 1" for number in range(1_001))
    (tmp_path / "my.toml").write_text(f"strategies = [{{ {keys} }}]")
    assert compactlab("run", tmp_path / "my.toml", "--dry-run").told(tmp_path) == snapshot("""\
2
compactlab: my.toml: settings are wrong:
  line 1: strategies[0]: has 1,001 keys; more than 1,000 are not read: name fewer\
""")


@pytest.mark.parametrize("key", ["strategies", "models"])
def test_after_very_many_faults_nothing_more_is_read(compactlab, tmp_path, monkeypatch, key):
    """To name what was meant takes a millisecond each."""
    asked = []

    def find(text: object, *_: object) -> None:
        asked.append(text)
        raise UsageError("unknown")

    monkeypatch.setattr(experiment.strategies, "known_strategy", find)
    monkeypatch.setattr(experiment, "models_of", find)
    (tmp_path / "my.toml").write_text(f"{key} = [{NOBODY * 50_000}]")
    done = compactlab("run", tmp_path / "my.toml", "--dry-run")
    assert done.code == 2
    assert lines_with(done.err, "and 951") == snapshot("and 951 more")
    assert len(asked) == 1_001


@pytest.mark.parametrize("option", ["--strategies", "--summarizer", "--loop", "--conversations"])
def test_a_spec_that_is_too_long_is_refused(compactlab, option):
    done = compactlab("run", option, f"sliding_window(keep={'-' * 100_000}1)", "--dry-run")
    assert done.told() == snapshot("""\
2
compactlab: 'sliding_window(keep=--------------------'... is too long for a spec: write at most
100,000 characters\
""")
    assert len(done.err) < 500


def test_a_long_name_is_looked_at_once(tmp_path):
    """No expression goes back to where it began."""
    name = "a" * 1_000_000
    assert relative_strategy(tmp_path, f"{name} + {name}") == f"{name} + {name}"
