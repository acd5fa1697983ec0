"""What a client asks for beside the text of its prompts, call by call: as recorded, and unasked."""

from __future__ import annotations

import random
from collections.abc import Callable

from compactlab.sim.cache import Settings
from compactlab.sim.churn import Churn
from compactlab.sim.message import Call


class Client:
    """Follows the settings of a session.

    What was told first of the client's version and of its thinking mode stands for what was there
    before; so a log that names them late changes nothing by that.

    Parameters
    ----------
    churn
        How often the client changes its prompt unasked; None for never.
    rng
        Opens a stream of random numbers by name.

    Examples
    --------
    >>> client = Client()
    >>> client.settings(Call(version="1.0"), "a", opens_turn=True)
    ('append', Settings(tools='', system='', messages=''))
    >>> client.settings(Call(version="1.1"), "b", opens_turn=True)
    ('client_upgrade', Settings(tools='', system='1.1', messages=''))
    """

    def __init__(
        self, churn: Churn | None = None, rng: Callable[[str], random.Random] | None = None
    ) -> None:
        self._churn, self._rng = churn, rng
        self._first = {"version": "", "thinking": ""}
        self._now = dict(self._first)
        self._fronts = self._messages = 0
        self._last: Settings | None = None
        self._told: tuple[str, str] | None = None

    def settings(self, call: Call, id: str, opens_turn: bool) -> tuple[str, Settings]:
        """The settings of the next call, and the cause of what they lose; ``append`` if nothing.

        Parameters
        ----------
        call
            What was recorded of it.
        id
            Its name, by which its draw is the same under every strategy.
        opens_turn
            Whether a person has spoken before it.
        """
        told = call.version, call.thinking
        if told == self._told and self._churn is None and self._last is not None:
            return "append", self._last
        self._told = told
        version = self._changed("version", call.version)
        thinking = self._changed("thinking", call.thinking)
        churned = self._draw(id, opens_turn)
        settings = Settings(
            tools=f"churn {self._fronts}" if self._fronts else "",
            system=version,
            messages=thinking + (f"churn {self._messages}" if self._messages else ""),
        )
        last, self._last = self._last or settings, settings
        if churned:
            return "churn", settings
        if settings.system != last.system:
            return "client_upgrade", settings
        return "append" if settings == last else "settings_changed", settings

    def _changed(self, what: str, told: str) -> str:
        """A setting; "" while it is what was told of it first, or nothing was told."""
        now = self._now[what] = told or self._now[what]
        first = self._first[what] = self._first[what] or told
        return "" if now == first else now

    def _draw(self, id: str, opens_turn: bool) -> bool:
        if self._churn is None or self._rng is None:
            return False
        depth = self._churn.draw(self._rng(f"churn {id}"), opens_turn)
        if self._last is None:
            return False  # nothing has been stored yet
        self._fronts += depth == "front"
        self._messages += depth == "messages"
        return depth is not None
