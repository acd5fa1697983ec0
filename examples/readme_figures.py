"""The figures of the README: measured by real runs, stored in docs/results, written into the pages.

``make picture`` replays the built-in session, draws docs/page.png, and stores its figures and its
verdict; docs/picture.svg is of ``make results``. ``make recorded`` measures those over eight
recordings, and by a dry run what summaries by real models would cost. ``make docs`` writes what is
stored into the pages; a test finds a figure that is not the stored one, and a number that is no
figure.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from compactlab import __version__

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "concepts.md")
STORED = ROOT / "docs" / "results"
MARKED = re.compile(r"<!-- (built-in|recorded|asked):(\w+) -->(.*?)<!-- -->", re.DOTALL)

# What the figures beside the verdict are of.
MASKING = ("keep_all", "observation_masking", "observation_masking(polling=10)")
# The name of a strategy in a key, and its label.
RECORDED = {
    "keep_all": "keep_all",
    "masking": "observation_masking",
    "polling": "observation_masking(polling=10)",
    "window": "sliding_window",
    "opencode": "opencode",
    "pi": "pi",
    "openclaw": "openclaw",
    "claude_code": "claude_code",
    "codex": "codex",
}


def renewed(page: str) -> str:
    """A page with the stored figures at their places."""

    def figure(found: re.Match[str]) -> str:
        source, key, _ = found.groups()
        return f"<!-- {source}:{key} -->{stored(source)[key]}<!-- -->"

    return MARKED.sub(figure, page)


def stored(source: str) -> dict[str, str]:
    """The stored figures of a source, as they stand in a page."""
    file = STORED / f"{source}.json"
    figures: dict[str, str] = json.loads(file.read_text("utf-8"))["figures"]
    return figures


def main(command: str, *folders: str) -> None:
    """Measure anew what a command's figures are, or write what is stored into the pages."""
    if command == "built-in":
        measure_built_in(Path(folders[0]))
    elif command == "recorded":
        measure_recorded(Path(folders[0]), [Path(folder) for folder in folders[1:]])
    elif command == "asked":
        measure_asked(Path(folders[0]), [Path(folder) for folder in folders[1:]])
    for file in PAGES:
        file.write_text(renewed(file.read_text("utf-8")), encoding="utf-8")


def measure_built_in(folder: Path) -> None:
    """Run the built-in session in a folder: picture, page, verdict and figures."""
    folder.mkdir(parents=True, exist_ok=True)
    ran(folder, "run")
    verdict = ran(folder, "report", "compactlab-out", "--brief").strip("\n")
    photograph(folder / "compactlab-out" / "report.html", ROOT / "docs" / "page.png")
    given = [each for spec in MASKING for each in ("--strategies", spec)]
    ran(folder, "run", *given, "--out", "masking")
    rows = rows_of(folder / "masking")
    everything, masking = rows["keep_all"], rows["observation_masking"]
    polling = rows["observation_masking(polling=10)"]
    store(
        "built-in",
        "compactlab run",
        folder / "compactlab-out",
        {
            "masking_tokens": share(tokens(masking) / tokens(everything)),
            "masking_cost": f"{masking['cost_usd'] / everything['cost_usd']:.1f}",
            "polling_tokens": share(tokens(polling) / tokens(everything)),
            "polling_cost": share(polling["cost_usd"] / everything["cost_usd"]),
            "verdict": f"\n```text\n$ compactlab run\n{verdict}\n```\n",
            "first_screen": first_screen(folder / "compactlab-out" / "report.html"),
        },
    )


def first_screen(page: Path) -> str:
    """The digest of what docs/page.png shows: the figures that matter, and the table."""
    text = page.read_text("utf-8")
    start, end = text.index('<ul class="headlines">'), text.index("</table>")
    return hashlib.sha256(text[start:end].encode()).hexdigest()


def measure_recorded(folder: Path, recordings: list[Path]) -> None:
    """Run some strategies over recordings, as they were asked for then."""
    folder.mkdir(parents=True, exist_ok=True)
    given = [each for path in recordings for each in ("--conversations", str(path.resolve()))]
    given += [each for spec in RECORDED.values() for each in ("--strategies", spec)]
    ran(folder, "run", *given, "--no-controls", "--tables", "lags", "--out", "recorded")
    rows = rows_of(folder / "recorded")
    found = {key: rows[spec] for key, spec in RECORDED.items()}
    everything = found["keep_all"]
    figures = {
        "over_window": share(everything["over_window"]),
        "masking_ratio": f"{found['masking']['cost_usd'] / everything['cost_usd']:.1f}",
        "window_tokens": share(tokens(found["window"]) / tokens(everything)),
    }
    for key, row in found.items():
        figures[f"{key}_cost"] = f"{row['cost_usd']:,.0f}"
        figures[f"{key}_closed"] = f"{row['cost_with_recovery_usd']:,.0f}"
        figures[f"{key}_recall"] = share(row["recall_20k"])
    shown = " ".join(path.name for path in recordings)
    store("recorded", f"make recorded, over {shown}", folder / "recorded", figures)


