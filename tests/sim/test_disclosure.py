"""What is written where secrets are hidden: names of sources and of messages stay apart."""

import numpy as np

from compactlab.privacy import Redactor
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.experiment.disclosure import Disclosure, _renamed, under_aliases
from compactlab.sim.experiment.sources import Source
from compactlab.sim.store.parquet import Rows
from compactlab.sim.store.run import Run

MAIL = "ann@corp.example"


def test_messages_that_say_the_same_keep_names_of_their_own():
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


def test_a_source_under_another_name_is_another_one():
    plain, secret = Source("talk", list), Source(MAIL, list)
    first, second = under_aliases([plain, secret])
    assert first == plain
    assert (second.name, second.alias) == (secret.name, "[redacted Mail Address 1]")
    assert second.key != secret.key


def test_an_id_that_begins_like_its_file_by_chance_is_hidden_whole():
    """Of a file `a`, the address of `ann` is no `a` and something."""
    mail = "ann@example.org"
    for name, id, told in (
        ("a", mail, "[redacted Mail Address 1]"),
        (mail, f"{mail}/2", "[redacted Mail Address 1]/2"),
        ("a", "a/2", "a/2"),
    ):
        (source,) = under_aliases([Source(name, list)])
        disclosure, conversation = Disclosure(source), Conversation(id, "native", ())
        disclosure.turn_to(conversation)
        run = Run(id, "native", "keep_all()", "", 0, 0)
        assert disclosure.of(run).conversation == told
