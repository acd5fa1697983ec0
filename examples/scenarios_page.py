"""Write the part of docs/scenarios.md that comes from the code: what scenarios are and measure.

``make docs`` runs it. What a scenario says of itself is its docstring.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from inspect import cleandoc
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import fmean, median

from compactlab.scenarios.catalogue import SCENARIOS
from compactlab.scenarios.engine.domain import Domain, Lags, Mix
from compactlab.scenarios.engine.generator import AGAIN, MOST_NEEDS
from compactlab.scenarios.engine.plan import FIRST
from compactlab.scenarios.engine.story import Story
from compactlab.sim.core.conversation import Conversation
from compactlab.sim.core.tokens import Tokenizer

PAGE = Path(__file__).resolve().parents[1] / "docs" / "scenarios.md"
BEGIN = "<!-- From here to the next such line, `make docs` writes what the code says. -->\n"
END = "<!-- Written by hand again. -->\n"
TOKENS, SEEDS = 100_000, range(3)
HEAD = (
    "| scenario | messages | turns | calls | facts | superseded | withdrawn | decoys | needs "
    "| tokens from a fact to its need, median | tokens of tool results "
    "| pauses over 5 min | over 1 h |",
    f"|---|{'---:|' * 12}",
)


def renewed(page: str) -> str:
    """A page with its generated part as the code has it now."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{generated()}\n{END}{after}"


def generated() -> str:
    """The table, what is usual, and each scenario by itself."""
    stories = {name: cls for name, cls in SCENARIOS.items() if issubclass(cls, Story)}
    table = [*HEAD, *(row(name, cls) for name, cls in stories.items())]
    about = (f"**{name}.** {said}" for name, cls in stories.items() for said in own(cls))
    return "\n".join(f"{line}\n" for line in ("\n".join(table), usual(), *about))


def row(name: str, cls: type[Story]) -> str:
    """A scenario's line in the table: means over the seeds."""
    made = [figures(cls(tokens=TOKENS).conversation(seed)) for seed in SEEDS]
    *counts, results, short, long = (fmean(column) for column in zip(*made, strict=True))
    cells = [*(f"{count:,.0f}" for count in counts), f"{results:.0%}".replace("%", " %")]
    return f"| `{name}` | {' | '.join([*cells, f'{short:,.0f}', f'{long:,.0f}'])} |"


def figures(conversation: Conversation) -> tuple[float, ...]:
    """What is measured of a conversation, in the order of the table."""
    messages = conversation.messages
    stated = [fact for fact in conversation.facts if not fact.decoy]
    sizes = list(map(Tokenizer().message, messages))
    pauses = [after.time - before.time for before, after in pairwise(conversation.calls)]
    returned = sum(n for m, n in zip(messages, sizes, strict=True) if m.role == "tool")
    return (
        len(messages),
        conversation.turns,
        len(conversation.calls),
        len(stated),
        sum(bool(fact.supersedes) for fact in stated),
        sum(bool(fact.deleted_at) for fact in stated),
        len(conversation.facts) - len(stated),
        len(conversation.needs),
        median(lags(conversation, sizes)),
        returned / sum(sizes),
        sum(pause > 300 for pause in pauses),
        sum(pause > 3_600 for pause in pauses),
    )


def lags(conversation: Conversation, sizes: list[int]) -> Iterator[int]:
    """Tokens between the message that has stated a fact last and the one that needs it."""
    ids = [message.id for message in conversation.messages]
    begins = dict(zip(ids, accumulate(sizes, initial=0), strict=False))
    ends = dict(zip(ids, accumulate(sizes), strict=True))
    facts = {fact.id: fact for fact in conversation.facts}
    for need in conversation.needs:
        here = begins[need.at]
        yield here - max(e for s in facts[need.fact].origin if (e := ends[s.id]) <= here)


def usual() -> str:
    """How many facts there are and when they are needed, where nothing else is said."""
    mix, later = Mix(), Lags()
    return f"""\
The *usual* values are {mix.density} stated facts for every thousand tokens, and {mix.decoys:.0%}
as many decoys. {mix.superseded:.0%} replace an older fact, {mix.deleted:.0%} are withdrawn,
{mix.dependent:.0%} follow from one that is then replaced, {mix.twins:.0%} have a near-duplicate:
a key that differs in one word, and another value of the same kind. Of the facts that neither
replace nor follow, {mix.first:.0%} are stated in the first {FIRST:.0%} of the tokens and
{mix.last:.0%} in the last {mix.late} turns. A fact is needed once, with a probability of
{AGAIN:.0%} once more, and so on, up to {MOST_NEEDS} times; each time after
{later.shortest:,.0f} to {later.longest:,.0f} tokens, log-uniform, limited to the time for which it
is valid. Each scenario lists the figures that differ, by the names of `Mix` and `Lags` in
`compactlab/scenarios/engine/domain.py`.""".replace("%", " %").replace("\n", " ")


def own(cls: type[Story]) -> Iterator[str]:
    """What a scenario says of itself, and in which figures it is not as usual."""
    about = cleandoc(cls.__doc__ or "").partition("\nExamples\n")[0]
    said = " ".join(about.replace("``", "`").split())
    others = ", ".join(unusual(cls.domain))
    yield f"{said} Figures of its own: {others}." if others else said


def unusual(domain: Domain) -> Iterator[str]:
    """The figures of a domain that are not as usual."""
    yield f"turn {domain.turn:,.0f} tokens"
    yield from changed(domain.mix, Mix())
    yield from changed(domain.lags, Lags())
    for kind, given in domain.lags_by.items():
        yield f"for the type {kind} {' and '.join(changed(given, domain.lags))}"


def changed(given: Mix | Lags, plain: Mix | Lags) -> Iterator[str]:
    """The fields that have other values."""
    usually = asdict(plain)
    for name, value in asdict(given).items():
        if value != usually[name]:
            yield f"`{name}` {shown(value)}"


def shown(value: float | tuple[int, int]) -> str:
    """A figure as text."""
    return f"{value[0]} to {value[1]}" if isinstance(value, tuple) else f"{value:,}"


def main() -> None:
    """Renew the page."""
    PAGE.write_text(renewed(PAGE.read_text("utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
