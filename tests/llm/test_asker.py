"""Answers: recorded ones first, then those of an endpoint, within a budget, without secrets."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot
from inline_snapshot.extra import raises

from compactlab.llm.asker import Asker
from compactlab.llm.endpoint import Endpoint, _clients
from compactlab.llm.recorded import Request, Turn
from compactlab.sim.core.errors import InputError, ModelError, UsageError
from compactlab.sim.core.isolation import isolated
from tests.cli.conftest import called
from tests.lines import refusal
from tests.llm.server import Endpoint as Server
from tests.llm.server import serving

KEY = "sk-made-for-this-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "COMPACTLAB_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def _server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(_server: Server) -> Server:
    _server.asked.clear()
    _server.keys.clear()
    _server.refuse.clear()
    _server.says, _server.blames, _server.body = "", "no", None
    return _server


def asked(text: str = "The port is 8080. Which one?", model: str = "gpt-5-mini") -> Request:
    return Request(model, (Turn("user", text),), 100)


def test_the_same_is_asked_once_and_replayed_without_an_endpoint(server, tmp_path):
    here = Endpoint("openai", f"{server.url}/v1")
    first = Asker(tmp_path, "record").answer(asked(), here)
    again = Asker(tmp_path, "record").answer(asked(), here)
    replayed = Asker(tmp_path).answer(asked(), Endpoint("openai", "http://127.0.0.1:1"))
    assert first == again == replayed
    assert len(server.asked) == 1
    assert (first.text, first.ended) == ("The port is 8080. Which one?", "stop")
    assert first.served == "gpt-5-mini-served"
    assert (first.prompt, first.output) == (8, 8)


def test_an_endpoint_in_the_shape_of_openai(server, tmp_path):
    request = Request("some-model", (Turn("user", "Hi."),), 50, "Be kind.", 0.5, draw=3)
    Asker(tmp_path, "record").answer(request, Endpoint("openai", f"{server.url}/v1"))
    assert server.asked == [
        {
            "path": "/v1/chat/completions",
            "model": "some-model",
            "messages": [
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": "Hi."},
            ],
            "max_tokens": 50,
            "temperature": 0.5,
            "seed": 3,
        }
    ]


def test_an_endpoint_in_the_shape_of_anthropic(server, tmp_path):
    request = Request("claude-haiku-4-5", (Turn("user", "Hi."),), 50, "Be kind.", 0.5)
    answer = Asker(tmp_path, "record").answer(request, Endpoint("anthropic", server.url))
    assert server.asked == [
        {
            "path": "/v1/messages",
            "model": "claude-haiku-4-5",
            "messages": [{"role": "user", "content": "Hi."}],
            "system": "Be kind.",
            "max_tokens": 50,
            "temperature": 0.5,
        }
    ]
    assert (answer.text, answer.ended) == ("Hi.", "end_turn")


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_it_tries_again_where_an_endpoint_has_no_room(server, tmp_path, api):
    server.refuse += [429, 503]
    here = Endpoint.of("m", api, f"{server.url}/v1" if api == "openai" else server.url)
    assert Asker(tmp_path, "record").answer(asked(), here).text
    assert len(server.asked) == 3


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_what_an_endpoint_refuses_has_no_answer_and_costs_nothing(server, tmp_path, api):
    server.refuse.append(400)
    server.blames = "this model takes no temperature"
    here = Endpoint.of("m", api, f"{server.url}/v1" if api == "openai" else server.url)
    asker = Asker(tmp_path, "record", budget=1.0)
    with pytest.raises(ModelError, match=r"no answer of gpt-5-mini: .*takes no temperature"):
        asker.answer(asked(), here)
    assert asker.spent == (0, 0.0)
    assert [file.name for file in tmp_path.iterdir()] == [".lock"]


@pytest.mark.parametrize("api", ["openai", "anthropic"])
@pytest.mark.parametrize("body", [{}, [], {"choices": [], "content": 3}, {"usage": {}}])
def test_what_is_no_answer_is_named(server, tmp_path, api, body):
    server.body = body
    here = Endpoint.of("m", api, f"{server.url}/v1" if api == "openai" else server.url)
    with pytest.raises(ModelError, match="no answer of gpt-5-mini: what came is no answer"):
        Asker(tmp_path, "record").answer(asked(), here)


def test_what_may_have_to_be_paid_stays_reserved(tmp_path, server):
    asker = Asker(tmp_path, "record", budget=0.0003)
    most = asker.price(asked())
    assert most is not None
    assert most < 0.0003 < 2 * most
    with serving() as gone:
        pass  # nobody listens there any more
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("compactlab.llm.endpoint._RETRIES", 0)
        with raises(snapshot("ModelError: no answer of gpt-5-mini: Connection error.")):
            asker.answer(asked(), Endpoint("openai", f"{gone.url}/v1"))
    with pytest.raises(ModelError, match=rf"{most:.4f} USD is reserved"):
        asker.answer(asked(), Endpoint("openai", f"{server.url}/v1"))
    assert server.asked == []


def test_what_is_not_recorded_says_how_to_record_it(tmp_path):
    said = refusal(ModelError, lambda: Asker(tmp_path / "none").answer(asked(), Endpoint()))
    assert said == snapshot("""\
