"""Grids in experiment files: a table of lists is each combination of them."""

from math import prod
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from compactlab.request.file import LIMIT, Expansion
from compactlab.request.toml_file import Faults
from compactlab.scenarios.catalogue import Seeded
from compactlab.sim.core.errors import InputError
from compactlab.strategies.catalogue import find_strategy
from tests.lines import fitting

OWN = """
from dataclasses import dataclass
import compactlab

@dataclass(frozen=True)
class Mine(compactlab.Strategy):
    keep: int
    words: tuple[str, ...] | None = None
    pair: tuple[tuple[str, int], ...] = ()

    def compact(self, view, host):
        return view
"""


def strategies(*given: object, folder: Path = Path()) -> list[str]:
    """What a list of strategies is written out to; an error, if anything is wrong."""
    faults = Faults()
    found = Expansion(folder, faults, allow_code=True).strategies(list(given))
    if faults:
        raise faults.error("")
    return found


def conversations(*given: object, folder: Path = Path()) -> list[str | Seeded]:
    faults = Faults()
    found = Expansion(folder, faults).conversations(list(given))
    if faults:
        raise faults.error("")
    return found


def complaints(*given: object, folder: Path = Path(), what=strategies) -> list[str]:
    with pytest.raises(InputError) as error:
        what(*given, folder=folder)
    return [line.strip() for line in str(error.value).splitlines()[1:]]


def test_the_first_key_varies_slowest():
    table = {"name": "recency_buffer", "keep_messages": [5, 10, 20], "keep_tokens": [2000, 8000]}
    assert strategies(table) == [
        f"recency_buffer(keep_messages={messages}, keep_tokens={tokens})"
        for messages in (5, 10, 20)
        for tokens in (2000, 8000)
    ]


def test_a_table_without_lists_is_one_strategy_and_what_is_the_same_is_kept_once():
    assert strategies({"name": "keep_all"}) == ["keep_all"]
    table = {"name": "sliding_window", "keep": [20, 3, 3]}
    assert strategies("sliding_window", table, "sliding_window(keep=3)") == [
        "sliding_window",
        "sliding_window(keep=3)",
    ]


def test_one_list_is_one_value_of_a_field_that_takes_a_list():
    def cleared(tools: object) -> list[str]:
        return strategies({"name": "clear_tool_results", "exclude_tools": tools})

    assert cleared(["read", "grep"]) == ["clear_tool_results(exclude_tools=('read', 'grep'))"]
    assert cleared([]) == ["clear_tool_results(exclude_tools=())"]
    assert [find_strategy(text).exclude_tools for text in cleared([[], ["read"]])] == [
        (),
        ("read",),
    ]


def test_a_list_of_lists_that_is_one_value_stands_in_a_further_list():
    either = [["tokens", 8000], ["messages", 50]]
    assert strategies({"name": "rolling_summary", "trigger": either}) == [
        "rolling_summary(trigger=('tokens', 8000))",
        "rolling_summary(trigger=('messages', 50))",
    ]
    (both,) = strategies({"name": "rolling_summary", "trigger": [either]})
    assert find_strategy(both).trigger == (("tokens", 8000), ("messages", 50))


def test_a_pipeline_is_each_combination_of_its_parts():
    first = {"name": "auto_compact", "keep_recent_tokens": [4000, 16000]}
    second = {"name": "context_recovery", "messages": [4, 8]}
    assert strategies({"pipeline": [first, second, "pair_repair"]}) == [
        f"auto_compact(keep_recent_tokens={tail}) + context_recovery(messages={told}) + pair_repair"
        for tail in (4000, 16000)
        for told in (4, 8)
    ]


def test_a_text_may_hold_what_separates_texts():
    text = "a) + b('\" "
    (found,) = strategies(
        {"pipeline": [{"name": "clear_tool_results", "placeholder": text}, "pair_repair"]}
    )
    assert find_strategy(found).parts[0].placeholder == text


def test_a_strategy_of_ones_own_has_a_grid_too(tmp_path):
    (tmp_path / "own idea").mkdir()
    (tmp_path / "own idea" / "mine.py").write_text(OWN)
    table = {"name": "own idea/mine.py:Mine", "keep": [1, 2], "words": [["a"], ["b", "c"]]}
    found = strategies(table, {**table, "keep": 1}, folder=tmp_path)
    assert [find_strategy(text).words for text in found] == [("a",), ("b", "c")] * 2
    assert all(text.startswith(str(tmp_path)) for text in found)


