"""Who is answered by the local server, and what becomes of a transcript."""

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from inline_snapshot import snapshot

from compactlab.reports.serve.jobs import Step
from compactlab.reports.serve.server import BINARY, Guard, Refusal, Server, page

LIMIT = 1_000
CHOICES = ("claude_code", "codex")
# A command that ends at once, and one that would not within the time of a test.
QUICK = Step("quick", "Quick", lambda folder, transcript, chosen: ["--help"], "none.html")
# Writes a page, without a transcript: a replay of a tiny scenario.
SLOW = Step(
    "slow",
    "Slow",
    lambda folder, transcript, chosen: [
        "tune",
        "coding_agent(tokens=900000)",
        "-o",
        str(folder / "out"),
    ],
    "none.html",
)


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    steps = getattr(request, "param", (QUICK,))
    with Server(page(CHOICES, LIMIT), steps, CHOICES, 0, LIMIT) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
        server.stop()


class Answer:
    def __init__(self, answered: http.client.HTTPResponse) -> None:
        self.status, self.headers = answered.status, answered.headers
        self.text = answered.read().decode()

    def json(self) -> Any:
        return json.loads(self.text)


def ask(
    server: Server, method: str, name: str, body: bytes | None = None, **headers: str | None
) -> Answer:
    """Ask as the server's own page does; a header of None is left out."""
    port = server.guard.port
    usual: dict[str, str | None] = {"Host": f"127.0.0.1:{port}"}
    if method == "POST":
        usual |= {"Origin": f"http://127.0.0.1:{port}", "Content-Type": BINARY}
        usual |= {"Content-Length": str(len(body or b""))}
    usual |= {key.replace("_", "-"): value for key, value in headers.items()}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    path = name if name.startswith("/") else f"/{server.guard.token}/{name}"
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for key, value in usual.items():
        if value is not None:
            connection.putheader(key, value)
    connection.endheaders(body)
    answer = Answer(connection.getresponse())
    connection.close()
    return answer


def test_its_page_is_at_an_address_with_a_secret(server):
    assert server.guard.address == f"http://127.0.0.1:{server.guard.port}/{server.guard.token}/"
    assert len(server.guard.token) > 40
    answer = ask(server, "GET", "")
    assert answer.status == 200
    assert "Drop a transcript" in answer.text
    assert server.guard.token not in answer.text


def test_it_listens_at_the_loopback_interface_alone(server):
    assert server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "path", ["/", "/status", "/wrong/", "/wrong/status", "//", "/../", "/%2e%2e/etc/passwd", "//[/"]
)
def test_without_the_secret_nothing_is_answered(server, path):
    answer = ask(server, "GET", path)
    assert answer.status == 403
    assert answer.text == snapshot("open the whole address that compactlab serve has printed\n")


def test_a_secret_that_only_begins_alike_is_none(server):
    assert ask(server, "GET", f"/{server.guard.token[:-1]}/").status == 403
    assert ask(server, "GET", f"/{server.guard.token}").status == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:PORT", "127.0.0.1", "0.0.0.0:PORT",
                                  "127.0.0.1:PORT.evil.example", "", None])  # fmt: skip
def test_a_foreign_name_for_this_machine_is_refused(server, host):
    """DNS rebinding: the browser sends the name under which it found the address."""
    host = host and host.replace("PORT", str(server.guard.port))
    answer = ask(server, "GET", "", Host=host)
    assert answer.status == 421
    assert "only answers" in answer.text


def test_localhost_is_this_machine(server):
    port = server.guard.port
    assert ask(server, "GET", "", Host=f"localhost:{port}").status == 200
    assert ask(server, "POST", "stop", Host=f"localhost:{port}",
               Origin=f"http://localhost:{port}").status == 200  # fmt: skip


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:PORT", None])
@pytest.mark.parametrize("name", ["transcript", "stop"])
def test_another_page_cannot_send_anything(server, name, origin):
    origin = origin and origin.replace("PORT", str(server.guard.port))
    assert ask(server, "POST", name, b"x", Origin=origin).status == 403
    assert ask(server, "POST", name, b"x", Sec_Fetch_Site="cross-site").status == 403
    assert server.job is None


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "multipart/form-data; boundary=x"}, 415),
        ({"Content_Length": None}, 411),
        ({"Content_Length": "-1"}, 411),
        ({"Content_Length": "1e3"}, 411),
        ({"Transfer_Encoding": "chunked"}, 411),
        ({"Content_Length": str(LIMIT + 1)}, 413),
        ({"Content_Length": "9" * 40}, 413),
        ({"Content_Length": "9" * 5_000}, 413),
        ({"Content_Length": "0" * 5_000}, 400),
        ({"Content_Length": "\u00b2"}, 411),
        ({"Content_Length": "1_0"}, 411),
        ({"Content_Length": "0"}, 400),
    ],
)
def test_what_is_no_file_of_a_known_length_is_refused(server, headers, status):
    answer = ask(server, "POST", "transcript", **headers)
    assert answer.status == status
    assert server.job is None


def test_only_what_the_page_offers_can_be_chosen(server):
    answer = ask(server, "POST", "transcript?strategy=own.py:Class", b"{}")
    assert answer.status == 400
    assert server.job is None


