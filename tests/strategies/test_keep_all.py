"""Everything that was ever said is sent: nothing forgotten, nothing rewritten, no window kept."""

from compactlab.strategies import KeepAll


def test_it_sends_everything(tell, sent):
    assert sent(tell("ucra ua"), KeepAll()) == ["u1", "u1 c2 r3", "u1 c2 r3 a4 u5"]


def test_a_rewind_takes_it_back_to_what_was_said_by_then(tell, sent):
    assert sent(tell("uaua <2 ua"), KeepAll()) == ["u1", "u1 a2 u3", "u1 a2 u5"]


def test_its_prompt_is_never_rewritten_and_in_the_end_too_large(tell, play):
    steps = play(tell("ua" * 20, size=2000), KeepAll(), window=5000).steps
    assert not any(step.rewrite or step.compaction for step in steps)
    assert [step.overflow for step in steps] == sorted(step.overflow for step in steps)
    assert steps[-1].overflow


def test_what_is_fresh_was_just_said(tell, play):
    steps = play(tell("ucra" * 10, size=400, system=2000), KeepAll()).steps
    assert [set(step.causes) for step in steps[1:]] == [{"append"}] * 19
