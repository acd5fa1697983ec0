"""Compressed files of clients and zip archives, unpacked within what memory can hold."""

from __future__ import annotations

import io
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
        return list(self._members)

    def read(self, name: str) -> bytes:
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


# Streams packed with zstd

ZSTD = b"\x28\xb5\x2f\xfd"
# Largest memory of a frame, in bytes: the need of the highest level.
_WINDOW = 128 * 2**20
_CHUNK = 1 << 18


class _Unpacked(io.RawIOBase):
    """The decompressed bytes of a stream, up to a limit.

    A small file may contain terabytes; nothing is stored, and reading stops at the limit.
    """

    def __init__(self, packed: IO[bytes], path: Path | str, most: int) -> None:
        import zstandard

        self._path, self._left, self._most = str(path), most, most
        self._fault = zstandard.ZstdError
        unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
        self._stream = unpacker.stream_reader(packed, read_across_frames=True, closefd=False)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        try:
            data = self._stream.read(min(len(view), _CHUNK))
        except self._fault as error:
            raise InputError(f"not to be unpacked: {error}", self._path) from None
        self._left -= len(data)
        if self._left < 0:
            raise InputError(f"above {self._most:,} bytes when unpacked", self._path)
        view[: len(data)] = data
        return len(data)


def unpacked(packed: IO[bytes], path: Path | str, most: int) -> IO[bytes]:
    """Open a stream for reading its decompressed bytes."""
    return io.BufferedReader(_Unpacked(packed, path, most), _CHUNK)
