"""Records that a list calls by their numbers."""

from __future__ import annotations

import pytest

from compactlab.sim.core.conversation import Fact
from compactlab.sim.facts.wording import Wording

LAMPS = "lamp-2-7"


@pytest.mark.parametrize(
    ("text", "value", "kept"),
    [
        # States of groups.
        ("## Lamps\n- LIT: 3, 7, 12\n- DARK: 4", "LIT", True),
        ("## Lamps\n- LIT: 3, 12\n- DARK: 7", "LIT", False),
        ("## Lamps\n- **LIT**: 5-9", "LIT", True),
        ("## Lamps\n- LIT: 17, 27, 70", "LIT", False),
        ("- LIT: `lamp-2-3`, `7`, `12`", "LIT", True),
        ("- LIT: lamp-2-{3, 7, 12}", "LIT", True),
        ("## Doors\n- LIT: 3, 7, 12", "LIT", False),
        ("## Lamps\n- DARK: 3, 7; LIT: 12", "LIT", False),
        ("## Lamps\nDARK: 3, 7. LIT: 12", "LIT", False),
        ("## Lamps\nDARK: 3, 7 LIT: 12", "LIT", False),
        ("## Old lamps, superseded\n- LIT: 3, 7", "LIT", False),
        # What is taken back or asked.
        ("## Lamps\n- no longer LIT: 3, 7", "LIT", False),
        ("## Lamps\n- not LIT: 3, 7", "LIT", False),
        ("## Lamps\n- probably LIT: 3, 7", "LIT", False),
        ("## Lamps\n- formerly LIT: 3, 7", "LIT", False),
        ("## Lamps\n- LIT: 3, 7?", "LIT", False),
        ("## Lamps\n- LIT: 3, 7\n\nlamp-2-7 is DARK, not LIT.", "LIT", False),
        # A prefix that is said once.
        ("LAMPS (lamp-2-N)\n3=LIT\n7=LIT", "LIT", True),
        ("LAMPS (lamp-2-N)\n3=LIT; 7=DARK; 8=LIT", "LIT", False),
        ("## Lamps\n3 -> hall-0a1b2c3d; 7 → stairs-4e5f6a7b", "stairs-4e5f6a7b", True),
        ("## Lamps\n3 -> stairs-4e5f6a7b; 7 → hall-0a1b2c3d", "stairs-4e5f6a7b", False),
        ("## Doors\n7: stairs-4e5f6a7b", "stairs-4e5f6a7b", False),
        ("## Lamps\n| n | where |\n|---|---|\n| 7 | stairs-4e5f6a7b |", "stairs-4e5f6a7b", True),
        # Another number, another value.
        ("## Lamps\n17: LIT", "LIT", False),
        ("## Lamps\n7: LIT-ISH", "LIT", False),
        ("## Lamps\n1.7: LIT", "LIT", False),
    ],
)  # fmt: skip
def test_a_number_stands_for_its_record(text: str, value: str, kept: bool) -> None:
    assert Wording(text).says(Fact("f", "entity", LAMPS, value)).intact == kept


@pytest.mark.parametrize(
    ("key", "value", "text", "kept"),
    [
        # A colon between a number and a state in capitals.
        ("job-4-6", "DONE|by=ann-4f|next=ship-9c", "job-4-6:DONE|by=ann-4f|next=ship-9c", True),
        ("job-4-6", "DONE|by=ann-4f|next=ship-9c", "job-4-6:DONE|by=bob-1d|next=ship-9c", False),
        # An arrow behind a path.
        ("module", "/lib/c/d.py", "module: /src/a/b.py->/lib/c/d.py", True),
        ("module", "/src/a/b.py", "module: /src/a/b.py->/lib/c/d.py", False),
        # A heading that says what its list takes the place of.
        ("pump-1", "west-5d", "FINAL PUMPS (override all candidates)\n- pump-1=west-5d", True),
        ("pump-1", "west-5d", "CANDIDATES FOR PUMPS\n- pump-1=west-5d", False),
    ],
)
def test_how_models_write_records(key: str, value: str, text: str, kept: bool) -> None:
    assert Wording(text).says(Fact("f", "entity", key, value)).intact == kept


def test_a_long_line_of_records_is_cut_between_them() -> None:
    text = "; ".join(f"pipe-3-{n}=flow-{n:04}" for n in range(200))
    wording = Wording(text)
    for number in range(0, 200, 8):
        fact = Fact("f", "entity", f"pipe-3-{number}", f"flow-{number:04}")
        assert wording.says(fact).intact, number