no answer of gpt-5-mini: none is recorded for this request (fb9a6892); to ask the model,
and record what it answers, add --ask record\
""")
    assert not (tmp_path / "none").exists()


def test_where_models_are_refused_nothing_has_an_answer(server, tmp_path):
    Asker(tmp_path, "record").answer(asked(), Endpoint("openai", f"{server.url}/v1"))
    asker = Asker(tmp_path, "refuse")
    assert refusal(UsageError, lambda: asker.check("gpt-5-mini", Endpoint())) == snapshot(
        "gpt-5-mini would be asked, and --ask refuse allows no model"
    )
    with pytest.raises(ModelError, match="no answer"):
        asker.answer(asked(), Endpoint())


# A budget.

sizes = st.lists(st.integers(1, 6000), min_size=1, max_size=6)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes, st.floats(0, 0.004), st.booleans())
def test_a_budget_is_never_passed(server, tmp_path_factory, sizes, budget, at_once):
    asker = Asker(tmp_path_factory.mktemp("answers"), "record", budget)
    here = Endpoint("openai", f"{server.url}/v1")

    def ask(number: int) -> int:
        try:
            asker.answer(asked(f"{number} " + "word " * sizes[number]), here)
        except ModelError as error:
            return 0 if "the budget is" in str(error) else -1
        return 1

    before = len(server.asked)
    with ThreadPoolExecutor(3 if at_once else 1) as pool:
        answered = sum(pool.map(ask, range(len(sizes))))
    count, spent = asker.spent
    assert spent <= budget
    assert count == answered == len(server.asked) - before
    if not at_once and answered < len(sizes):  # the first that was refused would have been too much
        refused = [asker.price(asked(f"{n} " + "word " * size)) for n, size in enumerate(sizes)]
        assert spent + max(price for price in refused if price is not None) > budget


def test_a_larger_budget_goes_on_from_there(server, tmp_path):
    here = Endpoint("openai", f"{server.url}/v1")
    asker = Asker(tmp_path, "record", 0.0)
    assert refusal(ModelError, lambda: asker.answer(asked(), here)) == snapshot("""\
no answer of gpt-5-mini: the budget is 0 USD, 0.0000 USD is spent, and this request may
cost 0.0002 USD; a larger --budget goes on from here\
""")
    assert Asker(tmp_path, "record", 1.0).answer(asked(), here).usd == pytest.approx(1.8e-5)


def test_a_budget_needs_a_price(tmp_path):
    asker = Asker(tmp_path, "record", 1.0)
    said = refusal(
        UsageError, lambda: asker.check("own-model", Endpoint("openai", "http://127.0.0.1:1"))
    )
    assert said == snapshot("""\
