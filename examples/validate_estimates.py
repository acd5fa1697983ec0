"""Hold characters by 4, 3.6 and 3 against true tokens, by kind of content.

``python examples/validate_estimates.py FOLDER``: all sessions below FOLDER, and below the folder of
the same name with ``-more`` beside it; then two sessions of each built-in scenario. The exit code
is 1 if a bar is missed, and 2 if a file cannot be used.

- *Kinds.* What a person typed, answers, thinking, calls of tools (name and arguments), results of
  tools. A text of which a fifth of the letters is not ASCII is of another language, whoever said
  it; as logs have hardly any, there are passages of our own (``PASSAGES``).
- *Characters* are UTF-16 code units, as agents count them. The estimate is their sum by 4 (pi,
  OpenClaw), 3.6 (the planner of OpenClaw's pull request 17345) or 3 (Cline), without rounding.
- *True tokens, by o200k*: the vocabulary of OpenAI's models, counted text by text.
- *True tokens, by the provider*: by how much the reported prompt grew between two calls, where the
  context only grew and one kind has nine tenths of the new characters. Tokens around messages, and
  what a client adds that no log shows, are among them. By model; kinds of 5,000 tokens and more.
- *Error*: the estimate less the truth, over the truth. Above 0 an agent compacts too early.

Bars, fixed before any figure was seen: over everything recorded, characters by 4 are within 20 % of
o200k; no kind but other languages is off by more than half; by 3, none is too late by more than
5 %. What providers report is told, and not judged.

Result (2026-11-27, the table is in docs/dev/measured.md): all bars are met, by 4: -9 % in all. What
Claude reports is another matter: by 4 is 26 % too little, from Claude 5 on nearly half.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from verdict import Verdict

from compactlab import CompactlabError, Conversation
from compactlab.scenarios.catalogue import SCENARIOS, sources
from compactlab.scenarios.readers import transcript
from compactlab.sim.core.message import Message, Part
from compactlab.sim.core.tokens import Tokenizer, utf16_length
from compactlab.sim.replay.recording import exchanges

FOLDER = "../shared/recorded"
RATES = (4, 3.6, 3)
OTHER = "other languages"
KINDS = {"thinking": "thinking", "tool_call": "calls", "tool_result": "results"}
SPEAKERS = {"user": "user", "assistant": "answers"}
ALONE, FOREIGN = 0.9, 0.2
LEAST = 100  # tokens of a growth below which the frame of messages is most of it
FEW = 5_000  # tokens of a kind below which chance decides
DATE = re.compile(r"-20\d{6}$")  # at the end of a model's name
PASSAGES = {
    "Chinese": "我们先把配置文件移到新的目录。再运行全部测试。如果有一个失败就把错误写进报告里。",
    "Japanese": "設定ファイルを新しいフォルダーに移してから、すべてのテストを実行してください。",
    "Korean": "설정 파일을 새 폴더로 옮긴 다음 모든 테스트를 실행하고 오류를 보고서에 적어 주세요.",
    "Russian": "Сначала перенесите файл настроек в новую папку, затем запустите все тесты.",
    "German": "Verschiebe zuerst die Einstellungsdatei in den neuen Ordner und prüfe dann alles.",
}
Sums = dict[str, list[int]]  # characters and tokens by kind


def main(arguments: Sequence[str] | None = None) -> int:
    """Hold estimates against counts; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(FOLDER))
    folder = parser.parse_args(arguments).folder
    folders = [folder, folder.with_name(folder.name + "-more")]
    try:
        recorded = [talk for each in folders for talk in read(each)]
    except CompactlabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    names = [f"{name}(tokens=60000)" for name in sorted(SCENARIOS)]
    synthetic = [talk for each in sources(names, 2)[0] for talk in each.conversations()]
    verdict = Verdict()
    verdict.basis("nothing: the three rates are those of agents", "all recorded sessions")
    print("| content | from | characters | characters a token | by 4 | by 3.6 | by 3 |")
    print("|---|---|---:|---:|---:|---:|---:|")
    told = show("o200k, recorded", sums_of(recorded))
    show("o200k, synthetic", sums_of(synthetic))
    show("o200k, ours", {name: counted(text) for name, text in PASSAGES.items()})
    for model, sums in sorted(reported(recorded).items()):
        show(f"reported, {model}", {kind: pair for kind, pair in sums.items() if pair[1] >= FEW})
    judge(told, verdict)
    return verdict.code()


