"""What is written where secrets are hidden: names of sources and of messages stay apart."""

from __future__ import annotations

import numpy as np

from compactlab.sim.disclosure import _renamed, under_aliases
from compactlab.sim.redaction import Redactor
from compactlab.sim.source import Source
from compactlab.sim.tables import Rows

MAIL = "ann@corp.example"


def test_messages_that_say_the_same_keep_names_of_their_own() -> None:
    texts = [f"Write to {MAIL}", f"Write to {MAIL}", "Nothing to hide"]
    columns = {
        "message": np.array(["#one", "#two", "#three"], object),
        "role": np.array(["user"] * 3, object),
        "kinds": np.array(["text"] * 3, object),
        "text": np.array(texts, object),
    }
    names = _renamed(Rows(columns, 0, 3), Redactor())
    assert list(names) == ["#one", "#two"]
    assert len({*names.values(), *names}) == 4


def test_a_source_under_another_name_is_another_one() -> None:
    plain, secret = Source("talk", list), Source(MAIL, list)
    first, second = under_aliases([plain, secret])
    assert first == plain
    assert (second.name, second.alias) == (secret.name, "[redacted Mail Address 1]")
    assert second.key != secret.key
