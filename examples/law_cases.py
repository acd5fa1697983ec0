"""Cases that laws are held over, and what is found. A library for ``validate_laws``; no script."""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from compactlab import Conversation, find_strategy
from compactlab.sim.experiment.shard import DEFAULT_MODEL
from compactlab.sim.metrics import FAMILIES, RunData, figures
from compactlab.sim.replay.recovery import ClosedLoop
from compactlab.sim.replay.replay import Options, record
from compactlab.sim.store.results import Results

WINDOW = 8_000
MEMORY = [m.name for f in FAMILIES if f.name in ("memory", "facts") for m in f.metrics]


@dataclass
class Case:
    """A conversation, and its replays.

    Parameters
    ----------
    conversation
        The script.
    """

    conversation: Conversation
    known: dict[tuple[str, ClosedLoop | None], RunData] = field(default_factory=dict)

    def under(self, strategy: str, loop: ClosedLoop | None = None) -> RunData:
        """What becomes of it; replayed once."""
        if (strategy, loop) not in self.known:
            self.known[strategy, loop] = self.again(strategy, loop)
        return self.known[strategy, loop]

    def again(self, strategy: str, loop: ClosedLoop | None = None) -> RunData:
        """What becomes of it, replayed anew."""
        seed = self.conversation.seed
        options = Options(DEFAULT_MODEL, window=WINDOW, seed=seed, loop=loop)
        trace = record(self.conversation, find_strategy(strategy), options)
        return RunData(trace, self.conversation)


@dataclass
class Docket:
    """What was looked at, and where a law is broken.

    Parameters
    ----------
    seen
        How many things a law was asked of, by law.
    broken
        What breaks it, in words.
    told
        What is counted beside.
    """

    seen: Counter[str] = field(default_factory=Counter)
    broken: dict[str, list[str]] = field(default_factory=dict)
    told: Counter[str] = field(default_factory=Counter)

    def hold(self, law: str, holds: bool, where: str) -> None:
        """Ask a law of something."""
        self.seen[law] += 1
        if not holds:
            self.broken.setdefault(law, []).append(where)


def written(reading: RunData) -> bytes:
    """A trace and its figures as bytes."""
    encode = msgspec.json.Encoder(enc_hook=list, order="deterministic").encode
    return encode((reading.trace.steps, figures(reading, MEMORY)))


def digest(results: Results) -> str:
    """The hash of the tables of a store."""
    with tempfile.TemporaryDirectory() as folder:
        results.save(folder)
        tables = sorted(Path(folder).rglob("*.parquet"))
        return hashlib.sha256(b"".join(table.read_bytes() for table in tables)).hexdigest()


def differences(one: Results, other: Results) -> Iterator[str]:
    """Name the runs that two experiments did not do alike, and in what they differ."""
    for first, second in zip(one.runs, other.runs, strict=True):
        if first.digest != second.digest:
            yield f"{first.conversation} is another conversation"
        elif first != second:
            yield f"{first.conversation}, {first.strategy}"
