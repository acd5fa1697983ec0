"""`compactlab serve`: drop a transcript on a page, and see what it cost and when to compact."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

import compactlab as package
from compactlab.reports.serve.jobs import Step
from compactlab.scenarios.readers import native
from tests.cli.conftest import called
from tests.hostile import HOSTILE, conversation, whole
from tests.recordings import claude_code, written
from tests.reports.test_browser import CHROMIUM, QUIETLY

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = str(Path(package.__file__).parents[1])
in_browser = pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium on this machine")
# A prompt that grows to 130,000 tokens; it is compacted twice, and every eighth call is a user's.
GROWS = [(40.0 * n, 0 if n in (0, 14, 22) else 9_000 * (n % 14), 9_000, n % 8 == 0)
         for n in range(30)]  # fmt: skip
COMPACTED = (14, 22)


def session(path: Path) -> Path:
    """A session of Claude Code with two compactions in it."""
    claude_code(path, GROWS)
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    told = []
    for record in records:
        number = int(record["uuid"][1:])
        if record["type"] == "user" and number in COMPACTED:
            at, before = record["timestamp"], record["parentUuid"]
            boundary = {"type": "system", "subtype": "compact_boundary", "uuid": f"b{number}",
                        "parentUuid": None, "logicalParentUuid": before, "timestamp": at,
                        "compactMetadata": {"trigger": "auto", "preTokens": 120_000}}  # fmt: skip
            summary = {"type": "user", "uuid": f"s{number}", "parentUuid": f"b{number}",
                       "isCompactSummary": True, "timestamp": at,
                       "message": {"role": "user", "content": "So far all is fine."}}  # fmt: skip
            told += [boundary, summary]
            record["parentUuid"] = f"s{number}"
            record["message"] = {"role": "user", "content": "go on"}
        told.append(record)
    return written(path, told)


class Serving:
    """The command in a process of its own, with a folder for what is temporary."""

    def __init__(
        self, folder: Path, *options: str, ignored: Sequence[int] = (), **variables: str
    ) -> None:
        self.folder = folder

        def listen() -> None:
            # Whoever runs the tests in the background has some of these ignored.
            for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
                signal.signal(sign, signal.SIG_IGN if sign in ignored else signal.SIG_DFL)

        environment = {**os.environ, "PYTHONPATH": ROOT, "TMPDIR": str(folder), **variables}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "compactlab", "serve", "--jobs", "1", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            preexec_fn=listen,  # noqa: PLW1509  # which no thread waits for
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("open http://127.0.0.1:"), self.process.communicate()
        self.address = line.split()[1]

    @property
    def left(self) -> list[str]:
        """What lies in the temporary folder."""
        return [path.name for path in self.folder.iterdir()]

    def end(self, sign: int = signal.SIGINT) -> tuple[int, str]:
        self.process.send_signal(sign)
        _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Callable[..., Serving]]:
    started: list[Serving] = []

    def start(*options: str, **more: Any) -> Serving:
        folder = tmp_path / "temporary"
        folder.mkdir(exist_ok=True)
        started.append(Serving(folder, *options, **more))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.end()
        for stream in (each.process.stdout, each.process.stderr):
            if stream is not None:
                stream.close()


@pytest.mark.parametrize(
    ("sign", "code", "last"),
    [
        (signal.SIGINT, 130, "stopped"),
        (signal.SIGTERM, 143, "Ctrl-C ends it"),
        (signal.SIGHUP, 129, "Ctrl-C ends it"),
        (signal.SIGQUIT, 131, "Ctrl-C ends it"),
    ],
)
def test_it_ends_cleanly(serving, sign, code, last):
    found, said = serving().end(sign)
    assert found == code
    assert said.splitlines()[-1] == last


def running(server: Serving) -> bool:
    with urlopen(f"{server.address}status") as answer:
        return bool(json.load(answer)["running"])


def uploading(server: Serving) -> socket.socket:
    """A transcript of which the server has a part, and waits for the rest."""
    address = urlsplit(server.address)
    sender = socket.create_connection((address.hostname, address.port))
    head = (
        f"POST {address.path}transcript HTTP/1.1\r\nHost: {address.netloc}\r\n"
        f"Origin: http://{address.netloc}\r\nContent-Type: application/octet-stream\r\n"
        "Content-Length: 1000\r\n\r\n"
    )
    before = {*server.folder.glob("*/transcript")}
    sender.sendall(head.encode() + b"a secret")
    while {*server.folder.glob("*/transcript")} == before:
        assert server.process.poll() is None
    assert running(server)
    return sender


@pytest.mark.parametrize("sign", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_however_it_ends_nothing_stays(serving, sign):
    server = serving()
    with uploading(server):
        server.end(getattr(signal, sign))
    assert server.left == []


def test_what_a_killed_server_left_is_deleted_by_the_next(serving, tmp_path):
    killed, living = serving(), serving()
    with uploading(killed):
        killed.end(signal.SIGKILL)
    (dead,) = killed.left
    with uploading(living):
        (alive,) = {*living.left} - {dead}
        kept = {alive, "compactlab-serve-link", "compactlab-serve-earlier", "others"}
        for name in ("compactlab-serve-earlier", "others"):
            (living.folder / name).mkdir()
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / ".lock").touch()
        (living.folder / "compactlab-serve-link").symlink_to(outside)
        third = serving()
        urlopen(third.address).close()  # it answers when it has begun
        assert {*third.left} == kept
        assert (outside / ".lock").exists()


def test_a_closed_terminal_does_not_end_what_nohup_has_started(serving):
    server = serving(ignored=[signal.SIGHUP])
    server.process.send_signal(signal.SIGHUP)
    urlopen(server.address).close()
    assert server.end() == (130, "Ctrl-C ends it\nstopped\n")


def test_every_start_has_another_secret(serving):
    assert len(serving().address.split("/")[3]) > 40


def test_a_port_that_is_taken_is_told():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = called("serve", "--port", port)
    assert done.code == 2
    assert f"cannot listen on port {port}: " in done.err


@pytest.mark.parametrize("options", [(), ("--strict",), ("--redact", "--strict")])
def test_what_is_not_understood_is_refused_only_if_that_was_asked_for(
    options, tmp_path, monkeypatch
):
    """The commands that a transcript is read by are told so; this server is never open."""
    commands: list[list[str]] = []

    def take(_page: str, steps: Sequence[Step], *_: object, **_more: object) -> None:
        commands.extend(step.words(tmp_path, tmp_path / "log", "keep_all") for step in steps)
        raise OSError("no port")

    monkeypatch.setattr("compactlab.reports.serve.server.Server", take)
    assert called("serve", *options).code == 2
    assert [tuple(word for word in words if word in options) for words in commands] == [options] * 2
    assert all(("--strict" in words) == ("--strict" in options) for words in commands)


def test_the_help_has_an_example():
    done = called("serve", "--help")
    assert "compactlab serve --port 8123 --redact" in done.out


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIETLY))
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: Browser, serving: Callable[..., Serving]) -> Iterator[Callable[..., Page]]:
    """Open the page of a server, and see at the end that it asked nobody else, and said nothing."""
    heard: list[str] = []
    contexts = []

    def open_it(server: Serving, width: int = 1280) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("dialog", lambda dialog: heard.append(dialog.message))
        page.on("request", lambda request: heard.append(request.url)
                if not request.url.startswith(server.address) else None)  # fmt: skip
        page.goto(server.address)
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert heard == []


DROP = """async ([name, text]) => {
  const files = new DataTransfer();
  files.items.add(new File([text], name));
  document.querySelector(".drop").dispatchEvent(
    new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }));
}"""


def drop(page: Page, path: Path) -> None:
    page.evaluate(DROP, [path.name, path.read_text(encoding="utf-8")])


def finished(page: Page) -> str:
    """What is said of each step when all have ended."""
    page.get_by_text("The transcript is deleted.").wait_for()
    return page.locator(".steps").inner_text()


@in_browser
def test_a_log_of_this_machine_is_chosen_and_stays(serving, opened, tmp_path):
    home = tmp_path / "home"
    folder = home / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)
    log = session(folder / "session.jsonl")
    (folder / "notes.txt").write_text("no transcript")
    server = serving("--logs", HOME=str(home), CLAUDE_CONFIG_DIR="")
    page = opened(server)
    (listed,) = page.get_by_role("combobox", name="log").locator("option").all_inner_texts()
    assert listed.startswith("1. claude-code, ")
    assert listed.endswith("MB: ~/.claude/projects/p/session.jsonl")
    page.get_by_role("button", name="Take it").click()
    page.get_by_text("Save what you want to keep").wait_for()
    assert page.locator(".steps").inner_text() == (
        "Bill, causes and thrash: done\nBest trigger: done"
    )
    assert not page.get_by_text("The transcript is deleted.").is_visible()
    assert log.exists()
    assert server.left == []


@in_browser
def test_a_dropped_transcript_shows_bill_causes_thrash_and_trigger(serving, opened, tmp_path):
    server = serving()
    page = opened(server)
    drop(page, session(tmp_path / "session.jsonl"))
    assert finished(page) == "Bill, causes and thrash: done\nBest trigger: done"
    audit = page.frame_locator("#part-audit iframe")
    for heading in ("What was spent?", "Why did tokens miss the cache?",
                    "Compaction after compaction?"):  # fmt: skip
        assert audit.get_by_role("heading", name=heading).is_visible()
    assert "of input in 30 calls" in audit.locator(".verdict").first.inner_text()
    tune = page.frame_locator("#part-tune iframe")
    verdict = tune.locator(".verdict").first.inner_text()
    assert verdict.startswith(("Set trigger=", "Keep its own rule"))
    assert tune.locator("figure.tune svg").is_visible()
    told = tune.locator(".settings output").inner_text()
    slider = tune.locator(".settings input")
    slider.press("ArrowLeft" if "trigger" not in told else "ArrowRight")
    assert tune.locator(".settings output").inner_text() != told
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 390, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert server.left == []


@in_browser
def test_garbage_is_answered_in_words(serving, opened, tmp_path):
    server = serving("--limit", "1")
    page = opened(server)
    garbage = tmp_path / "shopping.txt"
    garbage.write_text("eggs and milk\n", encoding="utf-8")
    drop(page, garbage)
    said = finished(page)
    assert "Bill, causes and thrash: no result" in said
    assert said.count("unknown format") + said.count("not JSON") >= 1, said
    assert "Traceback" not in said
    assert str(server.folder) not in said
    large = tmp_path / "large.jsonl"
    large.write_text("x" * 1_000_001, encoding="utf-8")
    drop(page, large)
    page.get_by_text("large.jsonl is larger than 1 MB").wait_for()
    assert server.left == []


@in_browser
def test_text_of_a_transcript_stays_text(serving, opened, tmp_path):
    server = serving()
    page = opened(server)
    path = tmp_path / "<img src=x onerror=alert(1)>.jsonl"
    with path.open("wb") as stream:
        for number, text in enumerate(HOSTILE.values()):
            native.write(conversation(whole(text), number), stream)
    drop(page, path)
    finished(page)
    for frame in page.frames:
        names = frame.locator("*").evaluate_all("all => [...new Set(all.map((e) => e.localName))]")
        assert not {"img", "form", "object", "embed"} & set(names)
        assert frame.locator("[onload], [onerror], [onmouseover], [onfocus]").count() == 0
        assert frame.locator("script:not([type='application/json'])").count() <= 1
    assert server.left == []


@in_browser
def test_the_work_can_be_stopped_and_ctrl_c_deletes_what_is_there(serving, opened, tmp_path):
    server = serving()
    page = opened(server)
    path = session(tmp_path / "session.jsonl")
    drop(page, path)
    page.locator(".steps .running").first.wait_for()
    page.locator(".stop").click()
    assert "stopped" in finished(page)
    assert server.left == []
    drop(page, path)
    page.locator(".steps .running").first.wait_for()
    assert server.left != []
    code, _ = server.end()
    assert code == 130
    assert server.left == []
    page.get_by_text("The server does not answer").wait_for()
