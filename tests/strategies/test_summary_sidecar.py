"""A line for each message, kept in a file beside the transcript."""

import json
from itertools import pairwise

import pytest
from inline_snapshot import snapshot

from compactlab.sim.core.errors import UsageError
from compactlab.sim.metrics import measure
from compactlab.strategies import SummarySidecar
from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.openclaw.sidecar import HEADER, INSTRUCTION
from tests.lines import refusal

SHOWN = SummarySidecar(threshold=0.0)
FIRST = SummarySidecar(hardened=False)
AUTO = "auto_compact(reserve_tokens=1000, reserve_tokens_floor=0, keep_recent_tokens=400)"


@pytest.fixture
def lines(tell, play):
    """The lines that each prompt shows in its system prompt."""

    def of(script, strategy=SHOWN, window=200_000, **more):
        steps = play(tell(script, **more), strategy, window=window).steps
        texts = [part.text for step in steps for part in step.system if part.kind == "summary"]
        return [text.splitlines()[2:] for text in texts]

    return of


@pytest.fixture
def prompts(tell, play):
    """The messages of each prompt."""

    def of(script, strategy=FIRST, **more):
        return list(play(tell(script, **more), strategy).prompts())

    return of


def said(line: str) -> str:
    """Whose line it is: "- User: u1 says: time" is "u1"."""
    return line.partition(": ")[2].partition(" says")[0]


def test_every_message_with_words_has_a_line_but_for_the_new_prompt(lines):
    assert lines("ucra ua ua")[-1] == [
        "- User: u1 says: time work p",
        "- Assistant: a4 says: time work p",
        "- User: u5 says: time work p",
        "- Assistant: a6 says: time work p",
    ]


def test_the_block_has_a_header_and_says_which_messages_it_stands_for(tell, play):
    (part,) = play(tell("uaua"), SHOWN).steps[-1].system
    assert part.text.splitlines()[:2] == [HEADER, INSTRUCTION]
    assert (part.kind, [source.id for source in part.sources]) == ("summary", ["u1", "a2"])


def test_the_file_is_that_of_the_original(moment):
    at = moment("uau")
    at.host.phase = next(phase for phase in SHOWN.phases if phase == "before_turn")
    at.host.state.view = at.view
    at.host.now = 1_769_904_000.0
    SHOWN.compact(at.view, at.host)
    assert at.host.files["session.jsonl.summary.json"] == (
        '{\n  "version": 1,\n  "lastProcessedMessageCount": 2,\n  "items": [\n'
        '    "User: u1 says: time work p",\n    "Assistant: a2 says: time work p"\n  ],\n'
        '  "updatedAt": 1769904000000\n}\n'
    )
    assert json.loads(at.host.files["session.jsonl.summary.ids.json"]) == ["u1", "a2"]


