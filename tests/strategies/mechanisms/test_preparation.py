"""What a compaction summarises, what it keeps, and what it forgets."""

import pytest

from compactlab.sim.core.message import Message, Part, Source, compacted
from compactlab.strategies.pi.preparation import Entry, Files, is_at_least, prepare

BEFORE, AFTER = "0.62.0", "0.63.1"


def entry(message: Message) -> Entry:
    return Entry(message.id, "message", message)


def compaction(kept_from: str, files: Files | None = None) -> Entry:
    notes = Part("text", "what was before", "summary", (Source("u0"),))
    told = Message("s", "user", tuple(compacted([notes])), meta=True, origin="compactionSummary")
    return Entry("s", "compaction", told, kept_from, files)


@pytest.fixture
def session(moment):
    """Entries of 100 estimated tokens each, with a compaction at the place of the bar."""

    def of(script: str, kept_from: str = "u1", files: Files | None = None) -> list[Entry]:
        before, bar, _ = script.partition("|")
        entries = list(map(entry, moment(script.replace("|", ""), size=400).messages))
        if bar:
            entries.insert(len(moment(before).messages), compaction(kept_from, files))
        return entries

    return of


def ids(messages) -> str:
    return " ".join(message.id for message in messages)


def nothing(message: Message) -> None:
    return None


def test_what_is_older_than_the_tail_is_summarised(session):
    found = prepare(session("uauaua"), 200, AFTER, nothing)
    assert (ids(found.history), found.prefix, found.previous) == ("u1 a2 u3 a4", (), ())
    assert (found.first_kept, found.tokens_before) == (4, 600)


def test_the_first_part_of_a_turn_is_summarised_apart(session):
    found = prepare(session("uaucrcra"), 300, AFTER, nothing)
    assert (ids(found.history), ids(found.prefix)) == ("u1 a2", "u3 c4 r5")
    assert found.split


def test_before_0_63_1_what_the_last_compaction_kept_is_lost(session):
    entries = session("uaua|uaua", kept_from="u3")
    lost = prepare(entries, 200, BEFORE, nothing)
    seen = prepare(entries, 200, AFTER, nothing)
    assert (ids(lost.history), ids(seen.history)) == ("u5 a6", "u3 a4 u5 a6")
    assert lost.first_kept == seen.first_kept == 7
    assert [part.text for part in lost.previous] == ["what was before"]


def test_what_was_kept_is_found_by_its_id_or_not_at_all(session):
    found = prepare(session("uaua|uaua", kept_from="gone"), 200, AFTER, nothing)
    assert ids(found.history) == "u5 a6"


@pytest.mark.parametrize(("version", "tokens"), [(BEFORE, 404), (AFTER, 604)])
def test_a_version_knows_how_much_of_the_context_it_looks_at(session, version, tokens):
    assert prepare(session("uaua|uaua", "u3"), 200, version, nothing).tokens_before == tokens


def test_a_usage_of_what_was_kept_is_stale_and_counts_all_the_same(session):
    entries = session("uaua|uu", kept_from="u3")
    stale = prepare(entries, 100, AFTER, by_id({"a4": 9000}))
    assert stale.tokens_before == 9200
    assert prepare(entries, 100, BEFORE, by_id({"a4": 9000})).tokens_before == 204


def by_id(reported):
    return lambda message: reported.get(message.id)


def test_behind_a_compaction_there_is_nothing_to_do(session):
    assert prepare(session("uaua|"), 100, AFTER, nothing) is None
    assert prepare([], 100, AFTER, nothing) is None


def test_but_a_note_of_the_client_behind_it_defeats_that(session):
    """What made OpenClaw compact twice in a row (its issues 9282 and 12170)."""
    entries = [*session("uaua|", kept_from="u3"), Entry("noted", "custom")]
    assert prepare(entries, 100, BEFORE, nothing).history == ()


def test_what_has_no_id_cannot_be_kept(session):
    entries = [Entry("", "message", each.message) for each in session("uaua")]
    assert prepare(entries, 100, AFTER, nothing) is None


def test_files_are_those_of_the_calls_and_of_the_compaction_before(session):
    files = Files({"old.py": ""}, edited={"new.py": ""})
    found = prepare(session("ua|ua", files=files), 100, AFTER, nothing)
    assert (list(found.files.read), list(found.files.edited)) == (["old.py"], ["new.py"])
    assert list(files.read) == ["old.py"]


@pytest.mark.parametrize(
    ("version", "other", "later"),
    [("0.63.1", "0.63.1", True), ("0.63.0", "0.63.1", False), ("0.100.0", "0.63.1", True)],
)
def test_versions_are_numbers(version, other, later):
    assert is_at_least(version, other) is later
