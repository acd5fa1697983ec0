"""The server: it serves its page, the progress of the work and the resulting pages only."""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from compactlab.reports.charts.palette import COLOURS
from compactlab.reports.render import html
from compactlab.reports.render.document import Custom, Document, Heading, sentences
from compactlab.reports.render.text import json_without_commands
from compactlab.reports.serve.jobs import TRANSCRIPT, Job, JobFolder, Step

# Guards: what a request must contain before the server acts on it.
#
# The server listens only on the loopback interface, but every page in the user's browser and every
# program on the machine can send requests there. So a request must contain a secret that only the
# printed address has. Its host must be this machine's, against foreign names bound to the loopback
# address (DNS rebinding). A request that changes something must come from the server's own page.

ADDRESS = "127.0.0.1"
_NAMES = (ADDRESS, "localhost")
BINARY = "application/octet-stream"


@dataclass(frozen=True)
class Refusal:
    """Why a request is not answered."""

    status: HTTPStatus
    reason: str


@dataclass(frozen=True)
class Guard:
    """The checks of all requests to one server.

    Parameters
    ----------
    port
        The port of the server.
    token
        The secret of its address.
    limit
        Maximum bytes of an upload.
    """

    port: int
    token: str
    limit: int

    @property
    def address(self) -> str:
        """The address that the user opens."""
        return f"http://{ADDRESS}:{self.port}/{self.token}/"

    def route(self, path: str) -> str | None:
        """The route of a path; None without the secret."""
        token, slash, name = path.removeprefix("/").partition("/")
        right = hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())
        return name if right and slash else None

    def host(self, hosts: Sequence[str]) -> Refusal | None:
        """Refuse requests that were not addressed to this machine by its own name."""
        if len(hosts) == 1 and hosts[0] in {f"{name}:{self.port}" for name in _NAMES}:
            return None
        reason = f"this server only answers to {ADDRESS}:{self.port}"
        return Refusal(HTTPStatus.MISDIRECTED_REQUEST, reason)

    def origin(self, headers: Message) -> Refusal | None:
        """Refuse changes requested by other pages than the server's own."""
        site = headers.get("Sec-Fetch-Site", "same-origin")
        if headers.get("Origin") == f"http://{headers.get('Host')}" and site == "same-origin":
            return None
        return Refusal(HTTPStatus.FORBIDDEN, "only this server's own page may send something")

    def body(self, headers: Message) -> int | Refusal:
        """The number of bytes to read; forms of other pages cannot send this content type."""
        if headers.get("Content-Type") != BINARY:
            return Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send the file as {BINARY}")
        length = headers.get("Content-Length", "")
        if "Transfer-Encoding" in headers or not (length.isascii() and length.isdigit()):
            return Refusal(HTTPStatus.LENGTH_REQUIRED, "state the length of the file")
        # Python refuses to parse numbers with thousands of digits.
        length = length.lstrip("0") or "0"
        if len(length) > len(str(self.limit)) or int(length) > self.limit:
            most = f"{self.limit / 1_000_000:,.0f} MB"
            return Refusal(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"the file is larger than {most}: audit it with the command, or raise --limit",
            )
        if not int(length):
            return Refusal(HTTPStatus.BAD_REQUEST, "the file is empty")
        return int(length)


_SCRIPTS = ("report.js", "serve.js")
# Additional permissions of the page: requests to its own server, and frames with its pages.
_ALLOWED = ("connect-src 'self'", "frame-src 'self'")
_TITLE = "What did this session cost, and at what size should it compact?"
_INTRODUCTION = (
    "Drop the transcript of a session: of Claude Code, Codex, pi, Gemini CLI or any other format "
    "that compactlab reads. The audit takes a second; looking for the best trigger replays the "
    "session under a row of sizes and may take minutes.",
    "Everything happens on this machine. The transcript lies in a temporary folder, is deleted "
    "when the work ends, and is sent nowhere.",
)


