"""Where conversations come from, and what makes them from seeds."""

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

# Sources of an experiment, with their seeds. Each is a kilobyte before anything is replayed, and
# 100,000 replays of even a tiny conversation take an hour for every strategy.
MOST_SOURCES = 100_000
TOO_MANY_SOURCES = (
    f"more than {MOST_SOURCES:,} conversations are not run, each counted with all its seeds: name "
    "fewer conversations or seeds"
)


@dataclass(frozen=True)
class Source:
    """Where conversations come from; small, so that it travels to a worker in their place."""

    name: str  # unique in the experiment, with the seed; begins the ids of its conversations
    load: Callable[[], Iterable[Conversation]]  # must be picklable
    seed: int = 0  # of the replays
    stem: str = ""  # with what the ids of its conversations begin as they are loaded
    # Tells what it holds, and changes when that changes: a digest of the file, say. Picklable too.
    # By default all is loaded and the conversations' digests tell.
    content: Callable[[], str] | None = None
    size: int = 0  # bytes of text in it, about; 0 where nobody knows
    alias: str = ""  # under what name it is written where its own is not to be seen

    @cached_property
    def key(self) -> str:
        """Sixteen hex digits that change when anything about it changes."""
        what = [self.name, self.stem, str(self.seed), (self.content or self._digests)()]
        what += [self.alias] if self.alias else []
        text = "".join(f"{len(part)}:{part}" for part in what)
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    def conversations(self, timeout: float | None = None) -> Iterator[Conversation]:
        """Load them, in a process of its own if the code that does it is not ours."""
        if not is_foreign(self.load):
            yield from self.load()
            return
        outcome = isolated(self._all, timeout)
        read, fault = outcome.value or ([], outcome.fault)
        yield from read
        if fault:
            raise InputError(fault)

    def _all(self) -> tuple[list[Conversation], str]:
        """All conversations that can be loaded, and why there are no more."""
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
        except Exception as error:  # it will be a row of its own when it is run
            return repr(error)

    def named(self, conversation: Conversation) -> Conversation:
        """A conversation of this source, with an id that begins with the source's name."""
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
        """Make the conversation of that seed."""


def alone(scenario: Scenario, seed: int) -> list[Conversation]:
    """What a source holds that is a scenario under a seed: one conversation.

    A package's scenario makes it in a process of its own.
    """
    make = partial(scenario.conversation, seed)
    if not is_foreign(type(scenario)):
        return [make()]
    outcome = isolated(make)
    if outcome.value is None:
        raise InputError(f"{scenario.spec} failed: {outcome.fault}")
    return [outcome.value]
