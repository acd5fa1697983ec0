"""Run cells one by one, and print what each executes that no digest of it covers.

Run as a program of its own, so that nothing is remembered of what was executed before.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import compactlab
from compactlab.llm.asker import Asker
from compactlab.request.names import plan
from compactlab.scenarios.readers import transcript
from compactlab.sim.cache import POLICIES
from compactlab.sim.experiment.shard import Shard, Task, forget
from compactlab.sim.experiment.sweep import Experiment
from compactlab.sim.store.code import ENGINE, REDACTION, reached
from compactlab.sim.store.run import shard_files
from compactlab.strategies import ALL_STRATEGIES
from compactlab.strategies.summarizers.catalogue import SUMMARIZERS
from tests.recordings import claude_code, written

PACKAGE = Path(compactlab.__file__).parent
SMALL = "turns=2, tokens=3000"
ASKED = "auto_compact"  # it asks for summaries
EVERY_POLICY = tuple(f"claude-sonnet-4-5@{name}" for name in POLICIES)


def experiments(folder: Path) -> Iterator[Experiment]:
    """Together, every strategy, summariser, scenario and cache policy, and two transcripts."""
    read = claude_code(folder / "claude.jsonl")
    chat = [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."}]
    said = written(folder / "chat.json", [{"messages": chat}])
    one = f"coding_agent({SMALL})"
    told: dict[str, Any] = {"window": 1_500, "loop": "closed"}
    yield plan([one], ALL_STRATEGIES, tables=["prompts", "facts", "messages", "views"], **told)
    # Nothing is recorded of that model: its cell fails, and says so by the code of its answers.
    writers = [*(set(SUMMARIZERS) - {"llm"}), "llm(model='small')"]
    asker = Asker(folder / "answers")
    yield plan([one], [ASKED], summarizer=writers, asker=asker, **told)
    yield plan([f"suite({SMALL})", read, said], [ASKED], ["gpt-5"], **told)
    yield plan([one, read], ["sliding_window"], EVERY_POLICY, window=1_500)
    yield plan([one, read], [ASKED], redact=True, **told)


def cells(experiment: Experiment) -> Iterator[tuple[str, set[Path], set[Path]]]:
    """Each cell's name, the files that it executes, and those that its digests cover."""
    engine = reached([ENGINE], () if experiment.setting.redact else (REDACTION,))
    for source in experiment.sources:
        scenario = getattr(source.load, "args", [None])[0]
        loaded = transcript.__name__ if isinstance(scenario, Path) else type(scenario).__module__
        for condition in experiment.conditions:
            writers = [condition.summarizer, *condition.setting.controls]
            parts = [condition.strategy, *condition.strategy.parts, *writers]
            names = [type(part).__module__ for part in parts if part is not None]
            covered = engine | reached([*names, loaded], without=engine)
            files = {path for path in covered.values() if path is not None}
            name = f"{source.name} under {condition.strategy.spec}"
            yield name, executed(Shard((Task(source, (condition,)),))), files


def executed(shard: Shard) -> set[Path]:
    """The files of the package of which something is executed to do a shard."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        seen.add(frame.f_code.co_filename)

    forget()
    sys.settrace(note)
    try:
        shard_files(shard.runs())
    finally:
        sys.settrace(None)
    return {path for path in map(Path, seen) if path.is_relative_to(PACKAGE)}


if __name__ == "__main__":
    every = [cell for planned in experiments(Path(sys.argv[1])) for cell in cells(planned)]
    done = {path for _, files, _ in every for path in files}
    missed = [f"{name}: {path}" for name, files, covered in every for path in files - covered]
    paths = sorted(str(path.relative_to(PACKAGE)) for path in done)
    print(json.dumps({"executed": paths, "strangers": missed}))