def test_a_file_of_ones_own_has_the_same_class_until_it_changes(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    first, second = (find_strategy(f"{file}:Mine(keep=1)") for _ in range(2))
    assert first == second
    file.write_text(OWN.replace("words", "texts"))
    assert find_strategy(f"{file}:Mine(keep=1)") != first


WRONG: list[object] = [
    3,
    {},
    {"name": 3},
    "sliding_windo",
    {"name": "keep_al"},
    {"name": "keep_all + keep_none"},
    {"name": "sliding_window(keep=3)"},
    {"name": "sliding_window", "kep": 3},
    {"name": "sliding_window", "keep": [3, "x"]},
    {"name": "sliding_window", "keep": True},
    {"name": "sliding_window", "keep": [3, -1]},
    {"name": "sliding_window", "keep": []},
    {"name": "clear_tool_results", "gate": ["api", "ap"]},
    {"name": "clear_tool_results", "exclude_tools": "read"},
    {"name": "clear_tool_results", "exclude_tools": [["a"], ["b", 3]]},
    {"name": "rolling_summary", "keep": ["tokens"]},
    {"pipeline": []},
    {"pipeline": ["keep_all", {"pipeline": ["keep_all"]}]},
    {"pipeline": ["keep_all", {"name": "sliding_window", "keep": ["x"]}]},
    {"pipeline": ["keep_all"], "nam": 1},
    {"pipeline": ["pair_repair", {"name": "auto_compact", "reserve_tokens": [1, 2]}]},
]


def told_of(wrong: list[object], what=strategies) -> list[str]:
    """What is wrong with each, told once; the beginning of it."""
    each = [complaints(given, what=what) for given in wrong]
    assert {len(told) for told in each} == {1}
    return [told[:85] for (told,) in each]


def test_what_is_wrong_is_told_once_and_with_its_place():
    assert told_of(WRONG) == snapshot(
        [
            "strategies[0]: must be text or a table, not 3",
            "strategies[0]: a table here has the key name or pipeline",
            "strategies[0].name: must be a name, not 3",
            "strategies[0]: unknown strategy 'sliding_windo'; did you mean sliding_window or conte",
            "strategies[0].name: unknown strategy 'keep_al'; did you mean keep_all or keep_warm or",
            "strategies[0].name: write one name, with its fields as keys beside it",
            "strategies[0].name: write one name, with its fields as keys beside it",
            "strategies[0].kep: unknown field 'kep'; did you mean keep?",
            "strategies[0].keep[1]: must be a whole number, not 'x'",
            "strategies[0].keep: must be a whole number, not True",
            "strategies[0].keep[1]: must be at least 1, not -1",
            "strategies[0].keep: an empty list leaves nothing to run",
            "strategies[0].gate[1]: must be 'api' or 'langchain', not 'ap'",
            "strategies[0].exclude_tools: must be a list, not 'read'",
            "strategies[0].exclude_tools[1][1]: must be text, not 3",
            "strategies[0].keep: must be a list of 2, not ['tokens']",
            "strategies[0].pipeline: must be a list of parts, not []",
            "strategies[0].pipeline[1]: a pipeline has no pipeline in it",
            "strategies[0].pipeline[1].keep[0]: must be a whole number, not 'x'",
            "strategies[0].nam: unknown key 'nam'; known: pipeline",
            "strategies[0].pipeline: the parts of a pipeline come in the order session, turn, requ",
        ]
    )


def test_a_value_that_is_out_of_range_is_told_once_for_all_its_combinations():
    table = {"name": "trim_messages", "max_tokens": [0, 100], "token_counter": ["len", "model"]}
    (told,) = complaints(table)
    assert told.startswith("strategies[0].max_tokens[0]: must be")


def test_a_field_of_ones_own_that_must_be_given_is_missed(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    (told,) = complaints({"name": "mine.py:Mine"}, folder=tmp_path)
    assert told.startswith("strategies[0]: ")
    assert "'keep'" in told


def test_too_many_are_refused_before_any_is_built():
    hundred = list(range(1, 101))
    table = {"name": "recency_buffer", "keep_messages": hundred, "keep_tokens": hundred}
    told = complaints({**table, "reserve_tokens": hundred})
    assert fitting(told) == snapshot(
        "strategies: the file names 1,000,000 strategies; more than 100,000 are not run: name fewer"
    )
    pipe = {"pipeline": [table, {"name": "context_recovery", "messages": hundred}]}
    assert complaints(pipe, "keep_all")[0].startswith("strategies: the file names 1,000,001")


def test_a_great_many_faults_are_told_in_part():
    told = complaints({"name": "sliding_window", "keep": ["x"] * 70})
    assert len(told) == 51
    assert told[-1] == "and 20 more"


def test_scenarios_have_grids_and_seeds_of_their_own():
    table = {"scenario": "coding_agent", "tokens": [5000, 9000], "turns": 2}
    plain = ["coding_agent(tokens=5000, turns=2)", "coding_agent(tokens=9000, turns=2)"]
    assert conversations(table) == plain
    assert conversations({**table, "seeds": 3}) == [Seeded(text, range(3)) for text in plain]
    assert conversations({**table, "seeds": [7, 5, 7]}) == [Seeded(t, (7, 5)) for t in plain]


def test_the_suite_may_be_sized(tmp_path):
    found = conversations({"scenario": "suite", "tokens": [5000, 9000]})
    assert len(found) == 20
    assert {"coding_agent(tokens=5000)", "rewinds(tokens=9000)"} <= set(found)


def test_a_profile_in_a_file_is_found_beside_the_experiment(tmp_path):
    (tmp_path / "mine.toml").write_text("")
    found = conversations(
        {"scenario": "coding_agent", "profile": ["mine.toml", "chat"]}, folder=tmp_path
    )
    assert found == [
        f"coding_agent(profile={str(tmp_path / 'mine.toml')!r})",
        "coding_agent(profile='chat')",
    ]


WRONG_CONVERSATIONS: list[object] = [
    3,
    {"seeds": 3},
    "no/such.jsonl",
    "no/*.jsonl",
    "no\0*",
    {"files": ["no/**"]},
    {"files": "coding_agent"},
    {"files": []},
    {"files": 3},
    {"files": ".", "tokens": 1},
    "coding_agnt",
    {"scenario": "coding_agnt"},
    {"scenario": "suite", "tokens": [1, "x"]},
    {"scenario": "suite", "tokens": [0, 9000]},
    {"scenario": "rewinds", "token": 1},
]


def test_what_is_wrong_with_a_conversation_is_told_with_its_place():
    assert told_of(WRONG_CONVERSATIONS, conversations) == snapshot(
        [
            "conversations[0]: must be text or a table, not 3",
            "conversations[0]: a table here has the key files or scenario",
            "conversations[0]: no/such.jsonl: there is no such file or folder",
            "conversations[0]: no file fits 'no/*.jsonl'",
            "conversations[0]: no file fits 'no\\x00*'",
            "conversations[0].files[0]: no file fits 'no/**'",
            "conversations[0].files: coding_agent: there is no such file or folder",
            "conversations[0].files: an empty list leaves nothing to run",
            "conversations[0].files: must be text, not 3",
            "conversations[0].tokens: unknown key 'tokens'; known: files, seeds",
            "conversations[0]: no such file or folder, and unknown scenario 'coding_agnt'; did you",
            "conversations[0].scenario: unknown scenario 'coding_agnt'; did you mean coding_agent ",
            "conversations[0].tokens[1]: must be a whole number, not 'x'",
            "conversations[0].tokens[0]: must be at least 1",
            "conversations[0].token: unknown field 'token'; did you mean tokens?",
        ]
    )
    seeds = [0, True, "3", 1.0, [], [-1], [1, True]]
    told = told_of([{"scenario": "rewinds", "seeds": each} for each in seeds], conversations)
    assert {each.partition(", not")[0] for each in told} == snapshot(
        {"conversations[0].seeds: must be a number of seeds from 1 on, or a list of seeds"}
    )


def test_too_many_conversations_are_refused(tmp_path):
    table = {"scenario": "suite", "tokens": list(range(1, LIMIT // 10 + 2))}
    (told,) = complaints(table, what=conversations)
    assert "100,010" in told


# ---------------------------------------------------------------------------------- drawn by chance

VALUES = {
    "recency_buffer": {
        "enabled": st.booleans(),
        "keep_messages": st.integers(0, 99),
        "keep_tokens": st.integers(0, 99),
        "max_history_share": st.floats(0.1, 0.9),
    },
    "clear_tool_results": {
        "exclude_tools": st.lists(st.text(max_size=5), max_size=2),
        "placeholder": st.text(max_size=9),
        "gate": st.sampled_from(["api", "langchain"]),
    },
    "sliding_window": {"keep": st.integers(1, 999)},
}


@st.composite
def tables(draw: st.DrawFn) -> dict[str, object]:
    name = draw(st.sampled_from(sorted(VALUES)))
    fields = draw(st.lists(st.sampled_from(sorted(VALUES[name])), unique=True))
    return {
        "name": name,
        **{f: draw(st.lists(VALUES[name][f], min_size=1, max_size=3)) for f in fields},
    }


def points(table: dict[str, object]) -> int:
    """How many different combinations a drawn table has."""
    lists = [value for key, value in table.items() if key != "name"]
    return prod(len({repr(each) for each in value}) for value in lists)


@given(table=tables())
@settings(deadline=None)
def test_a_drawn_grid_is_the_product_of_its_lists_and_each_spec_names_itself(table):
    # A default that is written out is the same strategy as one that is left out, but there is
    # only one table here, whose points all write the same fields.
    found = strategies(table)
    assert len(found) == points(table)
    for text in found:
        made = find_strategy(text)
        assert find_strategy(made.spec) == made


# A gate decides how long its strategy's view holds, and with that where in a pipeline it stands.
@given(parts=st.lists(tables().filter(lambda t: "gate" not in t), min_size=1, max_size=3))
@settings(deadline=None, max_examples=50)
def test_a_drawn_pipeline_is_the_product_of_its_parts(parts):
    parts.sort(key=lambda part: part["name"] == "clear_tool_results")  # it lasts for one request
    found = strategies({"pipeline": parts})
    assert len(found) == prod(map(points, parts))
    assert all(len(find_strategy(text).parts) == len(parts) for text in found)
