"""What people see, held fast. To look at a change: COMPACTLAB_UPDATE_GOLDEN=1 pytest tests/reports,
and read the diff of tests/reports/golden.
"""

from collections.abc import Callable

import pytest

from compactlab.reports.page.catalogue import FORMATS, render
from compactlab.sim.core.errors import UsageError
from compactlab.sim.experiment.results import Results

Check = Callable[[str, str], None]


@pytest.mark.parametrize("form", ["table", "md", "csv", "json"])
def test_a_report_is_what_it_was(form: str, small: Results, golden: Check) -> None:
    golden(f"small.{'txt' if form == 'table' else form}", render(small, form))


def test_a_narrow_table_says_what_it_leaves_out(
    small: Results, golden: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    golden("narrow.txt", render(small, "table"))


@pytest.mark.parametrize("form", sorted({*FORMATS} - {"html"}))  # test_page.py has the page
def test_every_format_gives_the_same_bytes_twice(form: str, small: Results) -> None:
    assert render(small, form) == render(small, form)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_store_that_was_saved_and_loaded_reads_the_same(
    form: str, small: Results, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("store")
    small.save(folder)
    assert render(Results.load(folder), form) == render(small, form)


def test_another_format_is_refused_with_the_known_ones(small: Results) -> None:
    with pytest.raises(UsageError, match="did you mean html"):
        render(small, "htm")
