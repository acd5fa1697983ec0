"""Where a quotation ends: at its own kind of mark, escaped as often as the one that opened it."""

from __future__ import annotations

from re import compile as compiled

_MOST = 4_096  # characters of a quotation that are looked at
_MARKS = {mark: compiled(rf"(\\+){mark}?|{mark}|[\r\n]") for mark in "\"'`"}


def end_of_quotation(text: str, opened: int) -> int:
    r"""Where what is quoted ends: before the closing mark, at the end of the line or of the text.

    JSON in JSON escapes the marks of the inner one, so that a mark with three backslashes stands
    within what a mark with one of them opened.

    Parameters
    ----------
    text
        Any text.
    opened
        Where the opening mark stands: behind its backslashes.

    Examples
    --------
    >>> text = r'{"password": "say \"so\"", "next": 1}'
    >>> print(text[14 : end_of_quotation(text, 13)])
    say \"so\"
    """
    mark, before = text[opened], text[max(0, opened - 16) : opened]
    level = len(before) - len(before.rstrip("\\"))
    stop = min(len(text), opened + 1 + _MOST)
    for found in _MARKS[mark].finditer(text, opened + 1, stop):
        if found[0] in "\r\n":
            return found.start()
        escaped = len(found[1] or "")
        # Each level doubles what stands before a mark, and adds one.
        closes = escaped < level or escaped % (2 * level + 2) == level
        if found[0].endswith(mark) and closes:
            return found.end() - 1 - min(level, escaped)
    return stop
