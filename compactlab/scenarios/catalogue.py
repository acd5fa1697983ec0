"""Conversations by name: scenarios, files and directories, as sources of an experiment."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from compactlab.scenarios.adversarial import Adversarial
from compactlab.scenarios.coding_agent import CodingAgent
from compactlab.scenarios.engine.domain import Domain
from compactlab.scenarios.engine.profile import file_of
from compactlab.scenarios.plain import (
    Delegation,
    HalfThoughts,
    HighFloor,
    PersonalAssistant,
    ResearchAssistant,
    RevisedDecisions,
    Rewinds,
    SupportChat,
    ToolFlood,
)
from compactlab.scenarios.readers import transcript
from compactlab.scenarios.readers.database import is_database
from compactlab.scenarios.readers.folders import files_like
from compactlab.scenarios.readers.transcript import find, format_of, read_as
from compactlab.scenarios.rereading import Repetitions, WorkingSet
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import InputError, UsageError, unknown
from compactlab.sim.core.registry import ClassRegistry
from compactlab.sim.core.spec import build, label_of, parse_spec, snake_case
from compactlab.sim.experiment.sources import (
    MOST_SOURCES,
    TOO_MANY_SOURCES,
    Scenario,
    Source,
    alone,
)
from compactlab.sim.store.code import digest_of_classes, digest_of_file, digest_of_modules

_SCENARIOS: dict[str, type[Scenario]] = {
    snake_case(scenario.__name__): scenario
    for scenario in (
        CodingAgent,
        ResearchAssistant,
        SupportChat,
        PersonalAssistant,
        RevisedDecisions,
        HalfThoughts,
        ToolFlood,
        Rewinds,
        Repetitions,
        Adversarial,
        Delegation,
        WorkingSet,
        HighFloor,
    )
}
SCENARIOS = ClassRegistry("scenarios", "scenario", _SCENARIOS, Scenario)
SUITE = "suite"  # the usual scenarios: all but those made to provoke one failure
_FOR_ONE_FAILURE = ("delegation", "working_set", "high_floor")
USUAL = tuple(name for name in _SCENARIOS if name not in _FOR_ONE_FAILURE)
# Long enough to fill a window of 200,000 tokens twice.
DEFAULT = "coding_agent(turns=40, tokens=300000)"
_SHOWN = 8  # number of ids listed if one must be chosen
_CHARACTERS = 4  # characters per token, to estimate the size of a scenario


@dataclass(frozen=True)
class Seeded:
    """A name of conversations, with its own seeds."""

    name: str | Path  # a path, a pattern, or the spec of a scenario
    seeds: Sequence[int]


def find_scenario(text: str) -> Scenario:
    """Build the scenario of a spec.

    Examples
    --------
    >>> find_scenario("coding_agent(turns=3)").turns
    3
    """
    name, arguments = parse_spec(text)
    return build(SCENARIOS.find(name), arguments)


def sources(
    names: Iterable[str | Path | Seeded], seeds: int = 1, *, strict: bool = False
) -> tuple[list[Source], int]:
    """List the sources of names, each once, and count the files that were passed over.

    A name is a path, a pattern with ``*`` or ``**``, the spec of a scenario, or ``suite``. A
    scenario without seeds of its own runs ``seeds`` times, with seeds from 0 on. Raises a
    UsageError before any source is made, if there are more than an experiment may have.
    """
    # One more than the limit is enough to refuse; the length of a longer range may overflow.
    usual = range(min(seeds, MOST_SOURCES + 1))
    meanings: list[tuple[Sequence[int], list[Scenario], list[Path]]] = []
    total = skipped = 0
    for each in names:
        named = each if isinstance(each, Seeded) else Seeded(each, usual)
        paths, scenarios = meant(named.name)
        transcripts, passed_over = find(paths)
        meanings.append((named.seeds, scenarios, transcripts))
        total += len(named.seeds) * (len(scenarios) + len(transcripts))
        skipped += passed_over
    if total > MOST_SOURCES:
        raise UsageError(TOO_MANY_SOURCES)
    made: dict[tuple[str, int], Source] = {}
    files: dict[Path, Path] = {}
    of_file: dict[Path, dict[int, None]] = {}
    for own_seeds, scenarios, transcripts in meanings:
        for source in (_made(each, seed) for each in scenarios for seed in own_seeds):
            made.setdefault((source.name, source.seed), source)
        for file in transcripts:
            files.setdefault(file.resolve(), file)
            of_file.setdefault(file.resolve(), {}).update(dict.fromkeys(own_seeds))
    listed = list(files.values())
    read_in = [
        Source(
            name,
            partial(read_as, file.absolute(), str(file), strict=strict),
            seed,
            file.stem,
            partial(content_of_file, file.absolute(), strict=strict),
            size_of_file(file),
        )
        for name, (key, file) in zip(_names(listed), files.items(), strict=True)
        for seed in of_file[key]
    ]
    return [*made.values(), *read_in], skipped


def meant(name: str | Path) -> tuple[list[Path], list[Scenario]]:
    """Resolve a name to a path, the sorted paths that match a pattern, or scenarios.

    Examples
    --------
    >>> [each.tokens for each in meant("coding_agent(turns=3, tokens=9000)")[1]]
    [9000]
    """
    if is_there(name):
        return [Path(name)], []
    if is_pattern(str(name)):
        return _fitting(str(name)), []
    if _looks_like_path(str(name)):
        return [Path(name)], []
    return [], _scenarios(str(name))


def is_there(name: str | Path) -> bool:
    """Whether a name is the path of a file, a directory, or a session in a file."""
    try:
        return transcript.named(name)[0].exists()
    except (OSError, ValueError):  # too long, or not a valid path
        return False


def is_pattern(name: str) -> bool:
    """Whether a name is a pattern of files: it has a star or question mark outside of arguments."""
    head = name.partition("(")[0]
    return "*" in head or "?" in head


def find_conversation(
    name: str | Path, id: str = "", seed: int = 0, *, strict: bool = False
) -> Conversation:
    """Load one conversation."""
    listed, _ = sources([Seeded(name, (seed,))], strict=strict)
    conversations = [source.named(each) for source in listed for each in source.load()]
    same = [each for each in conversations if each.id == id]
    named = same or [each for each in conversations if each.id.endswith(id)]
    if len(named) == 1:
        return named[0]
    if not conversations:
        raise UsageError(f"there is no conversation in {str(name)!r}")
    if not named:
        raise UsageError(unknown("conversation", id, [each.id for each in conversations]))
    ids = [each.id for each in named]
    more = f" and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
    raise UsageError(
        f"{len(ids):,} conversations in {str(name)!r}; name one: {', '.join(ids[:_SHOWN])}{more}"
    )


def _fitting(pattern: str) -> list[Path]:
    try:
        matches = sorted(set(files_like(pattern)))
        # Two stars also match the folders on the way, which may be missing.
        matches = [
            path for path in matches if path.is_file() or (path.exists() and "**" not in pattern)
        ]
        if pattern.endswith(("/", os.sep)):
            matches = [path for path in matches if path.is_dir()]
    except (OSError, ValueError):  # not a valid path
        matches = []
    if not matches:
        raise UsageError(f"no file fits {pattern!r}")
    return matches


def _looks_like_path(name: str) -> bool:
    head = name.partition("(")[0]
    return "/" in head or "\\" in head or "." in head


def _scenarios(text: str) -> list[Scenario]:
    """Return the scenarios of a spec: one, or the whole suite with the same arguments."""
    name, arguments = parse_spec(text)
    if name == SUITE:
        return [build(_SCENARIOS[each], arguments) for each in USUAL]
    if name not in SCENARIOS and "(" not in text:
        # It may be a mistyped path.
        fault = unknown("scenario", name, (*SCENARIOS, SUITE))
        raise UsageError(f"no such file or folder, and {fault}")
    return [find_scenario(text)]


def _made(scenario: Scenario, seed: int) -> Source:
    label = label_of(scenario)
    name = label if label.endswith(")") else f"{label}()"
    return Source(
        f"{name}-{seed}",
        partial(alone, scenario, seed),
        seed,
        content=partial(content_of_scenario, scenario),
        size=size_of_scenario(scenario),
    )


def _names(files: list[Path]) -> list[str]:
    """Return the shortest endings of the paths that are unique, without suffix if possible."""
    bare = Counter(file.with_suffix("") for file in files)
    ends = [f.with_suffix("") if bare[f.with_suffix("")] == 1 else f for f in files]
    for depth in range(1, max((len(file.parts) for file in files), default=1) + 1):
        names = ["/".join(end.parts[-depth:]) for end in ends]
        if len(set(names)) == len(names):
            break
    return names if files else []


def content_of_file(file: Path, *, strict: bool) -> str:
    """Return the content key of a transcript: digests of its bytes and of its reader's code."""
    code = [transcript.__name__]
    package = ""
    with suppress(InputError):  # its read error becomes a row later
        form = format_of(file)
        package = form.package if form else ""
        code += [package.rpartition(", ")[2]] if package else []
    whole, session = transcript.named(file)
    # The newest writes to a database are in a file beside it.
    log = Path(f"{whole}-wal") if is_database(whole) else None
    digests = f"{_digest(whole)} {session} {_digest(log) if log and log.exists() else ''}"
    return f"{digests} {digest_of_modules(code)} {package} {strict}"


def content_of_scenario(scenario: Scenario) -> str:
    """Return the content key of a scenario: its spec, code, domain and profile."""
    profile = _profile(getattr(scenario, "profile", ""))
    code = digest_of_classes([type(scenario)])
    return f"{scenario.spec} {code} {_domain(scenario)} {profile}"


def size_of_file(file: Path) -> int:
    """Return the size of a transcript in bytes; 0 if it is missing."""
    try:
        return transcript.named(file)[0].stat().st_size
    except OSError:
        return 0


def size_of_scenario(scenario: Scenario) -> int:
    """Estimate the bytes of text of a scenario; 0 if it is unknown."""
    tokens: Any = getattr(scenario, "tokens", 0)
    return tokens * _CHARACTERS if isinstance(tokens, int) else 0


def _domain(scenario: Scenario) -> str:
    domain = getattr(scenario, "domain", None)
    words = ascii(domain) if isinstance(domain, Domain) else ""
    return hashlib.blake2b(words.encode(), digest_size=8).hexdigest()


def _profile(name: Any) -> str:
    try:
        return digest_of_file(file_of(name)) if name else ""
    except (OSError, ValueError) as error:  # its read error becomes a row later
        return str(error)


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as error:  # its read error becomes a row later
        return str(error.strerror)
