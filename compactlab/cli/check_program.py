"""``compactlab check-program``: check that a program follows the protocol and the contract."""

from __future__ import annotations

import sys

import click

from compactlab.cli.options import Count, Seconds
from compactlab.cli.output import say


@click.command(name="check-program")
@click.argument("command")
@click.option(
    "--conversations",
    type=Count(1),
    default=30,
    show_default=True,
    help="Number of random conversations. The first dozen are extremes.",
)
@click.option(
    "--timeout",
    type=Seconds(),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Maximum seconds for each answer.",
)
def check_program(command: str, conversations: int, timeout: float) -> None:
    """Check whether a program can be a strategy.

    COMMAND, such as 'node my-compactor.mjs', is the program with its arguments; no shell reads it,
    and it runs with your rights. Random conversations are each replayed three times, and every
    answer is checked against the contract of strategies. docs/protocol.md has the protocol and the
    rules.
    """
    from compactlab.reports.render.text import counted
    from compactlab.strategies.program.exec import Exec
    from compactlab.testing.contract import check_strategy

    program = Exec(command, timeout)
    hello = program.hello
    say(f"hello: {hello.name} {hello.version}, protocol {hello.protocol}")
    idle = f", on_idle after {hello.idle_after:g} s" if hello.idle_after else ""
    say(f"asked: {', '.join(hello.phases)}{idle}; an answer holds for the {hello.lifetime}")
    for rule, reason in hello.breaks.items():
        say(f"declared: breaks {rule}: {reason}")
    violations = check_strategy(program, conversations)
    counts = program.counts
    say(f"asked about {counted(counts['views'], 'view')}, changed {counts['changed']:,}")
    for request in sorted({*counts} - {"views", "changed"}):
        say(f"requests: {request}, {counts[request]:,} times")
    over = counted(conversations, "drawn conversation")
    for broken in violations:
        say(f"broken: {broken.rule}, {broken.times} times{broken.where}: {broken.what}")
    if violations:
        say(f"{counted(len(violations), 'rule')} broken over {over}", err=True)
        sys.exit(1)
    say(f"ok: keeps the protocol and the contract over {over}")
