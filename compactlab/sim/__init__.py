"""The engine: replays conversations through strategies, and measures the results."""

if __name__ != "compactlab.sim":
    raise ImportError("sim/ at the top of a checkout is a link: import compactlab.sim")
