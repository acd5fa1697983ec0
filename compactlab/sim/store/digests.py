"""Digests that detect damage in a store: of a shard's files, and of a manifest.

The digests of a shard are in a separate file in the format of ``sha256sum --check``. It is written
with the shard, before its runs, so it is complete if the shard is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from io import BufferedReader
from typing import Any

FOLDER, SUFFIX = "digests", ".sha256"
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
