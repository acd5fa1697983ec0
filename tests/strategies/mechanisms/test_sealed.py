"""The measured kinds of compaction items are those of the answers beside the checkout."""

import json
from runpy import run_path
from statistics import fmean

import pytest

from compactlab.strategies.mechanisms.sealed import MEASURED
from tests.conftest import SHARED

ANSWERS = SHARED / "answers"
needs_answers = pytest.mark.skipif(not ANSWERS.is_dir(), reason="needs ../shared/answers")
USERS = ("exact_recall", "relational_state", "distractor_resolution", "task_continuation")


def trials(name):
    return [*map(json.loads, (ANSWERS / name).read_bytes().splitlines())]


@needs_answers
def test_what_the_page_of_summarisers_says_of_texts_is_in_the_trials(root):
    answers = run_path(str(root / "examples" / "summarizers_page.py"))["ANSWERS"]
    own = trials("native-vs-text/trials.jsonl")
    dense = trials("native-vs-text/dense-text-trials.jsonl")
    product = trials("product-defaults/trials.jsonl")
    found = {
        "a text as long": (
            [trial["textSummary"] for trial in own],
            [score for t in own for score in t["evaluations"]["text_summary"]["scores"]],
        ),
        "a denser text": (
            [trial["summary"] for trial in dense],
            [score for trial in dense for score in trial["evaluation"]["scores"]],
        ),
        # Of ten epochs the messages of the last four stay.
        "pi 0.80.9, defaults": (
            [trial["piDefault"] for trial in product],
            [
                s
                for t in product
                for s in t["evaluations"]["pi_default"]["scores"]
                if s["epoch"] < 6
            ],
        ),
    }
    for what, (summaries, scores) in found.items():
        tokens = round(fmean(each["usage"]["output"] for each in summaries))
        assert answers[what] == (tokens, sum(s["correct"] for s in scores), len(scores))


@needs_answers
def test_sizes_and_retention_are_those_of_the_trials():
    found = {kind: ([], []) for kind in MEASURED}
    for trial in trials("native-vs-text/trials.jsonl"):
        found["project"][0].append(trial["nativeCompaction"]["usage"]["output"])
        found["project"][1].extend(
            score["correct"] for score in trial["evaluations"]["native_compaction"]["scores"]
        )
    for trial in trials("product-defaults/trials.jsonl"):
        sizes, correct = found["short" if trial["density"] == 180 else "long"]
        sizes.append(trial["nativeExtension"]["usage"]["output"])
        # Of ten epochs the words of the user of the last four stay in front of the item.
        correct += [
            score["correct"]
            for score in trial["evaluations"]["native_extension"]["scores"]
            if not (score["category"] in USERS and score["epoch"] >= 6)
        ]
    for kind, (sizes, correct) in found.items():
        assert MEASURED[kind].tokens == round(fmean(sizes))
        assert MEASURED[kind].kept == fmean(correct)
