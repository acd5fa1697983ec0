"""``compactlab new``: create files from templates."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from compactlab.cli.output import say, write_file
from compactlab.sim.core.errors import UsageError


@click.group()
def new() -> None:
    """Write a first strategy, summariser, experiment or gate."""


_folder = click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    show_default="current folder",
    help="Folder of the files; it is made if it does not exist.",
)


@new.command()
@click.argument("name")
@_folder
def strategy(name: str, folder: Path) -> None:
    """Write NAME.py, a working strategy, and test_NAME.py, its test.

    NAME is in snake case, as in specs. Existing files are not overwritten.
    """
    from compactlab.strategies.catalogue import STRATEGIES

    _write_class("strategy", name, folder, STRATEGIES)


@new.command()
@click.argument("name")
@_folder
def summarizer(name: str, folder: Path) -> None:
    """Write NAME.py, a working summariser, and test_NAME.py, its test.

    NAME is in snake case, as in specs. Existing files are not overwritten.
    """
    from compactlab.strategies.summarizers.catalogue import SUMMARIZERS

    _write_class("summarizer", name, folder, SUMMARIZERS)


_KINDS = {
    "strategy": ("strategy", "drop_old_results", "--strategies claude_code --strategies"),
    "summarizer": ("summariser", "quote_the_user", "--summarizer calibrated --summarizer"),
}


def _write_class(kind: str, name: str, folder: Path, taken: Iterable[str]) -> None:
    """Write a class and its test."""
    word, example, options = _KINDS[kind]
    if not name.isidentifier() or keyword.iskeyword(name) or name != name.lower():
        raise UsageError(f"{name!r} is not a valid name: use snake case, e.g. {example}")
    if name in taken:
        raise UsageError(f"there is already a {word} {name}; choose another name")
    cls = "".join(part.capitalize() for part in name.split("_"))
    main, test = folder / f"{name}.py", folder / f"test_{name}.py"
    files = {main: f"{kind}.py.j2", test: f"test_{kind}.py.j2"}
    _write(files, name=name, cls=cls, file=main.name)
    say(f"try it: compactlab run {options} {main}:{cls}")
    say(f"test it: pytest {test}")


@new.command()
@click.argument(
    "file", type=click.Path(dir_okay=False, path_type=Path), default=Path("experiment.toml")
)
def experiment(file: Path) -> None:
    """Write an experiment file that runs as it is, with a grid and a comment on each key.

    FILE is experiment.toml by default. Existing files are not overwritten.
    """
    _write({file: "experiment.toml.j2"}, file=file.name)
    say(f"preview: compactlab run {file} --dry-run")
    say(f"run it: compactlab run {file}")


@new.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), default=Path("gate.toml"))
def gate(file: Path) -> None:
    """Write rules for compactlab gate, with a comment on each.

    FILE is gate.toml by default. Existing files are not overwritten.
    """
    _write({file: "gate.toml.j2"}, file=file.name)
    say("write a baseline: compactlab baseline compactlab-out")
    say(f"compare with it: compactlab gate compactlab-out --rules {file}")


def _write(files: Mapping[Path, str], **words: str) -> None:
    """Render templates into files; nothing is written if one of the files exists."""
    import jinja2

    # The output is not HTML: escaping would break the Python code.
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("compactlab.cli"),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701
    )
    taken = [str(path) for path in files if path.exists()]
    if taken:
        exist = "exist" if len(taken) > 1 else "exists"
        raise UsageError(f"{' and '.join(taken)} {exist} already; nothing was written")
    for path, template in files.items():
        text = templates.get_template(template).render(words)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot write {str(path)!r}: {error}") from None
        write_file(path, text)
        say(f"wrote {path}")
