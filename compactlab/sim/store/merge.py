"""Merges stores, such as those of several machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from compactlab.sim.core.errors import InputError, UsageError
from compactlab.sim.store.figures_used import united
from compactlab.sim.store.manifest import windows_of
from compactlab.sim.store.results import read_runs
from compactlab.sim.store.run import shard_files, shard_name
from compactlab.sim.store.store import Store

# Entries of the manifest that must agree, for comparable figures.
_SAME = (
    "compactlab",
    "engine",
    "prices",
    "tokenizer",
    "own_models",
    "churn",
    "loop",
    "metrics",
    "tables",
    "redact",
)
_LISTS = (
    "by_price", "sees_future", "flushes", "own_strategies", "models", "conditions", "seeds",
    "engines",
)  # fmt: skip
_SOURCES = ("sources", "source_seeds", "source_keys")
_NAMED = ("strategies", "strategies_code", "bounds", "breaks", "caps", "beyond", "summarizers")


def merge(stores: Sequence[Store], into: Store) -> None:
    """Copy the content of stores to another one, each cell once."""
    every = [*([into] if into.exists else []), *stores]
    manifests = [store.manifest() for store in every]
    for store, manifest in zip(every, manifests, strict=True):
        if any(name not in manifest for name in (*_SAME, "window", *_SOURCES)):
            raise InputError("a store that no experiment has filled", str(store.folder))
        store.check()
    differences = list(_differences(every, manifests))
    if differences:
        raise UsageError("\n  ".join(["these stores do not go together:", *differences]))
    into.describe(joined(manifests))
    into.tidy()
    held = set(into.cells())
    for store in stores:
        held |= _take(store, into, held)


def _take(store: Store, into: Store, held: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Copy new cells: a shard without known cells is copied as it is.

    A shard with other column names is rewritten.
    """
    by_shard: dict[str, set[tuple[str, str]]] = {}
    for cell, shard in store.cells().items():
        by_shard.setdefault(shard, set()).add(cell)
    parts: set[tuple[str, str]] = set()
    for shard, cells in sorted(by_shard.items()):
        if not cells & held and type(store) is Store:
            into.put(shard, store.files_of(shard))
        elif not cells <= held:
            parts |= cells - held
    if parts:
        runs = [r for r in read_runs(store, {}) if (r.source_key, r.condition) in parts]
        into.put(shard_name(parts), shard_files(runs))
    return set().union(*by_shard.values())


def joined(manifests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the combined manifest."""
    merged = dict(manifests[0])
    for name in _LISTS:
        every = [value for manifest in manifests for value in manifest.get(name, ())]
        merged[name] = list(dict.fromkeys(every))
    merged["seeds"] = sorted(merged["seeds"])
    windows = dict.fromkeys(window for manifest in manifests for window in windows_of(manifest))
    merged["window"] = sorted(windows) if len(windows) > 1 else next(iter(windows))
    for name in _NAMED:
        merged[name] = {k: v for manifest in manifests for k, v in manifest.get(name, {}).items()}
    sources = dict.fromkeys(source for manifest in manifests for source in _sources(manifest))
    merged["sources"] = [name for name, _, _ in sources]
    merged["source_seeds"] = [seed for _, seed, _ in sources]
    merged["source_keys"] = [key for _, _, key in sources]
    if any("used" in manifest for manifest in manifests):
        merged["used"] = united(manifest.get("used", {}) for manifest in manifests)
    merged["skipped_files"] = max(manifest.get("skipped_files", 0) for manifest in manifests)
    return merged


def _sources(manifest: Mapping[str, Any]) -> Iterator[tuple[str, int, str]]:
    columns = (manifest[name] for name in _SOURCES)
    return zip(*columns, strict=True)


def _differences(stores: Sequence[Store], manifests: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    first, one = stores[0].folder, manifests[0]
    sources = {(name, seed): key for name, seed, key in _sources(one)}
    codes = _codes(one)
    for store, other in zip(stores[1:], manifests[1:], strict=True):
        for name in _SAME:
            if one.get(name) != other.get(name):
                has, has_not = _apart(one.get(name), other.get(name))
                yield f"{name}: {first} has {has}, {store.folder} {has_not}"
        own, others = windows_of(one), windows_of(other)
        if own != others and 0 in (*own, *others):  # neither says which windows are the models' own
            yield f"window: {first} has {_short(own)}, {store.folder} {_short(others)}"
        for source, seed, key in _sources(other):
            if sources.setdefault((source, seed), key) != key:
                yield f"{source} (seed {seed}) holds something else in {store.folder}"
        for spec, code in _codes(other).items():
            if codes.setdefault(spec, code) != code:
                yield f"{spec} has other code in {store.folder}"


def _codes(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return digests of code by the specs of strategies and of summarisers."""
    writers = manifest.get("summarizers", {})
    written = {f"summariser {spec}": entry["code"] for spec, entry in writers.items()}
    return {**manifest.get("strategies_code", {}), **written}


def _apart(one: Any, other: Any) -> tuple[str, str]:
    """Return the difference of two stores in an entry; for lists, what the other lacks."""
    if not (isinstance(one, list) and isinstance(other, list)):
        return repr(one), repr(other)
    only = ([each for each in a if each not in b] for a, b in ((one, other), (other, one)))
    return tuple(_short(each) for each in only)  # type: ignore[return-value]


def _short(names: Sequence[Any]) -> str:
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return (", ".join(map(str, names[:3])) or "nothing else") + more
