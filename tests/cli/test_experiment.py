"""Experiment files: the options of `compactlab run` in TOML."""

import json

import pytest
from inline_snapshot import snapshot

from compactlab.request.file import ExperimentSettings
from compactlab.scenarios.catalogue import sources
from compactlab.sim.core.errors import InputError
from compactlab.strategies.summarizers.calibrated import find_calibration
from compactlab.strategies.summarizers.catalogue import find_summarizer

TINY = "coding_agent(turns=2, tokens=2000)"
SETTINGS = f"""
conversations = ["{TINY}"]
strategies = ["keep_all", "sliding_window(keep=4)"]
models = ["claude-sonnet-4-5"]
window = 9000
seeds = 2
jobs = 1
"""
OPTIONS = (
    *("--conversations", TINY, "--strategies", "keep_all"),
    *("--strategies", "sliding_window(keep=4)", "--model", "claude-sonnet-4-5"),
    *("--window", 9000, "--seeds", 2, "--jobs", 1),
)


@pytest.fixture
def toml(tmp_path):
    """Write an experiment."""

    def write(text: str, name: str = "experiment.toml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return write


def test_a_file_and_the_same_options_give_the_same_bytes(compactlab, toml, tmp_path, contents):
    written = []
    for n, how in enumerate(((toml(SETTINGS),), OPTIONS)):
        assert compactlab("run", *how, "--out", tmp_path / str(n)).code == 0
        written.append(contents(tmp_path / str(n)))
    assert written[0] == written[1]


def test_an_option_wins_over_the_file(compactlab, toml):
    file = toml(SETTINGS)
    done = compactlab("run", file, "--dry-run", "--strategies", "keep_none", "--seeds", 1)
    assert done.code == 0
    assert "1 strategy\n  keep_none\n" in done.out
    assert "1 conversation\n" in done.out


def test_an_empty_file_is_the_defaults(compactlab, toml):
    of_file, of_nothing = compactlab("run", toml(""), "--dry-run"), compactlab("run", "--dry-run")
    # The last line tells how long a few runs took.
    assert of_file.out.splitlines()[:-1] == of_nothing.out.splitlines()[:-1]
    assert of_file.code == of_nothing.code == 0


def test_paths_of_conversations_are_taken_from_where_the_file_stands(compactlab, toml, chat):
    file = toml('conversations = ["talks/one.jsonl"]', "below/experiment.toml")
    chat(file.parent / "talks" / "one.jsonl")
    done = compactlab("run", file, "--dry-run")
    assert done.code == 0
    assert "  one\n" in done.out


def test_results_and_files_of_strategies_are_taken_from_there_too(
    compactlab, toml, tmp_path, monkeypatch
):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    strategies = SETTINGS.replace('"sliding_window(keep=4)"', '"own.py:KeepNone"')
    file = toml(f'{strategies}\nout = "results"', "below/experiment.toml")
    (file.parent / "own.py").write_text("from compactlab.strategies import KeepNone\n")
    assert compactlab("run", file, "--allow-code").code == 0
    assert (file.parent / "results" / "manifest.json").exists()


WRONG = [
    "nonsense",
    "[",
    "a = 1\na = 2",
    "window = 0",
    "seeds = 1.5",
    "conversations = 3",
    "conversations = []",
    "conversations = [3]",
    'conversations = ["\\u0000"]',
    'conversations = ["a/\\u0000"]',
    f'conversations = ["{"long" * 80}"]',
    f'conversations = ["{"long" * 80}.jsonl"]',
    "strategies = []",
    'strategies = [""]',
    'strategies = ["\\u0000"]',
    'strategies = ["sliding_window(keep=1e400)"]',
    'strategies = ["sliding_window(keep=' + "(" * 300 + '"]',
    'summarizer = "\\u0000"',
    'summarizer = "lexrank(units=-1)"',
    "strict = 1",
    "[out]\na = 1",
]


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:40])
def test_what_makes_no_sense_ends_with_2_and_a_word(compactlab, toml, text):
    done = compactlab("run", toml(text), "--dry-run")
    assert done.code == 2
    assert done.err.startswith("compactlab: ")


@pytest.mark.parametrize("out", ["\\u0000", "long" * 80])
def test_a_folder_that_cannot_be_ends_with_2(compactlab, toml, out):
    done = compactlab("run", toml(f'{SETTINGS}\nout = "{out}"'))
    assert done.code == 2
    assert "cannot write to" in done.err


def test_a_file_that_is_not_there_or_no_text_ends_with_2(compactlab, tmp_path):
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    for name in ("binary.toml", "missing.toml"):
        done = compactlab("run", tmp_path / name)
        assert done.code == 2
        assert f"{tmp_path / name}: no experiment" in done.err


def test_models_by_name_of_a_file_are_replayed(compactlab, toml, tmp_path):
    file = toml(SETTINGS.replace("claude-sonnet-4-5", "claude-haiku-4-5@none"))
    assert compactlab("run", file, "--out", tmp_path / "out").code == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert manifest["models"] == ["claude-haiku-4-5@none"]


