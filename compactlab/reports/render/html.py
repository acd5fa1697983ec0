"""Writes a report as a page: one file, with nothing in it from elsewhere; all text is escaped."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from compactlab.reports.render.document import (
    Block,
    Cell,
    Column,
    Custom,
    Document,
    Heading,
    Table,
    with_names,
)
from compactlab.reports.render.text import exact, page_without_commands

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

# Headings of this level begin a part of the page, which its contents name.
_PART = 2
# What could end the script element, begin another, or is a line break in JavaScript alone.
_ESCAPED = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
# Between the words of a name.
_WORDS = re.compile(r"(?<=[_,])(?=\w)|(?=\()")
# What no cleaned text holds.
_BACKTICK = "\x04"


def write(
    document: Document,
    colours: Mapping[str, tuple[str, str]],
    scripts: Sequence[str] = (),
    allowed: Sequence[str] = (),
) -> str:
    """Write a report, with scripts of ``templates/``; the same report gives the same bytes.

    A page that a server shows may have rules that allow more than a page does by itself.
    """
    title, *blocks = document.blocks
    source = _joined(tuple(scripts))
    content = {
        "title": title,
        "parts": _parts(blocks),
        "contents": document.contents,
        "colours": colours,
        "script": source,
        "policy": _policy(source, allowed),
    }
    return page_without_commands(_with_classes(set_page("document.html.j2", content)))


# Attributes of drawings that repeat themselves: one class of the page stands for each.
_ATTRIBUTES = r'(?: (?!style=|class=)[^\s=>]+="[^"<>]*")*'
_DRAWN = re.compile(rf'(<(?:path|text|use|rect|g){_ATTRIBUTES}) style="([^"<>]*)"')
_TIP = 'class="tip" fill="none" pointer-events="all"'
_STYLES_END = "</style>"


def _with_classes(page: str) -> str:
    """A page with its inline styles of drawings as classes."""
    times = Counter(match[2] for match in _DRAWN.finditer(page))
    often = [style for style, number in times.most_common() if number > 2]
    names = {style: f"k{number}" for number, style in enumerate(often)}

    def classed(match: re.Match[str]) -> str:
        style = names.get(match[2])
        return f'{match[1]} class="{style}"' if style else match[0]

    rules = "".join(f".{name} {{ {style} }}\n" for style, name in names.items())
    page = _DRAWN.sub(classed, page).replace(_TIP, 'class="tip"')
    return page.replace(_STYLES_END, f"{rules}{_STYLES_END}", 1)


def in_script(data: Any) -> str:
    r"""Write JSON that an HTML parser takes for nothing else.

    Examples
    --------
    >>> in_script(["</script>", "\u2028"])
    '["\\u003c/script\\u003e","\\u2028"]'
    """
    return json.dumps(data, separators=(",", ":"), allow_nan=False).translate(_ESCAPED)


class _Part(NamedTuple):
    """A part of the page: its anchor, its blocks, and anchors with labels of what it names."""

    anchor: str
    blocks: list[Block]
    links: list[tuple[str, str]]


def _parts(blocks: Iterable[Block]) -> list[_Part]:
    """What comes before the first heading, with the contents of the page, and a part a heading."""
    first = _Part("part-0", [], [])
    parts = [first]
    for block in blocks:
        if isinstance(block, Heading) and block.level == _PART:
            anchor = block.anchor or f"part-{len(parts)}"
            parts.append(_Part(anchor, [], []))
            first.links.append((anchor, block.label or block.text))
        elif isinstance(block, Heading) and block.anchor:
            parts[-1].links.append((block.anchor, block.label or block.text))
        parts[-1].blocks.append(block)
    return parts


@cache
def _joined(scripts: tuple[str, ...]) -> str:
    """The scripts, in whose order a later one uses what an earlier one defines."""
    from importlib import resources

    folder = resources.files("compactlab.reports") / "templates"
    return "".join("\n" + (folder / name).read_text(encoding="utf-8") for name in scripts)


def _policy(script: str, allowed: Sequence[str]) -> str:
    """What the page may do: show what is in it, and run the one script that hashes to this.

    Nothing is fetched from anywhere, no form sent, and no text is made markup of. Drawings have
    their styles inline, so styles are let.
    """
    rules = ["default-src 'none'", "style-src 'unsafe-inline'", "base-uri 'none'",
             "form-action 'none'", *allowed]  # fmt: skip
    if script:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        trusted = ("require-trusted-types-for 'script'", "trusted-types 'none'")
        rules += [f"script-src 'sha256-{digest}'", *trusted]
    return "; ".join(rules)


def set_page(template: str, content: Mapping[str, Any]) -> str:
    """Fill in a template of ``templates/`` with what it names."""
    return _environment().get_template(template).render(content)


@cache
def _environment() -> Environment:
    """Made once: it keeps the templates that it has compiled."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("compactlab.reports"),
        autoescape=True,
        finalize=_with_names,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Drawings are markup of our own, in which all foreign text is escaped already.
    environment.filters["drawing"] = Markup
    environment.filters["groups"] = _groups
    environment.filters["coded"] = _coded
    environment.filters["breakable"] = _breakable
    environment.filters["custom"] = _custom
    environment.filters["short"] = short
    environment.filters["told"] = _told
    environment.tests["a"] = lambda value, kind: type(value).__name__ == kind
    return environment


def short(value: float) -> str:
    """A value as exact as sorting needs it, and a reader who points at it.

    Examples
    --------
    >>> short(3.0), short(0.123456789), short(1234567890)
    ('3', '0.1234568', '1234567890')
    """
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.7g}"


def _told(cell: Cell) -> bool:
    """Whether a cell tells more than its value, which the script shows in full."""
    return bool(cell.exact) and cell.exact != exact(cell.value)


def _custom(block: Custom) -> str:
    return set_page(block.template, {"data": block.data})


def _with_names(value: object) -> object:
    """A text with its names as they are: the page escapes all of it."""
    marked = isinstance(value, str) and not hasattr(value, "__html__")
    return with_names(str(value)) if marked else value


def _coded(sentence: str) -> Markup:
    """A sentence in which what stands between backticks is code, unless they are of a name."""
    from markupsafe import Markup, escape

    hidden = with_names(sentence, lambda name: name.replace("`", _BACKTICK))
    pieces = [escape(piece.replace(_BACKTICK, "`")) for piece in hidden.split("`")]
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if number % 2 else piece
        for number, piece in enumerate(pieces)
    )


def _breakable(label: str) -> Markup:
    """A name that may be broken between its words, and before what it is called with."""
    from markupsafe import Markup, escape

    return Markup("<wbr>").join(map(escape, _WORDS.split(with_names(label))))


def _groups(table: Table) -> list[tuple[str, int]]:
    """What columns beside each other belong to, and how many there are; none without any."""

    def group(column: Column) -> str:
        return column.group

    groups = [(name, len(list(columns))) for name, columns in groupby(table.columns[1:], group)]
    return groups if any(name for name, _ in groups) else []
