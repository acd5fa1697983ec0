"""Words by which rules know what a sentence is about. Scenarios keep off them on purpose.

A rule that finds what a generator writes because both use the same words would win by
construction; so generated conversations say decisions, rules and failures in other words.
"""

from __future__ import annotations

import re

# As patterns; a cue counts as a whole word, whatever its case.
DECIDED = ("decided", "agreed", "settled on", "let's use", "let us use", "go(?:ing)? with", "must")
BINDING = ("let's", "never", "always", "do not", "don't", "instead")
WRONG = ("blocked", "fails?", "failed", "failing", "broken")
ASKED = ("todo", "please", "can you", "could you", "next", "later", "add", "fix")
AHEAD = (
    "next", "remains?", "remaining", "still (?:have|has|need)s?", "I'll", "I will", "I need to"
)  # fmt: skip
BROKEN = (*WRONG, "errors?", "exception", "traceback", "denied", "not found")


def words(*cues: str) -> re.Pattern[str]:
    """Compile cues into one pattern.

    Examples
    --------
    >>> bool(words(*DECIDED).search("We AGREED on tabs"))
    True
    """
    return re.compile(rf"\b(?:{'|'.join(cues)})\b", re.IGNORECASE)
