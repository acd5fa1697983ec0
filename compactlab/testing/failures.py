"""Rules put to replays, and the text of a test that fails by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from compactlab.reports.analysis.aggregate import figures_of
from compactlab.reports.analysis.calls import column
from compactlab.reports.gate.baseline import Baseline
from compactlab.reports.gate.gate import gate
from compactlab.reports.gate.outputs import Words, number
from compactlab.reports.gate.rules import Demand, Outcome, Rule
from compactlab.reports.gate.verdict import Finding, Verdict
from compactlab.reports.render.text import clean, counted, lag_from, shorten
from compactlab.sim.core.conversation import Conversation, Fact
from compactlab.sim.core.tokens import Tokenizer
from compactlab.sim.experiment.disclosure import Disclosure
from compactlab.sim.experiment.results import Results
from compactlab.sim.experiment.run import Run
from compactlab.sim.experiment.sweep import Experiment
from compactlab.sim.facts.ledger import ledger_of
from compactlab.sim.metrics.lag import lag_of
from compactlab.sim.models.model import tokenizer_of

# What a conversation's facts and messages are called where somebody reads of them.

_HIDDEN = "[redacted]"


@dataclass(frozen=True)
class Labels:
    """What the facts and messages of a conversation are called; a disclosure hides its secrets."""

    conversation: Conversation
    disclosure: Disclosure | None = None

    def fact(self, id: str) -> str:
        """A fact by its id in a table: what it says, or the id where nobody knows that."""
        for fact in ledger_of(self.conversation).facts:
            if self._shown(fact.id) == id:
                return self._shown(self._stated(fact))
        return id

    def message(self, id: str) -> str:
        """A message by its id in a table: its number, from 1 on, and the id."""
        ids = [self._shown(message.id) for message in self.conversation.messages]
        return f"{ids.index(id) + 1:,} ({id})" if id in ids else id

    def lag(self, id: str, call: int, tokenizer: Tokenizer) -> int | None:
        """The lag at which a call, from 1 on, needs a fact by its id in a table."""
        ledger = ledger_of(self.conversation)
        answer = self.conversation.calls[call - 1].id
        numbers = (n for n, fact in enumerate(ledger.facts) if self._shown(fact.id) == id)
        return next((lag_of(ledger, tokenizer, answer, number) for number in numbers), None)

    def _stated(self, fact: Fact) -> str:
        key, value = map(self._open, (fact.key, fact.value))
        if key and value:
            return f"{key!r}: {value!r}"
        return repr(key or value or fact.id)

    def _shown(self, text: str) -> str:
        return self.disclosure.text(text) if self.disclosure else text

    def _open(self, text: str) -> str:
        """A text, or a word in its place, if what stands around it in a message gives it away.

        What is given to a name such as ``password`` looks like nothing by itself.
        """
        if self.disclosure is None or not text:
            return text
        every = (part.text for message in self.conversation.messages for part in message.parts)
        texts = (each for each in every if text in each)
        hidden = any(each.count(text) > self._shown(each).count(text) for each in texts)
        return _HIDDEN if hidden else text


class Miss(NamedTuple):
    """A fact that calls needed and their prompts no longer held."""

    conversation: str
    type: str
    text: str  # its key and value; its id where nobody knows these
    message: str  # number, from 1 on, and id of the one that states it; "" if not known
    call: int  # the first that needed it in vain, from 1 on
    times: int  # how many calls did
    lag: int | None = None  # of the first need, as the lower end of its step; None: not known


@dataclass(frozen=True)
class Misses:
    """What was missed in some runs."""

    needs: int  # how often calls needed a fact
    missed: int  # how often in vain
    facts: int  # how many were missed
    first: tuple[Miss, ...]  # some of them, the most often missed first


class _Row(NamedTuple):
    """A row of the table of facts that was missed."""

    run: Run
    fact: str
    type: str
    stated_in: str
    call: int
    times: int


def misses(experiment: Experiment, results: Results, type: str = "", most: int = 5) -> Misses:
    """What was missed, of all types of facts or of one, with what at most so many facts say."""
    needs = 0
    by_fact: dict[tuple[str, str, str], _Row] = {}
    for run in results.runs:
        facts = run.rows.get("facts")
        if facts is None or not len(facts):
            continue
        names = ("fact", "type", "stated_in", "needs", "needs_met", "first_missed")
        for fact, kind, stated, needed, met, call in zip(
            *map(facts.__getitem__, names), strict=True
        ):
            if type in ("", kind):
                needs += needed
                if needed > met:
                    # In each replay of a conversation it is the same fact.
                    key = run.scenario, run.conversation, fact
                    row = _Row(run, fact, kind, stated, call, needed - met)
                    by_fact[key] = _both(by_fact[key], row) if key in by_fact else row
    # Of equal ones those of the first conversation, in its order: sorting keeps it.
    rows = sorted(by_fact.values(), key=lambda row: -row.times)
    listed = tuple(_miss(experiment, results, row) for row in rows[:most])
    return Misses(needs, sum(row.times for row in rows), len(rows), listed)


def _both(one: _Row, other: _Row) -> _Row:
    return one._replace(call=min(one.call, other.call), times=one.times + other.times)


def _miss(experiment: Experiment, results: Results, row: _Row) -> Miss:
    text, message, lag = row.fact, row.stated_in, None
    labels = _labels(experiment, row.run)
    if labels is not None:
        tokenizer = tokenizer_of(next(iter(column(row.run, "model")), ""), results.catalogue)
        lag = labels.lag(text, row.call, tokenizer)
        text, message = labels.fact(text), labels.message(message)
    return Miss(row.run.conversation, row.type, text, message, row.call, row.times, lag)


def _labels(experiment: Experiment, run: Run) -> Labels | None:
    """What tells of a run's conversation, loaded again; None if that fails: it was replayed."""
    try:
        return next(_loaded(experiment, run), None)
    except Exception:
        return None


