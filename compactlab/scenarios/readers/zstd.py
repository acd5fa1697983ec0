"""Compressed files of clients: decompressed while reading, up to a limit."""

from __future__ import annotations

import io
from pathlib import Path
from typing import IO

from compactlab.sim.core.errors import InputError

MAGIC = b"\x28\xb5\x2f\xfd"
# Largest memory of a frame, in bytes: the need of the highest level.
_WINDOW = 128 * 2**20
_CHUNK = 1 << 18


class Unpacked(io.RawIOBase):
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
        """Return True."""
        return True

    def readinto(self, buffer: object) -> int:
        """Fill a buffer."""
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
    return io.BufferedReader(Unpacked(packed, path, most), _CHUNK)
