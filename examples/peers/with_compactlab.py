"""compactlab, as a worker of an experiment: one run of each strategy, with its figures and rows.

Reading the file is not timed, for no other tool either. Runs are warm: the tokens of the session
are counted before, as for all strategies of an experiment but its first; the other tools estimate
tokens by length, or count none. What an experiment does once (planning, writing its store) is in
none of them.
"""

from __future__ import annotations

from pathlib import Path

from stopwatch import best_of, given, tell

import compactlab
from compactlab.sim.experiment.conditions import Setting
from compactlab.sim.experiment.shard import run_one
from compactlab.sim.metrics import metrics_named
from compactlab.sim.store.run import Run

METRICS = ("money", "cache", "forward_need")
MODEL = "claude-sonnet-4-5"


def measure(file: Path, strategy: str, specs: list[str]) -> dict[str, object]:
    (conversation,) = compactlab.read(file)
    setting = Setting(MODEL, metrics=tuple(metrics_named(METRICS)), tables=("calls",))
    strategies = [compactlab.find_strategy(spec) for spec in specs]

    def work(blanks: list[Run]) -> int:
        done = [
            run_one(blank, conversation, each, setting)
            for blank, each in zip(blanks, strategies, strict=True)
        ]
        assert [run.status for run in done] == ["ok"] * len(specs), done
        return len(conversation.calls) * len(specs)

    def blanks() -> list[Run]:
        return [Run(conversation.id, conversation.format, spec, MODEL, 0, 0) for spec in specs]

    work(blanks())
    ran = f"a run each of {', '.join(specs)} with {', '.join(METRICS)}"
    return {"strategy": strategy, "ran": ran, **best_of(blanks, work)}


def every_way(file: Path, keep: int) -> list[dict[str, object]]:
    window = f"sliding_window(keep={keep})"
    return [
        measure(file, "keep_all", ["keep_all"]),
        measure(file, "sliding_window", [window]),
        measure(file, "both", ["keep_all", window]),
    ]


if __name__ == "__main__":
    folder, script = given()
    tell(every_way(folder / "conversation.jsonl", script["keep"]))
