"""Silent replies: an agent's answer of which the user is to hear nothing, after OpenClaw.

Early versions suppress a whole message that begins or ends with the token, whatever else it says.
Later ones suppress only a message that is the token, and strip a token from the end of another.
"""

from __future__ import annotations

import re
from typing import Literal

SILENT = "NO_REPLY"

Version = Literal["2026.1.29", "2026.3.13"]

# What JavaScript's `\s` and `trim()` take for a blank; Python's own differ at both ends.
BLANKS = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_ENDS = re.compile(rf"^[{BLANKS}]*{SILENT}(?=\Z|\W)|\b{SILENT}\b\W*\Z", re.ASCII)
_WHOLE = re.compile(rf"[{BLANKS}]*{SILENT}[{BLANKS}]*")
_TRAILING = re.compile(rf"(?:^|[{BLANKS}]+|\*+){SILENT}[{BLANKS}]*\Z")


def is_silent(text: str | None, version: Version = "2026.3.13") -> bool:
    """Whether a text is to be suppressed as a whole; as ``isSilentReplyText``.

    Parameters
    ----------
    text
        What the agent answered.
    version
        2026.1.29 looks at both ends of the text, 2026.3.13 at all of it.

    Examples
    --------
    >>> is_silent("Saved. NO_REPLY", "2026.1.29"), is_silent("Saved. NO_REPLY", "2026.3.13")
    (True, False)
    """
    found = _ENDS.search if version == "2026.1.29" else _WHOLE.fullmatch
    return found(text or "") is not None


def strip_silent(text: str) -> str:
    """A text without the token at its end and without outer blanks; as ``stripSilentToken``.

    Examples
    --------
    >>> strip_silent("Saved. NO_REPLY")
    'Saved.'
    """
    return _TRAILING.sub("", text, count=1).strip(BLANKS)


def is_silent_start(text: str | None) -> bool:
    """Whether what has been streamed so far may become the token; as ``isSilentReplyPrefixText``.

    Capitals only, so that a sentence which begins with "No" is not held back; without the
    underscore only ``NO``.

    Examples
    --------
    >>> is_silent_start("NO"), is_silent_start("No"), is_silent_start("NO_RE")
    (True, False, True)
    """
    begun = (text or "").lstrip(BLANKS)
    return SILENT.startswith(begun) and ("_" in begun or begun == "NO")


def heard(text: str, version: Version) -> str:
    """What a user hears of an answer: nothing, the text, or the text without the token.

    Of an answer that breaks off inside the token, a later version shows nothing either, because
    its streaming holds it back.
    """
    if is_silent(text, version):
        return ""
    if version == "2026.1.29":
        return text
    return "" if is_silent_start(text) else strip_silent(text)
