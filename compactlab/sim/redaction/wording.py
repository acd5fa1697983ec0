"""What stands behind the name of a secret and is none: code, places to fill in, words."""

from __future__ import annotations

from re import IGNORECASE
from re import compile as compiled

_CODE = compiled(
    r"(?:self|this|cls|args|config|cfg|settings|os|env|process|request|req|options|opts|ctx)\."
    r"|(?:u?int|float|sha|md|base|utf-?|bytes|str|v)\d+\Z|\w+://",
    IGNORECASE,
)
# One or several, as in `${USER}:${PASSWORD}`. No separator may belong to what it separates.
_PLACE = compiled(
    r"(?:(?:\$\{[^{}]*\}|\$\([^()]*\)|\$[A-Za-z_]+|<[^<>]*>|\{\{?[^{}]*\}?\}|%\(\w*\)s|%[sdr]"
    r"|%[A-Z_]+%|\[[^\[\]]*\])[\s:/@,.-]*)+"
)
_ATTRIBUTE = compiled(r"[A-Za-z_]\w*(?:\??\.[A-Za-z_]\w*)+")
# `password=password`, `password=db_password`, `password: userPassword`
_ECHO = compiled(
    r"(?:\A|.*_|.*[a-z0-9](?=[A-Z]))(?:[Pp]ass(?:wor[dt]|wd|phrase|code)?|PASSWORD|[Pp]wd|[Pp]w)s?"
)
# What settings, types and messages about passwords consist of.
_WORDS = compiled(
    r"none|null|nil|undefined|true|false|yes|not|str|string|text|bytes|char|varchar|integer|"
    r"number|bool|boolean|object|secretstr|optional|required|missing|invalid|empty|blank|"
    r"hidden|masked|redacted|unknown|default|changed|expired|incorrect|wrong|reset|prompt|"
    r"stdin|file|path|value|must|should|will|have|this|that|your|from|with|input|getpass|type|"
    r"option|flag|argument|field|auto|disabled|enabled|never|always|only|when|then|else|same|"
    r"please|enter|login|policy|authentication|protected|manager|cannot|does|doesn't|isn't",
    IGNORECASE,
)


def is_code(value: str) -> bool:
    """Whether a value without quotes is a piece of code, as its beginning tells."""
    return _CODE.match(value) is not None


def is_place(value: str) -> bool:
    """Whether a value is a place where a secret is to be filled in.

    Examples
    --------
    >>> is_place("${USER}:${PASSWORD}"), is_place("<your key>"), is_place("$3cret")
    (True, True, False)
    """
    return _PLACE.fullmatch(value) is not None


def is_ordinary(value: str) -> bool:
    """Whether a value is a word that settings, types and messages about passwords consist of."""
    return _WORDS.fullmatch(value.rstrip("!?*")) is not None


def may_be_password(value: str, option: bool) -> bool:
    """Whether a value of letters alone, without quotes, may be a password.

    Parameters
    ----------
    value
        The value.
    option
        Whether it stands behind an option of a command, where capitals stand for another value.

    Examples
    --------
    >>> [may_be_password(value, False) for value in ("swordfish", "string", "form.data")]
    [True, False, False]
    """
    if is_ordinary(value) or not any(c.isalpha() for c in value) or (option and value.isupper()):
        return False
    return not (_ATTRIBUTE.fullmatch(value) or _ECHO.fullmatch(value))
