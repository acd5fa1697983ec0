"""Compare what our reader of facts sees in real summaries with what a model answered from them.

``python examples/validate_answers.py [FOLDER]``: FOLDER holds ``native-vs-text`` and
``product-defaults`` (fixtures with questions, and trials with summaries and graded answers). If it
holds neither, the folder ``answers`` beside it is looked at. The exit code is 1 if a bar is missed,
and 2 if a file cannot be used.

- *Facts.* Each question asks for a record of the history. It is labelled as a fact, once by its
  value alone, and once with the key that the question names ("What is the database port?" gives
  ``database port``; "exact", "final" and the like are left out). A key is made from the question,
  never from a summary.
- *Seen as kept.* A fact that is verbatim or intact in the prompt that the model answered from: the
  summary, and with pi the messages that it retained. The tracker says so that judges a replay.
- *Answered.* The exact answer was given. A model may guess, and may fail to find what is there.
- *Halves.* Rules of the reader may be made on ``fixture-01`` and on seed 301. The others judge.
- *Bars*, on the half that is judged, for each kind of summary, both without and with keys: of the
  facts that were answered, at least 85 % are seen as kept; of the others, at most 8 %. They are
  those of issue 40 for pairs of states, and were fixed before anything was measured here.

One model (gpt-5.6-sol) wrote and answered, one author made the histories. Nothing is fitted to it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from validate_score import mcc
from verdict import Verdict

from compactlab import CompactlabError, Conversation
from compactlab.sim.core.conversation import Fact
from compactlab.sim.core.errors import InputError
from compactlab.sim.core.message import Message, Part, Role, Source, verbatim
from compactlab.sim.facts import Tracker
from compactlab.sim.facts.ledger import ledger_of
from compactlab.sim.facts.occurrences import normal, occurrences

FOLDER = "../shared/answers"
TEXT, PRODUCT = "native-vs-text", "product-defaults"
MADE_ON = re.compile(r"fixture-01|.*-s301-.*")
SEEN, FALSE = 0.85, 0.08
LABELS = ("by value", "with keys")
# What a question asks for, as the key of a fact.
KEYS = {
    r"Which component does (\S+) directly depend on": "{0}",
    r"In which region is (\S+) deployed": "{0} region",
    r"Who does (\S+) report to": "{0} reports to",
    r"Who was the (?:exact )?(.+)": "{0}",
    r"Who is the final (owner) after transfer": "{0}",
    r"What (\S+) value did the read tool return": "{0}",
    r"What exact (test) name (failed)": "{1} {0}",
    r"Which (symbol) did the edit tool (modify)": "{1} {0}",
    r"What exact (row count) did the database query return": "{0}",
    r"What (release ID) did the deploy dry-run create": "{0}",
    r"Which (task) is (.+)": "{1} {0}",
    r"What exact (blocker) prevents cutover": "{0}",
    r"Where does (\S+) route directly": "{0}",
    r"What .*output value did (\S+) return": "{0}",
    r"What is the .*(?:value|checkpoint|state) (?:of|for) (\S+)": "{0}",
    r"What is the (?:(?:exact|canonical|immediate|final|authoritative) )*(.+)": "{0}",
}

Row = tuple[bool, bool]  # whether it is seen as kept, and whether it was answered


@dataclass(frozen=True)
class Record:
    """A question, as a fact by its value alone and with its key."""

    category: str
    by_value: Fact
    with_keys: Fact


@dataclass(frozen=True)
class History:
    """What was compacted, and what is asked about it."""

    messages: tuple[Message, ...]
    records: Mapping[str, Record]


@dataclass(frozen=True)
class Graded:
    """A record in a prompt: how we see it, and whether it was answered."""

    fixture: str
    summaries: str  # their kind
    record: Record
    states: tuple[str, str]  # by value, with keys
    answered: bool
    text: str  # the summary

    def row(self, label: int) -> Row:
        """Whether it is seen as kept, and whether it was answered."""
        return self.states[label] in ("verbatim", "intact"), self.answered

    @property
    def made_on(self) -> bool:
        """Whether rules may be made on it."""
        return MADE_ON.fullmatch(self.fixture) is not None


def key_of(question: str) -> str:
    """The key of what a question asks for.

    Examples
    --------
    >>> key_of("What exact output value did probe-1-3 return?"), key_of("Which task is done?")
    ('probe-1-3', 'done task')
    """
    asked = question.partition("?")[0]
    for pattern, key in KEYS.items():
        if match := re.fullmatch(pattern, asked):
            return key.format(*match.groups())
    raise InputError(f"it is not known what {question!r} asks for", "")


def history_of(fixture: Mapping[str, Any]) -> History:
    """A fixture as messages and records."""
    messages = tuple(
        _message(f"m{place}", entry)
        for place, entry in enumerate(fixture.get("history") or fixture["messages"])
    )
    texts = {message.id: normal(message.text) for message in messages}
    records = {}
    for question in fixture["questions"]:
        key, value = key_of(question["question"]), question["expected"]
        identifier = re.search(r"\S+-\d\S*", key)
        named = normal(identifier[0]) if identifier else ""
        origin = tuple(
            Source(id)
            for id, text in texts.items()
            if named in text and any(occurrences(text, normal(value)))
        )
        facts = (Fact(question["id"], "entity", name, value, origin) for name in ("", key))
        records[question["id"]] = Record(question["category"], *facts)
    return History(messages, records)


def _message(id: str, entry: Mapping[str, Any]) -> Message:
    role: Role = "assistant" if entry.get("role") == "assistant" else "user"
    said = entry.get("content") or entry.get("output") or entry.get("arguments") or ""
    if not isinstance(said, str):
        said = "\n".join(part.get("text") or json.dumps(part) for part in said)
    return Message(id, role, (verbatim(id, "text", said),))


def states(
    history: History, facts: Sequence[Fact], summary: str, summarized: int | None = None
) -> list[str]:
    """The states of facts where a summary stands for the first messages, or for all."""
    gone = history.messages[:summarized]
    retained = () if summarized is None else history.messages[summarized:]
    part = Part("text", summary, "summary", tuple(Source(message.id) for message in gone))
    conversation = Conversation("c", "native", history.messages, facts=tuple(facts))
    tracker = Tracker(ledger_of(conversation))
    found = tracker.change((), (Message("summary", "user", (part,)), *retained), ())
    return [found.of(number) for number in range(len(facts))]


def graded(
    kind: str,
    histories: Mapping[str, History],
    trials: Iterable[Mapping[str, Any]],
    summary: Callable[[Mapping[str, Any]], tuple[str, int | None]],
    scores: Callable[[Mapping[str, Any]], Iterable[Mapping[str, Any]]],
) -> Iterator[Graded]:
    """All records of all summaries of a kind."""
    for trial in trials:
        history = histories[trial["fixtureId"]]
        text, summarized = summary(trial)
        answered = {score["questionId"]: score["correct"] for score in scores(trial)}
        known = history.records.values()
        by_value = states(history, [record.by_value for record in known], text, summarized)
        with_keys = states(history, [record.with_keys for record in known], text, summarized)
        for (id, record), *pair in zip(history.records.items(), by_value, with_keys, strict=True):
            yield Graded(trial["fixtureId"], kind, record, (pair[0], pair[1]), answered[id], text)


def read_all(folder: Path) -> list[Graded]:
    """All graded answers of a folder."""
    texts, product = folder / TEXT, folder / PRODUCT
    found = list(
        graded(
            "text",
            _histories(texts),
            _lines(texts / "trials.jsonl"),
            lambda trial: (trial["textSummary"]["text"], None),
            lambda trial: trial["evaluations"]["text_summary"]["scores"],
        )
    )
    found += graded(
        "dense text",
        _histories(texts),
        _lines(texts / "dense-text-trials.jsonl"),
        lambda trial: (trial["summary"]["text"], None),
        lambda trial: trial["evaluation"]["scores"],
    )
    found += graded(
        "pi",
        _histories(product),
        _lines(product / "trials.jsonl"),
        lambda trial: (trial["piDefault"]["summary"], trial["piDefault"]["summarizedMessageCount"]),
        lambda trial: trial["evaluations"]["pi_default"]["scores"],
    )
    return found


def _histories(folder: Path) -> dict[str, History]:
    fixtures = json.loads((folder / "fixtures.json").read_text("utf-8"))
    return {fixture["id"]: history_of(fixture) for fixture in fixtures}


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def written(answer: Graded) -> str:
    """How the summary writes a record, as far as its looks tell."""
    key, value = answer.record.with_keys.key, normal(answer.record.with_keys.value)
    lines = [normal(line) for line in answer.text.splitlines()]
    holding = [line for line in lines if value in line]
    if not holding:
        tail = re.split(r"[-/:]", value)[-1]
        there = len(tail) > 5 and any(tail in line for line in lines)
        return "the value without its common part" if there else "the value is not there"
    named = [line for line in holding if normal(key) in line]
    if not named:
        number = re.search(r"\d+$", key)
        short = number and any(re.search(rf"(?<!\d){number[0]}(?!\d)", line) for line in holding)
        return "the number alone, its prefix said elsewhere" if short else "the key is not beside"
    for looks, way in (
        (r"^\|.*\|$", "a table"),
        (rf"{re.escape(normal(key))}\W*(?:->|=>|→)", "an arrow"),
        (rf"{re.escape(normal(key))}\s*[=:]", "key=value"),
    ):
        if any(re.search(looks, line) for line in named):
            return way
    return "in one line"


def figures(rows: Sequence[Row]) -> tuple[float, float, float]:
    """Of those that were answered, the share seen as kept; of the others; and MCC."""
    right, wrong = ([seen for seen, was in rows if was == which] for which in (True, False))
    return _share(right), _share(wrong), mcc(rows)


def _share(seen: Sequence[bool]) -> float:
    return sum(seen) / len(seen) if seen else float("nan")


def table(answers: Sequence[Graded]) -> Iterator[str]:
    """Figures by kind of summary and category."""
    yield f"{'':36}{'n':>5}{'answered':>10}" + "".join(
        f"{head:>13}" for label in LABELS for head in (f"{label}: seen", "false", "MCC")
    )
    groups: dict[str, list[Graded]] = defaultdict(list)
    for answer in answers:
        groups[answer.summaries].append(answer)
    for answer in answers:
        groups[f"{answer.summaries}, {answer.record.category}"].append(answer)
    for name, group in groups.items():
        cells = ""
        for label in range(len(LABELS)):
            seen, false, both = figures([answer.row(label) for answer in group])
            cells += f"{seen:13.0%}{false:13.0%}{both:13.2f}"
        count = sum(answer.answered for answer in group)
        yield f"{name:36}{len(group):5}{count:10}{cells}"


def errors(answers: Sequence[Graded], label: int, *, examples: bool) -> Iterator[str]:
    """What is missed and what is seen falsely, by how it is written, the most frequent first."""
    for answered, what in ((True, "answered, not seen"), (False, "seen, not answered")):
        wrong = [a for a in answers if a.answered == answered and a.row(label)[0] != answered]
        counts = Counter(written(answer) for answer in wrong)
        yield f"  {LABELS[label]}, {what}: {len(wrong)}"
        for way, count in counts.most_common():
            yield f"    {count:4}  {way}"
            if examples:
                first = next(answer for answer in wrong if written(answer) == way)
                fact = first.record.with_keys
                told = f"{fact.key} = {fact.value}"
                yield f"          e.g. {first.summaries}, {first.states[label]}: {told}"


def judge(answers: Sequence[Graded], verdict: Verdict) -> None:
    """Hold the figures of one half against the bars."""
    for kind in dict.fromkeys(answer.summaries for answer in answers):
        for label, name in enumerate(LABELS):
            rows = [answer.row(label) for answer in answers if answer.summaries == kind]
            seen, false, both = figures(rows)
            text = f"{kind}, {name}"
            verdict.bar(f"{text}: answered, seen as kept {seen:.1%}, {SEEN:.0%}", seen >= SEEN)
            verdict.bar(f"{text}: not answered, seen {false:.1%}, {FALSE:.0%}", false <= FALSE)
            verdict.aside(f"MCC {both:.2f}")


def main(arguments: Sequence[str]) -> int:
    """Measure and judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(FOLDER))
    folder = parser.parse_args(arguments).folder
    if not (folder / TEXT).is_dir():
        folder = folder.parent / "answers"
    if not ((folder / TEXT).is_dir() and (folder / PRODUCT).is_dir()):
        print(f"skipped: there is no {folder} with {TEXT} and {PRODUCT}; name the folder")
        return 0
    try:
        answers = read_all(folder)
    except (CompactlabError, OSError, ValueError, KeyError) as error:
        print(f"error: {folder}: {error!r}", file=sys.stderr)
        return 2
    halves = [[a for a in answers if a.made_on == which] for which in (True, False)]
    verdict = Verdict()
    verdict.basis(
        "nothing; rules of the reader may be made on fixture-01 and seed 301",
        f"the other fixtures, {len(halves[1]):,} answers",
    )
    for half, name in zip(halves, ("rules may be made on it", "left out"), strict=True):
        print(f"\n{name}:", *table(half), sep="\n")
        for label in range(len(LABELS)):
            print(*errors(half, label, examples=name != "left out"), sep="\n")
    print()
    judge(halves[1], verdict)
    return verdict.code()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
