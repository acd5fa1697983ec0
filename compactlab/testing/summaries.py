"""The contract of a summariser, as checks that anyone can run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import UsageError
from compactlab.sim.core.message import Message, Part, Source
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.replay.summarize import Count, Summarizer, SummaryRequest, TurnRequest
from compactlab.strategies.summarizers.catalogue import SUMMARIZERS
from compactlab.testing.contract import Violation, Violations, fault_of_spec
from compactlab.testing.drawn import draw

_BUDGETS = (0, 20, 400, 4000)
_MOST = 60  # most messages of a conversation: the check must take seconds


def check_summarizer(
    summarizer: Summarizer, conversations: int = 20, *, seed: int = 0
) -> list[Violation]:
    """Check a summariser against the contract, over random conversations.

    Each is summarised in two halves, the second as an update of the first summary, and a third time
    with nothing new. Budgets go down to zero.

    Parameters
    ----------
    summarizer
        The summariser.
    conversations
        The number of random conversations. The first dozen are extremes.
    seed
        The seed of the random conversations.

    Returns
    -------
    list of Violation
        One for each violated rule; empty if there is none.

    Raises
    ------
    UsageError
        If it is a class, or not a frozen dataclass.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Shout(Summarizer):
    ...     def summarize(self, request, count):
    ...         return (Part("text", "THIS IS IMPORTANT!", "synthetic", ()),)
    >>> [broken.rule for broken in check_summarizer(Shout())]
    ['budget', 'nothing', 'provenance']
    """
    if isinstance(summarizer, type):
        raise UsageError(
            f"{summarizer.__name__} is a class: check an instance, {summarizer.__name__}()"
        )
    SUMMARIZERS.check(type(summarizer).__name__, type(summarizer))
    battery = _Battery(summarizer)
    if fault := fault_of_spec("summariser", summarizer):
        battery.broken("spec", fault)
    for number in range(conversations):
        battery.violations.number = number
        try:
            battery.check_conversation(draw(number, seed)[0], seed)
        except Exception as error:
            # Any exception is a violation; the other conversations still follow.
            battery.broken("survives", f"{type(error).__name__}: {error}")
    return battery.violations.listed()


@dataclass
class _Battery:
    summarizer: Summarizer
    violations: Violations = field(default_factory=Violations)

    def check_conversation(self, conversation: Conversation, seed: int) -> None:
        """Summarise a conversation twice, and take an extra turn."""
        count = Tokenizer().text
        for budget in _BUDGETS:
            made = list(_rounds(self.summarizer.bound(conversation, seed), conversation, budget))
            again = list(_rounds(self.summarizer.bound(conversation, seed), conversation, budget))
            if [parts for _, parts in made] != [parts for _, parts in again]:
                self.broken("repeatable", "the same request has another answer")
            for request, parts in made:
                self._judge(request, parts, count)
            bound = self.summarizer.bound(conversation, seed)
            messages = conversation.messages[:_MOST]
            written = bound.write(messages, TurnRequest("Note it.", max_tokens=budget), count)
            self._judge_budget([item.text for item in written.items], budget, count)
            self._judge_sources([(item.text, item.sources) for item in written.items], messages)

    def _judge(self, request: SummaryRequest, parts: tuple[Part, ...], count: Count) -> None:
        if any(part.type != "text" or not part.text for part in parts):
            self.broken("provenance", "a part is not text")
        if any(part.kind not in ("summary", "verbatim") for part in parts):
            self.broken("provenance", "a part is neither a summary nor verbatim")
        said = [part for message in request.messages for part in message.parts]
        if not any(part.sources for part in (*request.previous, *said)) and parts:
            self.broken("nothing", "it summarises where there is nothing to summarise")
        self._judge_budget([part.text for part in parts], request.max_tokens, count)
        before = tuple(source for part in request.previous for source in part.sources)
        self._judge_sources([(p.text, p.sources) for p in parts], request.messages, before)

    def _judge_budget(self, texts: Sequence[str], most: int, count: Count) -> None:
        tokens = sum(map(count, texts))
        if tokens > most:
            self.broken("budget", f"{tokens} tokens where {most} are allowed")

    def _judge_sources(
        self,
        told: Sequence[tuple[str, tuple[Source, ...]]],
        messages: Sequence[Message],
        before: tuple[Source, ...] = (),
    ) -> None:
        given = {message.id for message in messages} | {source.id for source in before}
        given |= {s.id for message in messages for part in message.parts for s in part.sources}
        for _, sources in told:
            if not sources:
                self.broken("provenance", "a part has no sources")
            elif not {source.id for source in sources} <= given:
                self.broken("provenance", "a part stands for a message that it was not given")

    def broken(self, rule: str, what: str) -> None:
        """Record a violation."""
        self.violations.add(self.summarizer.spec, rule, what)


def _rounds(
    summarizer: Summarizer, conversation: Conversation, budget: int
) -> Iterator[tuple[SummaryRequest, tuple[Part, ...]]]:
    """Summarise the first half, then the second as an update, then nothing new."""
    messages = conversation.messages[:_MOST]
    previous: tuple[Part, ...] = ()
    half = len(messages) // 2
    for given in (messages[:half], messages[half:], ()):
        request = SummaryRequest(given, budget, previous, "Sum it up.")
        previous = summarizer.summarize(request, Tokenizer().text)
        yield request, previous