def read(folder: Path) -> Iterator[Conversation]:
    """The sessions below a folder that agents recorded; benchmarks are passed over."""
    for path in sorted(folder.rglob("*.jsonl")):
        yield from (talk for talk in transcript.read(path) if talk.recorded)


def kind_of(message: Message, part: Part) -> str:
    """The kind of a text; "" for images and for what a client added."""
    letters = [sign for sign in part.text if sign.isalpha()]
    if letters and sum(not sign.isascii() for sign in letters) >= FOREIGN * len(letters):
        return OTHER
    if part.type == "text":
        return "" if message.meta else SPEAKERS.get(message.role, "")
    return KINDS.get(part.type, "")


def text_of(part: Part) -> str:
    """What an agent counts of a part."""
    return part.name + part.text if part.type == "tool_call" else part.text


def counted(text: str) -> list[int]:
    """The characters and the tokens of a text."""
    return [utf16_length(text), Tokenizer("o200k_base").text(text)]


def sums_of(talks: Iterable[Conversation]) -> Sums:
    """Characters and tokens of all texts, by kind."""
    sums: Sums = defaultdict(lambda: [0, 0])
    for message in (message for talk in talks for message in talk.messages):
        for part in message.parts:
            kind = kind_of(message, part)
            if kind and part.text:
                add(sums, kind, *counted(text_of(part)))
    return sums


def reported(talks: Iterable[Conversation]) -> dict[str, Sums]:
    """Characters of new messages and the growth of the reported prompt, by model and kind."""
    found: dict[str, Sums] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for talk in talks:
        for before, after in pairwise(exchanges(talk)):
            known, growth = len(before.context), after.cached - before.cached
            if before.context.shared(after.context) < known or growth < LEAST:
                continue
            chars: dict[str, int] = defaultdict(int)
            for message in after.context[known:]:
                for part in message.parts:
                    chars[kind_of(message, part)] += utf16_length(text_of(part))
            kind = max(chars, key=chars.__getitem__, default="")
            if kind and chars[kind] >= ALONE * sum(chars.values()):
                add(found[DATE.sub("", before.call.model)], kind, sum(chars.values()), growth)
    return found


def add(sums: Sums, kind: str, chars: int, tokens: int) -> None:
    """Add to both sums of a kind."""
    sums[kind][0] += chars
    sums[kind][1] += tokens


def errors(chars: int, tokens: int) -> list[float]:
    """The error of each estimate."""
    return [chars / rate / tokens - 1 for rate in RATES]


def show(truth: str, sums: Sums) -> dict[str, list[float]]:
    """Print a row a kind, and one for all; return the errors."""
    rows = {kind: pair for kind, pair in sorted(sums.items()) if pair[1]}
    if len(rows) > 1 and "ours" not in truth:
        rows["all"] = [sum(column) for column in zip(*rows.values(), strict=True)]
    for kind, (chars, tokens) in rows.items():
        cells = " | ".join(f"{error:+.0%}" for error in errors(chars, tokens))
        print(f"| {kind} | {truth} | {chars:,} | {chars / tokens:.2f} | {cells} |")
    return {kind: errors(*pair) for kind, pair in rows.items()}


def judge(told: dict[str, list[float]], verdict: Verdict) -> None:
    """The bars."""
    if "all" not in told:
        verdict.bar("no recorded sessions with two kinds of content", met=False)
        return
    by_four = told["all"][0]
    verdict.bar(f"all, by 4: {by_four:+.0%} (within 20 %)", abs(by_four) <= 0.2)
    for kind, (four, _, three) in told.items():
        if kind not in ("all", OTHER):
            verdict.bar(f"{kind}, by 4: {four:+.0%} (within 50 %)", abs(four) <= 0.5)
            verdict.bar(f"{kind}, by 3: {three:+.0%} (-5 % at least)", three >= -0.05)


if __name__ == "__main__":
    sys.exit(main())
