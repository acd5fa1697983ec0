"""compactlab, through its public API: `compactlab.run` of one strategy, and of both in one run.

Reading the file is not timed, for no other tool either. Runs are warm: a process remembers the
tokens that it has counted until it comes to another conversation, so all runs but the first find
them counted, as all strategies of an experiment but the first do. The other tools estimate tokens
by length, or count none.
"""

from __future__ import annotations

from pathlib import Path

from stopwatch import best_of, given, tell

import compactlab

METRICS = ("money", "cache", "forward_need")


def measure(file: Path, strategy: str, specs: list[str]) -> dict[str, object]:
    def prepare() -> compactlab.Conversation:
        (conversation,) = compactlab.read(file)
        return conversation

    def work(conversation: compactlab.Conversation) -> int:
        results = compactlab.run(conversation, specs, ["claude-sonnet-4-5"], metrics=METRICS)
        assert [run.status for run in results.runs] == ["ok"] * len(specs), results.runs
        return len(conversation.calls) * len(specs)

    ran = f"run({', '.join(specs)}) with {', '.join(METRICS)}"
    return {"strategy": strategy, "ran": ran, **best_of(prepare, work)}


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
