"""Endpoints of language models with OpenAI's or Anthropic's API."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal
from urllib.parse import urlsplit

from compactlab.llm.recorded import Request
from compactlab.privacy import Redactor
from compactlab.sim.core.errors import CompactlabError, UsageError
from compactlab.sim.core.message import Usage

Api = Literal["openai", "anthropic"]

# The key of a custom endpoint. A provider's key is only sent to the provider: a file from someone
# else may contain any address.
OWN_KEY = "COMPACTLAB_API_KEY"
KEYS: dict[Api, str] = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}

# The packages retry if the endpoint is overloaded (429), fails (5xx) or is unreachable. They wait
# as long as it says, or twice as long as before. Number of retries, and timeout in seconds:
_RETRIES = 6
_SECONDS = 600.0
_SHOWN = 300  # most characters of an endpoint's error message


class UnansweredError(CompactlabError):
    """An endpoint gave no answer.

    Parameters
    ----------
    message
        The reason, in words.
    paid
        Whether the request may be billed nevertheless, because its fate is unknown.
    """

    def __init__(self, message: str, *, paid: bool = False) -> None:
        super().__init__(message)
        self.paid = paid


@dataclass(frozen=True)
class Reply:
    """An endpoint's answer."""

    text: str
    ended: str
    usage: Usage | None  # None if not given
    served: str


@dataclass(frozen=True)
class Endpoint:
    """The endpoint of a model.

    Parameters
    ----------
    api
        The API: OpenAI's chat completions or Anthropic's messages.
    base_url
        Its address, with http or https; "" for the provider's own.

    Raises
    ------
    UsageError
        If the address is invalid.
    """

    api: Api = "openai"
    base_url: str = ""

    def __post_init__(self) -> None:
        if self.base_url and not _is_address(self.base_url):
            raise UsageError(f"base_url is an address with http or https, not {self.base_url!r}")

    @classmethod
    def of(cls, model: str, api: str = "", base_url: str = "") -> Endpoint:
        """Return the endpoint of a model; by default its provider's, from its name.

        Examples
        --------
        >>> Endpoint.of("claude-haiku-4-5").api, Endpoint.of("gpt-5-mini").api
        ('anthropic', 'openai')
        """
        if api not in ("", *KEYS):
            raise UsageError(f"api must be openai or anthropic, not {api!r}")
        claude = model.startswith("claude") and not base_url
        return cls(
            "anthropic" if api == "anthropic" or (claude and not api) else "openai", base_url
        )

    def check(self) -> None:
        """Raise if the package or the key is missing, before any request.

        Raises a UsageError if one of them is missing.
        """
        if find_spec(self.api) is None:
            raise UsageError(
                f"to ask a model takes the package {self.api}: pip install 'compactlab[{self.api}]'"
            )
        if not self.base_url and not os.environ.get(KEYS[self.api]):
            raise UsageError(f"to ask a model takes a key: set {KEYS[self.api]} in the environment")

    @property
    def _key(self) -> str:
        """The key; some custom servers need none."""
        return os.environ.get(OWN_KEY if self.base_url else KEYS[self.api]) or "none"

    def ask(self, request: Request) -> Reply:
        """Send a request, and wait for the answer.

        Raises
        ------
        UnansweredError
            If there is no answer after some retries.
        UsageError
            If the package or the key is missing.
        """
        self.check()
        asked: dict[Api, Callable[[Request], Reply]] = {
            "openai": self._openai,
            "anthropic": self._anthropic,
        }
        return asked[self.api](request)

    def _openai(self, request: Request) -> Reply:
        import openai

        system = [{"role": "system", "content": request.system}] if request.system else []
        given: dict[str, Any] = {
            "model": request.model,
            "messages": system + [{"role": t.role, "content": t.text} for t in request.turns],
            # OpenAI's newer models only accept the new name; compatible servers know the old one.
            "max_tokens" if self.base_url else "max_completion_tokens": request.max_tokens,
            "seed": request.draw,
            **({} if request.temperature is None else {"temperature": request.temperature}),
        }
        try:
            said = self._client(openai.OpenAI).chat.completions.create(**given)
        except openai.OpenAIError as error:
            raise self._fault(error, isinstance(error, openai.APIStatusError)) from None
        except ValueError:
            raise UnansweredError(_NO_REPLY, paid=True) from None
        return _reply(_completion, said)

    def _anthropic(self, request: Request) -> Reply:
        import anthropic

        given: dict[str, Any] = {
            "model": request.model,
            "messages": [{"role": t.role, "content": t.text} for t in request.turns],
            "max_tokens": request.max_tokens,
            **({"system": request.system} if request.system else {}),
        }
        if request.temperature is not None:  # no longer a parameter of the package
            given["extra_body"] = {"temperature": request.temperature}
        try:
            client = self._client(anthropic.Anthropic)
            if self.base_url:
                client.auth_token = None  # from the environment; it is the provider's
            said = client.messages.create(**given)
        except anthropic.AnthropicError as error:
            raise self._fault(error, isinstance(error, anthropic.APIStatusError)) from None
        except ValueError:
            raise UnansweredError(_NO_REPLY, paid=True) from None
        return _reply(_message, said)

    def _client(self, kind: Callable[..., Any]) -> Any:
        """Return the client with its connections; a forked process gets a new one."""
        who = os.getpid(), self, self._key
        if who not in _clients:
            _clients[who] = kind(
                api_key=self._key,
                base_url=self.base_url or None,
                max_retries=_RETRIES,
                timeout=_SECONDS,
            )
        return _clients[who]

    def _fault(self, error: Exception, refused: bool) -> UnansweredError:
        """Return the endpoint's error; the key is removed, because a message may repeat it."""
        text = " ".join(str(error).replace(self._key, "[key]").split())
        return UnansweredError(Redactor().text(text)[:_SHOWN], paid=not refused)


def _is_address(text: str) -> bool:
    try:
        address = urlsplit(text)
        # An invalid port raises an error on access.
        return address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
    except ValueError:
        return False


# Clients by process, endpoint and key. They are never closed: a new client reads all certificates,
# and a new connection needs a handshake.
_clients: dict[tuple[int, Endpoint, str], Any] = {}

# Validation of replies, which the packages hardly check.

_NO_REPLY = "what came is no answer in the shape of the endpoint's"


def _reply(read: Callable[[Any], Reply], said: Any) -> Reply:
    try:
        return read(said)
    except (AttributeError, IndexError, TypeError):
        raise UnansweredError(_NO_REPLY, paid=True) from None


def _completion(said: Any) -> Reply:
    choice, used, usage = said.choices[0], said.usage, None
    if used is not None:
        read = getattr(used.prompt_tokens_details, "cached_tokens", None) or 0
        usage = _usage(used.prompt_tokens - read, read, 0, used.completion_tokens)
    return Reply(
        "" + (choice.message.content or ""), choice.finish_reason or "", usage, said.model or ""
    )


def _message(said: Any) -> Reply:
    text = "".join(block.text for block in said.content if block.type == "text")
    used = said.usage
    read, written = used.cache_read_input_tokens or 0, used.cache_creation_input_tokens or 0
    usage = _usage(used.input_tokens, read, written, used.output_tokens)
    return Reply(text, said.stop_reason or "", usage, said.model or "")


def _usage(new: int, read: int, written: int, output: int) -> Usage:
    """Build a usage from unchecked numbers."""
    return Usage(max(0, new), max(0, read), max(0, written), output=max(0, output))
