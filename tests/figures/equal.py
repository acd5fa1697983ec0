"""Compare every value of every table between a commit and the checkout: ``make figures``.

1,080 runs: sixty strategies over ten kinds of synthetic sessions and eight recordings, in the open
and the closed loop, with the whole trace. A change that moves no figure shows here that it moves
none; of one that does, the last lines give the columns and amounts.

``suite.toml`` and ``recorded.toml`` name all that is run, so that no new default changes what is
compared. The keys of cells and runs may differ, which have the digest of the code in them.
``renamed.toml`` has the new names of columns and tables; ``left_out.toml`` names what one commit
has alone.
"""

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.figures.amounts import Amounts
from tests.figures.differences import Allowed, Comparison

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KEPT = ROOT / ".figures"
EXPERIMENTS = ("recorded", "suite")


def main() -> int:
    asked = options()
    commit = git("rev-parse", "--short=12", f"{asked.base}^{{commit}}")
    allowed = Allowed.read(HERE / "renamed.toml", HERE / "left_out.toml")
    wrong = 0
    for name in asked.only or EXPERIMENTS:
        experiment = Experiment.read(name, asked)
        if experiment.needs_recordings and not asked.recorded.is_dir():
            print(f"{name}: not compared, there is no folder {asked.recorded}")
            continue
        before = experiment.stored(at(commit), KEPT / commit, anew=experiment.is_part)
        after = experiment.stored(ROOT, KEPT / "now", anew=True)
        wrong += report(name, commit, Comparison(before, after, allowed), asked.show)
    return 1 if wrong else 0


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.figures.equal", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("base", help="commit to compare with, such as the last before an issue")
    parser.add_argument("--only", action="append", choices=EXPERIMENTS, help="repeatable")
    parser.add_argument(
        "--strategies", action="append", default=[], metavar="SPEC", help="only this; repeatable"
    )
    parser.add_argument(
        "--conversations",
        action="append",
        default=[],
        metavar="NAME",
        help="only this, RECORDED/... for a recording; repeatable",
    )
    parser.add_argument("--recorded", type=Path, default=ROOT.parent / "shared" / "recorded")
    parser.add_argument("--show", type=int, default=40, help="differences to print one by one")
    return parser.parse_args()


def report(name: str, commit: str, comparison: Comparison, show: int) -> int:
    """Print what differs; how many columns of runs do."""
    amounts, count = Amounts(), 0
    lines = []
    for count, difference in enumerate(comparison.differences(), 1):
        amounts.add(difference)
        if count <= show:
            lines.append(str(difference))
    print(f"{name}: {comparison.runs} runs compared with {commit}, {count} differences")
    for entry, rows in comparison.left_out.items():
        print(f"left out, {rows:,} rows: {entry}")
    print(*lines, sep="\n", end="\n" if lines else "")
    if count > show:
        print(f"and {count - show:,} more")
    if count:
        print(f"{name}, by column:", *amounts.lines(), sep="\n  ")
    return count


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


@dataclass(frozen=True)
class Experiment:
    """An experiment file, and options that narrow it."""

    name: str
    text: str
    needs_recordings: bool
    narrowed: tuple[str, ...] = ()

    @classmethod
    def read(cls, name: str, asked: argparse.Namespace) -> "Experiment":
        text = (HERE / f"{name}.toml").read_text(encoding="utf-8")
        given = (("--strategies", asked.strategies), ("--conversations", asked.conversations))
        narrowed = [
            part for option, values in given for value in values for part in (option, value)
        ]
        needs = any("RECORDED" in part for part in (asked.conversations or [text]))
        folder = str(asked.recorded.resolve())
        return cls(
            name,
            text.replace("RECORDED", folder),
            needs,
            tuple(part.replace("RECORDED", folder) for part in narrowed),
        )

    @property
    def is_part(self) -> bool:
        return bool(self.narrowed)

    def stored(self, tree: Path, folder: Path, anew: bool) -> Path:
        """Its store, run by the code in a folder. What is whole is not run again."""
        name = f"{self.name}-part" if self.is_part else self.name
        store, file = folder / name, folder / f"{name}.toml"
        if anew or not file.exists() or file.read_text(encoding="utf-8") != self.text:
            shutil.rmtree(store, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(self.text, encoding="utf-8")
        command = [sys.executable, "-m", "compactlab", "run", str(file), "--out", str(store)]
        command += self.narrowed
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


if __name__ == "__main__":
    sys.exit(main())
