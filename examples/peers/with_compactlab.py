"""compactlab, through its public API: `compactlab.run` of one strategy over one conversation.

Reading the file is not timed, for no other tool either; counting tokens is, since `run` forgets
its counts after each conversation.
"""

from __future__ import annotations

from pathlib import Path

from stopwatch import best_of, given, tell

import compactlab

METRICS = ("money", "cache", "forward_need")


def measure(file: Path, spec: str) -> dict[str, object]:
    def prepare() -> compactlab.Conversation:
        (conversation,) = compactlab.read(file)
        return conversation

    def work(conversation: compactlab.Conversation) -> int:
        results = compactlab.run(conversation, spec, ["claude-sonnet-4-5"], metrics=METRICS)
        (run,) = results.runs
        assert run.status == "ok", run.error
        return len(conversation.calls)

    ran = f"run({spec}), metrics {', '.join(METRICS)}"
    return {"strategy": spec.partition("(")[0], "ran": ran, **best_of(prepare, work)}


if __name__ == "__main__":
    folder, script = given()
    specs = ("keep_all", f"sliding_window(keep={script['keep']})")
    tell([measure(folder / "conversation.jsonl", spec) for spec in specs])
