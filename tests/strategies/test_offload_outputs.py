"""Oversized results go into files, with a pointer that leads nowhere else."""

import pytest
from inline_snapshot import snapshot

from compactlab.sim.core.errors import InputError
from compactlab.sim.core.notes import Folder
from compactlab.sim.metrics import measure
from compactlab.sim.models.model import find_model
from compactlab.sim.replay.host import Host
from compactlab.sim.replay.replay import Options, record
from compactlab.strategies.openclaw.outputs import OffloadOutputs
from compactlab.strategies.summarizers.catalogue import find_summarizer
from tests.lines import refusal

SMALL = OffloadOutputs(max_text_chars=1_000, preview_chars=100)
MODEL = "claude-sonnet-4-5"


@pytest.fixture
def files():
    return {}


@pytest.fixture
def offloaded(tell, files):
    """The last prompt of a session whose second result is large."""

    def last(strategy=SMALL, large=5_000, store=None):
        story = tell("ucrcra ucra", sizes={"r3": 200, "r5": large})
        kept = files if store is None else store
        return list(record(story, strategy, Options(MODEL, files=kept)).prompts())[-1]

    return last


def host(files):
    return Host(find_model(MODEL), files=files)


def result(prompt, id="r5"):
    return next(message for message in prompt if message.id == id)


def test_a_large_result_leaves_its_beginning_and_a_pointer(offloaded, files):
    cut, notice = result(offloaded()).parts
    ((path, content),) = files.items()
    assert (cut.kind, len(cut.text), cut.sources[0].end) == ("truncated", 100, 99)
    assert cut.text.endswith("\N{HORIZONTAL ELLIPSIS}")
    assert cut.handle.startswith(f"{path}#sha256=")
    assert f"saved to {path} (sha256: " in notice.text
    assert path.endswith("-read-c4-0.json")
    assert '"toolCallId": "c4/0"' in content


def test_a_small_one_stays_the_object_that_it_was(offloaded, tell):
    prompt = offloaded()
    assert result(prompt, "r3").parts[0].kind == "verbatim"


def test_it_acts_before_the_result_is_sent_so_the_cache_never_notices(tell):
    story = tell("u" + "cr" * 6 + "a", sizes={"r5": 9_000})
    trace = record(story, SMALL, Options(MODEL))
    assert not any(step.rewrite for step in trace.steps)
    assert all(
        set(step.causes) <= {"cold_start", "append", "below_minimum"} for step in trace.steps
    )


def test_what_was_put_away_is_fetched_with_a_cap(offloaded, files):
    handle = result(offloaded(large=50_000)).parts[0].handle
    assert SMALL.fetch(handle, host(files)).endswith("(truncated)\N{HORIZONTAL ELLIPSIS}")
    assert len(SMALL.fetch(handle, host(files))) == 20_000 + len("\n(truncated)") + 2
    assert len(SMALL.fetch(handle, host(files), chars=1)) == 256 + len("\n(truncated)") + 2


def test_in_the_original_a_text_alone_cannot_be_fetched_again(offloaded):
    strategy = OffloadOutputs(max_text_chars=1_000, preview_chars=100, pointer_for_text=False)
    assert result(offloaded(strategy)).parts[0].handle == ""


def test_a_payload_that_was_changed_is_an_error_or_delivered_as_in_the_original(offloaded, files):
    handle = result(offloaded()).parts[0].handle
    (path,) = files
    files[path] = "something else"
    assert refusal(InputError, lambda: SMALL.fetch(handle, host(files))) == snapshot("""\
'tool-output/1760000050000-read-c4-0.json' is not what was put away: its hash is another
one\
""")
    trusting = OffloadOutputs(max_text_chars=1_000, preview_chars=100, verify=False)
    assert trusting.fetch(handle, host(files)) == "something else"


@pytest.mark.parametrize(
    "path",
    ["../secret", "/etc/passwd", "tool-output/../../secret", "tool-output", "tool-outputs/a", ""],
)
def test_a_path_out_of_the_folder_is_refused(path, files):
    with pytest.raises(InputError, match="not in the folder of payloads"):
        SMALL.fetch(f"{path}#sha256=0", host(files))


def test_a_payload_that_is_not_there_is_an_error(files):
    said = refusal(InputError, lambda: SMALL.fetch("tool-output/none.json#sha256=0", host(files)))
    assert said == snapshot("'tool-output/none.json': there is no such payload")


def test_files_can_be_kept_on_disk_and_fetched_from_there(offloaded, tmp_path):
    folder = Folder(tmp_path / "kept")
    handle = result(offloaded(store=folder)).parts[0].handle
    (path,) = folder
    assert (tmp_path / "kept" / path).read_text("utf-8") == folder[path]
    assert len(folder) == 1
    assert SMALL.fetch(handle, host(folder)).startswith('{\n  "version": 1')


def test_a_symbolic_link_out_of_the_folder_is_refused(tmp_path):
    (tmp_path / "secret.json").write_text("secret")
    inside = tmp_path / "kept" / "tool-output"
    inside.mkdir(parents=True)
    (inside / "a.json").symlink_to(tmp_path / "secret.json")
    (inside / "up").symlink_to(tmp_path)
    folder = Folder(tmp_path / "kept")
    for path in ("tool-output/a.json", "tool-output/up/secret.json"):
        with pytest.raises(InputError, match="leads out of the folder"):
            SMALL.fetch(f"{path}#sha256=0", host(folder))
    assert list(folder) == []


def test_a_folder_is_a_mapping_that_writes_nothing_half(tmp_path):
    folder = Folder(tmp_path)
    folder["a/b.txt"] = "one\r\n"
    folder["a/b.txt"] = "two\r\n"
    assert dict(folder) == {"a/b.txt": "two\r\n"}
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b.txt"]
    del folder["a/b.txt"]
    assert folder.get("a/b.txt") is None
    assert folder.get("a") is None
    for path in ("../x", "/x", "a/../../x", "a\0"):
        with pytest.raises(InputError):
            folder[path] = ""


class Losing(dict):
    """Files of which another program takes some away, or writes to."""

    def __init__(self, becomes):
        self.becomes = becomes

    def get(self, path, default=None):
        return self.becomes if path in self else default


@pytest.mark.parametrize(("becomes", "broken"), [(None, 2), ("something else", 2)])
def test_pointers_that_lead_to_nothing_are_counted(tell, becomes, broken):
    story = tell("ucrcrcra ucra", sizes={"r3": 4_000, "r5": 200, "r7": 4_000})
    for files, count in ((Losing(becomes), broken), ({}, 0)):
        trace = record(story, SMALL, Options(MODEL, files=files))
        assert measure(trace, story, ["broken_references"]) == {"broken_references": count}
        assert len(files) == 2


def test_what_is_beyond_the_hard_cap_reaches_no_file(offloaded, files):
    strategy = OffloadOutputs(max_text_chars=1_000, preview_chars=100, hard_max_chars=3_000)
    offloaded(strategy)
    (content,) = files.values()
    assert len(content) < 3_300


def test_a_rewind_keeps_the_file(tell, files):
    """Files stand beside the transcript: no rewind touches them."""
    story = tell("ucra <1 cra", sizes={"r3": 4_000, "r6": 4_000})
    record(story, SMALL, Options(MODEL, files=files, summarizer=find_summarizer()))
    assert len(files) == 2
