"""Where the rules and the log suffice, what was read of the cache is forecast to the token.

Each story really asks a cache; its log shows other sizes than the true ones, and nothing of what
stands in front of the messages.
"""

import msgspec
from hypothesis import given

from compactlab.reports.audit.forecast import Forecast, forecasts
from compactlab.sim.cache import OpenaiGrid
from compactlab.sim.core.message import Message
from tests.sim.audit.client import MAIN, Client, model_of
from tests.sim.audit.drawn import sessions

# Tools and system prompt as large as those of a client of which nothing is known are taken to be.
USUAL = 28_000


def expected(client: Client) -> list[Forecast]:
    """The forecasts of a client's calls."""
    return [*forecasts(client.log(), client.find)]


def usual(**habits: object) -> Client:
    """A client of the usual size."""
    return Client(system=USUAL, **habits)  # type: ignore[arg-type]


def is_right(forecast: Forecast) -> bool:
    return forecast.read == forecast.exchange.usage.cache_read


def are_right(client: Client) -> bool:
    found = expected(client)
    assert found
    return all(map(is_right, found))


def wrong(client: Client) -> list[int]:
    return [index for index, each in enumerate(expected(client)) if not is_right(each)]


@given(sessions(untold=False))
def test_whatever_the_log_tells_of_is_forecast_to_the_token(client):
    assert are_right(client)


def test_a_session_that_only_grows():
    assert are_right(usual().turn(5).turn(5))


def test_an_entry_dies_after_five_minutes_or_an_hour():
    for ttl, within, beyond in (("5m", 280, 310), ("1h", 3_500, 3_610)):
        client = usual(ttl=ttl).turn().wait(within).turn().wait(beyond).turn()
        assert are_right(client)
        assert [each.read == 0 for each in expected(client)] == [True, *[False] * 5, True] + [
            False
        ] * 2


def test_what_a_compaction_leaves_in_front_is_read():
    client = usual().turn(5).compact().turn().turn().compact(keep=3).turn()
    assert are_right(client)
    assert [each.read for each in expected(client)].count(USUAL) == 2


def test_a_model_comes_back_to_what_it_had_read():
    client = usual().turn()
    client.model = "other"
    client.turn().turn()
    client.model = MAIN
    assert are_right(client.turn())
    assert [each.read for each in expected(client)[3:10:6]] == [0, 38_800]


def test_a_new_version_of_the_client_reads_nothing():
    client = usual().turn()
    client.version = "2.0"
    assert are_right(client.turn())
    assert expected(client)[3].read == 0


def test_another_thinking_mode_keeps_the_system_prompt():
    client = usual()
    for mode in ("low", "high", "low"):
        client.thinking = mode
        client.turn()
    assert are_right(client)
    assert expected(client)[3].read == USUAL


def test_images_change_nothing_that_was_stored():
    client = usual().turn().say(image=True).ask(ends=True).turn()
    assert are_right(client)
    assert USUAL not in [each.read for each in expected(client)]


def test_a_rewind_reads_what_was_stored_back_then():
    client = usual().turn()
    client.turn().rewind(client.messages[4].id).turn().rewind("m1").ask().rewind("").turn()
    assert are_right(client)


def test_back_to_the_middle_of_what_was_told_together_and_forth_again():
    """However far the log's text is off: what is too much of one message others have too little."""
    for seed in range(12):
        client = usual(context=60_000, noise=0.9, seed=seed)
        client.turn().turn(3, thought=2_000).turn(1)
        branch = client.last
        for back in ("m8", "m9", "m3"):
            assert are_right(client.rewind(back).turn(2, thought=500).rewind(branch).turn(1))


def test_too_many_blocks_between_two_calls():
    client = usual().turn().say()
    client.ask()
    for _ in range(12):
        client.result(100).say(30, meta=True)
    assert are_right(client.ask(ends=True).turn())
    assert [each.read for each in expected(client)].count(USUAL) == 1


def test_a_prefix_that_is_too_short_to_be_stored():
    client = Client(system=200, context=100).turn(3, tokens=50).turn(3, tokens=900)
    assert are_right(client)
    assert [each.read for each in expected(client)][:4] == [0, 0, 0, 1_200]


def test_a_model_that_drops_the_thinking_of_earlier_turns():
    client = usual()
    client.model = "forgetful"
    for thought in (3_000, 0, 500, 8_000):
        client.turn(4, thought=thought)
    assert are_right(client)
    losses = [each.had - each.read for each in expected(client)]
    assert [loss > 1_000 for loss in losses[4::4]] == [True, False, True]


def test_a_cache_on_a_grid():
    for strips in (False, True):
        models = {MAIN: model_of(MAIN, OpenaiGrid(), strips=strips)}
        client = usual(context=500, ttl="", format="codex", tail=0, models=models)
        client.turn(thought=700).turn(thought=2_000).wait(2_000).turn().compact().turn()
        assert are_right(client)


