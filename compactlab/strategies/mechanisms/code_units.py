"""The beginning of a text by its UTF-16 code units, under the name that some call it by."""

from __future__ import annotations

from compactlab.strategies.mechanisms.units import head as first_units

__all__ = ["first_units"]
