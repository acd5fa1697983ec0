"""How many tokens a history may take."""

import pytest

from compactlab.strategies.mechanisms.budget import Budget


@pytest.mark.parametrize(
    ("budget", "available", "tokens"),
    [
        (Budget(200_000, 20_000, 0), 164_000, 147_600),
        (Budget(200_000, 20_000, 30_000), 134_000, 120_600),
        (Budget(200_000, 20_000, 0, share=0.5), 164_000, 73_800),
        (Budget(10_000, 2_000, 0), 6_800, 6_120),  # at least 1200 are held back
        (Budget(20_000, 2_000, 0), 16_400, 14_760),  # 8 % of the window are more
        (Budget(32_000, 20_000, 11_000), -1_560, 1),
        (Budget(3_000, 0, 1_800), 0, 1),
    ],
)
def test_what_the_window_leaves_less_a_tenth_for_safety(budget, available, tokens):
    assert (budget.available, budget.tokens) == (available, tokens)


def test_products_are_taken_in_the_order_of_the_original():
    # 67 * 0.9 * 0.1 is 6.03 either way; the double of 10 * 0.9 * 0.7 is 6.3, rounded down.
    assert Budget(1_300, 0, 33, share=0.1).tokens == 6
    assert Budget(1_210, 0, 0, share=0.7).tokens == 6
