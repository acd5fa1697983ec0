"""An idea written five minutes ago: cut in big steps, so that the cache has time to pay off.

Run it with ``compactlab run --strategies examples/own_strategy.py:Stepwise``.
"""

from dataclasses import dataclass

from compactlab import Host, Strategy, View


@dataclass(frozen=True)
class Stepwise(Strategy):
    """When there are too many messages, keep the newest; then leave the prompt alone for a while.

    Parameters
    ----------
    most
        Messages at which it cuts.
    keep
        Messages that it keeps.
    """

    most: int = 100
    keep: int = 20

    def compact(self, view: View, host: Host) -> View:
        """Cut, if it is time."""
        if len(view.messages) <= self.most:
            return view
        cut = len(view.messages) - self.keep
        while cut < len(view.messages) and view.messages[cut].role == "tool":
            cut += 1  # a result must not stand without its call
        return view.with_messages(view.messages[cut:])
