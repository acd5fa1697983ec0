"""Whether foreign text says a fact by chance: short values stand in any long text."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

from compactlab.reports.score.attribution import Attributed, Copy, count_words, words_of
from compactlab.sim.core.conversation import Fact
from compactlab.sim.core.message import Message, Part
from compactlab.sim.facts.evidence import Wording, normal

# Of a value that stands as often where it cannot be from, so many in a hundred texts of that length
# hold one: with more, finding it says nothing. And where it stands, so many in a hundred places of
# the original are as like the sentence as its origin. Chosen on half of the conversations of
# LoCoMo, see examples/validate_score.py; the first is the usual level of a test.
BY_CHANCE = 0.05
AS_LIKE = 0.02
_NEAR = 2  # messages on either side that are about the same
_SENTENCE = re.compile(r"(?<=[.!?]) +|[\r\n]+|(?<=[\u3002\uff01\uff1f])")


class Chance:
    """Compares what a context says of facts with what the original says elsewhere."""

    def __init__(self, original: Sequence[Message], context: Attributed) -> None:
        self._original = {message.id: place for place, message in enumerate(original)}
        self._texts = [
            "\n".join(part.text for part in message.parts if part.type != "thinking")
            for message in original
        ]
        view = context.view
        messages = (message for message in view.messages if message.id not in self._original)
        self._copies = context.copies
        self._parts = [p for p in view.system if p in context.copies]
        self._parts += [part for message in messages for part in message.parts]

    def explains(self, fact: Fact) -> bool:
        """Whether all that foreign text says of a fact is no more than chance.

        What was copied from the fact's origin is none, and what was copied from other messages says
        nothing of it. Of what is left, it is no chance if messages that do not state the fact say
        it too seldom for a text of that length, or if the sentence that says it is more like the
        messages around its origin than like others.
        """
        origin = {source.id for source in fact.origin}
        texts = []
        for part in self._parts:
            if any(source.id in origin for source in part.sources) and _states(part.text, fact):
                copies = self._copies.get(part, ())
                if any(_states(part.text[c.start : c.end], fact) for c in copies if c.ids & origin):
                    return False
                texts.append(_without(part, [c for c in copies if not c.ids & origin]))
        if not texts:
            return False
        said = [text for text in texts if _states(text, fact)]
        if not said:
            return True
        length = sum(map(count_words, texts))
        if self._expected(fact, origin, length) <= -math.log1p(-BY_CHANCE):
            return False
        sentences = (each for text in said for each in _SENTENCE.split(text))
        return all(
            self._as_like(each, fact, origin) > AS_LIKE for each in sentences if _states(each, fact)
        )

    def _expected(self, fact: Fact, origin: set[str], length: int) -> float:
        """How often a text of so many words says a fact if it does so as often as others do."""
        said = words = 0
        for id, place in self._original.items():
            if id not in origin:
                words += self._sizes[place]
                said += self._wordings[place].says(fact).stated
        return length * said / words if words else 0.0

    def _as_like(self, sentence: str, fact: Fact, origin: set[str]) -> float:
        """The share of places that are as like a sentence as the fact's origin, itself included.

        As alike as words, by their rarity, that are not of the fact.
        """
        known = words_of(normal(" ".join((fact.key, fact.value))))
        scores: dict[int, float] = defaultdict(float)
        for word in dict.fromkeys(words_of(normal(sentence))):
            if word not in known:
                for place in self._places[word]:
                    scores[place] += self._rarity[word]
        places = [self._original[id] for id in origin if id in self._original]
        mine = max((scores[place] for place in places), default=0.0)
        others = [
            place
            for place in range(len(self._texts))
            if all(abs(place - own) > 2 * _NEAR for own in places)
        ]
        return (1 + sum(scores[place] >= mine for place in others)) / (1 + len(others))

    @cached_property
    def _sizes(self) -> list[int]:
        return [*map(count_words, self._texts)]

    @cached_property
    def _wordings(self) -> list[Wording]:
        return [*map(Wording, self._texts)]

    @cached_property
    def _words(self) -> list[set[str]]:
        return [set(words_of(normal(text))) for text in self._texts]

    @cached_property
    def _rarity(self) -> dict[str, float]:
        """How rare words are: the logarithm of how many messages there are for each with it."""
        counts = Counter(word for words in self._words for word in words)
        # Rounded, as sums of the same numbers in another order are to be the same.
        return {word: round(math.log(len(self._words) / n), 6) for word, n in counts.items()}

    @cached_property
    def _places(self) -> dict[str, set[int]]:
        """By word: the messages that it stands in or near."""
        places: dict[str, set[int]] = defaultdict(set)
        last = len(self._words)
        for place, words in enumerate(self._words):
            for word in words:
                places[word].update(range(max(0, place - _NEAR), min(last, place + _NEAR + 1)))
        return places


def _states(text: str, fact: Fact) -> bool:
    return Wording(text).says(fact).stated


def _without(part: Part, copies: Sequence[Copy]) -> str:
    """A part's text without some of its copies; what stood around them does not grow together."""
    return " \u2026 ".join(_between(part.text, copies))


def _between(text: str, copies: Sequence[Copy]) -> Iterator[str]:
    start = 0
    for copy in copies:
        yield text[start : copy.start]
        start = copy.end
    yield text[start:]
