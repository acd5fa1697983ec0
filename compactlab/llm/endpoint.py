"""Where a language model is asked: an endpoint in the shape of OpenAI's or of Anthropic's."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal
from urllib.parse import urlsplit

from compactlab.llm.request import Request
from compactlab.privacy import Redactor
from compactlab.sim.core.errors import CompactlabError, UsageError
from compactlab.sim.core.message import Usage

Api = Literal["openai", "anthropic"]

# The key of an endpoint of one's own. That of a provider goes to the provider alone: a file that
# somebody else wrote may name any address.
OWN_KEY = "COMPACTLAB_API_KEY"
KEYS: dict[Api, str] = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}

# The packages wait and try again when the endpoint has no room (429), fails (5xx) or is not
# reached, as long as it says or twice as long as before. So often, and so many seconds:
_RETRIES = 6
_SECONDS = 600.0
_SHOWN = 300  # characters of what an endpoint says is wrong


class UnansweredError(CompactlabError):
    """An endpoint gave no answer.

    Parameters
    ----------
    message
        Why, in words.
    paid
        Whether it may have to be paid all the same: nobody knows what became of the request.
    """

    def __init__(self, message: str, *, paid: bool = False) -> None:
        super().__init__(message)
        self.paid = paid


@dataclass(frozen=True)
class Reply:
    """What an endpoint answered."""

    text: str
    ended: str
    usage: Usage | None  # None where it does not say
    served: str


@dataclass(frozen=True)
class Endpoint:
    """Where a model is asked.

    Parameters
    ----------
    api
        The shape of its requests: OpenAI's chat completions or Anthropic's messages.
    base_url
        Its address, with http or https; "" for the provider's own.

    Raises
    ------
    UsageError
        If the address is none that could be asked.
    """

    api: Api = "openai"
    base_url: str = ""

    def __post_init__(self) -> None:
        if self.base_url and not _is_address(self.base_url):
            raise UsageError(f"base_url is an address with http or https, not {self.base_url!r}")

    @classmethod
    def of(cls, model: str, api: str = "", base_url: str = "") -> Endpoint:
        """That of a model, by its name where nothing else is said.

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
        """Refuse, before anything is asked, what cannot be: without the package, or without a key.

        Raises
        ------
        UsageError
            If one of them is missing.
        """
        if find_spec(self.api) is None:
            raise UsageError(
                f"to ask a model takes the package {self.api}: pip install 'compactlab[{self.api}]'"
            )
        if not self.base_url and not os.environ.get(KEYS[self.api]):
            raise UsageError(f"to ask a model takes a key: set {KEYS[self.api]} in the environment")

    @property
    def _key(self) -> str:
        """The key, which some servers of one's own do without."""
        return os.environ.get(OWN_KEY if self.base_url else KEYS[self.api]) or "none"

    def ask(self, request: Request) -> Reply:
        """Ask, and wait for the answer.

        Raises
        ------
        UnansweredError
            If none comes, after some retries.
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
            # Its newer models take only the new name; compatible servers know the old one.
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
        if request.temperature is not None:  # which the package no longer knows by name
            given["extra_body"] = {"temperature": request.temperature}
        try:
            client = self._client(anthropic.Anthropic)
            if self.base_url:
                client.auth_token = None  # of the environment, and the provider's
            said = client.messages.create(**given)
        except anthropic.AnthropicError as error:
            raise self._fault(error, isinstance(error, anthropic.APIStatusError)) from None
        except ValueError:
            raise UnansweredError(_NO_REPLY, paid=True) from None
        return _reply(_message, said)

    def _client(self, kind: Callable[..., Any]) -> Any:
        """What asks, with its connections: a copy of this process gets some of its own."""
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
        """What went wrong, in the endpoint's words; it may have repeated the key in them."""
        text = " ".join(str(error).replace(self._key, "[key]").split())
        return UnansweredError(Redactor().text(text)[:_SHOWN], paid=not refused)


def _is_address(text: str) -> bool:
    try:
        address = urlsplit(text)
        # A port that is none is noticed when it is asked for.
        return address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
    except ValueError:
        return False


# By process, endpoint and key. Never closed: to make one reads all certificates, and a new
# connection for every request is a handshake for every request.
_clients: dict[tuple[int, Endpoint, str], Any] = {}

# What came, which the packages hardly check.

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
    """A usage, of whatever numbers came."""
    return Usage(max(0, new), max(0, read), max(0, written), output=max(0, output))
