"""Who is answered: what a request has to show before anything is done for it.

The server listens on the loopback interface alone, but every page that is open in the user's
browser can send requests there, and every program on the machine. So a request names a secret that
only the printed address holds; it names this host, or a foreign name has been bound to the
loopback address (DNS rebinding); and one that changes something comes from the server's own page.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus

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
    """What all requests to one server have to show.

    Parameters
    ----------
    port
        On which it listens.
    token
        The secret of its address.
    limit
        Bytes that may be sent at most.
    """

    port: int
    token: str
    limit: int

    @property
    def address(self) -> str:
        """What the user opens."""
        return f"http://{ADDRESS}:{self.port}/{self.token}/"

    def route(self, path: str) -> str | None:
        """What is asked for by a path; None without the secret."""
        token, slash, name = path.removeprefix("/").partition("/")
        right = hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())
        return name if right and slash else None

    def host(self, hosts: Sequence[str]) -> Refusal | None:
        """Refuse what was not addressed to this machine by its own name."""
        if len(hosts) == 1 and hosts[0] in {f"{name}:{self.port}" for name in _NAMES}:
            return None
        reason = f"this server answers to {ADDRESS}:{self.port} alone"
        return Refusal(HTTPStatus.MISDIRECTED_REQUEST, reason)

    def origin(self, headers: Message) -> Refusal | None:
        """Refuse a change that another page than the server's own asks for."""
        site = headers.get("Sec-Fetch-Site", "same-origin")
        if headers.get("Origin") == f"http://{headers.get('Host')}" and site == "same-origin":
            return None
        return Refusal(HTTPStatus.FORBIDDEN, "only this server's own page may send something")

    def body(self, headers: Message) -> int | Refusal:
        """The bytes that are to be read; a form of another page cannot send this type."""
        if headers.get("Content-Type") != BINARY:
            return Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send the file as {BINARY}")
        length = headers.get("Content-Length", "")
        if "Transfer-Encoding" in headers or not (length.isascii() and length.isdigit()):
            return Refusal(HTTPStatus.LENGTH_REQUIRED, "say how long the file is")
        # Python refuses to read a number of thousands of digits.
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
