"""Audits of logs that are at hand, put together as the command does it."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from compactlab.reports.audit.ledger import Audited, AuditedFile, Ledger, audit
from compactlab.reports.bill import Session, Spending, each_once, session_of
from compactlab.scenarios.readers.transcript import read
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.models.model import Model, built_in


def loaded(file: Path, **known: Any) -> Conversation:
    """The only conversation of a file; its source is the file's name alone."""
    (conversation,) = read(file)
    return replace(conversation, **{"source": file.name, **known})


def audited(conversation: Conversation) -> Audited:
    """An audit of which something could be explained."""
    found = audit(conversation)
    assert found is not None
    return found


def entry(conversation: Conversation) -> AuditedFile:
    """An audited session."""
    where = conversation.project, conversation.subagent
    return AuditedFile(conversation.source, audited(conversation), *where)


def billed_as(name: str) -> Model:
    """A model, with whatever is known of its prices."""
    return built_in().billed(name)


def session(conversation: Conversation) -> Session:
    """What a log bills."""
    return session_of(conversation, billed_as)


def spending(*conversations: Conversation) -> Spending:
    """What logs bill together, each request once."""
    return Spending(each_once([session(each) for each in conversations]))


def ledger(conversations: Iterable[Conversation], **more: Any) -> Ledger:
    """An audit of logs that have no copies of each other."""
    conversations = [*conversations]
    return Ledger.of([*map(entry, conversations)], spending(*conversations), **more)
