"""Texts that want to be more than texts, files that hold them everywhere, and who finds them out.

Each text of the corpus would do something if an output took it for what it looks like. The
functions at the end fail where one could: they are asked of whatever the tool writes.
"""

import base64
import csv
import hashlib
import json
import re
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

from compactlab.scenarios.readers import native
from compactlab.sim.core.conversation import Conversation, Fact, Need, PassedOver, SideRequest
from compactlab.sim.core.message import Call, Message, Source, Usage, verbatim

# What a script would do; it stands in all that could run one.
DEED = "alert(1)"

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "image": "</title></style></script><img src=x onerror=alert(1)>",
    "drawing": "<svg/onload=alert(1)><a xlink:href='javascript:alert(1)'>",
    "comment": "<!-- --><metadata><![CDATA[ x ]]>",
    "attribute": '" onmouseover="alert(1)" style="background:url(https://evil.example/x)',
    "apostrophe": "' autofocus onfocus='alert(1)",
    "scheme": "javascript:alert(1)//data:text/html;base64,PHNjcmlwdD4=",
    "template": "{{7*7}}{% raw %}${7*7}{# #}{{ config.__class__ }}",
    "formatted": "%s%n%(x)s{0.__class__}$(reboot)`reboot`${IFS}",
    "mathematics": "$x^2$ & \\frac{1}{2} $\\frac$ $_",
    "drawn": 'a d="1.23456" style="font-family: x; fill: #0072b2" xlink:href="x"',
    "variable": "var(--ink) var(--nothing) \\1 \\g<0> \\q",
    "colours": "\x1b[31mred\x1b[2J\x1b[1;1H\x9b2J",
    "terminal": "\x1b]0;title\x07\x1b]52;c;cm0gLXJm\x07\x1b]8;;https://evil.example\x1b\\x\x1b]8;;\x1b\\",
    "direction": "\u202egnp.exe\u2066\u200f\u061c\ufeff\u200b\u2060",
    "controls": "nul\x00 bell\x07 back\b\x7f new\nline\r\ttab \x85 \u2028 \u2029 \ufffe",
    "halves": "\ud800 and \udfff",
    "cells": "pipe | pipe \\| `tick` `` ~~~",
    "links": "[click](http://evil.example) ![x](https://evil.example/x.png) @all #1 <http://evil.example>",
    "heading": "\n# heading\n- item\n\n    code\n***\n",
    "commands": "::error::x\n::stop-commands::y\n  ::add-mask::z\n##[set-env]a",
    "inline commands": "##vso[task.setvariable variable=a]b ##teamcity[x]",
    "formula": "=cmd|' /C calc'!A0",
    "formulas": "@SUM(A1)\n+1+1\n-1-1;=1+1",
    "toml": "'''\"\"\"\n[models.x]\nprice = \\",
    "sql": "'; DROP TABLE runs; --",
    "json": '"},{"x":"\\u0000',
    "prototype": "__proto__ constructor [link=https://evil.example]x[/link] [bold]b[/]",
    "path": "../../../etc/passwd",
    "wide": "漢字 العربية 🙂 é Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319",
    "long": "x" * 300,
}

EVERYTHING = "\n".join(HOSTILE.values())


def conversation(text: str, number: int, reply: str = "ok") -> Conversation:
    """A short session of an agent in which a text stands wherever one can."""

    def said(id: str, *parts: tuple[str, str], model: str = "claude-sonnet-4-5") -> Message:
        role = "assistant" if id.startswith("a") else "tool" if id.startswith("t") else "user"
        made = tuple(
            verbatim(f"{text}{id}", kind, words, call_id="c", name=text if kind != "text" else "")
            for kind, words in parts
        )
        usage = Usage(uncached=10, cache_write_5m=250 * int(id[1:]), output=20)
        call = Call(model, usage, version=text, thinking=text) if role == "assistant" else None
        time = 1_760_000_000.0 + 60 * number + int(id[1:])
        return Message(f"{text}{id}", role, made, time, call=call)

    events = [
        said("u1", ("text", f"the key of {text} is {number}-value {reply}")),
        said("a2", ("text", text), ("tool_call", json.dumps({"path": text}))),
        said("t3", ("tool_result", f"{text}\n{number}-value\n" * 9)),
        said("a4", ("text", f"{text}: {number}-value")),
    ]
    for turn in range(5, 15, 2):
        events += [
            said(f"u{turn}", ("text", f"{text} and on")),
            said(f"a{turn + 1}", ("text", text)),
        ]
    fact = Fact(text, "tool_detail", text, f"{number}-value", (Source(f"{text}u1"),))
    need = Need(text, f"{text}a14", text)
    beside = SideRequest(text, Call("claude-sonnet-4-5", Usage(9), id=text), searches=1)
    return Conversation(
        text,
        "native",
        tuple(events),
        facts=(fact,),
        needs=(need,),
        project=text,
        parent=text,
        side_requests=(beside,),
        passed_over=(PassedOver(text, 1, 9, 3),),
    )