# ---------------------------------------------------------------- grids, patterns, seeds in a file


def test_grids_patterns_and_seeds_of_their_own_are_what_would_run(compactlab, toml, chat):
    file = toml(
        """
        conversations = [
            { scenario = "coding_agent", turns = 2, tokens = [2000, 3000], seeds = [4, 7] },
            { files = "talks/**/*.jsonl", seeds = 2 },
            "more/*.jsonl",
        ]
        strategies = ["keep_all", { name = "sliding_window", keep = [4, 8] }]
        """,
        "below/experiment.toml",
    )
    for name in ("talks/b.jsonl", "talks/deep/a.jsonl", "more/c.jsonl"):
        chat(file.parent / name)
    done = compactlab("run", file, "--dry-run")
    assert done.code == 0, done.err
    assert done.told(file.parent).partition("2 bounds")[0] == snapshot("""\
0
would run into compactlab-out, under recorded; claude-sonnet-4-5 for synthetic conversations:
9 conversations
  coding_agent(turns=2, tokens=2000)-4
  coding_agent(turns=2, tokens=2000)-7
  coding_agent(turns=2, tokens=3000)-4
  coding_agent(turns=2, tokens=3000)-7
  b
  b
  a
  a
  c
3 strategies
  keep_all
  sliding_window(keep=4)
  sliding_window(keep=8)
""")


def test_seeds_that_are_given_as_an_option_are_those_of_all(compactlab, toml):
    file = toml('conversations = [{ scenario = "rewinds", seeds = [4, 7] }]')
    done = compactlab("run", file, "--dry-run", "--seeds", 3)
    assert [f"rewinds()-{seed}" in done.out for seed in range(8)] == [True] * 3 + [False] * 5


def test_tables_with_double_brackets_are_the_same(toml):
    inline = '{ name = "recency_buffer", keep_messages = [5, 10], keep_tokens = [2000, 8000] }'
    lines = """
        [[strategies]]
        name = "recency_buffer"
        keep_messages = [5, 10]
        keep_tokens = [2000, 8000]
        """
    found = [
        ExperimentSettings.load(toml(text), {}) for text in (f"strategies = [{inline}]", lines)
    ]
    assert found[0].strategies == found[1].strategies
    assert len(found[0].strategies) == 4


def test_the_same_conversation_named_twice_is_replayed_once(toml, chat, tmp_path):
    chat(tmp_path / "one.jsonl")
    scenario = '{ scenario = "rewinds", seeds = [1, 2] }, { scenario = "rewinds", seeds = [2, 3] }'
    files = '{ files = ["one.jsonl", "*.jsonl"], seeds = 2 }, "one.jsonl"'
    named = ExperimentSettings.load(
        toml(f"conversations = [{scenario}, {files}]"), {}
    ).conversations
    found, _ = sources(named, 3)
    assert [(source.name, source.seed) for source in found] == [
        *((f"rewinds()-{seed}", seed) for seed in (1, 2, 3)),
        *(("one", seed) for seed in (0, 1, 2)),
    ]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ('"lead"', ["lead"]),
        ('{ name = "lexrank", tokens = 900 }', ["lexrank(tokens=900)"]),
        ('["lead", { name = "lexrank", tokens = 900 }]', ["lead", "lexrank(tokens=900)"]),
        (
            '{ name = "lexrank", tokens = [900, 950], units = [10, 20] }',
            [
                f"lexrank(tokens={tokens}, units={units})"
                for tokens in (900, 950)
                for units in (10, 20)
            ],
        ),
        ('["lead", { name = "lead" }, "lead()"]', ["lead"]),
    ],
    ids=["text", "table", "list", "grid", "each once"],
)
def test_summarisers_may_be_several(toml, said, meant):
    assert ExperimentSettings.load(toml(f"summarizer = {said}"), {}).summarizer == meant


def test_a_dry_run_names_all_summarisers_and_counts_under_each(compactlab, toml):
    file = toml('strategies = ["keep_all", "keep_none"]\nsummarizer = ["lead", "tail", "oracle"]')
    done = compactlab("run", file, "--dry-run", "--conversations", TINY)
    lead, tail, oracle = (find_summarizer(name).spec for name in ("lead", "tail", "oracle"))
    assert f"summaries by {lead}, {tail} and {oracle}" in done.out
    assert "6 runs, if every source has one conversation" in done.out


def test_the_keys_of_a_run_are_read(toml):
    found = ExperimentSettings.load(
        toml('timeout = 2\nfail_fast = true\ntables = ["prompts"]\ndask = "tcp://10.0.0.1:8786"'),
        {},
    )
    assert (found.timeout, found.fail_fast, found.tables) == (2, True, ["prompts"])
    assert found.dask == "tcp://10.0.0.1:8786"
    plain = ExperimentSettings.load(None, {})
    assert (plain.timeout, plain.fail_fast, plain.tables, plain.dask) == (None, False, [], None)


