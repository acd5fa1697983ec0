"""Records that a list names by number only, because a heading gives the rest of the name.

A summary with many records of similar names gives the name once, and then only numbers. Under "Jobs
of project 7", ``3=DONE; 8=QUEUED`` or ``DONE: 3, 8`` are the states of ``job-7-3`` and ``job-7-8``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from compactlab.sim.facts.occurrences import normal
from compactlab.sim.facts.patterns import DOUBT, FORMER, INSTEAD, VOID, plainly
from compactlab.sim.facts.quantities import root

_NAME = re.compile(r"(?P<stem>[^\W\d_]\w*(?:-\w+)*)[- ](?P<number>\d+)")
_WORD = re.compile(r"[^\W\d_]+")
_HEADING = re.compile(r"\s*(?:#+\s|\*\*[^*]+\*\*:?\s*\Z|(?!\W*\d)(?=.*[A-Z])[^a-z=>:]{4,}:?\s*\Z)")
_BARE = re.compile(r"(?<![\w.-])\d+(?![\w-])")
_NUMBERS = r"\d+(?:\s*[\u2013-]\s*\d+)?(?:(?:\s*,\s*|\s+)\d+(?:\s*[\u2013-]\s*\d+)?)*"
_LONGEST = 1_000  # most numbers in a range
_CLAUSE = re.compile(r"[.;:|](?!\w)")
# Words before a value that revoke it or leave it open.
_TAKEN_BACK = re.compile(
    rf"\b(?:not|no|never|none|without|was|were|if|unless|whether|{FORMER})\b|n't\b|{DOUBT.pattern}"
)
_TELLING = re.compile(r"(?=.*\d)(?=.*[-_/:.]).{10}")  # a nearly unique value


def numbered(text: str, key: str, value: str) -> bool:
    """Whether a list states the value of a record by the record's number only.

    The words of its name must be above or before the list; for a unique value, one of them is
    sufficient.

    Examples
    --------
    >>> jobs = "## Jobs of project 7" + chr(10) + "DONE: 3, 8-10; QUEUED: 4"
    >>> [numbered(jobs, f"job-7-{number}", "DONE") for number in (3, 4, 9)]
    [True, False, True]
    >>> numbered("Gates: 3 -> red-5f10ab; 4 -> blue-77c0de", "gate-1-3", "red-5f10ab")
    True
    """
    name = _NAME.fullmatch(key)
    if name is None or value.casefold() not in text.casefold():
        return False
    number, wanted = name["number"], normal(value)
    words = {root(word) for word in _WORD.findall(name["stem"])}
    least = 1 if _TELLING.match(wanted) else len(words)
    here = re.escape(wanted)
    # A number before a value, unless the value starts a group of its own: "DONE: 3, 8. QUEUED: 9".
    record = re.compile(
        rf"(?<![\w.,:/-])#?{number}(?:\s?[.)\]])?[^\w,;]{{1,6}}{here}"
        r"(?![\w.-]*\w|[*\"']*\s*[:=(\u2013—-]\W*\d)"
    )
    group = re.compile(rf"(?<![\w-]){here}[^\w,;]{{1,6}}(?P<numbers>{_NUMBERS})(?![\w-])")
    for above, line in _lines(text):
        if wanted not in line or VOID.search(INSTEAD.sub("", plainly(above + " "))):
            continue
        # Any item of a group may have its whole name.
        bare = line.replace(f"{normal(name['stem'])}-", "")
        known = {root(word) for word in _WORD.findall(above)}
        for found in (*record.finditer(line), *group.finditer(bare)):
            listed = "numbers" not in found.groupdict() or number in _counted(found["numbers"])
            said = line if bare != line else line[: found.end()]
            if _TAKEN_BACK.search(_CLAUSE.split(found.string[: found.start()])[-1]):
                continue
            if found.string.startswith("?", found.end()):
                continue
            if listed and len(words & (known | {root(w) for w in _WORD.findall(said)})) >= least:
                return True
    return False


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield the normalised lines, with the heading and the words above each."""
    heading = above = ""
    for raw in text.splitlines():
        line = normal(raw)
        if _HEADING.match(raw.replace("`", "")):
            heading = above = line
        elif _WORD.search(line):
            yield above, line
            if not _BARE.search(line):
                above = f"{heading} {line}"


def _counted(numbers: str) -> Iterator[str]:
    """Yield the numbers of a list, with ranges expanded."""
    for first, last in re.findall(r"(\d+)(?:\s*[\u2013-]\s*(\d+))?", numbers):
        if last and int(first) < int(last) <= int(first) + _LONGEST:
            yield from map(str, range(int(first), int(last) + 1))
        else:
            yield from filter(None, (first, last))
