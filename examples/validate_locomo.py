"""Hold the states of facts against what is known of LoCoMo: which evidence a cut context keeps.

``python examples/validate_locomo.py FOLDER``, where FOLDER holds ``locomo/locomo10.json``. The
exit code is 1 if a bar is missed, and 2 if the file cannot be used.

What was decided before any figure was seen:

- *Rendering.* A turn is rendered as the reader does it (docs/formats.md): the text alone, without
  the speaker's name, and the caption of an image in brackets behind it.
- *Questions.* All that can be answered and whose evidence leads to a turn. Each counts once, over
  all conversations together. It is kept if all turns of its evidence are in the context whole:
  the state ``verbatim`` of its fact, at the call that closes the conversation.
- *The last tokens* are what ``trim_messages`` sends: the newest whole turns that have no more
  tokens together than the budget, in cl100k and by their texts alone. 4k are 4,000 tokens.
- *BM25 over turns* is the product's (``compactlab.sim.relevance``): words are runs of letters,
  digits and underscores in lower case, k1 is 1.2 and b 0.75, each conversation is a collection
  of its own, and of equals the earlier comes first. A turn's text is the rendered one; the
  question is the query.
- *Bars.* No figure is off by more than 8 points, and of two figures the larger is the one that is
  larger in the reference, where the reference has them more than 2 points apart: so close it is
  meant to be hit by other tokenizers and orders of ties. The categories are told, not judged.

The reference: section 9.5 of the project's notes on metrics, recomputed there from the same file.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from verdict import Verdict

from compactlab import CompactlabError, Conversation, View, find_strategy, read
from compactlab.scenarios.locomo import CLOSING
from compactlab.sim.errors import InputError
from compactlab.sim.facts import Ledger, Tracker, ledger_of, numbers
from compactlab.sim.metrics import Reading
from compactlab.sim.model import Catalogue
from compactlab.sim.relevance import ranked
from compactlab.sim.replay import record
from compactlab.sim.view import Messages

FOLDER = "../shared/recorded"
FILE = "locomo/locomo10.json"
# Percent of all questions, of single-hop and of multi-hop ones. By turns only of all.
TAILS = {
    4_000: (18.4, 21.9, 3.5),
    8_000: (35.4, 42.6, 8.9),
    12_000: (55.9, 64.8, 24.1),
    16_000: (75.5, 82.3, 52.8),
}
TOPS = {5: 46.1, 10: 54.3, 25: 63.1, 50: 70.5}
OFF, CLOSE = 8.0, 2.0
CATEGORIES = ("single-hop", "multi-hop", "temporal", "inference")
# Only its tokenizer matters: nothing is stored, and what it costs is not looked at.
MODELS = Catalogue.of(
    {
        "models": {
            "cl100k": {
                "window": 10_000_000,
                "encoding": "cl100k_base",
                "cache": "none",
                "prices": {"input": 1.0, "output": 1.0},
            }
        }
    }
)


@dataclass(frozen=True)
class Figure:
    """What was measured of a context: questions by category, those asked and those kept.

    Parameters
    ----------
    name
        The context.
    kept, asked
        How many questions of each category.
    reference
        Percent of all questions, and of those of the first categories.
    """

    name: str
    kept: Counter[str]
    asked: Counter[str]
    reference: tuple[float, ...]

    @property
    def percent(self) -> float:
        """Percent of all questions."""
        return 100 * self.kept.total() / self.asked.total()

    @property
    def off(self) -> float:
        """By how many points it is off."""
        return self.percent - self.reference[0]

    def categories(self) -> str:
        """Percent by category, beside the reference."""
        told = []
        for place, category in enumerate(CATEGORIES, 1):
            if self.asked[category]:
                percent = 100 * self.kept[category] / self.asked[category]
                known = self.reference[place : place + 1]
                beside = f" (reference {known[0]:.1f})" if known else ""
                told.append(f"{category} {percent:.1f}{beside}")
        return ", ".join(told)


def asked(ledger: Ledger) -> int:
    """The questions that a conversation closes with, as bits."""
    return ledger.moments[CLOSING].needed


def tail(conversation: Conversation, tokens: int) -> int:
    """The questions whose evidence is among the last tokens, as bits."""
    strategy = find_strategy(f"trim_messages(max_tokens={tokens}, token_counter='model')")
    trace = record(conversation, strategy, "cl100k", catalogue=MODELS)
    reading = Reading(trace, conversation)
    return reading.states[-1].verbatim & asked(reading.ledger)


def retrieved(conversation: Conversation, tops: Sequence[int]) -> list[int]:
    """The questions whose evidence is among the best turns for them, as bits, by how many turns."""
    ledger = ledger_of(conversation)
    tracker = Tracker(ledger)
    turns = [message for message in conversation.messages if message.id != CLOSING]
    texts = ["".join(part.text for part in turn.parts) for turn in turns]
    found = [0] * len(tops)
    for need in conversation.needs:
        question = asked(ledger) & 1 << ledger.number[need.fact]
        best = ranked(need.how, texts)
        for place, top in enumerate(tops):
            context = Messages(turns[turn] for turn in sorted(best[:top]))
            found[place] |= tracker.move(View((), context)).verbatim & question
    return found


def by_category(ledger: Ledger, questions: int) -> Counter[str]:
    """How many questions there are of each category, which the fact's id begins with."""
    ids = (ledger.facts[number].id for number in numbers(questions))
    return Counter(id.rpartition("-")[0] for id in ids)


