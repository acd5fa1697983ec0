"""Figures of contexts before and after compactions, naively: whole lists, plain sets, no sampling.

Good for replays of 50 compactions at most, as more are not looked at.
"""

import math
import re
from collections import Counter
from itertools import combinations, pairwise
from statistics import fmean, median
from typing import Any

from compactlab.sim.facts.needs import identifiers
from compactlab.sim.models.model import find_model


class Naive:
    """Recounts from whole prompts."""

    def __init__(self, trace: Any, script: Any) -> None:
        self.script = script
        prompts = [list(prompt) for prompt in trace.prompts()]
        steps = list(zip(trace.steps, prompts, strict=True))
        self.steps = steps
        self.compactions = [
            (step, prompt, *self.before(last, step))
            for last, (step, prompt) in pairwise(steps)
            if step.compaction
        ]

    @staticmethod
    def before(last: Any, step: Any) -> tuple[list[Any], tuple[Any, ...]]:
        """The last prompt with all that came to the log since, and its system blocks."""
        (step_before, prompt), log = last, list(step.log)
        old = list(step_before.log)
        grown = [a is b for a, b in zip(old, log, strict=False)]
        new = log[len(old) :] if all(grown) and len(old) <= len(log) else []
        return [*prompt, *new], step_before.system

    @staticmethod
    def tail(step: Any, prompt: list[Any]) -> int:
        log, kept = list(step.log), 0
        while kept < min(len(log), len(prompt)) and log[-1 - kept] == prompt[-1 - kept]:
            kept += 1
        return kept

    def tails(self) -> tuple[float | None, float | None]:
        kept, tokens = [], []
        for step, prompt, *_ in self.compactions:
            count = find_model(step.model).tokenizer.message
            kept.append(self.tail(step, prompt))
            tokens.append(sum(map(count, prompt[len(prompt) - kept[-1] :])))
        return (median(kept), median(tokens)) if kept else (None, None)

    def by_age(self, newer: int, older: int) -> float | None:
        shares = []
        for step, prompt, *_ in self.compactions:
            count = find_model(step.model).tokenizer.message
            back = list(reversed(step.log))[newer:older]
            if total := sum(map(count, back)):
                shares.append(sum(count(m) for m in back if m in prompt) / total)
        return fmean(shares) if shares else None

    def closure(self) -> float | None:
        shares = []
        for step, prompt, *_ in self.compactions:
            kept = min(10, self.tail(step, prompt))
            cut, log = len(prompt) - kept, list(step.log)
            referred = names(prompt[cut:]) & names(log[: len(log) - kept])
            if referred:
                stands = names(prompt[:cut]) | said(step.system)
                shares.append(len(referred & stands) / len(referred))
        return fmean(shares) if shares else None

    def order(self) -> float | None:
        found = [tau(places(prompt, list(step.log))) for step, prompt, *_ in self.compactions]
        taus = [each for each in found if each is not None]
        return fmean(taus) if taus else None

    def drifts(self, find: Any) -> float | None:
        """Mean divergence of what is found in parts."""
        found = [
            diverged(counted(before, system, find), counted(prompt, step.system, find))
            for step, prompt, before, system in self.compactions
        ]
        return fmean(found) if found else None

    def turned(self) -> float | None:
        """Mean of one less the cosine."""
        messages = self.script.messages
        held = Counter(word for m in messages for word in counted([m], (), terms))
        weight = {
            k: round(math.log((1 + len(messages)) / (1 + k)) + 1, 1)
            for k in range(len(messages) + 1)
        }

        def vector(context: Any, system: Any) -> dict[str, float]:
            return {w: n * weight[held[w]] for w, n in counted(context, system, terms).items()}

        found = [
            1 - cosine(vector(before, system), vector(prompt, step.system))
            for step, prompt, before, system in self.compactions
        ]
        return fmean(found) if found else None

    def novelty(self) -> float | None:
        """Of each summary part that is in any prompt: what no source text holds as a whole word."""
        parts: dict[int, tuple[Any, Any]] = {}
        for step, prompt in self.steps:
            for part in [*step.system, *(part for m in prompt for part in m.parts)]:
                if part.kind == "summary":
                    parts.setdefault(id(part), (part, list(step.log)))
        new = total = 0
        for part, log in parts.values():
            numbers = {word for word in part.text.split() if word.isdigit() and len(word) > 1}
            named = numbers | identifiers(part.text)
            texts = [source_text(source, log) for source in part.sources]
            total += len(named)
            new += sum(not any(whole(name, text) for text in texts) for name in named)
        return new / total if total else None

    def missing(self) -> tuple[int, int]:
        """Calls without the newest request, and calls without what came for the model."""
        requests = pending = 0
        for step, prompt in self.steps:
            log = list(step.log)
            stands = {
                source.id
                for message in prompt
                for part in message.parts
                if part.kind in ("verbatim", "truncated", "recovered")
                for source in part.sources
            }
            typed = [m.id for m in log if m.role == "user" and not m.meta]
            requests += bool(typed) and typed[-1] not in stands
            spoke = max((n for n, m in enumerate(log) if m.role == "assistant"), default=-1)
            since = log[spoke + 1 :]
            waited = {m.id for m in since if m.role == "tool"}
            if spoke >= 0 and not any(m.role == "user" and not m.meta for m in since):
                calls = {p.call_id for p in log[spoke].parts if p.type == "tool_call"}
                waited |= (
                    {log[spoke].id}
                    if calls - {p.call_id for m in since for p in m.parts}
                    else set()
                )
            pending += not waited <= stands
        return requests, pending


