"""The page's script and the policy under which a browser opens it: that script and no other."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

# In the order in which they stand on the page: a later one uses what an earlier one defines.
_PARTS = ("report.js", "drawing.js", "conversation.js")


@cache
def script() -> str:
    """The script, as it stands on the page between its tags."""
    folder = resources.files("compactlab.reports") / "templates"
    return "\n" + "\n".join((folder / part).read_text(encoding="utf-8") for part in _PARTS)


@cache
def policy() -> str:
    """What the page may do: show what is in it, and run the one script that hashes to this.

    Nothing is fetched from anywhere, no form sent, and no text is made markup of. Drawings have
    their styles inline, so styles are let.
    """
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    rules = (
        "default-src 'none'",
        f"script-src 'sha256-{digest}'",
        "style-src 'unsafe-inline'",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
    return "; ".join(rules)