@dataclass(frozen=True)
class Drop:
    """The choices, the maximum size of a file in bytes, and the names of logs."""

    choices: Sequence[str]
    limit: int
    logs: Sequence[str] = ()


def page(choices: Sequence[str], limit: int, logs: Sequence[str] = ()) -> bytes:
    """Render the page."""
    blocks = (
        Heading(_TITLE, 1),
        sentences(_INTRODUCTION, "important", bullets=False),
        Custom("serve.html.j2", Drop(choices, limit, logs)),
    )
    return html.write(Document(blocks), COLOURS, _SCRIPTS, _ALLOWED).encode()


# The timeout of a silent connection in seconds, and the bytes of one read.
_PATIENCE, _CHUNK = 30, 1 << 20
_IDLE: Mapping[str, Any] = {"running": False, "steps": []}
_HTML = "text/html; charset=utf-8"
_NOTHING = Refusal(HTTPStatus.NOT_FOUND, "there is nothing of this name")
_NO_TOKEN = Refusal(
    HTTPStatus.FORBIDDEN, "open the whole address that compactlab serve has printed"
)
_BROKEN = Refusal(HTTPStatus.BAD_REQUEST, "the file broke off, or was stopped")
_BUSY = Refusal(HTTPStatus.CONFLICT, "another transcript is being worked on: stop that first")
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'self'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
}


class Upload:
    """An incoming transcript; the sender may be slow."""

    def __init__(self, end: Callable[[], None]) -> None:
        self.ended = False
        self._end, self._over = end, threading.Event()

    def end(self) -> None:
        """Stop reading, and wait until its data is deleted."""
        self.ended = True
        self._end()
        self._over.wait()

    def over(self) -> None:
        """Mark it as deleted, or as taken by a job."""
        self._over.set()


class Server(ThreadingHTTPServer):
    """Listens on the loopback interface, and runs one job at a time.

    Parameters
    ----------
    page
        The page at its address.
    steps
        The steps of a job.
    choices
        The user's choices; the first is the default.
    port
        0 for any free port.
    limit
        Maximum bytes of a transcript.
    logs
        Transcripts of this machine that can be requested by their index.
    """

    daemon_threads = True

    def __init__(
        self,
        page: bytes,
        steps: Sequence[Step],
        choices: Collection[str],
        port: int,
        limit: int,
        *,
        logs: Sequence[Path] = (),
    ) -> None:
        super().__init__((ADDRESS, port), _Handler)
        self.page, self._steps, self.choices = page, steps, tuple(choices)
        self.logs = tuple(logs)
        self.guard = Guard(self.server_address[1], secrets.token_urlsafe(32), limit)
        self.job: Job | None = None
        self._upload: Upload | None = None
        self._lock = threading.Lock()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connections that break off or time out."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def take(
        self,
        read: Callable[[Upload, Path], bool],
        chosen: str,
        log: Path | None = None,
        end: Callable[[], None] = lambda: None,
    ) -> bool | None:
        """Start a job with a transcript that ``read`` writes to a file; None if one is running.

        False if the upload broke off, for example after a call of ``end``. If ``log`` is given, it
        is used instead.
        """
        if not self._lock.acquire(blocking=False):
            return None
        try:
            if self.job is not None and self.job.running:
                return None
            self._upload = upload = Upload(end)
            folder = JobFolder()
            try:
                whole = read(upload, Path(folder.name) / TRANSCRIPT) and not upload.ended
            except OSError:
                folder.cleanup()
                raise
            if not whole:
                folder.cleanup()
                return False
            self.job = Job(self._steps, folder, chosen, log)
            self.job.start()
            return True
        finally:
            if self._upload is not None:
                self._upload.over()
            self._upload = None
            self._lock.release()

    def stop(self) -> None:
        """End the upload or the job, and delete the data of the transcript."""
        if (upload := self._upload) is not None:
            upload.end()
        if self.job is not None:
            self.job.stop()

    def data(self) -> Mapping[str, Any]:
        """The progress as JSON data; an upload counts as running."""
        if self._upload is not None:
            return {**_IDLE, "running": True}
        return self.job.data() if self.job else _IDLE


