"""Write a report as a page: one self-contained file with all text escaped."""

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

# Headings of this level begin a part of the page, which the contents list.
_PART = 2
# Characters that could end or begin a script element, or are line breaks only in JavaScript.
_ESCAPED = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
# Word boundaries within a name.
_WORDS = re.compile(r"(?<=[_,])(?=\w)|(?=\()")
# A character that no cleaned text contains.
_BACKTICK = "\x04"


def write(
    document: Document,
    colours: Mapping[str, tuple[str, str]],
    scripts: Sequence[str] = (),
    allowed: Sequence[str] = (),
) -> str:
    """Write a report, with scripts of ``templates/``; equal reports give equal bytes.

    ``allowed`` adds rules of the Content Security Policy for a page that a server shows.
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


# Attributes of drawings that repeat: each combination becomes a class of the page.
_ATTRIBUTES = r'(?: (?!style=|class=)[^\s=>]+="[^"<>]*")*'
_DRAWN = re.compile(rf'(<(?:path|text|use|rect|g){_ATTRIBUTES}) style="([^"<>]*)"')
_TIP = 'class="tip" fill="none" pointer-events="all"'
_STYLES_END = "</style>"


def _with_classes(page: str) -> str:
    """A page whose drawings have classes instead of inline styles."""
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
    r"""Serialise JSON so that an HTML parser finds no markup in it.

    Examples
    --------
    >>> in_script(["</script>", "\u2028"])
    '["\\u003c/script\\u003e","\\u2028"]'
    """
    return json.dumps(data, separators=(",", ":"), allow_nan=False).translate(_ESCAPED)


class _Part(NamedTuple):
    """A part of the page: its anchor, its blocks, and the anchors with labels in it."""

    anchor: str
    blocks: list[Block]
    links: list[tuple[str, str]]


def _parts(blocks: Iterable[Block]) -> list[_Part]:
    """The blocks before the first heading, with the page's contents; then a part per heading."""
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
    """The scripts joined in order; later ones use definitions of earlier ones."""
    from importlib import resources

    folder = resources.files("compactlab.reports") / "templates"
    return "".join("\n" + (folder / name).read_text(encoding="utf-8") for name in scripts)


def _policy(script: str, allowed: Sequence[str]) -> str:
    """The Content Security Policy: the page may only run the script with this hash.

    It may not fetch anything, send forms, or create markup from text. Inline styles are allowed for
    drawings.
    """
    rules = ["default-src 'none'", "style-src 'unsafe-inline'", "base-uri 'none'",
             "form-action 'none'", *allowed]  # fmt: skip
    if script:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        trusted = ("require-trusted-types-for 'script'", "trusted-types 'none'")
        rules += [f"script-src 'sha256-{digest}'", *trusted]
    return "; ".join(rules)


def set_page(template: str, content: Mapping[str, Any]) -> str:
    """Fill in a template of ``templates/``."""
    return _environment().get_template(template).render(content)


@cache
def _environment() -> Environment:
    """Cached, because it caches compiled templates."""
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
    # Drawings are our own markup; external text in them is already escaped.
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
    """A value, as precise as sorting and tooltips need.

    Examples
    --------
    >>> short(3.0), short(0.123456789), short(1234567890)
    ('3', '0.1234568', '1234567890')
    """
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.7g}"


def _told(cell: Cell) -> bool:
    """Whether a cell shows more than its value, which the script shows in full."""
    return bool(cell.exact) and cell.exact != exact(cell.value)


def _custom(block: Custom) -> str:
    return set_page(block.template, {"data": block.data})


def _with_names(value: object) -> object:
    """A text with its names unchanged: the page escapes all of it."""
    marked = isinstance(value, str) and not hasattr(value, "__html__")
    return with_names(str(value)) if marked else value


def _coded(sentence: str) -> Markup:
    """A sentence with code between backticks, except backticks of names."""
    from markupsafe import Markup, escape

    hidden = with_names(sentence, lambda name: name.replace("`", _BACKTICK))
    pieces = [escape(piece.replace(_BACKTICK, "`")) for piece in hidden.split("`")]
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if number % 2 else piece
        for number, piece in enumerate(pieces)
    )


def _breakable(label: str) -> Markup:
    """A name that may wrap between its words and before its arguments."""
    from markupsafe import Markup, escape

    return Markup("<wbr>").join(map(escape, _WORDS.split(with_names(label))))


def _groups(table: Table) -> list[tuple[str, int]]:
    """The groups of adjacent columns, with their sizes; empty without any."""

    def group(column: Column) -> str:
        return column.group

    groups = [(name, len(list(columns))) for name, columns in groupby(table.columns[1:], group)]
    return groups if any(name for name, _ in groups) else []
