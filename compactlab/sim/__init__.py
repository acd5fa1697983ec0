"""The engine: it replays conversations through strategies, and measures what comes of it."""

if __name__ != "compactlab.sim":
    raise ImportError("sim/ at the top of a checkout is a link: import compactlab.sim")