class TestHardened:
    """The last version, as far as it is known."""

    def test_without_pressure_nothing_is_shown(self, lines):
        assert lines("uaua", SummarySidecar()) == []

    def test_it_is_shown_from_the_threshold_on(self, lines):
        # The prompts of six turns grow from 100 to 1,100 estimated tokens.
        half = SummarySidecar(threshold=0.45, item_chars=20)
        shown = lines("ua" * 6, half, window=2000, size=400)
        assert [len(block) for block in shown] == [8, 10]

    def test_it_is_shown_once_the_history_is_trimmed(self, lines):
        trimmed = find_strategy("turn_slice(history_limit=1) + summary_sidecar")
        assert [len(shown) for shown in lines("ua" * 4, trimmed)] == [4, 6]

    def test_a_compaction_is_no_trimming(self, lines):
        compacting = find_strategy(f"{AUTO} + summary_sidecar")
        assert lines("ua" * 8, compacting, window=2000, size=400) == []

    def test_after_a_compaction_only_what_was_kept_has_lines(self, tell, play):
        """The transcript has become shorter, and is read anew."""
        compacting = find_strategy(f"{AUTO} + summary_sidecar(threshold=0.0, item_chars=15)")
        trace = play(tell("ua" * 8, size=400), compacting, window=2000)
        pairs = list(zip(trace.steps, trace.prompts(), strict=True))
        step, prompt = next(pair for pair in pairs if pair[0].compaction)
        summary, *kept, _ = [message.id for message in prompt]
        assert summary == "summary-1"
        assert [said(line) for line in step.system[0].text.splitlines()[2:]] == kept

    def test_the_newest_lines_that_fit_are_shown_oldest_first(self, lines):
        small = SummarySidecar(threshold=0.0, max_chars=140)
        assert lines("ua" * 3, small)[-1] == ["- Assistant: a4 says: time work p"]

    def test_a_long_message_is_one_short_line(self, lines):
        shown = lines("uaua", SummarySidecar(threshold=0.0, item_chars=10), size=200)[-1]
        assert shown[0] == "- User: u1 says: \N{HORIZONTAL ELLIPSIS}"

    def test_only_the_newest_lines_are_kept(self, lines):
        few = SummarySidecar(threshold=0.0, max_items=4)
        assert [said(line) for line in lines("ua" * 10, few)[-1]] == ["u15", "a16", "u17", "a18"]

    def test_it_changes_the_system_prompt_once_a_turn(self, tell, play):
        steps = play(tell("ucrcra" * 3, size=400, system=2000), SHOWN).steps
        assert ["system_changed" in step.causes for step in steps] == [
            False, False, False, True, False, False, True, False, False
        ]  # fmt: skip

    def test_a_compaction_in_the_middle_of_a_turn_does_not_take_it_away(self, tell, play):
        # The window is full at the fifth result, and the request is refused.
        strategy = find_strategy(f"{AUTO} + summary_sidecar(threshold=0.0)")
        steps = play(tell("ua" + "u" + "cr" * 6 + "a", size=1000), strategy, window=2000).steps
        assert any(step.compaction for step in steps)
        assert [len(step.system) for step in steps] == [0] + [1] * (len(steps) - 1)

    def test_a_transcript_that_has_become_shorter_is_read_anew(self, lines):
        shown = lines("ua ua ua <2 ua ua")
        assert [said(line) for line in shown[-2]] == ["u1", "a2"]
        assert [said(line) for line in shown[-1]] == ["u1", "a2", "u7", "a8"]

    def test_one_that_is_as_long_again_has_nothing_new_as_in_the_original(self, lines):
        """Six messages were read; the branch has eight when it is looked at."""
        shown = lines("ucra ua ua <3 crcra ua")
        assert [said(line) for line in shown[-1]] == ["u1", "a4", "u5", "a6", "a13"]

    def test_lines_of_a_branch_that_was_given_up_stand_for_nothing(self, tell, play):
        (part,) = play(tell("ucra ua ua <3 crcra ua"), SHOWN).steps[-1].system
        assert [source.id for source in part.sources] == ["u1", "a13"]

    def test_blocks_of_the_first_version_are_not_read(self, moment):
        at = moment("uau")
        glued = find_strategy("summary_sidecar(hardened=False)")
        at.host.phase = next(phase for phase in SHOWN.phases if phase == "before_turn")
        at.host.state.view = glued.compact(at.view, at.host)
        grown = at.host.session.append(*moment("uuua").messages[3:], *moment("uuuuu").messages[4:])
        at.host.state.view, at.host.files = grown, {}
        (part,) = SHOWN.compact(grown, at.host).system
        assert [said(line) for line in part.text.splitlines()[2:]] == ["u1", "a2", "a4"]


