"""The manifest of a store, one schema for writing and reading, and the digests of its files.

A store may come from a stranger. So every value must have the type declared here, metrics and
tables must be ours, and keys must be sixteen hex digits; anything else is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from io import BufferedReader
from typing import Annotated, Any, Literal

import msgspec

from compactlab.sim.core.errors import unknown
from compactlab.sim.core.json import parse
from compactlab.sim.metrics import METRICS
from compactlab.sim.replay.client import Churn
from compactlab.sim.store.run import Used
from compactlab.sim.store.tables import TABLES

FORMAT = 6

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Seed = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Key = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{16}\Z")]


class _Writer(msgspec.Struct, forbid_unknown_fields=True):
    """A summariser."""

    label: str
    simulated: str
    code: str


class _Manifest(msgspec.Struct, forbid_unknown_fields=True):
    """The schema of a manifest; results that were combined by hand have fewer entries."""

    compactlab: str = ""
    engine: str = ""
    engines: list[str] = []
    prices: str = ""
    tokenizer: str = ""
    own_models: dict[str, dict[str, Any]] = {}
    churn: dict[str, Any] = {}
    loop: str = ""
    controls: dict[str, str] = {}
    metrics: list[str] = []
    tables: list[str] = []
    window: Count | list[Count] = 0
    redact: bool = False
    summarizers: dict[str, _Writer] = {}
    strategies: dict[str, str] = {}
    line_up: Literal["", "default", "all"] = ""
    strategies_code: dict[str, str] = {}
    bounds: dict[str, str] = {}
    distance: Count = 0
    by_price: list[str] = []
    sees_future: list[str] = []
    flushes: list[str] = []
    own_strategies: list[str] = []
    breaks: dict[str, dict[str, str]] = {}
    caps: dict[str, dict[str, Count]] = {}
    beyond: dict[str, str] = {}
    models: list[str] = []
    skipped_files: Count = 0
    sources: list[str] = []
    source_seeds: list[Seed] = []
    source_keys: list[Key] | msgspec.UnsetType = msgspec.UNSET
    conditions: list[Key] | msgspec.UnsetType = msgspec.UNSET
    seeds: list[Seed] = []
    used: Used = {}

    def __post_init__(self) -> None:
        for name, known in (("metrics", METRICS), ("tables", TABLES)):
            if strange := [each for each in getattr(self, name) if each not in known]:
                raise ValueError(f"{unknown('entry', strange[0][:60], known)} - at `$.{name}`")
        if (self.source_keys is msgspec.UNSET) != (self.conditions is msgspec.UNSET):
            raise ValueError("source_keys and conditions stand together or not at all")
        for name in ("metrics", "tables", "source_keys", "conditions"):
            values = getattr(self, name) or ()
            if len(set(values)) < len(values):
                raise ValueError(f"an entry stands there twice - at `$.{name}`")
        # Results combined by hand may have names without keys, or keys without names.
        both = self.sources and self.source_keys is not msgspec.UNSET
        if both and not len(self.sources) == len(self.source_seeds) == len(self._keys):
            raise ValueError("sources, source_seeds and source_keys differ in length")
        if self.churn:
            msgspec.convert(self.churn, Churn)

    @property
    def _keys(self) -> list[Key]:
        return self.source_keys or []


def windows_of(manifest: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the windows of a store, in tokens; 0 is the model's own.

    Examples
    --------
    >>> windows_of({"window": [40_000, 100_000]}), windows_of({})
    ((40000, 100000), (0,))
    """
    given = manifest.get("window") or 0
    return tuple(given) if isinstance(given, list) else (given,)


def write_manifest(manifest: Mapping[str, Any]) -> str:
    """Return a manifest as the text of its file, with sorted keys; values keep their order."""
    entries = {key: manifest[key] for key in sorted(manifest)}
    digest = digest_of_manifest(json.loads(json.dumps(entries)))
    text = json.dumps({"store": FORMAT, "digest": digest, **entries}, indent=2)
    read_manifest(text.encode())
    return f"{text}\n"


def read_manifest(content: bytes) -> dict[str, Any]:
    """Parse the content of a manifest's file."""
    manifest = parse(content)
    if not isinstance(manifest, dict):
        raise ValueError("it is not a JSON object")
    version = manifest.pop("store", None)
    if type(version) is not int or version != FORMAT:
        raise VersionError(version)
    digest = manifest.pop("digest", "")
    msgspec.convert(manifest, _Manifest)
    if digest not in ("", digest_of_manifest(manifest)):
        raise ValueError("its content was changed or damaged")
    return manifest


class VersionError(ValueError):
    """A manifest of another version."""

    def __init__(self, version: object) -> None:
        super().__init__(
            f"a store of another version ({str(version)[:20]}, this one reads {FORMAT}); run the "
            "experiment again, into another folder"
        )


def is_manifest(content: bytes) -> bool:
    """Whether a file's content is a manifest of ours: no other file may be overwritten."""
    try:
        manifest = parse(content)
    except ValueError:
        return False
    known = {"store", "digest", "unfinished", *_Manifest.__struct_fields__}
    return (
        isinstance(manifest, dict)
        and type(manifest.get("store")) is int
        and manifest.keys() <= known
    )


# Digests detect damage.
#
# The digests of a shard are in a separate file in the format of ``sha256sum --check``. It is
# written with the shard, before its runs, so it is complete if the shard is.

DIGESTS, DIGEST_SUFFIX = "digests", ".sha256"
_LINE = re.compile(r"([0-9a-f]{64})  (\w+)/(\w+)\.parquet")


def digest_of(content: bytes) -> str:
    """Return the digest of some content.

    Examples
    --------
    >>> digest_of(b"")[:16]
    'e3b0c44298fc1c14'
    """
    return hashlib.sha256(content).hexdigest()


def digest_of_file(file: BufferedReader) -> str:
    """Return the digest of a file's content, which may exceed the memory."""
    return hashlib.file_digest(file, "sha256").hexdigest()


def lines_of(shard: str, files: Mapping[str, bytes]) -> bytes:
    """Return the file content for the digests of a shard's files, given by table."""
    return _written(shard, {table: digest_of(files[table]) for table in files})


def read_lines(shard: str, content: bytes) -> dict[str, str]:
    """Parse digests by table from the content of their file; raise ValueError if damaged.

    Examples
    --------
    >>> sorted(read_lines("results", lines_of("results", {"runs": b"", "calls": b""})))
    ['calls', 'runs']
    """
    digests: dict[str, str] = {}
    for line in content.decode("ascii").splitlines():
        match = _LINE.fullmatch(line)
        if not match or match[3] != shard:
            raise ValueError(f"{line[:40]!r} is not a digest of this shard")
        digests[match[2]] = match[1]
    if not digests or _written(shard, digests) != content:
        raise ValueError("its lines are not as they were written")
    return digests


def _written(shard: str, digests: Mapping[str, str]) -> bytes:
    return "".join(f"{digests[t]}  {t}/{shard}.parquet\n" for t in sorted(digests)).encode()


def digest_of_manifest(entries: Mapping[str, Any]) -> str:
    """Return the digest of a manifest's entries, independent of the text's layout."""
    return digest_of(json.dumps(dict(entries)).encode())