class _Handler(BaseHTTPRequestHandler):
    """Answers one request, if the guard permits it."""

    server: Server
    server_version = "compactlab"
    timeout = _PATIENCE

    def do_GET(self) -> None:
        """Serve the page, the progress, or a resulting page."""
        name = self._asked()
        if name is None:
            return
        job = self.server.job
        if name == "":
            self._answer(HTTPStatus.OK, self.server.page, _HTML)
        elif name == "status":
            self._json(self.server.data())
        elif job is not None and (page := job.page(name)):
            self._answer(HTTPStatus.OK, page, _HTML)
        else:
            self._refuse(_NOTHING)

    def do_POST(self) -> None:
        """Accept a transcript, or a request to stop the work."""
        name = self._asked()
        if name is None:
            return
        if refusal := self.server.guard.origin(self.headers):
            self._refuse(refusal)
        elif name == TRANSCRIPT:
            length = self.server.guard.body(self.headers)
            if isinstance(length, Refusal):
                self._refuse(length)
            else:
                self._take(partial(self._read, length), end=self._hang_up)
        elif name == "log":
            self._take_log()
        elif name == "stop":
            self.server.stop()
            self._json(self.server.data())
        else:
            self._refuse(_NOTHING)

    def _asked(self) -> str | None:
        """The requested route; None if the request was refused."""
        guard = self.server.guard
        if refusal := guard.host(self.headers.get_all("Host", [])):
            self._refuse(refusal)
            return None
        name = guard.route(self.path.partition("?")[0])
        if name is None:
            self._refuse(_NO_TOKEN)
        return name

    def _take_log(self) -> None:
        """Start a job with a log of the list, by its index."""
        (number,) = self._given().get("number", [""])[:1]
        logs = self.server.logs
        if not (number.isascii() and number.isdigit() and len(number) < 9):
            number = str(len(logs))
        if int(number) < len(logs):
            self._take(lambda *_: True, logs[int(number)])
        else:
            self._refuse(Refusal(HTTPStatus.BAD_REQUEST, "there is no log of that number"))

    def _given(self) -> dict[str, list[str]]:
        return parse_qs(self.path.partition("?")[2])

    def _hang_up(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RD)

    def _take(
        self,
        read: Callable[[Upload, Path], bool],
        log: Path | None = None,
        end: Callable[[], None] = lambda: None,
    ) -> None:
        (chosen,) = self._given().get("strategy", [self.server.choices[0]])[:1]
        if chosen not in self.server.choices:
            self._refuse(Refusal(HTTPStatus.BAD_REQUEST, "there is no such strategy to choose"))
            return
        taken = self.server.take(read, chosen, log, end)
        if taken is None:
            self._refuse(_BUSY)
        elif not taken:
            self._refuse(_BROKEN)
        else:
            self._json(self.server.data())

    def _read(self, length: int, upload: Upload, path: Path) -> bool:
        """Read the body into a file that only this user can read."""
        with path.open("xb") as file:
            while length and not upload.ended:
                # Read only available bytes, because a caller of ``end`` waits.
                piece = self.rfile.read1(min(length, _CHUNK))
                if not piece:
                    break
                file.write(piece)
                length -= len(piece)
        return not length

    def _json(self, data: Mapping[str, Any]) -> None:
        text = json_without_commands(json.dumps(data))
        self._answer(HTTPStatus.OK, text.encode(), "application/json")

    def _refuse(self, refusal: Refusal) -> None:
        self._answer(refusal.status, f"{refusal.reason}\n".encode(), "text/plain; charset=utf-8")

    def _answer(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer an invalid request or method without repeating any of it."""
        self.close_connection = True
        self._refuse(Refusal(HTTPStatus(code), HTTPStatus(code).phrase))

    def version_string(self) -> str:
        """The server's name without versions."""
        return self.server_version

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: addresses contain the secret."""
