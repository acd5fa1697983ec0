"""What is said of a name that nobody knows: what is near, or a few of what there is."""

from compactlab.sim.core.errors import unknown

MANY = [f"name_{number:03}" for number in range(150)]


def test_what_is_near_is_told_and_nothing_else():
    assert unknown("metric", "cost_us", [*MANY, "cost_usd"]).endswith("; did you mean cost_usd?")


def test_a_part_of_a_long_name_is_near():
    known = [*MANY, "the_longest_of_all_names_with_reuse"]
    assert unknown("metric", "reuse", known).endswith("did you mean the_longest_of_all_names_with_"
                                                      "reuse?")  # fmt: skip
    assert "did you mean" not in unknown("metric", "", known)


def test_of_many_the_first_are_told_and_where_all_are():
    told = unknown("metric", "zzz", reversed(MANY))
    assert told == f"unknown metric 'zzz'; known: {', '.join(MANY[:12])} and 138 more"
    assert unknown("metric", "zzz", MANY, "the list") == f"{told}; the list shows all"


def test_few_are_all_told():
    assert unknown("key", "zzz", MANY[:12], "the list").endswith(", name_010, name_011")
    assert unknown("key", "zzz", []) == "unknown key 'zzz'; there are none"
