"""Images are counted by their size in pixels, which is all that is read of them."""

from __future__ import annotations

import base64
import struct

from hypothesis import given
from hypothesis import strategies as st

from compactlab.scenarios.readers.blocks import MOST_TOKENS, UNKNOWN_TOKENS, image_tokens


def png(width: int, height: int) -> str:
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)
    return base64.b64encode(head + b"pixels").decode()


def jpeg(width: int, height: int) -> str:
    camera = b"\xff\xe1" + struct.pack(">H", 2002) + bytes(2000)
    frame = b"\xff\xc0" + struct.pack(">HBHH", 17, 8, height, width)
    return base64.b64encode(b"\xff\xd8" + camera + frame + bytes(20)).decode()


def test_a_small_image_costs_its_area() -> None:
    assert image_tokens(png(300, 200)) == 80
    assert image_tokens(jpeg(300, 201)) == 81  # 80.4, rounded up


def test_a_large_image_is_scaled_down() -> None:
    assert image_tokens(png(4000, 3000)) == image_tokens(jpeg(4000, 3000)) == MOST_TOKENS


def test_what_is_no_image_costs_a_usual_one() -> None:
    cut = base64.b64encode(b"\xff\xd8\xff\xe1\x00").decode()
    for data in ("", "?", png(300, 200)[:20], cut, "é" * 8):
        assert image_tokens(data) == UNKNOWN_TOKENS


@given(st.binary())
def test_any_bytes_have_a_price(raw: bytes) -> None:
    for data in (raw, b"\xff\xd8" + raw, b"\x89PNG\r\n\x1a\n" + raw):
        assert 1 <= image_tokens(base64.b64encode(data).decode()) <= MOST_TOKENS
