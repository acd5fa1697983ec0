"""Where Gemini CLI cuts; the vectors say the same of the real one."""

import json

from hypothesis import given
from hypothesis import strategies as st

from compactlab.sim.core.message import Message, verbatim
from compactlab.sim.core.view import Messages
from compactlab.strategies.gemini_cli import (
    curated,
    estimate,
    estimate_text,
    history_split,
    split_point,
    within_budget,
    without_thoughts,
)
from tests.conformance.answers.gemini import as_content, json_chars


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_a_message_is_as_long_as_its_json(text):
    message = Message("u", "user", (verbatim("u", "text", text),))
    written = {"role": "user", "parts": [{"text": text}]}
    as_json = json.dumps(written, ensure_ascii=False, separators=(",", ":"))
    assert json_chars(message) == len(as_json.encode("utf-16-le")) // 2


def test_half_of_a_pair_is_written_as_an_escape():
    def length(text: str) -> int:
        return json_chars(Message("u", "user", (verbatim("u", "text", text),)))

    assert length("\ud83d") - length("") == len(r"\ud83d")


def cut_of(messages, fraction: float) -> int:
    """Where messages are cut, each of which is a content."""
    return split_point([as_content(n, m) for n, m in enumerate(messages)], fraction)


def test_it_cuts_at_the_first_words_of_a_user_behind_the_share(moment):
    messages = moment("ucra uaua", size=100).messages
    assert cut_of(messages, 0.3) == 4
    assert cut_of(messages, 0.6) == 6


def test_everything_may_go_if_the_model_spoke_last(moment):
    assert cut_of(moment("ua", size=100).messages, 0.7) == 2
    assert cut_of(moment("ucr", size=100).messages, 0.7) == 0
    assert cut_of(moment("").messages, 0.7) == 0


def test_estimates_tell_ascii_from_the_rest():
    assert estimate_text("a" * 8) == 2
    assert estimate_text("aaaaé") == 2.5
    assert estimate_text("é" * 100_001) == 100_001 / 4


def test_the_newest_outputs_stay_whole_and_older_long_ones_go_to_files(moment):
    now = moment("ucrcrcr", sizes={"r3": 50_000, "r5": 41_000, "r7": 4000})
    after = within_budget(now.messages, now.host, 12_000)
    assert [m.id for m in after if m.parts[0].kind == "truncated"] == ["r3"]
    assert now.host.files == {"tool-outputs/r3-0.txt": now.messages[2].parts[0].text}
    cut = after[2].parts[0]
    assert cut.handle == "tool-outputs/r3-0.txt"
    assert len(cut.text) < 40_200
    assert within_budget(after, now.host, 0)[2] is after[2]
    assert within_budget(now.messages, now.host, 100_000) is now.messages


def test_what_comes_without_an_answer_between_it_is_one_content(moment):
    """As the released program has it: a reminder behind a result is no place for a cut."""
    messages = moment("ua ucrm a ua", size=100).messages
    contents = curated(messages)
    assert [content.first for content in contents] == [0, 1, 2, 3, 4, 6, 7, 8]
    assert cut_of(messages, 0.5) == 5
    assert history_split(messages, 0.5) == 7


@given(
    st.lists(st.sampled_from(["u", "m", "a", "cr", "c2rr"]), min_size=1, max_size=8),
    st.floats(0.1, 0.9),
)
def test_contents_are_cut_as_the_messages_that_they_would_be(moment, blocks, fraction):
    messages = moment("".join(blocks), size=100).messages
    contents = curated(messages)
    ends = [content.first for content in contents[1:]] + [len(messages)]
    merged = []
    for content, end in zip(contents, ends, strict=True):
        group = messages[content.first : end]
        parts = tuple(part for message in group for part in message.parts)
        role = "tool" if any(part.type == "tool_result" for part in parts) else group[0].role
        merged.append(Message(group[0].id, role, parts))
    assert [content.chars for content in contents] == [json_chars(message) for message in merged]
    cut = cut_of(merged, fraction)
    assert history_split(messages, fraction) == [0, *ends][cut]


def test_the_history_has_no_thoughts(moment):
    told = list(moment("uauaua", size=100).messages)
    thought = Message("t", "assistant", (verbatim("t", "thinking", "well " * 1000),))
    before = Messages(told)
    after = Messages([*told[:4], thought, *told[4:]])
    assert estimate(after) == estimate(before)
    assert history_split(before, 0.6) == 4
    assert history_split(after, 0.6) == 5
    (content,) = curated(Messages([thought, told[1]]))
    assert content.chars == json_chars(told[1])
    assert list(without_thoughts(after)) == told


def test_an_estimate_is_rounded_once(moment):
    messages = moment("uaua", size=3).messages
    assert estimate(messages) == 4 * 3 // 4


def test_less_stays_of_an_output_where_the_window_has_little_room(moment):
    now = moment("ucrcr", sizes={"r3": 5000, "r5": 400})
    after = within_budget(now.messages, now.host, 50, most=1000)
    (part,) = after[2].parts
    assert [(s.start, s.end) for s in part.sources] == [(0, 200), (4200, 5000)]
    assert within_budget(after, now.host, 50, most=1000)[2] is after[2]


def test_beyond_the_window_nothing_is_left_of_an_output_but_where_it_is(moment):
    """JavaScript takes the ends of a text for others, where they are below 0."""
    now = moment("ucrcr", sizes={"r3": 5000, "r5": 400})
    after = within_budget(now.messages, now.host, 50, most=-100_000)
    (part,) = after[2].parts
    assert (part.kind, part.handle) == ("stub", "tool-outputs/r3-0.txt")
    assert now.host.files["tool-outputs/r3-0.txt"] == now.messages[2].parts[0].text
    twice = within_budget(now.messages, now.host, 50, most=-1000)[2].parts[0]
    assert [(s.start, s.end) for s in twice.sources] == [(0, 4800), (800, 5000)]


def test_what_failed_becomes_an_output_where_it_does_not_fit(moment):
    now = moment("ucrcr", sizes={"r3": 400, "r5": 400})
    call, result = now.messages[1:3]
    told = verbatim("r3", "tool_result", 'no "x"\n', call_id="c2/0", is_error=True)
    failed = Message("r3", "tool", (told,))
    after = within_budget(Messages([call, failed, *now.messages[3:]]), now.host, 50)
    assert after[1].parts[0].text == json.dumps({"error": 'no "x"\n'}, indent=2)
    assert not after[1].parts[0].is_error
    assert within_budget(Messages([call, result, *now.messages[3:]]), now.host, 50)[1] is result