class TestFirst:
    """The first version, which reads what it has written itself."""

    def test_it_is_always_shown_glued_to_the_users_words(self, prompts):
        *_, prompt = prompts("uaua")
        block, words = prompt[-1].parts
        assert block.text == (
            f"{HEADER}\n{INSTRUCTION}\n"
            "- User: u1 says: time work p\n- Assistant: a2 says: time work p\n\n"
        )
        assert (block.kind, [source.id for source in block.sources]) == ("summary", ["u1", "a2"])
        assert (words.kind, words.text) == ("verbatim", "u3 says: time work p")

    def test_it_stays_there(self, prompts):
        *_, prompt = prompts("ua ucra ua")
        assert [len(message.parts) for message in prompt] == [1, 1, 2, 1, 1, 1, 2]

    def test_so_the_prompt_is_never_rewritten(self, tell, play):
        steps = play(tell("ua" * 6, size=400, system=2000), FIRST).steps
        assert not any(step.rewrite for step in steps)
        assert all(set(step.causes) <= {"cold_start", "append"} for step in steps)

    def test_its_own_blocks_come_back_as_what_the_user_said(self, prompts):
        """The loop: each block quotes the block before, and its quotes."""
        blocks = [prompt[-1].parts[0].text for prompt in prompts("ua" * 8)]
        assert [block.count(HEADER) for block in blocks] == [0, 1, 2, 4, 6, 8, 9, 9]
        assert f"- User: {HEADER} {INSTRUCTION} - User: u1 says" in blocks[2]

    def test_a_gate_can_hold_it(self, tell, play):
        """The first block quotes nothing yet."""
        story = tell("ua" * 8)
        nested = [
            measure(play(story, strategy), story, ["nested_summaries"])["nested_summaries"]
            for strategy in (FIRST, SHOWN)
        ]
        assert nested == [6, 0]

    def test_and_the_users_own_words_are_pushed_out(self, prompts):
        """With messages of 200 characters a block has room for no more than itself."""
        block = prompts("ua" * 8, size=200)[-1][-1].parts[0].text
        users = [line for line in block.splitlines() if line.startswith("- User")]
        assert len(users) == 2
        assert all(line.startswith(f"- User: {HEADER}") for line in users)
        assert not any("u11 says" in line or "u13 says" in line for line in users)

    def test_the_loop_can_be_seen_in_the_tokens_and_in_the_bill(self, tell, play):
        story = tell("ua" * 8)
        alone, first = (
            play(story, find_strategy(spec))
            for spec in ("keep_all", "summary_sidecar(hardened=False)")
        )
        sizes = [step.usage.prompt for step in first.steps]
        grown = [after - before for before, after in pairwise(sizes)]
        # A turn has 18 tokens. What it adds grows from turn to turn, until the block is full.
        assert [step.usage.prompt for step in alone.steps] == list(range(9, 144, 18))
        assert grown[:5] == sorted(grown[:5])
        assert grown[0] < 100
        assert min(grown[4:]) > 400
        figures, told = measure(first, story), measure(alone, story)
        assert figures["prompt_tokens_peak"] > 15 * told["prompt_tokens_peak"]
        assert figures["cost_usd"] > 5 * told["cost_usd"]

    def test_the_hardened_version_has_no_loop(self, tell, play):
        steps = play(tell("ua" * 8), SHOWN).steps
        assert [part.text.count(HEADER) for step in steps for part in step.system] == [1] * 7

    def test_a_compaction_summarises_the_blocks_too(self, tell, play):
        strategy = find_strategy(f"summary_sidecar(hardened=False) + {AUTO}")
        alone = find_strategy(AUTO)
        story = tell("ua" * 6, size=400)
        acted, seldom = (play(story, s, window=2000).steps for s in (strategy, alone))
        assert sum(step.compaction for step in acted) > sum(step.compaction for step in seldom)

    def test_a_rewind_freezes_it(self, prompts):
        """It waits until the branch is longer than what was read, and misses what came before."""
        blocks = [p[-1].parts[0].text for p in prompts("ua" * 4 + "<2" + "ua" * 4, size=30)[-5:]]
        given_up, *frozen, last = blocks
        assert frozen == [given_up] * 3
        assert "- Assistant: a6 says" in given_up
        assert "- Assistant: a14 says" in last
        assert not any(f"a{n} says" in last for n in (10, 12))

    def test_lines_are_compared_with_the_last_of_the_old_ones_alone(self, tell, play):
        """So that of the same words, twice in a turn, both have a line."""
        story = tell("uaaa ua", sizes={"a2": 0})
        assert len(list(play(story, FIRST).prompts())[-1][-1].parts[0].text.splitlines()) == 6


def test_the_first_version_comes_before_those_that_project():
    assert len(find_strategy("summary_sidecar(hardened=False) + token_budget").parts) == 2
    said = refusal(
        UsageError, lambda: find_strategy("token_budget + summary_sidecar(hardened=False)")
    )
    assert said == snapshot("""\
token_budget(reserve_tokens_floor=20000, max_history_share=1.0,
dynamic_reserve_ratio=0.08, min_dynamic_reserve_tokens=1200, history_limit=0) +
summary_sidecar(hardened=False, threshold=0.72, max_items=60, item_chars=220,
max_chars=1200): the parts of a pipeline come in the order session, turn, request\
""")
