"""Compare three strategies on a made-up session, and look at one of them call by call."""

import compactlab
from compactlab.scenarios.coding_agent import CodingAgent

results = compactlab.run(
    conversations=["coding_agent(turns=12, tokens=60000)"],
    strategies=["keep_all", "sliding_window(keep=20)", "auto_compact(keep_recent_tokens=8000)"],
    models=["claude-opus-4-5"],
    window=64_000,
)
frame = results.frame()
print(frame[["strategy", "cost_usd", "prefix_reuse", "recall_20k"]].round(3).to_string())

session = CodingAgent(turns=12, tokens=60_000).conversation(seed=0)
for step in compactlab.replay(
    session, "auto_compact(keep_recent_tokens=8000)", "claude-opus-4-5", window=64_000
):
    if step.compaction:
        print(f"before {step.answer}: {step.usage.prompt:,} tokens, fresh because of {step.causes}")
