"""Where the figures of a baseline come from: of another origin, they are not compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from compactlab.sim.results import Results

Provenance = dict[str, Any]

# What must be as it was, in the words in which a difference is told.
COMPARED = {
    "compactlab": "the version of compactlab",
    "tokenizer": "the tokenizer",
    "prices": "the price list",
    "summarizers": "the summariser",
    "window": "the window",
    "loop": "the closed loop",
    "own_models": "the figures of models of one's own",
    "churn": "the client's churn",
    "seeds": "the seeds",
}
ENGINE = "engine"


def provenance(results: Results) -> Provenance:
    """Where results come from, as far as it can change a figure.

    The digest of the engine is among it as information: it is often what is under test.
    """
    manifest = results.manifest
    told = {name: manifest.get(name) for name in ("compactlab", "tokenizer", "prices", "engine")}
    return {
        **{name: str(value or "") for name, value in told.items()},
        "summarizers": sorted({run.summarizer for run in results.runs if run.strategy}),
        "window": int(manifest.get("window") or 0),
        "loop": str(manifest.get("loop") or ""),
        "own_models": results.catalogue.digest,
        "churn": _digest(manifest.get("churn")),
        "seeds": sorted(set(manifest.get("seeds", ()))),
    }


def _digest(value: Any) -> str:
    """Sixteen hex digits of anything that JSON can hold; "" of nothing."""
    text = json.dumps(value, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest() if value else ""


def differences(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """What is of another origin: its name in words, what it was, and what it is."""
    for name, words in COMPARED.items():
        was, is_ = before.get(name), after.get(name)
        if was != is_:
            yield words, was, is_
