"""What clients are known to do without logging it, and what one of them was seen to do."""

from __future__ import annotations

from compactlab.sim.audit.exchange import Exchange
from compactlab.sim.audit.sizes import REBUILD
from compactlab.sim.cache import Settings
from compactlab.sim.client import Client
from compactlab.sim.message import Call

# Clients that ask for a suggestion when a turn has ended, with a request that rides on the live
# prompt: 3.7 % of 22,596 recorded calls of Claude Code read more than the call before had left.
_FORKS = {"claude-code"}
# Clients whose tools and system prompt other sessions of the same user keep alive, where entries
# live an hour: 125 of 202 first calls of Claude Code read them, and two thirds of the calls that
# came after more than an hour.
_SHARES = {"claude-code"}


class Habits:
    """The habits of a client.

    Parameters
    ----------
    client
        The format of its logs.
    """

    def __init__(self, client: str) -> None:
        self.forks = client in _FORKS
        self._shares = client in _SHARES
        self._skills = self._lost = 0
        self._in_skill = False
        self._told = Client()

    def shares_system(self, ttl: str) -> bool:
        """Whether other sessions keep tools and system prompt in the cache."""
        return self._shares and ttl == "1h"

    def settings(self, call: Call) -> Settings:
        """The settings of a call.

        Some versions of Claude Code ask otherwise in the turn of a skill, others do not; which
        of the two it is shows at the first skill of a session.
        """
        skill = "skill" if call.skill and 2 * self._lost > self._skills else ""
        told = self._told.settings(call, "", opens_turn=False)[1]
        return told._replace(messages=told.messages + skill)

    def learn(self, exchange: Exchange, before: int, read: int) -> None:
        """See what a call really read, of what the one before had left and was expected."""
        skill = exchange.call.skill
        if skill and not self._in_skill and exchange.compacted is None:
            self._skills += 1
            self._lost += before - read >= REBUILD
        self._in_skill = skill
