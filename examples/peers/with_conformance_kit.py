"""compaction-conformance-kit: compacts a transcript and looks for planted canaries in the result.

It knows no calls: a round compacts one transcript. So each call's transcript gets one round. What
its own check does, five rounds over the whole transcript, each over the output of the one before,
is told beside that and compared to nothing: no call of the session is replayed by it.

Its truncation is what comes nearest to both strategies: it keeps the end of the text, all of it
for keep_all, and as many characters as the window's messages have on average for sliding_window.
Canaries are the session's facts, at most as many as its own session has.
"""

from __future__ import annotations

from compaction_kit import (
    LossyTruncationCompactor,
    SeededSession,
    Turn,
    load_canaries,
    load_transcript,
    run_conformance,
)
from stopwatch import best_of, given, tell

ROUNDS = 5


def each_call(turns: list[Turn], script: dict, canaries: list, keep: int) -> dict[str, object]:
    """One round over the transcript of each call, under a window of so many messages."""
    size = sum(len(turn.text) for turn in turns) * keep // len(turns) or None
    compactor = LossyTruncationCompactor(keep_fraction=1.0)

    def work(sessions: list[SeededSession]) -> int:
        rounds = 0
        for session in sessions:
            run = run_conformance(
                session, compactor, rounds=1, canaries=canaries, budget_chars=size
            )
            rounds += len(run.rounds)
        return rounds

    return {
        "strategy": "sliding_window" if keep else "keep_all",
        "ran": "run_conformance of each call's transcript, one round",
        **best_of(lambda: [SeededSession(tuple(turns[:n]), {}) for n in script["calls"]], work),
    }


def as_its_check(turns: list[Turn], canaries: list) -> dict[str, object]:
    """Five rounds over the whole transcript; each is counted as a call."""

    def work(session: SeededSession) -> int:
        run = run_conformance(session, LossyTruncationCompactor(), rounds=ROUNDS, canaries=canaries)
        return len(run.rounds)

    return {
        "strategy": "rounds",
        "ran": f"run_conformance of the whole session, its {ROUNDS} rounds",
        **best_of(lambda: SeededSession(tuple(turns), {}), work),
    }


if __name__ == "__main__":
    folder, script = given()
    turns = load_transcript(folder / "transcript.jsonl")
    canaries = load_canaries(folder / "canaries.json")
    found = [each_call(turns, script, canaries, keep) for keep in (0, script["keep"])]
    tell([*found, as_its_check(turns, canaries)])
