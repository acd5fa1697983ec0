"""How fast this machine is, by work that nothing of the project is in.

The gate of ``make bench`` holds every benchmark against the stored one in units of this, so that a
slower machine is no regression. It does what replays do most: calls of functions, tuples and
dictionaries, whole numbers as sets of bits, digests, a few arrays.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np


def step(number: int, bits: int) -> tuple[int, str]:
    return (bits >> 1) | (number & 1) << 400, f"m{number % 997}"


def work() -> int:
    bits, held = 1, {}
    for number in range(30_000):
        bits, name = step(number, bits)
        held[name] = (*held.get(name, ())[-3:], number)
    digest = hashlib.blake2b(digest_size=8)
    for name in sorted(held):
        digest.update(name.encode())
    sums = np.arange(200_000, dtype=np.int64).cumsum()
    return int(sums[-1]) + len(held) + digest.digest_size


def test_calibration(benchmark: Any) -> None:
    benchmark.extra_info["counters"] = {"result": work()}
    benchmark.pedantic(work, rounds=60, warmup_rounds=3)
