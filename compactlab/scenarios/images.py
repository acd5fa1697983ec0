"""What an image costs, from its size in pixels; the image itself is not kept.

Source: the providers' documentation on vision (Anthropic, 2026): an image costs width x height /
750 tokens, and larger ones are scaled down to about 1,600.
"""

from __future__ import annotations

import base64
import binascii
import struct

PIXELS_PER_TOKEN = 750
MOST_TOKENS = 1600
UNKNOWN_TOKENS = 1200  # pi and OpenClaw count every image as 4,800 characters

_HEADER = 4 * 65536  # characters of base64: a JPEG may carry 64 KB of camera data in front
_PNG = b"\x89PNG\r\n\x1a\n"
_NO_FRAME = {0xC4, 0xC8, 0xCC}  # JPEG markers among the frames' that start none


def image_tokens(data: str) -> int:
    """Count the tokens of an image.

    Parameters
    ----------
    data
        The image as base64, PNG or JPEG.

    Returns
    -------
    int
        Tokens; `UNKNOWN_TOKENS` if the size in pixels cannot be told.

    Examples
    --------
    >>> image_tokens("not an image")
    1200
    """
    head = data[:_HEADER]
    try:
        raw = base64.b64decode(head[: len(head) // 4 * 4], validate=True)
        width, height = _png(raw) if raw.startswith(_PNG) else _jpeg(raw)
    except (binascii.Error, ValueError, struct.error):
        return UNKNOWN_TOKENS
    return max(1, min(MOST_TOKENS, -(-width * height // PIXELS_PER_TOKEN)))


def _png(raw: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from(">II", raw, 16)
    return width, height


def _jpeg(raw: bytes) -> tuple[int, int]:
    at = 2
    while raw.startswith(b"\xff\xd8"):
        mark, marker, length = struct.unpack_from(">BBH", raw, at)
        if mark != 0xFF:
            break
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAME:
            height, width = struct.unpack_from(">HH", raw, at + 5)
            return width, height
        at += 2 + length
    raise ValueError("no frame in it")
