"""Guards: what a request must contain before the server acts on it.

The server listens only on the loopback interface, but every page in the user's browser and every
program on the machine can send requests there. So a request must contain a secret that only the
printed address has. Its host must be this machine's, against foreign names bound to the loopback
address (DNS rebinding). A request that changes something must come from the server's own page.
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
