"""Characters by 4, 3.6 and 3 are held against counts, and against what a provider reported."""

from pathlib import Path

import msgspec
import pytest
import validate_estimates as validate

from compactlab.scenarios.readers import native
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.message import Call, Message, Part, Usage
from tests.sim.facts.told import answer, say, script

CHINESE = validate.PASSAGES["Chinese"]


def session(text: str = "words of all kinds ") -> Conversation:
    """Two calls of gpt-5.5; in between the prompt has grown by 1,000 tokens, for a question."""
    first, second = (
        msgspec.structs.replace(
            answer(id, "yes"),
            call=Call(model="gpt-5.5-20260101", usage=Usage(uncached=prompt, output=1)),
        )
        for id, prompt in (("a1", 2_000), ("a2", 3_000))
    )
    return script(say("u1", text), first, say("u2", text * 200), second)


def test_characters_and_tokens_are_summed_by_kind():
    sums = validate.sums_of([script(say("u1", "one two three"), answer("a1", CHINESE))])
    assert sums == {"user": [13, 3], validate.OTHER: validate.counted(CHINESE)}


def test_a_call_is_its_name_and_its_arguments_and_a_clients_words_are_nobodys():
    call = Part("tool_call", '{"a": 1}', "synthetic", (), "read")
    assert validate.text_of(call) == 'read{"a": 1}'
    client = Message("m1", "user", (Part("text", "a note", "synthetic", ()),), meta=True)
    assert [validate.kind_of(client, part) for part in client.parts] == [""]


def test_a_growth_belongs_to_the_kind_that_has_nine_tenths_of_it():
    told = session()
    chars = 200 * len("words of all kinds ") + len("yes")
    assert validate.reported([told]) == {"gpt-5.5": {"user": [chars, 1_000]}}


def test_an_estimate_below_the_count_is_late():
    assert validate.errors(400, 200) == pytest.approx([-0.5, 400 / 3.6 / 200 - 1, -1 / 3])


@pytest.mark.parametrize(("text", "code"), [("words of all kinds ", 0), ("0 1 2 3 4 ", 1)])
def test_a_bar_is_missed_where_characters_are_dense(
    text: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Digits between blanks have a token a character: by 3 is two thirds too little."""
    monkeypatch.setattr(validate, "SCENARIOS", ["half_thoughts"])
    folder = tmp_path / "recorded"
    folder.mkdir()
    native.write(session(text), folder / "session.jsonl")
    assert validate.main([str(folder)]) == code
    out = capsys.readouterr().out
    assert ("MISSED  user, by 3" in out) == bool(code)
    assert "| user | o200k, recorded |" in out