def test_calls_of_a_model_that_nobody_knows_are_left_out():
    client = usual(unknown=("other",)).turn()
    client.model = "other"
    client.turn(2)
    client.model = MAIN
    client.turn()
    assert are_right(client)
    assert len(expected(client)) == 6


def test_how_large_tools_and_system_prompt_are_shows_when_only_they_are_read():
    client = Client(system=17_000, context=60_000).turn().compact().turn().turn().compact().turn()
    assert wrong(client) == [3]
    assert [each.system for each in expected(client)] == [USUAL] * 4 + [17_000] * 8


def test_what_other_sessions_keep_alive_is_read_at_first_and_after_an_hour():
    shared = usual(ttl="1h", format="claude-code", others=True)
    shared.turn().wait(3_700).turn().suggest().wait(3_700).turn()
    assert are_right(shared)
    assert [each.read for each in expected(shared)[::3]] == [USUAL] * 3
    alone = usual(ttl="5m", format="claude-code").turn().wait(3_700).turn()
    assert are_right(alone)


# What is known only nearly: entries that end where the log does not say how much there was


def is_near(forecast: Forecast) -> bool:
    read = forecast.exchange.usage.cache_read
    return abs(forecast.read - read) < 0.01 * read


def test_a_broken_off_answer_leaves_its_prompt_in_the_cache():
    client = usual().turn().say(3_000).break_off().wait(200).say(100).ask()
    client.wait(200).result().break_off(note=True).wait(200).say(5).ask(ends=True).turn()
    found = expected(client)
    assert [index for index in wrong(client) if not is_near(found[index])] == []
    assert found[3].read > found[2].prompt + 3_000  # the broken-off one had written that


def test_without_it_the_cache_would_have_been_cold():
    """300 seconds after the last call that was counted, and 200 after the one that was not."""
    client = usual().turn().wait(150).say().break_off().wait(200).say().ask(ends=True)
    assert is_near(expected(client)[3])
    client = usual().turn().wait(150).say().wait(200).say().ask(ends=True)
    assert expected(client)[3].read == 0 == client.lookups[3].read


def test_a_suggestion_at_the_end_of_a_turn_leaves_the_answer_in_the_cache():
    client = usual(format="claude-code").turn().suggest().wait(250).turn().suggest().turn()
    found = expected(client)
    assert all(is_right(each) or is_near(each) for each in found)
    assert [
        each.read > before.prompt for before, each in zip(found[2:7:3], found[3::3], strict=True)
    ] == [True] * 2


def test_other_clients_ask_for_no_suggestion():
    assert are_right(usual(format="pi").turn().wait(250).turn())


def test_results_that_were_cleared_without_a_word_are_missed_once():
    for context in (60_000, 500):
        client = Client(system=USUAL, context=context).turn(6, tokens=9_000)
        client.clear("m3", "m5", "m7").turn().turn()
        assert wrong(client) == [6]
        assert expected(client)[6].read == USUAL  # where was cut nobody tells; behind the front
        assert expected(client)[6].causes["history_edit"] > 0


def test_a_compaction_and_then_a_broken_off_answer_count_in_their_order():
    client = usual().turn().compact().wait(150).say().break_off().wait(200).say().ask(ends=True)
    assert is_near(expected(client)[3])
    assert expected(client)[3].read > USUAL


def test_a_lifetime_that_is_told_once_goes_on():
    client = usual(ttl="1h").turn().turn()
    for index in (9, 11):
        answer = client.events[index]
        assert isinstance(answer, Message)
        assert answer.call
        silent = msgspec.structs.replace(answer.call, ttl="")
        client.events[index] = msgspec.structs.replace(answer, call=silent)
    assert are_right(client.wait(1_000).turn())


def test_what_is_longer_in_the_log_than_it_was_in_the_prompt_is_cut_down():
    client = Client(system=0, context=0, noise=0).say(60_000).ask().result().ask(ends=True).turn()
    [first, *others] = client.events
    assert isinstance(first, Message)
    longer = msgspec.structs.replace(first.parts[0], size=90_000)
    client.events = [msgspec.structs.replace(first, parts=(longer,)), *others]
    assert are_right(client)


def test_a_log_that_starts_inside_a_session():
    client = usual(context=500).turn(5).turn(5).compact().turn().wait(400).turn()
    client.events = client.events[8:]
    client.lookups = client.lookups[3:]
    assert wrong(client) == [0]
    assert expected(client)[0].prompt == client.log().calls[0].call.usage.prompt


def test_a_log_without_times_is_taken_for_one_without_gaps():
    client = usual().turn().wait(200).turn()
    client.events = [
        msgspec.structs.replace(event, time=0.0) if isinstance(event, Message) else event
        for event in client.events
    ]
    assert are_right(client)


def test_an_empty_log_has_no_calls():
    assert expected(Client()) == []
    assert expected(Client().say()) == []