FAULTS = """
conversations = ["nowhere/*.jsonl", { scenario = "rewinds", tokens = 0 }]
strategies = ["keep_all", { name = "recency_buffer", keep_messages = [5, "x"], keep = 1 }]
models = ["claude-sonet-4-5"]
models_file = "gone.toml"
churn = "gone.json"
summarizer = ["lexrnk", { name = "lexrank", tokens = ["x", 2] }]
loop = "clsed"
metrics = ["money", "mone"]
window = inf
seeds = 1.5
jobs = 0
out = 1979-05-27
strict = 1
timeout = 0
fail_fast = "no"
tables = 9223372036854775808
dask = "10.0.0.1"
timout = 3
"""


def test_all_that_is_wrong_is_told_at_once_with_its_place(compactlab, toml):
    done = compactlab("run", file := toml(FAULTS), "--dry-run")
    assert (done.code, done.out) == (2, "")
    told = done.err.replace(f"{file.parent}/", "").splitlines()[1:]
    assert [line.strip()[:85] for line in told] == snapshot(
        [
            "line 10: window: must be a number, not inf",
            "line 13: out: must be text, a number, true or false, not '1979-05-27'",
            "line 17: tables: is too large a number",
            "line 2: conversations[0]: no file fits 'nowhere/*.jsonl'",
            "line 2: conversations[1].tokens: must be at least 1",
            "line 3: strategies[1].keep_messages[1]: must be a whole number, not 'x'",
            "line 3: strategies[1].keep: unknown field 'keep'; did you mean keep_tokens?",
            "line 7: summarizer[0]: unknown summariser 'lexrnk'; did you mean lexrank?",
            "line 7: summarizer[1].tokens[0]: must be a whole number, not 'x'",
            "line 8: loop: a loop is 'open' or 'closed', not 'clsed'",
            "line 6: churn: gone.json: No such file or directory",
            "line 9: metrics[1]: unknown metric 'mone'; did you mean money or amnesia or time?",
            "line 5: models_file: gone.toml: no file of models: No such file or directory",
            "line 11: seeds: must be a whole number, not 1.5",
            "line 12: jobs: must be at least 1, not 0",
            "line 14: strict: must be true or false, not 1",
            "line 15: timeout: must be more than 0, not 0",
            "line 16: fail_fast: must be true or false, not 'no'",
            "line 18: dask: must be an address like tcp://127.0.0.1:8786, not '10.0.0.1'",
            "line 19: timout: unknown key 'timout'; did you mean timeout or out or strict?",
        ]
    )


def test_a_mistyped_model_is_told_with_its_place(toml):
    with pytest.raises(
        InputError, match=r"\n  line 1: models\[1\]: unknown model 'claude-sonet-4-5'"
    ):
        ExperimentSettings.load(toml('models = ["recorded", "claude-sonet-4-5"]'), {})


def test_what_an_option_replaces_is_not_looked_at(toml):
    file = toml(
        'strategies = ["keep_al"]\nconversations = ["nowhere/*"]\nseeds = 0\nsummarizer = ["lead"]'
    )
    options = {"strategies": ("keep_all",), "conversations": ("rewinds",), "seeds": 2}
    found = ExperimentSettings.load(file, {**options, "summarizer": ("oracle",)})
    assert (found.strategies, found.conversations, found.seeds) == (["keep_all"], ["rewinds"], 2)
    assert found.summarizer == ["oracle"]
    assert ExperimentSettings.load(None, {}).summarizer == ["calibrated"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("seeds = 1\n\nnonsense\n", ":3"),
        ("seeds = 1\njobs = [1,\n", ":2"),
        ("a = 1\na = 2", ":2"),
        ("a = " + "9" * 5000, ""),
        ("a = " + "[" * 5000, ""),
    ],
)
def test_what_is_no_toml_is_told_with_its_line(compactlab, toml, text, line):
    done = compactlab("run", file := toml(text))
    assert done.code == 2
    assert f"compactlab: {file}{line}: no experiment: " in done.err


@pytest.mark.parametrize(
    "summarizer",
    ["\"calibrated(profile='own.toml')\"", '{ name = "calibrated", profile = "own.toml" }'],
)
def test_a_summarisers_file_is_found_beside_the_experiment(compactlab, summarizer, tmp_path):
    (tmp_path / "own.toml").write_text(find_calibration().toml(), encoding="utf-8")
    experiment = tmp_path / "experiment.toml"
    experiment.write_text(
        'conversations = ["coding_agent(turns=2, tokens=2000)"]\n'
        f'strategies = ["full_summary"]\nsummarizer = {summarizer}\nwindow = 4000\n'
    )
    assert compactlab("run", experiment, "--dry-run").code == 0
    experiment.write_text(experiment.read_text().replace("own.toml", "none.toml"))
    refused = compactlab("run", experiment, "--dry-run")
    assert (refused.code, "none.toml" in refused.err) == (2, True), refused.said
