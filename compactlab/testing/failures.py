"""Applies rules to replays, and writes the text of a failing test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from compactlab.reports.analysis.aggregate import figures_of
from compactlab.reports.gate.baseline import Baseline
from compactlab.reports.gate.gate import gate
from compactlab.reports.gate.lost import LISTED, misses
from compactlab.reports.gate.outputs import moved_of, number, text_of
from compactlab.reports.gate.record import brief
from compactlab.reports.gate.rules import Demand, Outcome, Rule
from compactlab.reports.gate.verdict import Finding, Verdict
from compactlab.reports.render.document import with_names
from compactlab.reports.render.text import clean, counted, shorten
from compactlab.sim.experiment.sweep import Experiment
from compactlab.sim.store.results import Results

_NOTHING = "nothing to hold it against"
_LONGEST = 100


@dataclass(frozen=True)
class Trial:
    """Rules and the replays of the strategy that they apply to.

    Rules on a change compare it with the results of a reference strategy, or with a baseline.
    """

    experiment: Experiment
    results: Results
    rules: Sequence[Rule]
    type: str = ""  # the type of fact; "" for all
    reference: Results | None = None
    baseline: Baseline | None = None

    @property
    def failure(self) -> str:
        """Return why the rules do not hold, with forgotten facts and costs; "" if they hold."""
        if not self._verdict.obstacles and not self._verdict.failed:
            return ""
        return "\n  ".join([self._headline(), *self._broken(), *self._forgotten(), *self._paid()])

    @cached_property
    def _verdict(self) -> Verdict:
        type = (self.type,) if self.type else ()
        demands = [Demand(rule, type=type) for rule in self.rules]
        if self.baseline is not None:
            return gate(self.results, self._before, demands)
        # Absolute rules need no reference strategy.
        moves = [demand for demand in demands if demand.rule.relative]
        places = [demand for demand in demands if not demand.rule.relative]
        verdicts = [self._against(moves)] if moves else []
        verdicts.append(gate(self.results, None, places, absence=_NOTHING))
        obstacles = dict.fromkeys(each for verdict in verdicts for each in verdict.obstacles)
        return Verdict(
            tuple(finding for verdict in verdicts for finding in verdict.findings),
            tuple(each for each in obstacles if each != _NOTHING),
        )

    def _against(self, moves: Sequence[Demand]) -> Verdict:
        """Judge rules on a change against another strategy."""
        if self.reference is None or not self.reference.failed:
            return gate(self.results, self._before, moves)
        reason = f"{counted(len(self.reference.failed), 'run')} of {_name(self.reference)} failed"
        return Verdict(tuple(Finding(each, None, Outcome.UNJUDGED, reason) for each in moves))

    @property
    def _before(self) -> Baseline | None:
        """Return the baseline of the same strategy, so that the gate finds its pairs.

        Earlier failures are left out: a gate ignores repeated failures, but a test must fail.
        """
        own = next((s for s in Baseline.of(self.results).records), None)
        held = self.baseline
        if self.reference is not None:
            held = Baseline.of(self.reference, [rule.metric for rule in self.rules])
        if held is None or own is None:
            return held
        mine = {
            replace(subject, strategy=own.strategy, label=own.label): {
                case: record for case, record in records.items() if not record.failed
            }
            for subject, records in held.records.items()
            if self.reference is not None or subject.strategy == own.strategy
        }
        return replace(held, records=mine)

    def _headline(self) -> str:
        runs = self.results.runs
        label = self.experiment.strategies[0].label
        models = sorted({run.model for run in runs if run.model}) or list(self.experiment.models)
        over = counted(len({(run.scenario, run.conversation) for run in runs}), "conversation")
        under = f" under {clean(', '.join(models))}" if models else ""
        return f"{clean(label)}{under} does not hold over {over}:"

    def _broken(self) -> Iterator[str]:
        for finding in self._verdict.failed:
            marked = "" if finding.outcome is Outcome.REGRESSED else f" ({finding.outcome.value})"
            yield f"{clean(finding.name)}{marked}: {with_names(text_of(finding))}"
            if finding.moved and len(self.results.runs) > 1:
                yield f"  most: {with_names('; '.join(moved_of(finding)))}"
        for obstacle in self._verdict.obstacles:
            yield f"cannot judge: {clean(obstacle)}"
        for remark in self._verdict.remarks:
            yield f"note: {clean(remark)}"
        failed = self.results.failed or (self.reference.failed if self.reference else [])
        for run in failed[:LISTED]:
            yield f"  {brief(run.conversation)}: {shorten(clean(run.error), 3 * _LONGEST)}"
        if held := [finding for finding in self._verdict.findings if finding.holds]:
            yield f"holds: {', '.join(clean(finding.name) for finding in held)}"

    def _forgotten(self) -> Iterator[str]:
        several = len(self.experiment.sources) > 1
        yield from misses(self.results, self.type).lines(several=several)

    def _paid(self) -> Iterator[str]:
        figures = figures_of([run for run in self.results.runs if run.status == "ok"])
        if figures["cost_usd"] is None:
            return
        cost = f"it cost {number(figures['cost_usd'])} USD"
        if figures["side_cost_usd"]:
            cost += f", {number(figures['side_cost_usd'])} of it for side calls such as summaries"
        if self.reference is not None:
            other = figures_of([run for run in self.reference.runs if run.status == "ok"])
            if other["cost_usd"] is not None:
                cost += f" ({_name(self.reference)}: {number(other['cost_usd'])} USD)"
        yield f"{cost}, in {counted(int(figures['compactions'] or 0), 'compaction')}"


def _name(results: Results) -> str:
    """Return the short name of the only strategy in the results."""
    return clean(next(iter(results.manifest["strategies"].values())))
