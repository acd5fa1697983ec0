"""Code that is not ours may do in its process what it likes: this one goes on, and knows."""

import builtins
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cloudpickle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.core import isolation
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.isolation import Outcome, described, is_foreign, isolated
from tests.cli.field import alive, deaf, gone, until

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="no /proc to see processes in")
# It ends the processes of a test that fails; one that passes never waits for it.
LONG = 60.0


@pytest.fixture(scope="module", autouse=True)
def by_value() -> Iterator[None]:
    """What is done there travels whole: a new process that imported these tests would take long."""
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    yield
    cloudpickle.unregister_pickle_by_value(module)


@pytest.fixture(params=[True, False], ids=["a copy", "a new process"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to get a process, whichever this machine would take."""
    monkeypatch.setattr(isolation, "FORKS", request.param)


def test_what_is_returned_comes_back():
    assert isolated(lambda: {"a": [1, 2.5, None]}, LONG) == Outcome({"a": [1, 2.5, None]})


def test_large_things_come_back_too():
    assert isolated(lambda: b"x" * 5_000_000, LONG).value == b"x" * 5_000_000


def test_it_is_another_process():
    assert isolated(os.getpid, LONG).value != os.getpid()


class Odd(BaseException):
    """No ordinary exception."""


def raise_(error: BaseException) -> Callable[[], None]:
    def work() -> None:
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (ValueError("no idea"), "ValueError: no idea"),
        (SystemExit(0), "SystemExit: 0"),
        (KeyboardInterrupt(), "KeyboardInterrupt: "),
        (GeneratorExit(), "GeneratorExit: "),
        (StopIteration(3), "StopIteration: 3"),
        (MemoryError(), "MemoryError: "),
        (Odd("no"), "Odd: no"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_whatever_is_raised_is_told_with_its_place(error, fault):
    outcome = isolated(raise_(error), LONG)
    assert (outcome.value, outcome.refused) == (None, False)
    assert outcome.fault == f"{fault} (test_isolation.py:{LINE} in work)"


LINE = next(
    number
    for number, line in enumerate(Path(__file__).read_text("utf-8").splitlines(), 1)
    if line.strip() == "raise error"
)


def test_an_error_of_our_own_says_all_by_itself():
    outcome = isolated(raise_(InputError("not JSON", "a.jsonl", 3)), LONG)
    assert outcome == Outcome(None, "a.jsonl:3: not JSON", refused=True)


def threaded() -> None:
    for _ in range(3):
        threading.Thread(target=deaf_loop).start()
    deaf_loop()


def deaf_loop() -> None:
    while True:
        pass


def unarmed() -> None:
    """Take the alarm away by which a limit on time might be held."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    time.sleep(LONG)


@pytest.mark.parametrize("work", [deaf, threaded, unarmed])
def test_what_takes_too_long_is_killed(work):
    outcome = isolated(work, 0.5)
    assert (outcome.value, outcome.fault) == (None, "it took longer than 0.5 s")


@pytest.mark.parametrize("code", [0, 1, 2, 70])
def test_who_ends_its_process_is_noticed_whatever_the_exit_code(code):
    outcome = isolated(lambda: os._exit(code), LONG)
    assert outcome == Outcome(None, f"it ended its process, with exit code {code}")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_who_is_killed_is_noticed(number):
    outcome = isolated(lambda: os.kill(os.getpid(), number), LONG)
    assert outcome.fault.startswith(f"its process was killed by {number.name}")
    assert outcome.killed == (number == signal.SIGKILL)


def test_what_cannot_travel_is_a_fault():
    assert "pickle" in isolated(threading.Lock, LONG).fault


def test_who_closes_all_files_says_nothing_any_more():
    outcome = isolated(lambda: os.closerange(0, 1000), LONG)
    assert outcome.fault == "it ended its process, with exit code 1"


def mute() -> None:
    os.closerange(0, 1000)
    time.sleep(LONG)


def test_who_closes_all_files_and_goes_on_is_not_waited_for():
    assert isolated(mute).fault == "it closed the pipe for its result"


def garbage() -> None:
    for number in range(3, 100):
        try:
            os.write(number, b"\xff" * 8 + b"nothing that could be read")
        except OSError:
            continue
    os._exit(0)


def test_garbage_in_place_of_a_result_is_none():
    assert isolated(garbage, LONG).fault == "it ended its process, with exit code 0"


def greedy() -> None:
    held = []
    while True:
        held.append(bytearray(1 << 24))


def test_memory_has_an_end(monkeypatch):
    """A quarter of the machine's, which here is small."""
    small = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1 << 10, "SC_OPEN_MAX": 1024}
    monkeypatch.setattr(isolation, "FORKS", True)  # a new process would ask the machine itself
    has = int(Path("/proc/self/statm").read_text().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    monkeypatch.setattr(isolation, "_LEAST_MEMORY", has + (1 << 28))
    monkeypatch.setattr(isolation.os, "sysconf", small.get)
    assert isolated(greedy, LONG).fault.startswith("MemoryError")


def disturb() -> str:
    os.chdir("/")
    os.environ["COMPACTLAB_DISTURBED"] = "yes"
    os.umask(0)
    sys.setrecursionlimit(60)
    sys.stdin.close()
    sys.stdout.close()
    sys.stderr.close()
    sys.path.clear()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    builtins.sorted = None  # type: ignore[assignment]
    return os.getcwd()


def test_nothing_of_it_is_left_here():
    before = (os.getcwd(), dict(os.environ), len(sys.path), signal.getsignal(signal.SIGINT), sorted)
    assert isolated(disturb, LONG).value == "/"
    after = (os.getcwd(), dict(os.environ), len(sys.path), signal.getsignal(signal.SIGINT), sorted)
    assert after == before
    print(end="", file=sys.stdout)


def test_no_file_of_this_process_is_open_there(tmp_path):
    """One that is held open there might be a lock, or get what somebody else shall read."""
    with (tmp_path / "open").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        number = file.fileno()
        outcome = isolated(lambda: [os.readlink(f"/proc/self/fd/{n}") for n in fds()], LONG)
        assert os.readlink(f"/proc/self/fd/{number}") == str(tmp_path / "open")
    assert outcome.value is not None
    assert not [name for name in outcome.value if "open" in name.rpartition("/")[2]]


def fds() -> Iterator[int]:
    for name in os.listdir("/proc/self/fd"):
        if Path(f"/proc/self/fd/{name}").exists():
            yield int(name)


def test_nothing_is_kept_open_here():
    isolated(os.getpid, LONG)
    before = len(os.listdir("/proc/self/fd"))
    for work in (os.getpid, lambda: os._exit(0), raise_(ValueError())):
        isolated(work, LONG)
    assert len(os.listdir("/proc/self/fd")) == before


def parents(folder: Path) -> Callable[[], None]:
    def work() -> None:
        if not os.fork():
            (folder / str(os.getpid())).touch()
            time.sleep(LONG)
        while not any(folder.iterdir()):
            time.sleep(0.01)

    return work


def test_what_it_has_started_ends_with_it(tmp_path):
    assert isolated(parents(tmp_path), LONG).fault == ""
    gone([int(file.name) for file in tmp_path.iterdir()])


def doubled() -> str:
    copy = os.fork()
    if not copy:
        return "the copy"
    os.waitpid(copy, 0)
    return "itself"


def test_a_copy_that_it_has_made_of_itself_gives_no_answer():
    assert isolated(doubled, LONG).value == "itself"


def idle() -> None:
    time.sleep(LONG)


def jealous() -> None:
    """Look for what is not there, for ever, and let no other thread have a turn."""
    re.match(r"(a+)+$", "a" * 60 + "b")


@pytest.mark.parametrize("busy", [idle, jealous])
def test_it_ends_with_the_process_that_it_works_for(busy, tmp_path):
    def middle() -> None:
        def inner() -> None:
            (tmp_path / str(os.getpid())).touch()
            busy()

        threading.Thread(target=isolated, args=(inner,), daemon=True).start()
        until(lambda: any(tmp_path.iterdir()))
        os.kill(os.getpid(), signal.SIGKILL)

    assert isolated(middle, LONG).killed
    (inner,) = (int(file.name) for file in tmp_path.iterdir())
    until(lambda: not alive(inner))


def test_what_goes_its_own_way_holds_nothing_open_here():
    def work() -> int:
        return subprocess.Popen(["sleep", "60"], start_new_session=True).pid

    isolated(os.getpid, LONG)
    before = len(os.listdir("/proc/self/fd")), threading.active_count()
    pid = isolated(work, LONG).value
    assert pid is not None
    until(lambda: (len(os.listdir("/proc/self/fd")), threading.active_count()) == before)
    os.kill(pid, signal.SIGKILL)


def test_who_hears_of_no_child_knows_that_it_has_ended():
    """Some supervisors start what they start so."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert isolated(lambda: 5, LONG).value == 5
        assert "ended its process" in isolated(lambda: os._exit(0), LONG).fault
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_where_there_can_be_no_process_it_is_said(monkeypatch):
    def none(*given: object, **named: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(isolation.os, "fork", none)
    monkeypatch.setattr(isolation.subprocess, "Popen", none)
    before = len(os.listdir("/proc/self/fd"))
    told = "no process can be started for it: Resource temporarily unavailable"
    assert isolated(lambda: 5, LONG).fault == told
    assert len(os.listdir("/proc/self/fd")) == before


def test_nothing_that_lies_about_is_imported(tmp_path, monkeypatch):
    """A folder of transcripts may hold files of Python, with names that Python looks for."""
    for name in ("pickle", "signal", "cloudpickle", "compactlab"):
        (tmp_path / f"{name}.py").write_text("import os; os._exit(3)")
    monkeypatch.chdir(tmp_path)
    assert isolated(os.getcwd, LONG).value == str(tmp_path)


def test_what_it_prints_is_captured_on_whichever_way(capfd):
    def work() -> None:
        print("by Python")
        sys.stdout.flush()
        os.write(1, b"by the system\n")
        os.write(2, b"as an error \xff\n")
        print("at last", file=sys.stderr)

    outcome = isolated(work, LONG)
    assert outcome.printed == "by Python\nby the system\nas an error \ufffd\nat last\n"
    assert capfd.readouterr() == ("", "")


def test_of_a_flood_the_beginning_is_kept():
    outcome = isolated(lambda: [os.write(1, b"x" * 10_000) for _ in range(1_000)][-1], LONG)
    assert outcome.value == 10_000
    assert outcome.printed == "x" * 4_000 + " [...]"


def read() -> str:
    return sys.stdin.read()


def test_there_is_nothing_to_be_read_there():
    assert isolated(read, LONG).value == ""


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=9))
@settings(max_examples=15, deadline=None)
def test_every_value_comes_back_as_it_is(value):
    assert isolated(lambda: value, LONG).value == value


def test_whose_code_is_whose():
    assert is_foreign(test_whose_code_is_whose)
    assert is_foreign(Odd)
    assert not is_foreign(Outcome)
    assert not is_foreign(dict)


def test_an_error_without_a_place_has_none():
    assert described(ValueError("no")) == "ValueError: no"