AGENTS = ("claude_code", "codex", "opencode")
# Who would be asked, by the name in a key.
ASKED = {"mini": "gpt-5-mini", "sonnet": "claude-sonnet-4-5"}
_SESSIONS = re.compile(r"([\d,]+) runs, if every source has one conversation")
_WOULD_ASK = re.compile(r"would ask ([\d,]+) requests.* for about ([\d,.]+) USD")


def measure_asked(folder: Path, recordings: list[Path]) -> None:
    """Find out by a dry run what it costs to have real models summarise a hundred sessions."""
    folder.mkdir(parents=True, exist_ok=True)
    given = [each for path in recordings for each in ("--conversations", str(path.resolve()))]
    given += [each for spec in AGENTS for each in ("--strategies", spec)]
    given += ["--answers", "answers", "--dry-run"]
    figures: dict[str, str] = {}
    for key, model in ASKED.items():
        told = ran(folder, "run", *given, "--summarizer", f"llm(model={model!r})")
        sessions, asked = _SESSIONS.search(told), _WOULD_ASK.search(told)
        assert sessions, told
        assert asked, told
        count = int(sessions[1].replace(",", "")) // len(AGENTS)
        hundred = 100 / count
        figures["sessions"] = f"{count:,}"
        figures["requests"] = f"{hundred * int(asked[1].replace(',', '')):,.0f}"
        figures[f"{key}_usd"] = f"{hundred * float(asked[2].replace(',', '')):,.1f}"
    files = sorted(file for path in recordings for file in path.rglob("*.jsonl"))
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    shown = " and ".join("/".join(path.parts[-2:]) for path in recordings)
    write("asked", f"compactlab run --dry-run, over {shown}", digests, figures)


def ran(folder: Path, *arguments: str) -> str:
    """What a command prints when it runs in a folder."""
    command = [sys.executable, "-m", "compactlab", *arguments]
    done = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return done.stdout


def rows_of(folder: Path) -> dict[str, dict[str, float]]:
    """The figures of each strategy of a store, by its label."""
    from compactlab.reports.analysis.comparison import comparisons
    from compactlab.sim.store.results import Results

    (compared,) = comparisons(Results.load(folder))
    return {row.label: dict(row.figures) for row in compared.rows}


def tokens(row: dict[str, float]) -> float:
    """All prompt tokens that were sent."""
    return sum(row[f"tokens_{kind}"] for kind in ("uncached", "cache_read", "cache_write"))


def share(value: float) -> str:
    """A share in percent: with a decimal below ten."""
    percent = round(100 * value, 1)
    return f"{percent:.1f} %" if 0 < percent < 10 else f"{percent:.0f} %"


def store(name: str, command: str, folder: Path, figures: dict[str, str]) -> None:
    """Write figures with the command that they are of, and the digest of its conversations."""
    from compactlab.sim.store.results import Results

    write(name, command, sorted({run.digest for run in Results.load(folder).runs}), figures)


def write(name: str, command: str, digests: list[str], figures: dict[str, str]) -> None:
    """Write figures with the command that they are of, and what it was run on."""
    held = {
        "command": command,
        "version": __version__,
        "conversations": len(digests),
        "digest": hashlib.sha256("".join(digests).encode()).hexdigest(),
        "figures": figures,
    }
    text = json.dumps(held, indent=1, ensure_ascii=False) + "\n"
    (STORED / f"{name}.json").write_text(text, encoding="utf-8")


def photograph(page: Path, out: Path) -> None:
    """The first screen of a page, in 256 colours; nothing where there is no browser."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        print(f"no browser: {out} stays as it is")
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="light")
        opened.goto(page.resolve().as_uri())
        taken: Any = opened.screenshot()
        browser.close()
    # Another method would spend the colours on grey letters, and lose those of the marks.
    few = Image.open(io.BytesIO(taken)).convert("RGB").quantize(method=Image.Quantize.FASTOCTREE)
    few.save(out, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
