"""What a comparison is over: model, window, summariser, conversations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from compactlab.reports.aggregate import replays
from compactlab.reports.calls import column, models
from compactlab.reports.comparison import Case, Comparison
from compactlab.reports.text import capitalised, clean, counted, listed
from compactlab.sim.errors import ModelError
from compactlab.sim.model import Catalogue
from compactlab.sim.run import Run

# Writes a name that comes from outside as a format wants it.
Name = Callable[[str], str]


def scope(comparison: Comparison, name: Name = str) -> str:
    """What a comparison is over, in one line."""
    over = counted(comparison.conversations, "conversation")
    if len(comparison.cases) > comparison.conversations:
        over += f" in {counted(len(comparison.cases), 'replay')}"
    strategies = counted(len(comparison.rows), "strategy")
    under = f"model {model_names(comparison, name)}; {window(comparison)}"
    if comparison.written_by:
        under += f"; summaries by {name(comparison.written_by)}"
    return f"{under}; {strategies} over {over}"


def told_apart(comparison: Comparison, compared: Sequence[Comparison], name: Name = str) -> str:
    """What tells a comparison from the others: its model, window or summariser.

    Parameters
    ----------
    comparison
        One of them.
    compared
        All of them.
    name
        Writes a name that comes from outside.
    """
    kinds = list(zip(*(each.kind for each in compared), strict=True))
    model, narrowed, writer = (len(set(values)) > 1 for values in kinds)
    told = []
    if model:
        told.append(f"Model {name(clean(comparison.model))}")
    if narrowed:
        told.append(capitalised(window(comparison)))
    if writer:
        told.append(f"Summaries by {name(comparison.written_by or clean(comparison.summarizer))}")
    return "; ".join(told) or capitalised(scope(comparison, name))


def model_names(comparison: Comparison, name: Name = str) -> str:
    """The model; for recordings, the models that their calls went to."""
    if comparison.model != "recorded" or not comparison.rows:
        return name(clean(comparison.model))
    used = models(group[0] for group in replays(comparison.rows[0].runs))
    names = [f"{name(clean(each))} ({counted(n, 'call')})" for each, n in used.most_common()]
    return f"as recorded: {listed(names)}"


def window(comparison: Comparison) -> str:
    """The context window that prompts were held against."""
    return window_told(comparison.models or {comparison.model: 0}, comparison)


def window_told(used: Iterable[str], comparison: Comparison) -> str:
    """The same for some models of a comparison: those of one of its conversations, say."""
    known = comparison.catalogue
    sizes = sorted({size for each in used if (size := window_of(each, 0, known))})
    own = listed([f"{size:,}" for size in sizes])
    if not comparison.window:
        return f"window {own} tokens" if sizes else "window: the model's own"
    asked = f"{comparison.window:,}"
    if sizes and sizes[-1] <= comparison.window:
        return f"window {own} tokens, the model's own, which {asked} do not narrow"
    if sizes and sizes[0] <= comparison.window:
        return f"window narrowed to {asked} tokens where the model's own ({own}) is larger"
    return f"window narrowed to {asked} tokens"


def window_of(model: str, narrowed: int, catalogue: Catalogue) -> int:
    """Tokens of a model's window, as a run narrows it; 0 if the model is not known."""
    try:
        return catalogue.find(model).narrowed(narrowed or None).window
    except ModelError:
        return narrowed


def windows_of(run: Run, catalogue: Catalogue) -> list[tuple[int, int]]:
    """From which call of a run on which window held, in tokens; 0 where it is not known."""
    called = column(run, "model")
    known = {model: window_of(model, run.window, catalogue) for model in dict.fromkeys(called)}
    found: list[tuple[int, int]] = []
    for number, model in enumerate(called, 1):
        if not found or found[-1][1] != known[model]:
            found.append((number, known[model]))
    return found


def case_title(case: Case) -> str:
    """What a conversation is called, and in which replay, in words.

    Examples
    --------
    >>> case_title(("pi", "talk", 0)), case_title(("made", "", 3))
    ('talk (pi)', '(no name) (made, seed 3)')
    """
    scenario, conversation, seed = case
    name = clean(conversation) or "(no name)"
    return f"{name} ({clean(scenario)}{f', seed {seed}' if seed else ''})"