def _loaded(experiment: Experiment, run: Run) -> Iterator[Labels]:
    for source in experiment.sources:
        if source.key == run.source_key:
            disclosure = Disclosure(source) if experiment.setting.redact else None
            for place, conversation in enumerate(source.load()):
                if disclosure is not None:
                    # From the first on, so that numbers are those of the table.
                    disclosure.turn_to(conversation)
                if place == run.place:
                    yield Labels(conversation, disclosure)


_NOTHING = "nothing to hold it against"
# So many facts and failed runs are told.
_LISTED = 5
_LONGEST = 100


@dataclass(frozen=True)
class Trial:
    """Rules, and what they are put to: the replays of one strategy.

    Rules on a change compare it with the results of a reference strategy, or with a baseline.
    """

    experiment: Experiment
    results: Results
    rules: Sequence[Rule]
    type: str = ""  # the type of fact that they are on; "" for all
    reference: Results | None = None
    baseline: Baseline | None = None

    @property
    def failure(self) -> str:
        """Why the rules do not hold, and what was forgotten and paid; "" if they do."""
        if not self._verdict.obstacles and not self._verdict.failed:
            return ""
        return "\n  ".join([self._headline(), *self._broken(), *self._forgotten(), *self._paid()])

    @cached_property
    def _verdict(self) -> Verdict:
        type = (self.type,) if self.type else ()
        demands = [Demand(rule, type=type) for rule in self.rules]
        if self.baseline is not None:
            return gate(self.results, self._before, demands)
        # Where another strategy stands does not matter to a rule on where this one must stand.
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
        """What comes of rules on a change, by another strategy."""
        if self.reference is None or not self.reference.failed:
            return gate(self.results, self._before, moves)
        reason = f"{counted(len(self.reference.failed), 'run')} of {_name(self.reference)} failed"
        return Verdict(tuple(Finding(each, None, Outcome.UNJUDGED, reason) for each in moves))

    @property
    def _before(self) -> Baseline | None:
        """What was, of the very strategy that is held, so that the gate finds its pairs.

        Without what had failed: to a gate it is no news that it still does, and here no pass.
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
        words = Words(self._verdict)
        for finding in self._verdict.failed:
            marked = "" if finding.outcome is Outcome.REGRESSED else f" ({finding.outcome.value})"
            figures = [words.figures(finding), *words.details(finding)]
            yield f"{clean(finding.name)}{marked}: {'; '.join(filter(None, figures))}"
            if finding.moved and len(self.results.runs) > 1:
                yield f"  most: {'; '.join(map(words.moved, finding.moved))}"
        for obstacle in self._verdict.obstacles:
            yield f"cannot judge: {clean(obstacle)}"
        for remark in self._verdict.remarks:
            yield f"note: {clean(remark)}"
        for run in (self.results.failed or (self.reference.failed if self.reference else []))[
            :_LISTED
        ]:
            yield f"  {words.name(run.conversation)}: {shorten(clean(run.error), 3 * _LONGEST)}"
        if held := [finding for finding in self._verdict.findings if finding.holds]:
            yield f"holds: {', '.join(clean(finding.name) for finding in held)}"

    def _forgotten(self) -> Iterator[str]:
        missed = misses(self.experiment, self.results, self.type, _LISTED)
        if not missed.needs:
            return
        yield (
            f"forgotten: {counted(missed.missed, 'need')} of {missed.needs:,}, "
            f"of {counted(missed.facts, 'fact')}{':' if missed.first else ''}"
        )
        several = len(self.experiment.sources) > 1
        for miss in missed.first:
            yield f"  {_line(miss, several)}"
        if missed.facts > len(missed.first):
            yield f"  and {counted(missed.facts - len(missed.first), 'fact')} more"

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
    """The short name of the one strategy that results are of."""
    return clean(next(iter(results.manifest["strategies"].values())))


def _line(miss: Miss, several: bool) -> str:
    """A fact that was missed, in a line: where, what, said when, needed when."""
    where = f"{shorten(clean(miss.conversation), _LONGEST)}: " if several else ""
    what = shorten(clean(f"{miss.type} {miss.text}"), _LONGEST)
    stated = f"said in message {miss.message}" if miss.message else "said"
    more = f", and {counted(miss.times - 1, 'time')} more" if miss.times > 1 else ""
    lag = f" (lag {lag_from(miss.lag)})" if miss.lag is not None else ""
    return f"{where}{what}, {stated}, needed at call {miss.call:,}{lag} and gone{more}"
