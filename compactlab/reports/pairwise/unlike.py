"""What makes two stores unlike, so that their figures must not be compared."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from compactlab.reports.text import clean, counted, listed, shorten
from compactlab.sim.errors import UsageError, unknown
from compactlab.sim.results import Results

# Entries of the manifest that must be the same, with what each is called.
MUST_AGREE = {
    "prices": "price list",
    "tokenizer": "tokenizer",
    "window": "window",
    "loop": "closed loop",
    "churn": "churn",
    "own_models": "models of one's own",
}
CONVERSATIONS = "conversations"
_SHOWN = 60


def refuse_unlike(
    first: tuple[str, Results], other: tuple[str, Results], despite: Collection[str] = ()
) -> list[str]:
    """Refuse stores whose figures do not measure the same thing, and say what differs.

    Parameters
    ----------
    first, other
        Two stores with what they are called.
    despite
        Entries of the manifest, see :data:`MUST_AGREE`, that may differ all the same.

    Returns
    -------
    list of str
        What differs and was let pass, a sentence each.

    Raises
    ------
    UsageError
        If they are unlike.
    """
    for name in despite:
        if name not in MUST_AGREE:
            raise UsageError(unknown("entry of a manifest", name, list(MUST_AGREE)))
    (ours, a), (theirs, b) = first, other
    found = {
        key: f"{noun}: {_shown(a.manifest, key)} in {clean(ours)}, {_shown(b.manifest, key)} in "
        f"{clean(theirs)}"
        for key, noun in MUST_AGREE.items()
        if a.manifest.get(key) != b.manifest.get(key)
    }
    told = [text for key, text in found.items() if key not in despite]
    if changed := _changed(a, b):
        told.append(f"{CONVERSATIONS}: {changed} of the same name but other content")
    if told:
        hint = sorted(key for key in found if key not in despite)
        way = f" (--despite {' --despite '.join(hint)} compares them all the same)" if hint else ""
        raise UsageError(f"{clean(ours)} and {clean(theirs)} are unlike in {'; '.join(told)}{way}")
    return [f"They differ in the {text}." for text in found.values()]


def _shown(manifest: Mapping[str, Any], key: str) -> str:
    value = manifest.get(key)
    if not value:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return shorten(clean(text), _SHOWN)


def _changed(a: Results, b: Results) -> str:
    """Conversations that both have, and that are not the same."""
    known = {_id(run): run.digest for run in a.runs if run.digest}
    odd = dict.fromkeys(
        clean(run.conversation)
        for run in b.runs
        if run.digest and known.get(_id(run), run.digest) != run.digest
    )
    if not odd:
        return ""
    return f"{counted(len(odd), 'conversation')} ({_some(list(odd))})"


def _some(names: Sequence[str]) -> str:
    return listed([*names[:3], "others"] if len(names) > 3 else list(names))


def _id(run: Any) -> tuple[str, str, int]:
    return run.scenario, run.conversation, run.seed
