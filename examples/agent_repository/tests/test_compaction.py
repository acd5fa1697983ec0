"""The agent's compaction stays what it is: what it remembers, what it costs, that it fits.

Run by ``pytest``; compactlab must be installed beside it.
"""

import pytest
from agent.settings import COMPACTION, MODEL

pytestmark = pytest.mark.compaction(
    strategy=COMPACTION,
    conversations=["tests/sessions", "coding_agent(turns=6, tokens=60000)"],
    model=MODEL,
    window=32_000,
)


def test_it_remembers_what_it_will_need(compaction):
    compaction.holds(amnesia_need="<= 0.15", overflows="== 0")


def test_it_breaks_no_rule_of_the_provider(compaction):
    compaction.holds(rejected_calls="== 0", structural_validity="== 1")


def test_it_costs_no_more_than_a_sliding_window_and_forgets_less(compaction):
    compaction.holds(cost_usd="+0%", amnesia_need="+0", than="sliding_window(keep=20)")


def test_a_session_is_not_compacted_all_the_time(compaction):
    assert compaction.frame()["compactions"].max() <= 10


@pytest.mark.compaction(conversations="tests/sessions")
def test_the_place_of_the_deployment_is_never_lost(compaction):
    compaction.holds(amnesia_need="== 0", type="decision")
