"""Sources of conversations: files, and generators with seeds."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.errors import CompactlabError, InputError
from compactlab.sim.core.isolation import described, is_foreign, isolated
from compactlab.sim.core.spec import spec_of

# Most sources of an experiment, counted with seeds. Each takes a kilobyte before any replay, and
# 100,000 replays of a tiny conversation take an hour per strategy.
MOST_SOURCES = 100_000
TOO_MANY_SOURCES = (
    f"more than {MOST_SOURCES:,} conversations are not run, each counted with all its seeds: name "
    "fewer conversations or seeds"
)


@dataclass(frozen=True)
class Source:
    """A source of conversations; small, so that it can be sent to workers."""

    name: str  # unique in the experiment with the seed; prefix of conversation ids
    load: Callable[[], Iterable[Conversation]]  # must be picklable
    seed: int = 0  # of the replays
    stem: str = ""  # prefix of the ids of its conversations when loaded
    # Returns an identifier of the content, such as the digest of a file; must be picklable. By
    # default, everything is loaded and the conversations' digests are used.
    content: Callable[[], str] | None = None
    size: int = 0  # approximate bytes of text; 0 if not known
    alias: str = ""  # a substitute for a name that must not be shown

    @cached_property
    def key(self) -> str:
        """Sixteen hex digits: a digest of the source and its content."""
        what = [self.name, self.stem, str(self.seed), (self.content or self._digests)()]
        what += [self.alias] if self.alias else []
        text = "".join(f"{len(part)}:{part}" for part in what)
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    def conversations(self, timeout: float | None = None) -> Iterator[Conversation]:
        """Load the conversations, in a separate process for foreign code."""
        if not is_foreign(self.load):
            yield from self.load()
            return
        outcome = isolated(self._all, timeout)
        read, fault = outcome.value or ([], outcome.fault)
        yield from read
        if fault:
            raise InputError(fault)

    def _all(self) -> tuple[list[Conversation], str]:
        """Return all conversations that can be loaded, and the error that ended loading."""
        conversations: list[Conversation] = []
        try:
            for conversation in self.load():
                conversations.append(conversation)
        except CompactlabError as error:
            return conversations, str(error)
        except BaseException as error:
            return conversations, described(error)
        return conversations, ""

    def _digests(self) -> str:
        try:
            return ",".join(conversation.digest for conversation in self.conversations())
        except Exception as error:  # becomes a failed row in the run
            return repr(error)

    def named(self, conversation: Conversation) -> Conversation:
        """Return a conversation with the source's name as prefix of its id."""
        if not self.stem or self.name == self.stem:
            return conversation
        return replace(conversation, id=self.name + conversation.id.removeprefix(self.stem))


class Scenario(ABC):
    """A generator of synthetic conversations.

    Subclasses are frozen dataclasses whose fields are their parameters. The same fields and the
    same seed give the same conversation, to the byte, on every machine.
    """

    @property
    def spec(self) -> str:
        """The scenario's name with its parameters, as typed on the command line."""
        return spec_of(self)

    @abstractmethod
    def conversation(self, seed: int) -> Conversation:
        """Generate the conversation of a seed."""


def alone(scenario: Scenario, seed: int) -> list[Conversation]:
    """Load a source that is a scenario with a seed: one conversation.

    A scenario from a package runs in a separate process.
    """
    make = partial(scenario.conversation, seed)
    if not is_foreign(type(scenario)):
        return [make()]
    outcome = isolated(make)
    if outcome.value is None:
        raise InputError(f"{scenario.spec} failed: {outcome.fault}")
    return [outcome.value]
