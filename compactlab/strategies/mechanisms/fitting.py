"""A summary request that is larger than the window: the oldest messages are left out of it."""

from __future__ import annotations

from compactlab.sim.blocks import blocks_of
from compactlab.sim.host import Host
from compactlab.sim.view import View
from compactlab.strategies.mechanisms.cut import after_results


def fitting(view: View, host: Host, more: str) -> View:
    """The live prompt with its oldest messages left out until a request at its end fits.

    Codex CLI does so one item at a time, until the provider takes the request; Claude Code, in
    groups. What is refused is not billed. A result never begins what is left.

    Parameters
    ----------
    view
        The live prompt.
    host
        Knows the window, and counts.
    more
        What is asked at its end.

    Returns
    -------
    View
        The view itself if it fits. The newest message always stays.
    """
    room = host.window - host.count(View(view.system)) - host.count(more)
    tokens = blocks_of(host.model.tokenizer).tokens
    first = view.messages.tail_from(tokens, max(room, 0))
    if not first:
        return view
    start = after_results(view.messages, first)
    last = max(len(view.messages) - 1, 0)
    return View(view.system, view.messages[min(start, last) :])
