"""The measured kinds of compaction items are those of the answers beside the checkout."""

import json
from statistics import fmean

import pytest

from compactlab.strategies.mechanisms.sealed import MEASURED
from tests.conftest import SHARED

ANSWERS = SHARED / "answers"
USERS = ("exact_recall", "relational_state", "distractor_resolution", "task_continuation")


@pytest.mark.skipif(not ANSWERS.is_dir(), reason="needs ../shared/answers")
def test_sizes_and_retention_are_those_of_the_trials():
    read = {
        name: [*map(json.loads, (ANSWERS / name / "trials.jsonl").read_bytes().splitlines())]
        for name in ("native-vs-text", "product-defaults")
    }
    found = {kind: ([], []) for kind in MEASURED}
    for trial in read["native-vs-text"]:
        found["project"][0].append(trial["nativeCompaction"]["usage"]["output"])
        found["project"][1].extend(
            score["correct"] for score in trial["evaluations"]["native_compaction"]["scores"]
        )
    for trial in read["product-defaults"]:
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
