"""What texts have from others: looked for cleverly, and by trying everything."""

import re
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from compactlab.sim.facts.attribution import LEAST, MOST, Place, aligned, count_words

Found = tuple[int, int, set[tuple[int, int, int]]]


def tokens(text: str) -> list[tuple[int, int]]:
    return [m.span() for m in re.finditer(r"\w+|[^\w\s]", text)]


def tried(known: list[str], asked: str, least: int) -> list[Found]:
    """Of all pieces that are free the best, again and again."""
    spans, free = tokens(asked), [True] * len(tokens(asked))
    found: list[Found] = []
    while True:
        best: tuple[tuple[int, int, int], int, int, set[tuple[int, int, int]]] | None = None
        for start in range(len(spans)):
            for stop in range(start + 1, len(spans) + 1):
                if not all(free[start:stop]):
                    break
                places = set(where(known, [asked[a:b] for a, b in spans[start:stop]]))
                if not places:
                    break
                words = sum(asked[a].isalnum() for a, _ in spans[start:stop])
                rank = (-words, start - stop, start)
                if words >= least and (best is None or rank < best[0]):
                    best = rank, start, stop, places
        if best is None:
            return sorted(found, key=lambda each: each[:2])
        _, start, stop, places = best
        free[start:stop] = [False] * (stop - start)
        found.append((spans[start][0], spans[stop - 1][1], places))


def where(known: list[str], wanted: list[str]) -> list[tuple[int, int, int]]:
    found = []
    for number, text in enumerate(known):
        spans = tokens(text)
        for first in range(len(spans) - len(wanted) + 1):
            piece = spans[first : first + len(wanted)]
            if [text[a:b] for a, b in piece] == wanted:
                found.append((number, piece[0][0], piece[-1][1]))
    return found


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_runs_are_those_that_one_finds_by_trying_everything(seed):
    draw = Random(seed)

    def text() -> str:
        words = draw.choices(["a", "b", "c", "dd", ",", "b,", "(a)"], k=draw.randint(0, 12))
        return draw.choice([" ", "\n", "  "]).join(words)

    known = [text() for _ in range(draw.randint(0, 3))]
    asked = [text() for _ in range(draw.randint(0, 2))]
    least = draw.randint(1, 4)
    found = [
        [(r.start, r.end, set(map(tuple, r.places))) for r in each]
        for each in aligned(known, asked, least)
    ]
    assert found == [tried(known, each, least) for each in asked]


WORDS = "the deploy target of the second service is eu west three and nothing else counts"


def test_a_run_of_eight_words_is_found_whatever_the_blanks_are():
    said = f"Well: {WORDS}. Good?"
    broken = "\n".join(WORDS.split())
    (runs,) = aligned(["Hello.", said], [f"Summary\n{broken} !"])
    assert [(run.words, run.places) for run in runs] == [(15, (Place(1, 6, 6 + len(WORDS)),))]
    assert runs[0].start == 8


def test_seven_words_are_none():
    eight = " ".join(WORDS.split()[:LEAST])
    assert len(aligned([WORDS], [f"x {eight} x"])[0]) == 1
    assert aligned([WORDS], [f"x {eight.rpartition(' ')[0]} x"]) == [[]]


def test_a_run_does_not_go_on_from_one_text_to_the_next():
    first, second = WORDS[:40], WORDS[40:]
    (runs,) = aligned([first, second], [WORDS], least=3)
    assert [{place.text for place in run.places} for run in runs] == [{0}, {1}]


def test_all_places_are_told_as_long_as_they_are_few():
    (runs,) = aligned([WORDS, "x", WORDS], [WORDS])
    assert [place.text for place in runs[0].places] == [0, 2]
    (runs,) = aligned([WORDS] * 500, [WORDS])
    assert len(runs[0].places) == MOST


def test_scripts_without_blanks_are_read_sign_by_sign():
    said = "\u8fd9\u662f\u4e00\u4e2a\u957f\u53e5\u5b50\u3002\u7b2c\u4e8c\u53e5\u8bdd"
    (runs,) = aligned([f"x{said}y"], [said])
    assert [(run.start, run.end) for run in runs] == [(0, len(said))]


def test_words_are_counted_and_signs_are_not():
    assert count_words("") == count_words("... --- !") == 0
    assert count_words("a, b: c_d e-f") == 5


def test_nothing_has_nothing_from_anybody():
    assert aligned([], []) == []
    assert aligned([], ["a b c d e f g h i"]) == [[]]
    assert aligned(["", "?"], ["", "a b"]) == [[], []]


def test_what_repeats_itself_all_over_is_soon_done():
    known, asked = "x y " * 100 + "z", "x y " * 20_000
    (runs,) = aligned([known], [asked])
    assert len(runs) == 200
    assert sum(run.words for run in runs) == 40_000