@pytest.mark.parametrize(
    "name",
    ["transcript", "audit.html", "../status", "%2e%2e/status", "quick", "etc/passwd", "status/"],
)
def test_nothing_else_has_a_name(server, name):
    assert ask(server, "GET", name).status == 404
    assert ask(server, "POST", f"{name}x", b"x").status == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD", "<script>"])
def test_no_other_method_is_known_and_nothing_is_repeated(server, method):
    answer = ask(server, method, "")
    assert answer.status in (400, 501)
    assert "script" not in answer.text


def test_no_answer_is_kept_framed_or_guessed_at(server):
    for name in ("", "status", "nothing"):
        headers = ask(server, "GET", name).headers
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "SAMEORIGIN"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Server"] == "compactlab"


def test_a_command_without_a_page_says_what_was_wrong_and_all_is_deleted(
    server, tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert ask(server, "POST", "transcript", b"garbage").json()["running"] in (True, False)
    assert server.job is not None
    server.job.wait()
    (step,) = ask(server, "GET", "status").json()["steps"]
    assert (step["state"], step["page"]) == ("failed", False)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("server", [(SLOW, QUICK)], indirect=True)
def test_one_at_a_time_and_it_can_be_stopped(server, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ask(server, "POST", "transcript", b"{}")
    assert ask(server, "GET", "status").json()["running"]
    assert len([*tmp_path.iterdir()]) == 1
    assert ask(server, "POST", "transcript", b"{}").status == 409
    states = [step["state"] for step in ask(server, "POST", "stop").json()["steps"]]
    assert states == ["stopped", "stopped"]
    assert [*tmp_path.iterdir()] == []
    assert ask(server, "POST", "stop").json()["running"] is False


@pytest.mark.parametrize("sent", [b"", b"half", b"x" * 300])
def test_an_upload_without_an_end_is_stopped(sent, server, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with socket.create_connection(("127.0.0.1", server.guard.port), timeout=60) as sender:
        host = f"127.0.0.1:{server.guard.port}"
        sender.sendall(
            f"POST /{server.guard.token}/transcript HTTP/1.1\r\nHost: {host}\r\n"
            f"Origin: http://{host}\r\nContent-Type: {BINARY}\r\n"
            "Content-Length: 500\r\n\r\n".encode()
            + sent
        )
        while not ask(server, "GET", "status").json()["running"]:
            pass
        assert ask(server, "POST", "transcript", b"{}").status == 409
        assert ask(server, "POST", "stop").json() == {"running": False, "steps": []}
        assert [*tmp_path.iterdir()] == []
        assert sender.recv(100).startswith(b"HTTP/1.0 400 ")
    assert ask(server, "POST", "transcript", b"garbage").status == 200
    assert server.job is not None
    server.job.wait()


def test_a_file_that_breaks_off_leaves_nothing(server, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert not server.take(lambda _, path: path.write_bytes(b"half") == 9, "codex")
    assert [*tmp_path.iterdir()] == []
    assert server.job is None


def test_the_largest_file_is_let_and_the_next_is_not():
    guard = Guard(1, "token", 5_000_000)
    for length, let in ((5_000_000, True), (5_000_001, False)):
        headers = Message()
        headers["Content-Type"], headers["Content-Length"] = BINARY, str(length)
        body = guard.body(headers)
        assert isinstance(body, Refusal) != let
        if isinstance(body, Refusal):
            assert body.reason == (
                snapshot(
                    "the file is larger than 5 MB: audit it with the command, or raise --limit"
                )
            )


# Says where the transcript is that it was given.
TELLS = Step(
    "tells", "Tells", lambda folder, transcript, chosen: ["audit", str(transcript)], "none"
)


@pytest.fixture
def logged(tmp_path: Path) -> Iterator[Server]:
    logs = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for log in logs:
        log.write_text("no transcript")
    with Server(
        page(CHOICES, LIMIT, ["<one>", "two"]), (TELLS,), CHOICES, 0, LIMIT, logs=logs
    ) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
        server.stop()


def test_a_log_is_asked_for_by_its_number(logged, tmp_path):
    assert "1. &lt;one&gt;" in ask(logged, "GET", "").text
    assert ask(logged, "POST", "log?number=1&strategy=codex").status == 200
    assert logged.job is not None
    logged.job.wait()
    (step,) = ask(logged, "GET", "status").json()["steps"]
    assert "two.jsonl" in step["text"]
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["one.jsonl", "two.jsonl"]


@pytest.mark.parametrize(
    "number", ["2", "-1", "99999999999", "", "one.jsonl", "/etc/passwd", "0x1", "\u0661", "1 "]
)
def test_no_other_file_can_be_asked_for(logged, number):
    answer = ask(logged, "POST", f"log?number={quote(number)}")
    assert (answer.status, answer.text) == snapshot((400, "there is no log of that number\n"))
    assert ask(logged, "POST", "log").status == 400
    assert logged.job is None


def test_another_page_cannot_ask_for_a_log(logged):
    assert ask(logged, "POST", "log?number=0", Origin="http://evil.example").status == 403
    assert ask(logged, "GET", "log?number=0").status == 404
    assert logged.job is None


def test_without_logs_there_is_none(server):
    assert ask(server, "POST", "log?number=0").status == 400
    assert "Take a log" not in ask(server, "GET", "").text
