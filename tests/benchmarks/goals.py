"""How long the things take that people wait for, beside earlier commits: ``make bench-goals``.

The same commands are run with the checkout and with each of the commits, one after the other, in
processor seconds of all processes. A ratio says more than seconds: another machine, or another
load, changes both sides of it. Ends with 1 if a command takes more of the first commit's time than
is held here.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.cpu import seconds
from tests.figures.equal import ROOT, at, git

# The commit that the goals are stated for, and all strategies that it had.
BASE = "b80fd5b9"
STRATEGIES = (
    "keep_all", "as_recorded", "keep_none", "random_keep", "oracle", "sliding_window",
    "pair_safe_window", "recent_events", "amortized_forgetting", "trim_messages", "tool_groups",
    "turn_slice", "token_budget", "token_budget + summary_sidecar",
    "token_budget + pair_repair", "observation_masking", "observation_masking(polling=10)",
    "clear_tool_results", "clear_tool_results(clear_at_least=20000)", "described_results",
    "ttl_prune", "write_guard", "context_guard", "offload_outputs",
    "summary_sidecar(hardened=False)", "auto_compact", "auto_compact + context_recovery",
    "memory_flush + auto_compact + memory_recall", "recency_buffer", "preserve_turns",
    "auto_compact + overflow_truncation", "full_summary", "rolling_summary", "turn_checkpoints",
    "event_ranges", "event_ranges(compaction_interval=0, trigger=0.8)", "user_words",
    "context_windows", "log_retrieval", "prune_then_summarize", "fraction_split",
    "middle_summary", "agentic_compaction", "half_truncation", "micro_compaction",
    "history_summary", "server_compaction", "idle_compaction + full_summary",
    "background_compaction", "summary_behind", "openclaw", "pi", "claude_code", "codex",
    "opencode", "gemini_cli", "hermes", "copilot_cli", "cline", "qwen_code",
)  # fmt: skip
ALL = ["run", *(f"--strategies={spec}" for spec in STRATEGIES)]
SHORT = ["run", "--conversations=personal_assistant(tokens=5000)", "--strategies=keep_all"]

# What is run, and how much of the first commit's time it may take: what was measured, and a tenth.
GOALS = {
    "compactlab run, one worker": (["run", "--jobs=1"], 0.5),
    "compactlab run, two workers": (["run", "--jobs=2"], 0.5),
    f"the strategies of {BASE}, one worker": ([*ALL, "--jobs=1"], 1.0),
    f"the strategies of {BASE}, two workers": ([*ALL, "--jobs=2"], 1.0),
    "one strategy, one short session": (SHORT, 0.8),
    "--help": (["--help"], 0.9),
}


def main() -> int:
    """Measure, and say what holds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("commits", nargs="*", default=[BASE])
    parser.add_argument(
        "--recorded", type=Path, help=f"also a folder of recordings, for which {BASE} needs mpmath"
    )
    asked = parser.parse_args()
    goals = dict(GOALS)
    if asked.recorded:
        goals["recordings"] = [*ALL, f"--conversations={asked.recorded.resolve()}"], 0.95
    trees = [ROOT, *(at(git("rev-parse", "--short=12", commit)) for commit in asked.commits)]
    missed = 0
    for name, (command, most) in goals.items():
        now, *before = [taken(tree, command) for tree in trees]
        beside = zip(asked.commits, before, strict=True)
        ratios = ", ".join(f"{now / one:.2f} of {commit} ({one:.1f} s)" for commit, one in beside)
        held = not before or now <= most * before[0]
        missed += not held
        print(f"{name}: {now:.1f} s, {ratios}{'' if held else f'; held was {most}'}", flush=True)
    return 1 if missed else 0


def taken(tree: Path, command: list[str]) -> float:
    """Processor seconds of a command with the code of a folder; the second time, compiled."""
    call = [sys.executable, "-m", "compactlab"]
    subprocess.run([*call, "--help"], cwd=tree, check=True, capture_output=True)
    with tempfile.TemporaryDirectory() as folder:
        where = [f"--out={folder}/out"] if command[0] == "run" else []
        start = seconds()
        subprocess.run([*call, *command, *where], cwd=tree, check=True, capture_output=True)
        return seconds() - start


if __name__ == "__main__":
    sys.exit(main())
