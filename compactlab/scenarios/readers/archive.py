"""Zip archives written by others: their names and members, limited to what memory can hold."""

from __future__ import annotations

import struct
import zipfile
import zlib
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from compactlab.sim.core.errors import InputError, RefusedError
from compactlab.sim.core.json import LARGEST, TOO_LARGE

MAGIC = b"PK\x03\x04"
_MOST_MEMBERS = 100_000
_LARGEST_DIRECTORY = 32 * 2**20  # bytes of the table of members
_LARGEST_RATIO = 2_000  # compression ratio; a higher one is a zip bomb
_SMALL = 2**20  # bytes below which it is harmless
_ZSTD = 93
_END, _HEAD = 22, 30  # bytes of the end record, and of a member's header
_COMMENT = 2**16


class Archive:
    """A zip archive that is being read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            _check_directory(path)
            self._zip = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile, struct.error, ValueError) as error:
            raise InputError(f"not a whole zip archive: {error}", str(path)) from None
        self._members = {one.filename: one for one in self._zip.infolist()}
        if len(self._members) > _MOST_MEMBERS:
            raise RefusedError(f"above {_MOST_MEMBERS:,} files in one archive", str(path))

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    @property
    def names(self) -> list[str]:
        """The names of the members."""
        return list(self._members)

    def read(self, name: str) -> bytes:
        """Unpack a member."""
        member = self._members[name]
        large = member.file_size > _SMALL
        if large and member.file_size > _LARGEST_RATIO * max(1, member.compress_size):
            raise RefusedError(f"{name!r} is packed more than {_LARGEST_RATIO:,} times")
        if member.file_size > LARGEST:
            raise InputError(f"{name!r} is {TOO_LARGE}")
        if member.flag_bits & 1:
            raise RefusedError(f"{name!r} is encrypted")
        try:
            with self._opened(member) as file:
                data = file.read(LARGEST + 1)
        except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
            raise InputError(f"{name!r} cannot be unpacked: {error}") from None
        except NotImplementedError:
            text = f"{name!r} is packed in a way that is not known ({member.compress_type})"
            raise RefusedError(text) from None
        if len(data) > LARGEST:
            raise InputError(f"{name!r} is {TOO_LARGE}")
        return data

    def _opened(self, member: zipfile.ZipInfo) -> IO[bytes]:
        if member.compress_type != _ZSTD:
            return self._zip.open(member)
        with self.path.open("rb") as file:
            file.seek(member.header_offset)
            head = file.read(_HEAD)
            names, extra = struct.unpack_from("<HH", head, 26)
            file.seek(names + extra, 1)
            packed = file.read(member.compress_size)
        return _unpacked(packed)


def _unpacked(packed: bytes) -> IO[bytes]:
    """Decompress zstd; its library is an extra, and in the standard library from 3.14 on."""
    try:
        zstandard: Any = import_module("zstandard")
    except ImportError:
        text = "its samples are packed with zstd: install the package `zstandard`"
        raise RefusedError(text) from None
    reader: IO[bytes] = zstandard.ZstdDecompressor().stream_reader(packed)
    return reader


def _check_directory(path: Path) -> None:
    """Check the size of the member table, which is read as a whole."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _END - _COMMENT))
        end = file.read(_END + _COMMENT)
    at = end.rfind(b"PK\x05\x06")
    if at < 0:
        raise ValueError("its end is missing")
    (directory,) = struct.unpack_from("<I", end, at + 12)
    if directory > _LARGEST_DIRECTORY:
        raise RefusedError(f"above {_MOST_MEMBERS:,} files in one archive", str(path))
