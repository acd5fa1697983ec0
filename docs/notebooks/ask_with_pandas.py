# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---
# %% [markdown]
# # Ask with pandas
#
# A notebook: `make site` executes it. Its source is a Python file in jupytext's percent format,
# `docs/notebooks/ask_with_pandas.py`, which Jupyter opens as a notebook.
#
# `compactlab.run` gives a `Results`; `frame()` is a pandas frame with a row a run and a column a
# metric. Four conversations under three strategies take some seconds.
# %%
import compactlab

results = compactlab.run(
    ["coding_agent(turns=6, tokens=40000)"],
    ["keep_all", "sliding_window(keep=20)", "auto_compact"],
    ["claude-sonnet-4-5"],
    window=40_000,
    seeds=4,
    jobs=1,
)
frame = results.frame()
frame.shape
# %% [markdown]
# ## One row a strategy
#
# `label` is the short name of a strategy. Costs are summed over conversations, shares averaged.
# %%
by_strategy = frame.groupby("label", sort=False)
by_strategy.agg(
    cost_usd=("cost_usd", "sum"),
    with_recovery=("cost_with_recovery_usd", "sum"),
    recall_10k=("recall_10k", "mean"),
    prefix_reuse=("prefix_reuse", "mean"),
    compactions=("compactions", "sum"),
).round(3)
# %% [markdown]
# ## Paired, not side by side
#
# A conversation is one observation, so compare strategies within it. `conversation` and `seed`
# name it.
# %%
costs = frame.pivot(index=["conversation", "seed"], columns="label", values="cost_usd")
costs.div(costs["keep_all"], axis=0).round(2)
# %% [markdown]
# ## Call by call
#
# `calls()` has a row a call. `run` joins it with the frame.
# %%
calls = results.calls().merge(frame[["run", "label", "seed"]], on="run")
one = calls[calls["seed"] == 0]
one.groupby("label")[["cache_read", "cache_write_5m", "uncached"]].sum()
# %% [markdown]
# ## In SQL
#
# The same tables, by DuckDB; `results.save("folder")` makes a store that `compactlab report` shows.
# %%
results.query(
    "SELECT strategy, count(*) AS runs, round(sum(cost_usd), 2) AS usd FROM runs GROUP BY ALL"
)
# %% [markdown]
# The columns are in [The store](../store.md), the metrics in [Metrics](../metrics.md).
