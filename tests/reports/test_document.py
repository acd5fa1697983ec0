"""A report is said once, and each writer sets it in its own way."""

import re

import pytest
from inline_snapshot import snapshot

from compactlab.reports.charts.palette import COLOURS
from compactlab.reports.render import html, markdown, terminal
from compactlab.reports.render.document import (
    Cell,
    Chart,
    Code,
    Column,
    Document,
    Folded,
    Heading,
    Items,
    Sentence,
    Sentences,
    Table,
    Terms,
    name,
    rows,
    sentences,
    with_names,
)
from compactlab.reports.render.write import write_json
from tests.hostile import HOSTILE, inert
from tests.lines import lines_with
from tests.reports.spoken import folded

FIGURES = Table(
    (Column("strategy", words=True), Column("cost", rank=1, group="USD"), Column("calls")),
    rows([(name("cut(most=3)"), Cell("0.10", value=0.1), "7")]),
)
WHOLE = Document(
    (
        Heading("Title", level=1),
        sentences([f"{name('cut(most=3)')} is cheaper.", ""]),
        FIGURES,
        Chart("Drawn", "<svg></svg>"),
        Items(((Sentence("first"), Sentence("about it")),), numbered=True),
        Code(("make",)),
        Folded("more", (sentences(["last"], bullets=False),)),
        sentences([]),
    ),
    data=lambda: {"cost": 0.1},
)


def test_a_terminal_shows_all_but_drawings():
    assert folded(terminal.write(WHOLE)) == snapshot("""\
Title

cut(most=3) is cheaper.

               USD
strategy      cost   calls
──────────────────────────
cut(most=3)   0.10       7

  1  first
     about it

make

more

last\
""")


def test_markdown_has_names_as_code_and_folds_what_is_folded():
    assert folded(markdown.write(WHOLE)) == snapshot("""\
# Title

- `cut(most=3)` is cheaper.

| strategy | USD cost | calls |
| :-- | --: | --: |
| `cut(most=3)` | 0.10 | 7 |

1. first
   - about it

```
make
```

<details>
<summary>more</summary>

last

</details>\
""")


def test_json_is_the_data_and_nothing_else():
    assert write_json(WHOLE) == '{\n  "cost": 0.1\n}'


def test_columns_come_closer_before_one_is_left_out(monkeypatch):
    monkeypatch.setenv("COLUMNS", "24")
    lines = terminal.write(Document((FIGURES,))).splitlines()
    assert lines[-1] == "cut(most=3)  0.10      7"
    monkeypatch.setenv("COLUMNS", "23")
    narrow = terminal.write(Document((FIGURES,)))
    assert "0.10" not in narrow
    assert lines_with(narrow, "narrow") == snapshot("Too narrow for: USD cost.")


@pytest.mark.parametrize("kind", sorted(HOSTILE))
def test_a_name_is_harmless_everywhere(kind):
    text = HOSTILE[kind]
    lines = Sentences((Sentence(f"{name(text)} is cheaper."),))
    heads = (FIGURES.columns[0], Column(f"against {name(text)}"), *FIGURES.columns[2:])
    table = Table(heads, rows([(name(text), name(text), "7")]))
    folded = Folded(name(text), (lines,))
    heading = Heading(name(text), level=2)
    report = Document((Heading(name(text), level=1), lines, table, heading, folded))
    inert(html.write(report, COLOURS))
    for said in (terminal.write(report), markdown.write(report), html.write(report, COLOURS)):
        assert not any(ord(sign) < 32 and sign != "\n" for sign in said)


def test_a_page_has_drawings_and_folds_what_is_folded():
    page = html.write(WHOLE, COLOURS)
    assert "<title>Title</title>" in page
    assert "<svg></svg>" in page
    assert "cut(most=3) is cheaper." in page
    assert "<summary>more</summary>" in page
    assert page.count("<h1>") == page.count("<table") == 1


def test_a_name_cannot_end_its_mark():
    said = with_names(name("a\x03b\x02c"), "<{}>".format)
    assert said == "<a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c>"


def test_terms_stand_in_lines_and_on_a_page_in_a_list():
    report = Document((Heading("Title", 1), Terms(((name("cut(most=3)"), "the shortest"),))))
    assert terminal.write(report).splitlines()[-1] == snapshot("cut(most=3): the shortest")
    assert markdown.write(report).splitlines()[-1] == snapshot("- `cut(most=3)`: the shortest")
    page = html.write(report, COLOURS)
    assert "<dt>cut<wbr>(most=3)</dt><dd>the shortest</dd>" in page


def test_code_on_a_page_is_what_we_quote_and_never_what_a_name_does():
    said = sentences([f"Say `make` to {name('a`b')} and {name('c`d')}."])
    page = html.write(Document((Heading("Title", 1), said)), COLOURS)
    assert lines_with(page, "Say <code>make</code>") == snapshot(
        "<li>Say <code>make</code> to a`b and c`d.</li>"
    )


def test_a_page_names_its_parts_and_theirs():
    blocks = (Heading("One", 2, "one", "first"), Heading("Its table", 3, "one-table"), FIGURES)
    page = html.write(Document((Heading("Title", 1), *blocks, Heading("Two", 2))), COLOURS)
    assert re.findall(r'<a href="#([\w-]+)">([\w ]+)</a>', page) == [
        ("one", "first"), ("part-2", "Two"), ("one-table", "Its table"),
    ]  # fmt: skip
    assert re.findall(r'id="([\w-]+)"', page) == ["part-0", "one", "one-table", "part-2"]
    assert 'data-value="0.1"' in page
