"""Whether external text states a fact by chance: any long text contains short values."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

from compactlab.sim.core.conversation import Fact
from compactlab.sim.core.message import Message, Part
from compactlab.sim.facts.attribution import Attributed, Copy, count_words, words_of
from compactlab.sim.facts.occurrences import normal
from compactlab.sim.facts.wording import Wording

# Levels at which a value is not chance. Few texts of that length contain it without its origin: at
# most the first share; or at most the second, if also at most the third share of positions in the
# original are as similar to its sentence as its origin. The first is the usual level of a test; the
# others were chosen on half of the conversations of LoCoMo, see examples/validate_score.py.
SELDOM, NOT_OFTEN, AS_LIKE = 0.05, 0.2, 0.01
_NEAR = 2  # messages on either side that count as the same position
_SENTENCE = re.compile(r"(?<=[.!?]) +|[\r\n]+|(?<=[\u3002\uff01\uff1f])")


class Chance:
    """Compares a context's statements about facts with those of the rest of the original."""

    def __init__(self, original: Sequence[Message], context: Attributed) -> None:
        self._original = {message.id: index for index, message in enumerate(original)}
        self._texts = [
            "\n".join(part.text for part in message.parts if part.type != "thinking")
            for message in original
        ]
        view = context.view
        messages = (message for message in view.messages if message.id not in self._original)
        parts = [part for part in view.system if part in context.copies]
        parts += [part for message in messages for part in message.parts]
        self._foreign = [(part, Wording(part.text), context.copies.get(part, ())) for part in parts]
        # For each message, the indices of the texts that may replace it.
        self._standing: dict[str, set[int]] = defaultdict(set)
        for index, part in enumerate(parts):
            for source in part.sources:
                self._standing[source.id].add(index)

    def explains(self, fact: Fact) -> bool:
        """Whether external text may state a fact only by chance.

        Copies of the fact's origin are not chance, and copies of other messages are ignored. Other
        statements are not chance if other messages state the fact too rarely for a text of that
        length; or if these do so fairly rarely, and the sentence is more similar to the messages
        around its origin than to others.
        """
        origin = {source.id for source in fact.origin}
        places = set().union(*(self._standing.get(id, ()) for id in origin))
        texts = []
        for part, wording, copies in (self._foreign[index] for index in sorted(places)):
            if not wording.says(fact).stated:
                continue
            if any(_states(part.text[c.start : c.end], fact) for c in copies if c.ids & origin):
                return False
            texts.append(_without(part, [c for c in copies if not c.ids & origin]))
        if not texts:
            return False
        said = [text for text in texts if _states(text, fact)]
        if not said:
            return True
        seldom, often = self._chance(fact, origin, sum(map(count_words, texts)))
        if seldom or often:
            return often
        sentences = (each for text in said for each in _SENTENCE.split(text))
        return all(
            self._as_like(each, fact, origin) > AS_LIKE for each in sentences if _states(each, fact)
        )

    def _chance(self, fact: Fact, origin: set[str], length: int) -> tuple[bool, bool]:
        """Whether texts of this length state a fact seldom, or often, at the rate of messages.

        By a Poisson process. If no other message states it, that counts as half a time; but not for
        a fact with a key (key and value seldom meet by chance), and not with too few messages.
        """
        others = [index for id, index in self._original.items() if id not in origin]
        words = sum(self._sizes[index] for index in others) / max(1, length)
        unseen = 0.0 if fact.key or len(self._texts) * AS_LIKE < 1 else 0.5
        most, times = -math.log1p(-NOT_OFTEN) * words, 0
        for index in others:
            times += self._wordings[index].says(fact).stated
            if times > most:
                return False, True
        return times + unseen <= -math.log1p(-SELDOM) * words, False

    def _as_like(self, sentence: str, fact: Fact, origin: set[str]) -> float:
        """The share of positions, with the origin, as similar to a sentence as the origin or more.

        Similarity is the sum of the rarities of common words that are not in the fact.
        """
        known = words_of(normal(" ".join((fact.key, fact.value))))
        scores: dict[int, float] = defaultdict(float)
        for word in dict.fromkeys(words_of(normal(sentence))):
            if word not in known:
                for index in self._places[word]:
                    scores[index] += self._rarity[word]
        places = [self._original[id] for id in origin if id in self._original]
        mine = max((scores[index] for index in places), default=0.0)
        others = [
            index
            for index in range(len(self._texts))
            if all(abs(index - own) > 2 * _NEAR for own in places)
        ]
        return (1 + sum(scores[index] >= mine for index in others)) / (1 + len(others))

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
        """The rarity of words: the log of the number of messages per message with the word."""
        counts = Counter(word for words in self._words for word in words)
        # Rounded, because sums of floats depend on their order.
        return {word: round(math.log(len(self._words) / n), 6) for word, n in counts.items()}

    @cached_property
    def _places(self) -> dict[str, set[int]]:
        """For each word, the messages that contain it or are near to one that does."""
        places: dict[str, set[int]] = defaultdict(set)
        last = len(self._words)
        for index, words in enumerate(self._words):
            for word in words:
                places[word].update(range(max(0, index - _NEAR), min(last, index + _NEAR + 1)))
        return places


def _states(text: str, fact: Fact) -> bool:
    return Wording(text).says(fact).stated


def _without(part: Part, copies: Sequence[Copy]) -> str:
    """A part's text without some of its copies; their surroundings stay separate."""
    return " \u2026 ".join(_between(part.text, copies))


def _between(text: str, copies: Sequence[Copy]) -> Iterator[str]:
    start = 0
    for copy in copies:
        yield text[start : copy.start]
        start = copy.end
    yield text[start:]
