"""Draw the picture of the README from a real run: the first chart of the report, as a file.

``make picture`` runs it.
"""

import sys
from pathlib import Path

import compactlab
from compactlab.reports.analysis.comparison import comparisons
from compactlab.reports.charts.drawing import free_standing, strategy_colours
from compactlab.reports.charts.pareto import pareto

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else "picture.svg")

# Enough to show what there is, few enough to read; `compactlab run` has all of them.
SHOWN = (
    "keep_all",
    "keep_none",
    "random_keep",
    "oracle",
    "sliding_window",
    "pair_safe_window",
    "turn_slice",
    "token_budget",
    "clear_tool_results",
    "clear_tool_results(clear_at_least=20000)",
    "observation_masking",
    "observation_masking(polling=10)",
    "openclaw",
    "claude_code",
    "codex",
    "gemini_cli",
)
results = compactlab.run(strategies=SHOWN)
compared = comparisons(results)
chart = pareto(compared[0], strategy_colours(results, compared), "picture")
assert chart is not None, "the built-in session needs facts"
OUT.write_text(free_standing(chart.markup()), encoding="utf-8")
print(f"wrote {OUT}")
