"""Compare every value of every table between a commit and the checkout: ``make figures``.

1,080 runs: all strategies over ten kinds of synthetic sessions and eight recordings, in the open
and the closed loop, with the whole trace. A change that moves no figure shows here that it moves
none.

Only these may differ: the keys of cells and runs, which have the digest of the code in them, and
names of columns that ``sim/metrics/renamed.toml`` maps from old to new.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KEPT = ROOT / ".figures"
RENAMED = ROOT / "compactlab" / "sim" / "metrics" / "renamed.toml"

# With them, a row of another table finds its run; in themselves they are digests of code.
KEYS = ("run", "source_key", "condition")

Table = dict[str, list[Any]]


def main() -> int:
    asked = options()
    commit = git("rev-parse", "--short=12", asked.base)
    wrong = 0
    for experiment in sorted(HERE.glob("*.toml")):
        text = experiment.read_text(encoding="utf-8")
        if "RECORDED" in text and not asked.recorded.is_dir():
            print(f"{experiment.stem}: not compared, there is no folder {asked.recorded}")
            continue
        text = text.replace("RECORDED", str(asked.recorded.resolve()))
        before = stored(experiment.stem, text, at(commit), KEPT / commit, anew=False)
        after = stored(experiment.stem, text, ROOT, KEPT / "now", anew=True)
        complaints = list(differences(before, after, renamed(asked.map)))
        wrong += len(complaints)
        runs = len(read(after, "runs")["run"])
        print(
            f"{experiment.stem}: {runs} runs compared with {commit}, {len(complaints)} differences"
        )
        print(*complaints[: asked.show], sep="\n", end="\n" if complaints else "")
    return 1 if wrong else 0


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("base", help="commit to compare with")
    parser.add_argument("--recorded", type=Path, default=ROOT.parent / "shared" / "recorded")
    parser.add_argument("--map", type=Path, default=RENAMED, help="old and new names of columns")
    parser.add_argument("--show", type=int, default=40, help="differences to print")
    return parser.parse_args()


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def at(commit: str) -> Path:
    """The files of a commit, in a folder of their own."""
    tree = KEPT / commit / "tree"
    if not tree.exists():
        tree.mkdir(parents=True)
        packed = subprocess.run(
            ["git", "archive", commit], cwd=ROOT, check=True, capture_output=True
        )
        subprocess.run(["tar", "-x", "-C", tree], input=packed.stdout, check=True)
    return tree


def stored(name: str, text: str, tree: Path, folder: Path, anew: bool) -> Path:
    """The store of an experiment, run by the code in a folder. What is whole is not run again."""
    store = folder / name
    if anew:
        shutil.rmtree(store, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "compactlab", "run", str(file), "--out", str(store)]
    done = subprocess.run(
        command,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        check=False,
        stdout=subprocess.PIPE,
        text=True,
    )
    # 1: a run failed, and the row that says so is compared like any other.
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}")
    return store


def renamed(file: Path) -> Mapping[str, str]:
    """New names of columns by their old ones."""
    if not file.exists():
        return {}
    with file.open("rb") as opened:
        return dict(tomllib.load(opened)["columns"])


def read(store: Path, table: str) -> Table:
    """The rows of a table, without those of conditions that its manifest names no more."""
    shards = sorted((store / table).glob("*.parquet"))
    if not shards:
        return {"run": []}
    rows = pa.concat_tables([pq.read_table(shard, partitioning=None) for shard in shards])
    if table == "runs":
        rows = rows.filter(pc.is_in(rows["condition"], pa.array(conditions(store), pa.string())))
    else:
        rows = rows.filter(pc.is_in(rows["run"], pa.array(read(store, "runs")["run"], pa.string())))
    columns: Table = rows.to_pydict()
    return columns


def conditions(store: Path) -> list[str]:
    manifest = json.loads((store / "manifest.json").read_text(encoding="utf-8"))
    return list(manifest["conditions"])


def differences(before: Path, after: Path, names: Mapping[str, str]) -> Iterator[str]:
    """What differs between two stores of one experiment, a line a run and column."""
    tables = {path.name for store in (before, after) for path in store.iterdir() if path.is_dir()}
    tables = {name for name in tables if not name.startswith(".")}
    whose = [runs(read(store, "runs")) for store in (before, after)]
    for table in sorted(tables):
        old, new = read(before, table), read(after, table)
        old = {names.get(column, column): values for column, values in old.items()}
        yield from (f"{table}: no column {column}" for column in old.keys() - new.keys())
        yield from (f"{table}: a column {column} more" for column in new.keys() - old.keys())
        rows = [by_run(columns, run) for columns, run in zip((old, new), whose, strict=True)]
        yield from (f"{table}: nothing of {run}" for run in rows[0].keys() - rows[1].keys())
        yield from (f"{table}: {run} more" for run in rows[1].keys() - rows[0].keys())
        columns = [column for column in old if column in new and column not in KEYS]
        for run in sorted(rows[0].keys() & rows[1].keys()):
            sides = (picked(old, rows[0][run], columns), picked(new, rows[1][run], columns))
            yield from unequal(f"{table}: {run}", *sides)


def runs(table: Table) -> Callable[[str], str]:
    """What a run is called by its key: the same in every version of the code."""
    said = ("source", "conversation", "strategy", "model", "summarizer", "loop")
    named = {
        key: " | ".join(str(table[column][row]) for column in said)
        for row, key in enumerate(table["run"])
    }
    if len(set(named.values())) != len(named):
        sys.exit("two runs have one name")
    return lambda key: named[key]


def by_run(table: Table, called: Callable[[str], str]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, key in enumerate(table["run"]):
        rows.setdefault(called(key), []).append(row)
    return rows


def picked(table: Table, rows: Sequence[int], columns: Sequence[str]) -> Table:
    # As text, so that nan equals nan, and 1 differs from 1.0.
    return {column: [repr(table[column][row]) for row in rows] for column in columns}


def unequal(where: str, old: Table, new: Table) -> Iterator[str]:
    for column, before in old.items():
        after = new[column]
        if len(before) != len(after):
            yield f"{where}: {len(before)} rows before, {len(after)} now"
            return
        for row, (was, now) in enumerate(zip(before, after, strict=True)):
            if was != now:
                yield f"{where}: {column}, row {row}: {was:.80} is now {now:.80}"
                break


if __name__ == "__main__":
    sys.exit(main())
