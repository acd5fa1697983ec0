"""Conversations are called by what their user asked first, and by when."""

from dataclasses import replace

import pytest

from compactlab.reports.analysis.scope import named_by_id, title_of
from compactlab.scenarios.readers import native
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Message, verbatim
from compactlab.sim.store.results import Results
from compactlab.sim.store.tables import CALLS
from tests.cli.conftest import called
from tests.hostile import conversation
from tests.reports.conftest import make


def asked(text: str) -> Conversation:
    """A session that begins with a prompt."""
    session = conversation("x", 1)
    first, *events = session.events
    assert isinstance(first, Message)
    prompt = Message(first.id, "user", (verbatim(first.id, "text", text),), first.time)
    return replace(session, events=(prompt, *events))


@pytest.mark.parametrize(
    ("text", "opening"),
    [
        ("Mend the parser", "Mend the parser"),
        ("\n  <command>x</command>\n Mend   it\nand more", "Mend it"),
        (f"Mend {'all of the parser ' * 9}", f"Mend {'all of the parser ' * 3}all of the…"),
        ("x" * 100, ""),  # half a word may be half a secret
    ],
)
def test_a_title_is_the_first_line_of_the_first_prompt(text, opening):
    assert asked(text).opening == opening


def test_a_recording_has_its_date_and_other_stores_have_ids():
    run = make("keep_all()")
    assert title_of(run) == named_by_id(run) == "one (claude-code)"
    run.title = "Mend the parser"
    assert title_of(run) == "Mend the parser"
    calls = {name: run.calls.array(name).tolist() for name in run.calls.columns}
    run.rows["calls"] = CALLS.filled({**calls, "time": [1_762_500_000.0] * len(run.calls)})
    run.seed = 2
    assert title_of(run) == "Mend the parser (2025-11-07, seed 2)"


def test_a_store_has_titles_without_secrets(tmp_path):
    secret = "sk-ant-api03-" + "Ab1" * 12
    native.write(asked(f"Use {secret} now"), tmp_path / "talk.jsonl")
    for option in ((), ("--redact",)):
        out = tmp_path / f"out{len(option)}"
        done = called("run", "--conversations", tmp_path / "talk.jsonl", "--strategies", "keep_all",
                      "--jobs", 1, "--out", out, *option)  # fmt: skip
        assert done.code == 0
        (run,) = Results.load(out).runs
        assert run.title.startswith("Use ")
        assert (secret in run.title) == (not option)
        assert (secret in (out / "report.html").read_text("utf-8")) == (not option)
