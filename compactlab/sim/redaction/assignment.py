"""What is given to something that is called as secrets are: ``password: ...``, ``API_KEY=...``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from re import IGNORECASE, Pattern
from re import compile as compiled

# What every name of a secret has in it, spelt out: ignoring case, a search takes ten times as long.
STEMS = tuple(
    spell(stem)
    for stem in ("key", "pass", "pwd", "secret", "token", "contrase")
    for spell in (str, str.upper, str.capitalize)
)
_NAME = 60  # characters
_GIVEN = r"(?:=>|:=|={1,3}|:)"
_QUOTED = compiled(
    rf"(?:{'|'.join(STEMS)})(\w{{0,{_NAME}}})\\?[\"'`]?\]?\s{{0,3}}{_GIVEN}\s{{0,3}}"
    r"\\?[\"'`](?![$<{%\[])([^\"'`\\\r\n]{4,512})"
)
# Names beside those that the library knows.
_NAMES = r"(?:access|auth|refresh|bearer|session|bot|csrf)[_-]?token"
ENV = (
    r"\b[A-Z][A-Z0-9_]{0,60}?(?:KEY|SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIALS)\s{0,3}="
    r"\s{0,3}(?![$<{%\[/\"'])([^\s\"'\\;,)]{8,})"
)

# Without quotes a name must end as one of a secret does, or `token_budget: 4000` would be one.
_BARE = compiled(
    rf"((?:{'|'.join(STEMS)})[A-Za-zñÑ]{{0,8}})\\?[\"'`]?"
    rf"([ \t]{{0,3}}{_GIVEN}[ \t]{{0,3}}|[ \t]{{1,3}})"
    r"(?![$<{%\[/~.*])([^\s\"'`\\<>(){}\[\],;&|]{4,512})"
)
_PASSWORD = compiled(
    r"(?:password|passwd|passphrase|passcode|pwd|contrase[nñ]a|(?<=[_-])pass)\Z", IGNORECASE
)
_OTHER = compiled(
    r"(?:secret|token|(?:api|auth|access|secret|private|service|account|client|db|database|signing"
    r"|encryption|master)[_-]?key)\Z",
    IGNORECASE,
)
_OPTION = compiled(r"(?:^|\s)--[A-Za-z][\w-]*\Z")
_PLAIN = 6  # characters that a value has at least, if it is given to no password
_CODE = compiled(
    r"(?:self|this|cls|args|config|cfg|settings|os|env|process|request|req|options|opts|ctx)\."
    r"|(?:u?int|float|sha|md|base|utf-?|bytes|str|v)\d+\Z|\w+://",
    IGNORECASE,
)


def assigned(text: str) -> Iterator[tuple[int, int]]:
    """Where in a text values stand that are given to names of secrets.

    Parameters
    ----------
    text
        Any text: prose, code, settings, JSON in JSON.
    """
    named = _named()
    for found in _QUOTED.finditer(text):
        begin = max(0, found.start() - _NAME)
        # What is called a mere token may be any word.
        mere = not found[1] and _is_other(text[begin : found.start(1)], found[2])
        if mere or named.search(text, begin, found.start(2)):
            yield found.span(2)
    for found in _BARE.finditer(text):
        stop = found.end(3)
        while text[stop - 1] in ".:":
            stop -= 1
        before = text[max(0, found.start() - _NAME) : found.end(1)]
        if _is_bare(before, found[2], text[found.start(3) : stop], text[stop : stop + 1]):
            yield found.start(3), stop


@cache
def _named() -> Pattern[str]:
    from detect_secrets.plugins.keyword import DENYLIST

    return compiled("|".join([*DENYLIST, _NAMES]), IGNORECASE)


def _is_bare(name: str, sign: str, value: str, after: str) -> bool:
    """Whether a value without quotes is a secret, and no piece of code or of a sentence."""
    if after in {"(", "["} or _CODE.match(value) or (sign.isspace() and not _OPTION.search(name)):
        return False
    if _PASSWORD.search(name):
        return any(c.isdigit() for c in value) and len(value) > 3
    return _is_other(name, value)


def _is_other(name: str, value: str) -> bool:
    """Whether a value, given to what is called as secrets are, is no word and no number."""
    if len(value) < _PLAIN or any(c.isspace() for c in value) or not _OTHER.search(name):
        return False
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
