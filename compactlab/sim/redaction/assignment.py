"""What is given to something that is called as secrets are: ``password: ...``, ``API_KEY=...``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from re import IGNORECASE, Match, Pattern
from re import compile as compiled

from compactlab.sim.redaction.quotation import end_of_quotation
from compactlab.sim.redaction.wording import is_code, is_place, may_be_password

# What every name of a secret has in it, spelt out: ignoring case, a search takes ten times as long.
STEMS = tuple(
    spell(stem)
    for stem in ("key", "pass", "pwd", "secret", "token", "contrase")
    for spell in (str, str.upper, str.capitalize)
)
_NAME = 60  # characters
_STEM = rf"(?:{'|'.join(STEMS)})"
_CLOSED = r"\\{0,7}[\"'`]?"  # a name may be quoted itself, in JSON that stands in JSON
_GIVEN = r"(?:=>|:=|={1,3}|:|%3[ADad]|\\{1,7}u003[adAD])"
_TYPED = r"(?::[ \t]{0,3}[A-Za-z_][\w.\[\]|?]{0,40}[ \t]{0,3}(?==))?"
_QUOTED = compiled(
    rf"{_STEM}(\w{{0,{_NAME}}}){_CLOSED}\]?\s{{0,3}}{_TYPED}{_GIVEN}\s{{0,3}}"
    r"[bBfFrRuU@]{0,2}\\{0,7}([\"'`])"
)
# `WITH PASSWORD '...'`, `the password is "..."`, and `["--password", "..."]`.
_BESIDE = compiled(
    rf"({_STEM}[A-Za-zñÑ]{{0,8}})"
    r"(?:(?:[ \t]{1,3}(?:is|was|to))?[ \t]{1,3}|\\{0,7}[\"'`](,)\s{0,9})\\{0,7}([\"'`])"
)
# Names beside those that the library knows.
_NAMES = r"(?:access|auth|refresh|bearer|session|bot|csrf)[_-]?token|passphrase|passcode|passwort"
ENV = (
    r"\b[A-Z][A-Z0-9_]{0,60}?(?:KEY|SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIALS)\s{0,3}="
    r"\s{0,3}(?![$<{%\[/\"'])([^\s\"'\\;,)]{8,})"
)

# Without quotes a name must end as one of a secret does, or `token_budget: 4000` would be one.
_BARE = compiled(
    rf"({_STEM}[A-Za-zñÑ]{{0,8}}){_CLOSED}(?:\*\*)?"
    rf"([ \t]{{0,3}}{_GIVEN}(?:\*\*)?[ \t]{{0,3}}|[ \t]{{1,3}}(?:(?:is|was):?[ \t]{{1,3}})?)"
    r"(?![<{\[/~.*])([^\s\"'`\\<>(){}\[\],;&|]{4,512})"
)
_PASSWORD = compiled(
    r"(?:passwor[dt]|passwd|passphrase|passcode|pwd|contrase[nñ]a|(?<=[_-])pass"
    r"|(?-i:(?<=[a-z])Pass))\Z",
    IGNORECASE,
)
_STEP = compiled(r"-pass\Z", IGNORECASE)  # `pre-pass: count`
_PASS = compiled(r"(?<![\w.-])pass\Z", IGNORECASE)
_SECRET = compiled(r"secret\Z", IGNORECASE)
_OTHER = compiled(
    r"(?:secret|token|(?:api|auth|access|secret|private|service|account|client|db|database|signing"
    r"|encryption|master)[_-]?key)\Z",
    IGNORECASE,
)
_OPTION = compiled(r"(?:^|[\s\"'`])--[A-Za-z][\w-]*\Z")
_PLAIN = 6  # characters that a value has at least, if it is given to no password
_PWD = compiled(r"(?<![\w-])pwd\Z", IGNORECASE)
_PATH = compiled(r"[/~\\]|[A-Za-z]:[\\/]")
_PHRASE = compiled(r"[^\r\n\"'`\\,;<>{}]{0,200}")


def assigned(text: str) -> Iterator[tuple[int, int, bool]]:
    """Where in a text values stand that are given to names of secrets.

    Parameters
    ----------
    text
        Any text: prose, code, settings, JSON in JSON.

    Returns
    -------
    iterator of (int, int, bool)
        Of each its stretch, and whether it is surely the value itself: in quotes, under the name
        of a password.
    """
    for found in _QUOTED.finditer(text):
        stop = end_of_quotation(text, found.start(2))
        name = text[max(0, found.start() - _NAME) : found.end(1)]
        if _is_quoted(name, found, text[found.end() : stop]):
            yield found.end(), stop, bool(_PASSWORD.search(name))
    for found in _BESIDE.finditer(text):
        stop = end_of_quotation(text, found.start(3))
        name = text[max(0, found.start() - _NAME) : found.end(1)]
        if _is_beside(name, bool(found[2]), text[found.end() : stop]):
            yield found.end(), stop, False
    for found in _BARE.finditer(text):
        stop = found.end(3)
        while text[stop - 1] in ".:":
            stop -= 1
        # What is in quotes itself is followed by no value without them.
        closed = found[2].isspace() and found.end(1) < found.start(2)
        name = "" if closed else text[max(0, found.start() - _NAME) : found.end(1)]
        if _is_bare(name, found[2], text[found.start(3) : stop], text[stop : stop + 1]):
            phrase = _PHRASE.match(text, stop) if name.lower().endswith("phrase") else None
            yield found.start(3), phrase.end() if phrase else stop, False


@cache
def _named() -> Pattern[str]:
    from detect_secrets.plugins.keyword import DENYLIST

    return compiled("|".join([*DENYLIST, _NAMES]), IGNORECASE)


def _is_quoted(name: str, found: Match[str], value: str) -> bool:
    """Whether a value in quotes is a secret: any, but for what stands for another one."""
    if len(value) < 4 or is_place(value) or (_PWD.search(name) and _PATH.match(value)):
        return False
    # What is called a mere token may be any word.
    mere = not found[1] and _is_other(name, value)
    step = _STEP.search(name) and " " in value
    return mere or bool(_named().search(name)) or (bool(_PASSWORD.search(name)) and not step)


def _is_beside(name: str, listed: bool, value: str) -> bool:
    """Whether a value in quotes is a secret that only stands beside its name."""
    if len(value) < 4 or is_place(value) or (listed and not _OPTION.search(name)):
        return False
    return _PASSWORD.search(name) is not None or (listed and _is_other(name, value))


def _is_bare(name: str, sign: str, value: str, after: str) -> bool:
    """Whether a value without quotes is a secret, and no piece of code or of a sentence."""
    if len(value) < 4 or after in {"(", "["} or is_code(value) or is_place(value):
        return False
    option = sign.isspace()
    if option and not _OPTION.search(name):
        return False
    if _PASSWORD.search(name) and not _PATH.match(value):
        mixed = any(c.isdigit() for c in value)
        if sign.strip().rstrip(":") in {"is", "was"}:
            return mixed and any(c.isalpha() for c in value)
        step = _STEP.search(name) and not _OPTION.search(name)
        return mixed or (not step and may_be_password(value, option))
    if sign == "=" and (_SECRET.search(name) or (_PASS.search(name) and not value.isdigit())):
        return any(c.isdigit() for c in value) or may_be_password(value, option)
    return not sign.strip().startswith(("is", "was")) and _is_other(name, value)


def _is_other(name: str, value: str) -> bool:
    """Whether a value, given to what is called as secrets are, is no word and no number."""
    if len(value) < _PLAIN or any(c.isspace() for c in value) or not _OTHER.search(name):
        return False
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
