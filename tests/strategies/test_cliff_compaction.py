"""Cliff compaction: what the digest has, and what is in no digest."""

from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.strategies.cliff_compaction import BETWEEN, LEAD, CliffCompaction, digested


def test_the_digest_has_words_calls_and_short_results_and_nothing_of_the_one_before(tell, play):
    told = tell("ucrcr" + "ua" * 8, size=40, sizes={"r3": 501, "a": 900, "c": 200})
    trace = play(told, CliffCompaction(trigger=700, keep_recent=1))
    made = {m.id: m for prompt in trace.prompts() for m in prompt if m.id[0] == "s"}
    digests = {id: "".join(part.text for part in m.parts) for id, m in made.items()}
    first, *_, last = digests.values()
    assert first.startswith(LEAD)
    told_of = [piece.split(" says")[0] for piece in first.removeprefix(LEAD).split(BETWEEN)]
    assert told_of == [
        "[read] c2",
        "[read] c4",
        "result: r5",
        "user: u6",
        "assistant: a7",
        "user: u8",
    ]
    assert "c2 says" not in last
    assert last.count("says:") == 2


@given(data=st.data(), keep=st.integers(0, 4), longest=st.integers(0, 60))
@settings(max_examples=50)
def test_fewer_messages_are_left_in_their_order(data, keep, longest, conversations):
    messages = data.draw(conversations).messages
    rule = CliffCompaction(keep_recent=keep, result_chars=longest)
    found = digested(messages, rule)
    if found is None:
        return
    head, digest, kept = found
    assert head + 1 + len(kept) < len(messages)
    assert list(messages[len(messages) - len(kept) :]) == kept
    old = messages[head : len(messages) - len(kept)]
    quoted = "".join(part.text for part in digest)
    results = [p.text.strip() for m in old for p in m.parts if p.type == "tool_result"]
    users = [p.text.strip() for m in old if m.role == "user" for p in m.parts]
    assert all(text in quoted for text in users)
    assert all(text in quoted for text in results if len(text) <= longest)