a budget needs the price of own-model, which is not known: write it into a file of models
(--models)\
""")
    with pytest.raises(UsageError, match="dollars"):
        Asker(tmp_path, budget=-1)
    with raises(snapshot("UsageError: models are asked by replay, record, refuse, not 'ask'")):
        Asker(tmp_path, "ask")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "content", ["[]", '{"x": -1000000}', '{"x": 1e999}', '{"x": 1e30}', "\x80"]
)
def test_no_list_of_reservations_makes_room_in_a_budget(content, server, tmp_path):
    (tmp_path / "pending.json").write_text(content, "latin-1")
    asker, here = Asker(tmp_path, "record", budget=0.0), Endpoint("openai", server.url)
    with pytest.raises(InputError, match=r"pending\.json: is not a list"):
        asker.check("gpt-5-mini", here)
    with pytest.raises(InputError, match=r"pending\.json: is not a list"):
        asker.answer(asked(model="gpt-5-mini"), here)
    assert server.asked == []


@pytest.mark.parametrize("count", [10**12 + 1, 10**18, 10**30])
def test_what_an_endpoint_counts_is_recorded_only_if_it_can_be_read_again(count, server, tmp_path):
    usage = {"prompt_tokens": count, "completion_tokens": 1, "total_tokens": count}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "x"}}
    server.body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m",
                   "choices": [choice], "usage": usage}  # fmt: skip
    asker = Asker(tmp_path, "record", budget=1.0)
    with pytest.raises(ModelError):
        asker.answer(asked(model="gpt-5-mini"), Endpoint("openai", f"{server.url}/v1"))
    # What it cost nobody knows, so that it stays reserved.
    assert asker.spent == (0, 0.0)
    assert 0 < sum(json.loads((tmp_path / "pending.json").read_bytes()).values()) < 1


NO_ADDRESSES = [
    "file:///etc/passwd", "ftp://example.org", "javascript:alert(1)", "data:text/plain,x",
    "example.org", "//example.org", "http:", "http://", "https:///v1", "http://h:port", "http://h:0",
    "http://[::1", " ",
]  # fmt: skip


@pytest.mark.parametrize("address", NO_ADDRESSES)
def test_what_is_no_address_of_an_endpoint_is_refused_at_once(address):
    with pytest.raises(UsageError):
        Endpoint.of("m", base_url=address)
    story = (
        "--conversations",
        "coding_agent(turns=2, tokens=2000)",
        "--strategies",
        "full_summary",
    )
    llm = f"llm(model='gpt-5-mini', base_url={address!r})"
    asked = ("--answers", "answers", "--ask", "record")
    assert called("run", *story, *asked, "--summarizer", llm).code == 2
    probe = ("probe", story[1], *story[2:], "--reader", "gpt-5-mini", "--base-url", address)
    assert called(*probe, *asked).code == 2
    assert not Path("answers").exists()


def test_any_host_may_be_asked():
    for address in (
        "http://127.0.0.1:8000/v1",
        "https://h",
        "HTTPS://H:443/x?y=z",
        "http://[::1]:1",
    ):
        assert Endpoint.of("m", base_url=address).base_url == address


@pytest.mark.parametrize(("api", "path"), [("openai", "/v1"), ("anthropic", "")])
def test_a_key_is_sent_and_stands_in_no_file_and_no_error(server, tmp_path, monkeypatch, api, path):
    monkeypatch.setenv("COMPACTLAB_API_KEY", KEY)
    here = Endpoint.of("m", api, f"{server.url}{path}")
    server.says = f"Your key is {KEY}."
    asker = Asker(tmp_path, "record")
    assert KEY not in asker.answer(asked(f"The key is {KEY}, keep it."), here).text
    server.refuse.append(401)
    server.blames = f"the key {KEY} is wrong"
    with pytest.raises(ModelError) as caught:
        asker.answer(asked("Something else?"), here)
    assert KEY not in str(caught.value)
    assert server.keys == [KEY, KEY]
    assert KEY not in str(server.asked)
    assert not [file for file in tmp_path.rglob("*") if KEY.encode() in file.read_bytes()]


@pytest.mark.parametrize(("api", "path"), [("openai", "/v1"), ("anthropic", "")])
def test_the_key_of_a_provider_goes_to_no_other_address(server, tmp_path, monkeypatch, api, path):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, KEY)
    Asker(tmp_path, "record").answer(asked(), Endpoint.of("m", api, f"{server.url}{path}"))
    assert server.keys == ["none"]


def test_without_a_key_nothing_is_begun(tmp_path):
    said = refusal(UsageError, lambda: Asker(tmp_path, "record").check("gpt-5-mini", Endpoint()))
    assert said == snapshot("to ask a model takes a key: set OPENAI_API_KEY in the environment")
    said = refusal(
        UsageError,
        lambda: Asker(tmp_path, "record").check(
            "claude-haiku-4-5", Endpoint.of("claude-haiku-4-5")
        ),
    )
    assert said == snapshot("to ask a model takes a key: set ANTHROPIC_API_KEY in the environment")


def test_without_the_package_it_says_which(tmp_path, monkeypatch):
    monkeypatch.setattr("compactlab.llm.endpoint.find_spec", lambda name: None)
    said = refusal(
        UsageError,
        lambda: Asker(tmp_path, "record").check("m", Endpoint("openai", "http://127.0.0.1:1")),
    )
    assert said == snapshot(
        "to ask a model takes the package openai: pip install 'compactlab[openai]'"
    )


def test_a_process_keeps_its_client_and_a_copy_of_it_has_another(server):
    """A connection that two processes write to mixes up what they say."""
    here = Endpoint("openai", f"{server.url}/v1")

    def client() -> int:
        here.ask(asked())
        return next(id(each) for who, each in _clients.items() if who[:2] == (os.getpid(), here))

    ours = client()
    assert client() == ours
    theirs = isolated(client)
    assert theirs.fault == ""
    assert theirs.value not in (None, ours)
    assert len(server.asked) == 3


def test_another_key_has_another_client(server, monkeypatch):
    for key in ("one-key", "another-key"):
        monkeypatch.setenv("COMPACTLAB_API_KEY", key)
        Endpoint("openai", f"{server.url}/v1").ask(asked())
    assert server.keys == ["one-key", "another-key"]
