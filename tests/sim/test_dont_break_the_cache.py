"""What a study of caching in long agent sessions found, found again by the model of caches.

"Don't Break the Cache", arXiv 2601.06007 (January 2026): four models of three providers, research
agents that search the web, a system prompt of 10,000 tokens; caching saves 41 to 80 % of the bill,
the more the longer the static prefix; volatile text belongs behind what is stable.

Its sessions are not published here, so these are made up. What is assumed: 20 calls 10 seconds
apart; a system prompt of 10,000 tokens and a question of 300; each call is answered with 150
tokens, and what it searched comes back with 1,500. At the prices of 15 January 2026 the output is
then 2 to 5 % of the bill without a cache. Every prefix that is held is found, which flatters
Gemini most. The study's models are taken to be those below; prices are those of genai-prices.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from compactlab.sim.cache import Anthropic, NoCache
from compactlab.sim.core.message import Message, Usage
from compactlab.sim.core.view import View
from compactlab.sim.models.model import Model, find_model
from compactlab.sim.models.pricing import prices_of
from compactlab.sim.replay.meter import Meter
from tests.sim.drawn import QUICK, sized, text

JANUARY = datetime(2026, 1, 15, tzinfo=UTC).timestamp()
STATIC, ASKED, ANSWER, FOUND, CALLS = 10_000, 300, 150, 1_500, 20
STUDIED = ["gpt-5-2", "claude-sonnet-4-5", "gemini-2-5-pro", "gpt-4o"]
NEWER = ["claude-opus-5-5", "claude-fable-5-2", "gpt-6-1-sol"]

Session = list[View]


def counted(name: str) -> Model:
    """A model for which a block of so many tokens is one of so many tokens."""
    return replace(find_model(name), tokenizer=QUICK)


def bill(model: Model, session: Session) -> tuple[float, float]:
    """Dollars for a session, and of those the ones for its output."""
    meter, prices, whole, output = Meter(), prices_of(model), 0.0, 0.0
    for call, view in enumerate(session):
        at = JANUARY + 10 * call
        meter.tokens(model, view)
        usage = meter.request(model, at, "", (), "append", output=ANSWER).usage
        rates = prices.rates(at, usage.prompt)
        whole += rates.cost(usage)
        output += rates.cost(Usage(output=ANSWER))
    return whole, output


def uncached(model: Model) -> Model:
    return replace(model, policy=NoCache())


def saving(model: Model, session: Session) -> float:
    """The share of the bill without a cache that the cache saves."""
    return 1 - bill(model, session)[0] / bill(uncached(model), session)[0]


def research(calls: int = CALLS, *, static: int = STATIC) -> Session:
    """A session in which an agent asks the web once a call."""
    view = View((text("", size=static),)).append(sized("question", ASKED))
    session = [view]
    for call in range(1, calls):
        answer = sized(f"answer {call}", ANSWER, role="assistant")
        view = view.append(answer, sized(f"found {call}", FOUND, role="tool"))
        session.append(view)
    return session


def volatile_first(view: View, call: int) -> View:
    """With a line in front that is another one in every call: a time, say."""
    return view.with_system(text("", size=10, origin=f"call {call}"), *view.system)


def volatile_behind(view: View, call: int) -> View:
    """With such a line between the system prompt and the messages."""
    line = Message("time", "user", (text("", size=10, origin=f"call {call}"),))
    return view.with_messages([line, *view.messages])


def changed(session: Session, change: Callable[[View, int], View]) -> Session:
    return [change(view, call) for call, view in enumerate(session)]


def rises(savings: list[float]) -> bool:
    return all(one < next for one, next in pairwise(savings))


@pytest.mark.parametrize("name", STUDIED)
def test_the_savings_lie_in_the_range_of_the_study(name):
    model, session = counted(name), research()
    assert 0.41 <= saving(model, session) <= 0.80
    whole, output = bill(uncached(model), session)
    assert 0.02 <= output / whole <= 0.05


@pytest.mark.parametrize("name", NEWER)
def test_cheaper_reads_save_more_than_it_could_find(name):
    assert saving(counted(name), research()) > 0.80


@pytest.mark.parametrize("name", STUDIED)
def test_who_writes_more_saves_less_of_the_bill(name):
    """Output is never cached: this is why its share has to be said."""
    model, session = counted(name), research()
    of_the_prompts = 1 - (bill(model, session)[0] - bill(model, session)[1]) / (
        bill(uncached(model), session)[0] - bill(uncached(model), session)[1]
    )
    assert of_the_prompts > saving(model, session)


@pytest.mark.parametrize("name", STUDIED)
def test_the_saving_rises_with_the_static_prefix(name):
    sizes = [500, 2_000, 10_000, 50_000]
    assert rises([saving(counted(name), research(static=size)) for size in sizes])


@pytest.mark.parametrize("name", STUDIED)
def test_the_saving_rises_with_the_number_of_calls(name):
    assert rises([saving(counted(name), research(calls)) for calls in (1, 2, 3, 5, 10, 20, 50)])


def test_a_single_call_costs_more_with_a_cache_where_writes_have_a_price():
    assert saving(counted("claude-sonnet-4-5"), research(1)) < 0
    assert saving(counted("gpt-5-2"), research(1)) == 0


def system_only(name: str, session: Session) -> float:
    """The saving if only the system prompt is cached.

    By a mark where there are any; else, as in the study, by volatile text right behind it.
    """
    model = counted(name)
    if isinstance(model.policy, Anthropic):
        return saving(replace(model, policy=replace(model.policy, marks=("system",))), session)
    return saving(model, changed(session, volatile_behind))


@pytest.mark.parametrize("name", STUDIED)
def test_the_system_prompt_alone_is_close_for_short_histories_and_below_for_long(name):
    gaps = []
    for calls in (2, 3, 10, 20, 50):
        session = research(calls)
        gaps.append(saving(counted(name), session) - system_only(name, session))
    assert abs(gaps[0]) < 0.02
    assert gaps[1] < 0.06
    assert rises(gaps)
    assert gaps[-1] > 0.35


def test_with_little_history_the_system_prompt_alone_can_even_be_cheaper():
    """What is written and never read again costs a quarter more than what is not cached."""
    session = research(2)
    assert system_only("claude-sonnet-4-5", session) > saving(counted("claude-sonnet-4-5"), session)


@pytest.mark.parametrize("name", STUDIED)
def test_volatile_text_in_front_destroys_the_saving(name):
    model, session = counted(name), research()
    broken = saving(model, changed(session, volatile_first))
    assert -0.25 <= broken <= 0
    assert (broken < 0) == isinstance(model.policy, Anthropic)


@pytest.mark.parametrize("name", STUDIED)
def test_behind_the_stable_prefix_it_leaves_what_stands_in_front_of_it(name):
    model, session = counted(name), research()
    assert saving(model, changed(session, volatile_behind)) > 0.1
    assert saving(model, changed(session, volatile_behind)) < saving(model, session)
