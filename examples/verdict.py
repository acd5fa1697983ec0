"""Says which bars are met. A library for the ``validate_*`` scripts; it is no script itself."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Verdict:
    """Prints what was measured, and remembers which bars are missed."""

    missed: list[str] = field(default_factory=list)

    def basis(self, fitted: str, judged: str) -> None:
        """Say on which half of the data something was fitted, and which half judges it."""
        print(f"fitted on: {fitted}\njudged on: {judged}")

    def bar(self, text: str, met: bool) -> None:
        """Say what was measured, and whether that is good enough."""
        print(f"  {'met   ' if met else 'MISSED'}  {text}")
        if not met:
            self.missed.append(text)

    def aside(self, text: str) -> None:
        """Say something that is not judged."""
        print(f"          {text}")

    def code(self) -> int:
        """Say how many bars are missed, and give the exit code."""
        print(f"\nmissed: {len(self.missed)}", *self.missed, sep="\n  ")
        return int(bool(self.missed))
