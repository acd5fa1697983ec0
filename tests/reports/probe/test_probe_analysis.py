"""What is computed of a reader's answers, beside the same computed the long way."""

from fractions import Fraction
from math import isclose, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.reports.probe.conditions import CONDITIONS
from compactlab.reports.probe.recall import Mark, Outcome
from compactlab.reports.probe.recall_report import Findings, Group, agreement, mcc

MARKS = st.builds(Mark, st.sampled_from(["a", "b", " a", ""]), st.booleans(), st.none())


def judged(mark: Mark, says: dict[str, bool | None]) -> Mark:
    """Equal answers match equally and are judged equally."""
    answer = mark.answer.strip()
    return Mark(mark.answer, answer == "a", says[answer] if answer else None)


@st.composite
def outcomes(draw: st.DrawFn) -> list[Outcome]:
    """Questions under two strategies; with and without the fact, both have the same answers."""
    made: list[Outcome] = []
    draws = draw(st.integers(1, 3))
    answers = st.lists(MARKS, min_size=draws, max_size=draws).map(tuple)
    for index in range(draw(st.integers(1, 8))):
        controls = {name: draw(answers) for name in ("full", "without")}
        for strategy in ("one", "other"):
            marks = {**controls, **{name: draw(answers) for name in ("compacted", "restated")}}
            state = draw(st.sampled_from(["verbatim", "intact", "lost", "stale", "unknown"]))
            talk = f"c{index % 3}"
            made.append(
                Outcome(
                    talk, strategy, f"m{index}", "f", "goal", 0, state, "?", "a",
                    {name: marks[name] for name in CONDITIONS},
                )
            )  # fmt: skip
    return made


def mean(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def by_talk(some: list[Outcome], value: dict[int, Fraction]) -> Fraction:
    """The mean of conversations' means."""
    talks = sorted({o.conversation for o in some})
    return mean([mean([value[id(o)] for o in some if o.conversation == talk]) for talk in talks])


def share(outcome: Outcome, name: str) -> Fraction:
    marks = next(marks for condition, marks in outcome.marks.items() if condition == name)
    return Fraction(sum(mark.exact for mark in marks), len(marks))


@given(pairs=st.lists(st.tuples(st.booleans(), st.booleans())))
def test_mcc_is_the_correlation_of_two_columns_of_noughts_and_ones(pairs):
    found = mcc((predicted, float(came)) for predicted, came in pairs)
    xs, ys = [float(x) for x, _ in pairs], [float(y) for _, y in pairs]
    if len(set(xs)) < 2 or len(set(ys)) < 2:
        assert found is None
        return
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    covariance = sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True))
    spread = sqrt(sum((x - mx) ** 2 for x in xs) * sum((y - my) ** 2 for y in ys))
    assert found is not None
    assert isclose(found, covariance / spread, abs_tol=1e-9)


@given(pairs=st.lists(st.tuples(st.booleans(), st.integers(0, 4))))
def test_several_answers_to_a_question_count_as_that_many_rows(pairs):
    rows = [(p, float(n < hits)) for p, hits in pairs for n in range(4)]
    one, other = mcc((p, hits / 4) for p, hits in pairs), mcc(rows)
    assert one == other if one is None or other is None else isclose(one, other, abs_tol=1e-9)


@given(some=outcomes())
def test_assay_sensitivity_counts_each_question_once(some):
    half = some[::2]  # those of one strategy
    gain = {id(o): share(o, "full") - share(o, "without") for o in half}
    findings = Findings(some)
    assert findings.sensitivity is not None
    assert isclose(findings.sensitivity.value, by_talk(half, gain), abs_tol=1e-9)
    assert findings.weak == (findings.sensitivity.value < 0.2)


@given(some=outcomes())
def test_calibration_is_recalled_less_what_states_say_of_the_same_question(some):
    known = [o for o in some if o.state != "unknown"]
    group = Group("all", some)
    if not known:
        assert (group.off, group.predicted, group.kept, group.mcc) == (None, None, None, None)
        return
    kept = {id(o): Fraction(o.state in ("verbatim", "intact")) for o in known}
    predicted = {id(o): share(o, "full" if kept[id(o)] else "without") for o in known}
    recalled = {id(o): share(o, "compacted") for o in known}
    assert group.kept is not None
    assert group.off is not None
    assert isclose(group.kept.value, by_talk(known, kept), abs_tol=1e-9)
    off = by_talk(known, recalled) - by_talk(known, predicted)
    assert isclose(group.off, off, abs_tol=1e-9)


@given(some=outcomes(), data=st.data())
def test_agreement_of_a_judge_counts_each_different_answer_once(some, data):
    says = {word: data.draw(st.sampled_from([True, False, None])) for word in ("a", "b")}
    for o in some:
        object.__setattr__(
            o, "marks", {n: tuple(judged(m, says) for m in each) for n, each in o.marks.items()}
        )
    answers = {(o.call, m.answer.strip()) for o in some for each in o.marks.values() for m in each}
    rows = [(word == "a", says[word]) for _, word in answers if word]
    clear = [(exact, verdict) for exact, verdict in rows if verdict is not None]
    found = agreement(some)
    assert found.unclear == len(rows) - len(clear)
    assert found.answers == len(clear)
    same = sum(exact == verdict for exact, verdict in clear)
    assert found.same == same
    if not clear:
        assert (found.share, found.kappa) == (None, None)
        return
    n = len(clear)
    chance = Fraction(0)
    for value in (True, False):
        chance += Fraction(
            sum(e == value for e, _ in clear) * sum(v == value for _, v in clear), n * n
        )
    if chance == 1:
        assert found.kappa is None
    else:
        assert found.kappa == pytest.approx(float((Fraction(same, n) - chance) / (1 - chance)))
