"""What a log itself says before a call that may cost it what was stored, whatever one expected.

A forecast weighs such signs, and may be wrong; so whether a loss follows from the log is asked of
the log alone, and not of the forecast.
"""

from __future__ import annotations

from compactlab.sim.audit.exchange import Exchange
from compactlab.sim.audit.forecast import Forecast


class Signs:
    """Reads the signs of one recording, call by call."""

    def __init__(self) -> None:
        self._last: Exchange | None = None
        self._model = self._ttl = ""
        self._images = self._thought = False

    def of(self, forecast: Forecast) -> list[str]:
        """The causes that the log speaks of, the gravest first; none for a first call."""
        exchange, last = forecast.exchange, self._last
        if last is None:
            return []
        call, before = exchange.call, last.call
        lifetime = forecast.model.policy.lifetime(self._ttl) if forecast.model.policy else 0.0
        smaller = exchange.usage.prompt < last.usage.prompt
        strips = forecast.model.strips_thinking and exchange.opens_turn and self._thought
        signs = {
            "compaction": exchange.compacted is not None,
            "model_switch": forecast.model.name != self._model,
            "client_upgrade": _differ(call.version, before.version),
            "ttl_expired": exchange.time - last.time > lifetime,
            "settings_changed": _differ(call.thinking, before.thinking)
            or call.skill != before.skill
            or (_shows(exchange) and not self._images),
            "rewind": exchange.rewound,
            "thinking_strip": strips,
            "history_edit": smaller,
        }
        return [cause for cause, told in signs.items() if told]

    def keep(self, forecast: Forecast) -> None:
        """Go on to the next call."""
        exchange = forecast.exchange
        self._last, self._model = exchange, forecast.model.name
        self._ttl = exchange.call.ttl or self._ttl
        self._images |= _shows(exchange)
        if exchange.opens_turn:
            self._thought = False
        self._thought |= any(part.type == "thinking" for part in exchange.answer.parts)


def _differ(one: str, other: str) -> bool:
    """Whether two settings differ, as far as both were told."""
    return bool(one and other) and one != other


def _shows(exchange: Exchange) -> bool:
    """Whether an image came before a call."""
    return any(part.type == "image" for message in exchange.arrived for part in message.parts)
