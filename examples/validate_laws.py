"""Hold the laws of forgetting over all made-up scenarios.

``python examples/validate_laws.py`` replays every scenario of the catalogue at 20,000 tokens and
three seeds, in a window of 8,000; keep_none and the window of ten messages compact five times or
more in each. The folder of recordings that ``make validate`` names is not needed. The exit code is
1 if a law is broken.

What is demanded, of every scenario and seed:

- *keep_all forgets nothing*: all figures of amnesia, and what is stale, in conflict, mutated or a
  cascade, are 0 or have no value; in the closed loop it fetches nothing, asks nothing and lacks
  nothing, and costs to the last bit what it costs in the open one.
- *keep_none finds what chance finds*. Of all pairs of a call and a due fact that was last stated
  before the current turn, the share that is verbatim or intact is the share of decoys that are
  found, over all calls. Decoys are looked for only in what was not said so (see
  ``decoys_found``), and keep_none writes nothing: so both are 0, exactly. It would be broken by
  anything that lets an older fact be known without its origin. How often the mere words of the
  current turn hold an older fact's key and value, and a decoy's, is told beside it.
- *More context never forgets more*: of two replays, at each call at which one prompt holds all
  messages of the other, it holds all facts of the other as well. Pairs: sliding windows of 10, 20
  and 40 messages; keep_none, random_keep and keep_all, which is why random_keep lies between.
- *Names do not matter*: with all values renamed to others of as many characters and tokens, every
  figure of memory and of facts is the same, to the last bit, under strategies that go by rules.
- *The same again*: a second replay gives the same bytes, and so do other orders of strategies, and
  two workers in place of one.

The oracle is told, not judged: how often a strategy that sends no more than it forgets less.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from law_cases import MEMORY, WINDOW, Case, Docket, differences, digest, written
from renamed_values import renamed
from verdict import Verdict

from compactlab import find_strategy, run
from compactlab.scenarios.catalogue import SCENARIOS, find_scenario
from compactlab.sim.core.blocks import forget_blocks
from compactlab.sim.core.tokens import forget_counts
from compactlab.sim.experiment.shard import DEFAULT_MODEL
from compactlab.sim.facts.ledger import numbers
from compactlab.sim.facts.wording import Wording
from compactlab.sim.metrics import RunData, figures
from compactlab.sim.metrics.fact_timeline import fact_timeline
from compactlab.sim.metrics.memory import decoys_said
from compactlab.sim.models.model import built_in
from compactlab.sim.replay.recovery import ClosedLoop
from compactlab.sim.store.results import Results

TOKENS, SEEDS = 20_000, 3
ERRORS = ("stale", "conflict", "cascade", "mutation", "severity")
RECOVERY = ("rereads_per_100_calls", "questions_per_100_calls", "misuses_per_100_calls",
          "reread_tokens", "unmet_needs")  # fmt: skip
COSTS = ("cost_with_recovery_usd", "cost_with_recovery_worst_usd")
CHAINS = (
    ("sliding_window(keep=10)", "sliding_window(keep=20)", "sliding_window(keep=40)"),
    ("keep_none", "random_keep", "keep_all"),
)
RULES = ("sliding_window(keep=10)", "keep_none", "random_keep", "observation_masking",
         "turn_slice", "token_budget", "trim_messages(max_tokens=4000)")  # fmt: skip
ORDERED = ("keep_none", "random_keep", "sliding_window(keep=10)")


def keep_all(case: Case, docket: Docket) -> None:
    """Keep-all forgets nothing, and so the closed loop is the open one."""
    where, loop = case.conversation.id, ClosedLoop()
    best, worst = case.under("keep_all", loop.best), case.under("keep_all", loop)
    reading = dataclasses.replace(case.under("keep_all"), best=best, worst=worst)
    found = figures(reading, (*MEMORY, *RECOVERY, *COSTS, "cost_usd"))
    for name in found:
        if "amnesia" in name or name in ERRORS:
            law = "keep_all: figures of amnesia and of errors are 0"
            docket.hold(law, found[name] in (0, None), f"{where}: {name} is {found[name]}")
        elif name in RECOVERY:
            law = "keep_all: figures of recovery are 0"
            docket.hold(law, found[name] in (0, None), f"{where}: {name} is {found[name]}")
        elif name in COSTS:
            law = "keep_all: the closed loop costs what the open one does"
            docket.hold(law, found[name] == found["cost_usd"], f"{where}: {name} is {found[name]}")
    docket.told["figures with a value"] += sum(found[name] is not None for name in MEMORY)
    docket.told["needs"] += sum(map(int.bit_count, fact_timeline(reading).needed))
    made = sum(bool(step.recovery) for each in (best, worst) for step in each.trace.steps)
    docket.hold("keep_all: no call is recovery", not made, f"{where}: {made} calls")


def keep_none(case: Case, docket: Docket) -> None:
    """Keep-none knows of what was said before the current turn as much as chance does."""
    reading = case.under("keep_none")
    found, ledger = fact_timeline(reading), reading.ledger
    pairs = kept = 0
    for due, held, now in zip(found.due, found.kept, found.turns.within(1), strict=True):
        older = due & ~now
        pairs += older.bit_count()
        kept += (older & held).bit_count()
    decoys = ledger.decoys.bit_count() * len(found.steps)
    guessed = sum(map(int.bit_count, decoys_said(reading)))
    docket.hold(
        "keep_none: older facts are found as often as decoys",
        kept * decoys == guessed * pairs,
        f"{case.conversation.id}: {kept} of {pairs}, decoys {guessed} of {decoys}",
    )
    docket.told.update({"older": pairs, "kept": kept, "decoys": decoys, "guessed": guessed})
    _by_words(reading, docket)


def _by_words(reading: RunData, docket: Docket) -> None:
    """How often the words of a prompt say what was said before it, or never."""
    found, ledger = fact_timeline(reading), reading.ledger
    prompts = reading.trace.prompts()
    for due, now, prompt in zip(found.due, found.turns.within(1), prompts, strict=True):
        text = Wording("\n".join(part.text for message in prompt for part in message.parts))
        for name, facts in (("older", due & ~now), ("decoys", ledger.decoys)):
            for number in numbers(facts):
                docket.told[f"{name} in words"] += text.says(ledger.facts[number]).intact


def more_is_never_less(case: Case, docket: Docket) -> None:
    """Who holds all messages of another holds all of its facts."""
    for less, more in (pair for chain in CHAINS for pair in pairwise(chain)):
        few, many = case.under(less), case.under(more)
        law = f"{more} forgets nothing that {less} knows"
        both = zip(_contexts(few), _contexts(many), strict=True)
        states = zip(fact_timeline(few).due, few.states, many.states, strict=True)
        for call, ((small, large), (due, poor, rich)) in enumerate(zip(both, states, strict=True)):
            if small <= large:
                lacking = due & poor.kept & ~rich.kept
                docket.hold(law, not lacking, f"{case.conversation.id}, call {call}")
            else:
                docket.told[f"not more: {law}"] += 1


def _contexts(reading: RunData) -> list[set[str]]:
    return [{message.id for message in prompt} for prompt in reading.trace.prompts()]


def names_do_not_matter(case: Case, docket: Docket) -> None:
    """Other values of equal length change no figure."""
    model = built_in().find(DEFAULT_MODEL)
    other, kept = renamed(case.conversation, model.tokenizer.text)
    docket.told["values that were not renamed"] += len(kept)
    docket.told["values that were renamed"] += len(case.conversation.facts) - len(kept)
    before = [figures(case.under(strategy), MEMORY) for strategy in RULES]
    twin = Case(other)
    for strategy, known in zip(RULES, before, strict=True):
        law = "other values of equal length change no figure of memory"
        found = figures(twin.under(strategy), MEMORY)
        for name in MEMORY:
            where = f"{other.id}, {strategy}: {name} {known[name]} is {found[name]}"
            docket.hold(law, found[name] == known[name], where)


def the_same_again(case: Case, docket: Docket) -> None:
    """A second replay gives the same bytes."""
    for strategy in (*ORDERED, "observation_masking"):
        once, twice = written(case.under(strategy)), written(case.again(strategy))
        law = "a second replay gives the same bytes"
        docket.hold(law, once == twice, f"{case.conversation.id}, {strategy}")
        docket.told["bytes"] += len(once)


def told_of_the_oracle(case: Case, docket: Docket) -> None:
    """Count strategies that send no more than the oracle and forget less of what is needed."""
    forgot, size = _lacking(case, "oracle")
    docket.told["oracle"] += 1
    docket.told["oracle forgets"] += forgot > 0
    for strategy in dict.fromkeys((*RULES, *CHAINS[0])):
        other, its_size = _lacking(case, strategy)
        docket.told["no larger than the oracle"] += its_size <= size
        docket.told["and forgets less"] += its_size <= size and other < forgot


def _lacking(case: Case, strategy: str) -> tuple[float, int]:
    reading = case.under(strategy)
    return figures(reading, ["amnesia_need"])["amnesia_need"] or 0.0, sum(reading.prompts)


def often_enough(case: Case, docket: Docket) -> None:
    """What cuts does so five times or more, or the laws would have little to say."""
    for strategy in ("keep_none", "sliding_window(keep=10)"):
        made = sum(step.compaction for step in case.under(strategy).trace.steps)
        docket.told["compactions"] += made
        docket.hold("five compactions or more", made >= 5, f"{case.conversation.id}: {made}")


LAWS: tuple[Callable[[Case, Docket], None], ...] = (
    often_enough, keep_all, keep_none, more_is_never_less, told_of_the_oracle, the_same_again,
    names_do_not_matter,
)  # fmt: skip


def cases(seeds: int) -> Iterator[Case]:
    """All scenarios, one after the other."""
    for name in SCENARIOS:
        for seed in range(seeds):
            yield Case(find_scenario(f"{name}(tokens={TOKENS})").conversation(seed))
            forget_counts()
            forget_blocks()


def order_and_workers(docket: Docket) -> None:
    """The store is the same in any order and with any number of workers."""
    names = [f"{name}(tokens={TOKENS})" for name in SCENARIOS]

    def store(strategies: Sequence[str], jobs: int) -> Results:
        found = run(names, strategies, window=WINDOW, jobs=jobs)
        place = {find_strategy(spec).spec: number for number, spec in enumerate(ORDERED)}
        found.runs.sort(key=lambda run: place[run.strategy])
        docket.told["rows"] += len(found.runs)
        docket.hold("no run fails", not found.failed, f"{len(found.failed)} failed")
        return found

    one = store(ORDERED, 1)
    law = "the store has the same digest"
    ways = {"two workers": (ORDERED, 2), "another order": (ORDERED[::-1], 1)}
    for way, arguments in ways.items():
        other = store(*arguments)
        where = ", ".join(list(differences(one, other))[:3])
        docket.hold(law, digest(other) == digest(one), f"with {way}: {where}")


def judge(docket: Docket, verdict: Verdict) -> None:
    """Say which laws hold, and of how much."""
    for law, seen in docket.seen.items():
        broken = docket.broken.get(law, [])
        text = f"{law}: {seen - len(broken):,} of {seen:,}"
        verdict.bar("; ".join([text, *broken[:3]]), not broken)
    for line in _beside(docket.told):
        verdict.aside(line)


def _beside(told: Counter[str]) -> Iterator[str]:
    yield (
        f"keep_all: {told['needs']:,} needs were met; {told['figures with a value']:,} figures of "
        "memory have a value"
    )
    yield (
        f"keep_none: {told['kept']:,} of {told['older']:,} older facts and {told['guessed']:,} of "
        f"{told['decoys']:,} decoys are known; by mere words it would be "
        f"{told['older in words']:,} and {told['decoys in words']:,}"
    )
    yield (
        f"oracle: forgets something needed in {told['oracle forgets']} of {told['oracle']} "
        f"replays; of {told['no larger than the oracle']:,} replays under rules that send no "
        f"more, {told['and forgets less']} forget less"
    )
    yield (
        f"names: {told['values that were renamed']:,} values were renamed, for "
        f"{told['values that were not renamed']:,} there was no other of equal length"
    )
    yield f"bytes: {told['bytes']:,} twice; {told['rows']:,} rows in three stores"
    for name, calls in told.items():
        if name.startswith("not more: "):
            yield f"{calls:,} calls were left out where the context did not hold more: {name[10:]}"


def main(arguments: Sequence[str]) -> int:
    """Replay everything and judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", help="not needed: all is made up")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    seeds = parser.parse_args(arguments).seeds
    docket = Docket()
    for case in cases(seeds):
        for law in LAWS:
            law(case, docket)
    order_and_workers(docket)
    made = f"{len(SCENARIOS)} scenarios of {TOKENS:,} tokens, {seeds} seeds each"
    print(f"laws: {made}, window {WINDOW:,}")
    verdict = Verdict()
    verdict.basis(
        "nothing: these are laws, exact or in order",
        "all scenarios and seeds, made up; no recording",
    )
    judge(docket, verdict)
    return verdict.code()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
