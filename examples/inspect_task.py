"""Has Inspect ask what ``compactlab probe --export`` has written.

Usage: inspect eval inspect_task.py -T samples=samples.jsonl --model openai/gpt-5-mini
           --log-format json

A task to start from: another solver may think, vote or use tools, another scorer may grade. What
``compactlab probe --log`` reads of the log is the id of each sample, the completion and the scores.
It takes ``pip install 'compactlab[inspect]'`` and the package of the model's provider.
"""

from __future__ import annotations

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, includes, scorer
from inspect_ai.solver import TaskState, generate

from compactlab.reports.probe.actions import Action, action_of, match


@scorer(metrics=[accuracy()])
def same_action() -> Scorer:
    """Whether the answer is one of the recorded calls, as ``--what next-action`` judges it."""

    async def score(state: TaskState, target: Target) -> Score:
        wanted = [action for each in target if (action := action_of(each)) is not None]
        chosen: Action | None = action_of(state.output.completion)
        return Score(value=CORRECT if match(chosen, wanted).arguments else INCORRECT)

    return score


@task
def probe(samples: str) -> Task:
    """Ask each sample once an epoch, with the settings that it was written for."""
    dataset = json_dataset(samples)
    about = dataset[0].metadata or {}
    return Task(
        dataset=dataset,
        solver=generate(),
        scorer=includes() if "fact" in about else same_action(),
        config=GenerateConfig(max_tokens=about["max_tokens"], temperature=about["temperature"]),
    )