def figures(
    conversations: Sequence[Conversation],
    tails: Mapping[int, tuple[float, ...]] = TAILS,
    tops: Mapping[int, float] = TOPS,
) -> Iterator[Figure]:
    """Measure all contexts, over all conversations."""
    names = [f"last {tokens:,} tokens" for tokens in tails] + [f"BM25, top {k}" for k in tops]
    kept: dict[str, Counter[str]] = {name: Counter() for name in names}
    whole: Counter[str] = Counter()
    for conversation in conversations:
        ledger = ledger_of(conversation)
        whole += by_category(ledger, asked(ledger))
        found = [tail(conversation, tokens) for tokens in tails]
        found += retrieved(conversation, list(tops))
        for name, questions in zip(names, found, strict=True):
            kept[name] += by_category(ledger, questions)
    references = [*tails.values(), *((reference,) for reference in tops.values())]
    for name, reference in zip(names, references, strict=True):
        yield Figure(name, kept[name], whole, reference)


def judge(found: Sequence[Figure], verdict: Verdict) -> None:
    """Hold the figures against the reference."""
    for each in found:
        text = f"{each.name}: {each.percent:.1f} %, reference {each.reference[0]:.1f} %"
        verdict.bar(f"{text}: {each.off:+.1f} points of {OFF:g}", abs(each.off) <= OFF)
        verdict.aside(each.categories())
    wrong, told = [], 0
    for one, other in combinations(found, 2):
        less, more = sorted((one, other), key=lambda figure: figure.reference[0])
        if more.reference[0] - less.reference[0] > CLOSE:
            told += 1
            if not less.percent < more.percent:
                wrong.append(f"{less.name} is not below {more.name}")
    text = f"order of {told} pairs that the reference has more than {CLOSE:g} points apart"
    verdict.bar("; ".join([text, *wrong]), not wrong)


def main(arguments: Sequence[str]) -> int:
    """Measure and judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(FOLDER))
    path = parser.parse_args(arguments).folder / FILE
    if not path.is_file():
        print(f"skipped: there is no {path}; name the folder of recordings")
        return 0
    try:
        conversations = list(read(path))
        if not any(c.needs for c in conversations if c.format == "locomo"):
            raise InputError("no question of LoCoMo in it has evidence", str(path))
    except CompactlabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    found = list(figures(conversations))
    dropped = sum(conversation.skipped for conversation in conversations)
    print(
        f"LoCoMo: {found[0].asked.total():,} questions with evidence in {len(conversations)} "
        f"conversations; {dropped} pieces of evidence lead to no turn"
    )
    print("rendering: a turn's text, without the speaker's name; [image: its caption] behind it")
    verdict = Verdict()
    judge(found, verdict)
    return verdict.code()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