def names(messages: list[Any]) -> frozenset[str]:
    return said([part for message in messages for part in message.parts])


def said(parts: Any) -> frozenset[str]:
    return frozenset().union(*(named(part) for part in parts))


def named(part: Any) -> frozenset[str]:
    return identifiers(part.text) if part.type != "thinking" else frozenset()


def terms(part: Any) -> list[str]:
    return re.findall(r"\w+", part.text.lower()) if part.type != "thinking" else []


def tools(part: Any) -> list[str]:
    return [part.name] if part.type == "tool_call" else []


def counted(messages: Any, system: Any, find: Any) -> Counter[str]:
    parts = [*system, *(part for message in messages for part in message.parts)]
    return Counter(word for part in parts for word in find(part))


def cosine(one: dict[str, float], other: dict[str, float]) -> float:
    if not one or not other:
        return float(not one and not other)
    product = sum(weight * other.get(word, 0) for word, weight in one.items())
    length = math.dist([*one.values()], [0] * len(one)) * math.dist(
        [*other.values()], [0] * len(other)
    )
    return product / length


def diverged(one: Counter[str], other: Counter[str]) -> float:
    if not one or not other:
        return float(bool(one) != bool(other))
    p = {word: n / one.total() for word, n in one.items()}
    q = {word: n / other.total() for word, n in other.items()}
    middle = {word: (p.get(word, 0) + q.get(word, 0)) / 2 for word in p | q}
    return sum(
        sum(share * math.log2(share / middle[word]) for word, share in each.items()) / 2
        for each in (p, q)
    )


def places(prompt: list[Any], log: list[Any]) -> list[int]:
    ids = [message.id for message in log]
    kinds = ("verbatim", "truncated", "stub", "recovered")
    survivors = [p for m in prompt for p in m.parts if p.kind in kinds and p.sources]
    return [ids.index(p.sources[0].id) for p in survivors if p.sources[0].id in ids]


def tau(sequence: list[int]) -> float | None:
    pairs = [(a, b) for a, b in combinations(sequence, 2) if a != b]
    if not pairs:
        return None
    return sum(1 if a < b else -1 for a, b in pairs) / len(pairs)


def source_text(source: Any, log: list[Any]) -> str:
    message = next((m for m in log if m.id == source.id), None)
    if message is None:
        return ""
    if source.part < 0:
        return "\n".join(f"{part.name} {part.text}" for part in message.parts)
    part = message.parts[source.part]
    end = len(part.text) if source.end < 0 else source.end
    return f"{part.name} {part.text[source.start : end]}"


def whole(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