def files(folder: Path) -> None:
    """Write a conversation for every text, some into files that are called so, and a bad file."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = list(enumerate(HOSTILE.values()))
    with (folder / "all.jsonl").open("wb") as stream:
        for number, text in listed:
            native.write(conversation(whole(text), number), stream)
    for number, text in listed[::6]:
        native.write(conversation(whole(text), number), folder / f"{as_name(text)}.jsonl")
    lines = [{"type": "conversation", "version": 1, "id": "bad"}, {"type": whole(EVERYTHING)}]
    (folder / f"{as_name(HOSTILE['script'])}-bad.jsonl").write_text(
        "\n".join(map(json.dumps, lines)), encoding="utf-8"
    )


def whole(text: str) -> str:
    """A text as UTF-8 can hold it."""
    return text.encode("utf-8", "replace").decode()


def as_name(text: str) -> str:
    """A text as a file may be called."""
    return whole(text).replace("/", "_").replace("\0", "_")[:80]


# Who finds out.

_POWER = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_EMPTY = {"meta", "br", "img", "link", "input", "hr", "col", "wbr"}
_NEVER = {"img", "iframe", "object", "embed", "link", "base", "form", "image", "audio", "video"}
_NEVER |= {"foreignobject", "animate", "set", "frame", "frameset", "applet", "metadata"}


def quiet(text: str) -> None:
    """Nothing in it has power over a terminal or over whoever runs a pipeline."""
    assert not (found := _POWER.search(text)), (found[0], text[max(0, found.start() - 60) :][:90])
    for line in text.splitlines():
        assert not line.lstrip().startswith("::"), line
        assert not re.search(r"##\w*\[", line), line


def in_code(markdown: str) -> None:
    """Foreign text stands in code spans, and tables keep their columns."""
    quiet(markdown)
    assert not re.search(r"^( {4}|\t|```|~~~)", markdown, re.MULTILINE)
    outside = "\n".join(_CODE.sub("", line) for line in markdown.splitlines())
    for mark in (DEED, "evil", "onerror", "](", "://", "{{", "$(", "@all", "`"):
        assert mark not in outside, outside[max(0, outside.index(mark) - 80) :][:160]
    assert not re.search(r"<(?!/?(?:details|summary)>)[a-zA-Z/!]", outside)
    for table in re.findall(r"(?:^\|.*\n?)+", markdown, flags=re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1, table


def no_formula(text: str) -> None:
    """No cell of a spreadsheet is one, and no line of it is a command."""
    text.encode()
    for row in csv.reader(StringIO(text)):
        for cell in row:
            assert cell[:1] not in tuple("=+@\t\r\n") or is_number(cell), cell
            assert not cell.startswith("-") or is_number(cell), cell
            assert not _POWER.search(cell), cell
    no_command(text)


def no_command(text: str) -> None:
    """No runner of a pipeline finds a command in a log that holds it."""
    assert not (found := re.search(r"^\s*::|##\w*\[", text, re.MULTILINE)), found


def is_number(cell: str) -> bool:
    return re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", cell) is not None


def strict(text: str) -> object:
    """JSON that every reader takes, in ASCII."""
    assert text.isascii()

    def refuse(name: str) -> object:
        raise AssertionError(name)

    return json.loads(text, parse_constant=refuse)


class _Page(HTMLParser):
    def __init__(self, policy: str = "") -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.referred: set[str] = set()
        self.text = ""
        self.policy = ""
        self.scripts: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.look(tag, dict(attrs))
        if tag not in _EMPTY:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append((dict(attrs).get("type") or "", ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.look(tag, dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            kind, before = self.scripts.pop()
            self.scripts.append((kind, before + data))
        elif self.open and self.open[-1] == "style":
            assert DEED not in data
            assert "evil" not in data
        else:
            self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def look(self, tag: str, attrs: dict[str, str | None]) -> None:
        assert tag not in _NEVER
        if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy":
            self.policy = attrs["content"] or ""
        for name, value in attrs.items():
            assert not name.startswith("on"), (tag, name)
            assert name not in {"src", "srcset", "xlink:href", "action", "srcdoc"}, (tag, name)
            assert name != "href" or (value or "").startswith("#"), (tag, value)
            if name in {"style", "clip-path", "fill"}:
                assert "evil" not in (value or "")
                links = re.findall(r"url\(([^)]*)\)", value or "")
                assert all(link.startswith("#") for link in links)
                self.referred.update(link[1:] for link in links)
            if name == "href":
                self.referred.add((value or "")[1:])
            if name == "id":
                self.ids.append(value or "")


def inert(page: str) -> str:
    """A page of which nothing is fetched, and run only what its policy names; its text."""
    page.encode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
    parser = _Page()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))
    assert parser.referred <= set(parser.ids)
    assert "default-src 'none'" in parser.policy
    assert not re.search(r"unsafe-eval|https?:|\*|script-src[^;]*unsafe", parser.policy)
    told = ""
    for kind, content in parser.scripts:
        if kind == "application/json":
            told += json.dumps(json.loads(content), ensure_ascii=False)
            continue
        assert DEED not in content
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in parser.policy
    return parser.text + told


def inert_drawing(svg: str) -> None:
    """A drawing in which nothing runs and nothing leads out of it."""
    for element in ElementTree.fromstring(svg).iter():
        tag = str(element.tag).rpartition("}")[2].lower()
        assert tag not in {"script", "foreignobject", "image", "a", "animate", "set"}
        for name, value in element.attrib.items():
            bare = name.rpartition("}")[2].lower()
            assert not bare.startswith("on")
            assert bare != "href" or value.startswith("#")
            assert all(link.startswith("#") for link in re.findall(r"url\(([^)]*)\)", value))
