"""Inferred needs, held against what a recorded agent had in its prompts."""

import validate_needs as validate
from inline_snapshot import snapshot

from compactlab.scenarios.readers import native
from compactlab.sim.core.conversation import Compaction, Conversation
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.facts import inferred
from tests.lines import lines_with
from tests.sim.facts.told import answer, say, script

FILLER = " ".join(f"leaf {place}" for place in range(12_000))


def session() -> Conversation:
    """Three keys are told; the summary keeps one, another is used all the same, one never again."""
    told = say("u1", "Mind KEY_a1, KEY_b2, KEY_c3 and the number 47115.")
    summary = Part("text", "There is KEY_a1.", "summary", (Source("u1"), Source("a1")))
    return script(
        told,
        answer("a1", "I mind KEY_a1, KEY_b2, KEY_c3 and 47115."),
        Compaction((Message("s1", "user", (summary,), meta=True),)),
        say("u2", FILLER),
        answer("a2", "KEY_a1 fits, so does KEY_b2; 47115 times."),
    )


def test_what_was_used_without_being_in_the_prompt_is_counted():
    talk = session()
    now = validate.needs_in(talk, inferred(talk))
    assert (now["compacted"], now["used anyway"], now["lag 0"]) == (2, 1, 3)
    before = validate.needs_in(talk, validate.every_use(talk))
    assert (before["compacted"], before["used anyway"]) == (3, 2)


def test_what_the_summary_keeps_of_needed_and_of_like_words():
    talk = session()
    assert validate.kept_words(talk, inferred(talk)) == {
        ("needed", True): 1,
        ("needed", False): 1,
        ("like", False): 1,
    }


def test_it_runs_over_a_folder_by_repository(tmp_path, capsys):
    folder = tmp_path / "recorded" / "oh-my-posh"
    folder.mkdir(parents=True)
    native.write(session(), folder / "session.jsonl")
    assert validate.main([str(tmp_path / "recorded")]) == 1  # half is not less than half of 67 %
    out = capsys.readouterr().out
    assert lines_with(out, "new rule: used", "summaries keep") == snapshot("""\
new rule: used anyway 1 of 2, 50% [50%, 50%]; needs by lag [3, 0, 0, 0, 0, 0, 2, 0]
met     summaries keep 50% of needed words, 0% of like words\
""")
