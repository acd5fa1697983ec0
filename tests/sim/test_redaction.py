"""What looks like a secret is hidden, what does not is left alone, and equal ones stay equal."""

import socket
import string
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compactlab.privacy import Redactor
from compactlab.privacy.redactor import findings
from compactlab.sim.core.message import Message, verbatim

# Put together here, so that nobody who looks for secrets finds any in this file.
HEADER = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9"
SECRETS = {
    "AWS Access Key": "AK" + "IAIOSFODNN7EXAMPLE",
    "Artifactory Credentials": "AK" + "C" + "p8b9" * 6,
    "Azure Storage Account access key": "Account" + "Key=" + "aB3/" * 21 + "cd==",
    "Discord Bot Token": "M" + "a1" * 12 + ".Xy12_z." + "b2" * 13 + "c",
    "GitHub Token": "gh" + "p_" + "a1B2" * 9,
    "GitLab Token": "gl" + "pat-" + "x1Y2" * 5,
    "Google API Key": "AI" + "za" + "Sy_-7" * 7,
    "Hugging Face Token": "h" + "f_" + "aBcD" * 9,
    "JSON Web Token": HEADER + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmN",
    "Mail Address": "ann.lee+x@mail.example.co.uk",
    "Mailchimp Access Key": "0123456789abcdef" * 2 + "-us" + "12",
    "NPM tokens": "np" + "m_" + "a1B2" * 9,
    "OpenAI Token": "s" + "k-ant-api03-" + "A1b2-" * 9,
    "PyPI Token": "py" + "pi-AgEIcHlwaS5vcmc" + "aB1-" * 20,
    "SendGrid API Key": "S" + "G." + "a" * 22 + "." + "b" * 43,
    "Slack Token": "xo" + "xb-123456-7890-" + "abcDEF",
    "Square OAuth Secret": "sq0" + "csp-" + "a1_" * 14 + "b",
    "Stripe Access Key": "s" + "k_li" + "ve_" + "a1" * 12,
    "Telegram Bot Token": "1234567890:" + "AAf-_" * 7,
    "Twilio API Key": "S" + "K" + "a1" * 16,
}
CONTEXTS = ["{}", "see {}.", '"{}"', "({})", "a\n{}\nb", "\\n{}\\n", "key: {}, and", "<{}>", "`{}`"]


@pytest.mark.parametrize("kind", sorted(SECRETS))
def test_a_secret_is_hidden_wherever_it_stands(kind):
    # The library wants a blank or a quotation mark on both sides of these.
    apart = kind == "Artifactory Credentials"
    for context in ("{}", '"{}"', "a\n{}\nb") if apart else CONTEXTS:
        shown = Redactor().text(context.format(SECRETS[kind]))
        assert shown == context.format(f"[redacted {kind} 1]")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password: 'hunter2x'", "password: '[redacted Secret Keyword 1]'"),
        ('{"api_key": "a b c d"}', '{"api_key": "[redacted Secret Keyword 1]"}'),
        (r"{\"client_secret\": \"abcd\"}", r"{\"client_secret\": \"[redacted Secret Keyword 1]\"}"),
        ("export DB_PASSWORD=abcd1234", "export DB_PASSWORD=[redacted Secret Keyword 1]"),
        ("refresh_token = `abcd`", "refresh_token = `[redacted Secret Keyword 1]`"),
        ("password=hunter2secret", "password=[redacted Secret Keyword 1]"),
        ("The password: hunter2secret.", "The password: [redacted Secret Keyword 1]."),
        ("db_pass: 4711", "db_pass: [redacted Secret Keyword 1]"),
        ("x-api-key: abc123", "x-api-key: [redacted Secret Keyword 1]"),
        ("api_key=abc123, n=1", "api_key=[redacted Secret Keyword 1], n=1"),
        ("secret=s3cr3t;", "secret=[redacted Secret Keyword 1];"),
        ("/get?token=abcd1234&x=1", "/get?token=[redacted Secret Keyword 1]&x=1"),
        ("accessToken: abcd1234", "accessToken: [redacted Secret Keyword 1]"),
        ("login --password hunter2secret", "login --password [redacted Secret Keyword 1]"),
        ('{"token": "abcd1234"}', '{"token": "[redacted Secret Keyword 1]"}'),
        (r"password=hunter2\nnext", r"password=[redacted Secret Keyword 1]\nnext"),
        ("Authorization: Bearer " + "abcd" * 5, "Authorization: Bearer [redacted Bearer Token 1]"),
        (
            "https://bob:s3cretpw@example.org/x",
            "https://bob:[redacted Basic Auth Credentials 1]/x",
        ),
    ],
)
def test_what_a_secret_is_called_gives_it_away(text, shown):
    assert Redactor().text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "4f1c9a0b77d2e6c8",
        "d" * 40,
        "0123456789abcdef" * 4,
        "sha256:" + "ab" * 32,
        "c56a4180-65aa-42ec-a945-5fd21dec0538",
        "toolu_01A09q90qw90lq917835lq9",
        "claude-sonnet-4-5@none gpt-6-sol+batch",
        "sliding_window(keep=20)",
        "logo@2x.png left-pad@1.3.0 a@b.T @pytest.mark.slow",
        "password = getpass()",
        "secret: ${SECRET} token: <yours>",
        "token = tokens[0]; token = tok1[0]; token = next1token(x)",
        "password = None; password: str = ''; self.password = password",
        "token_budget = 4000; token_budget: 40k00; max_token=4096; tokens: 12a34b",
        "password=args.password2 secret = self.secret1",
        "secret: true; token: int64; api_key: string; secret = base64",
        "a token abcd1234 of the key point1; monkey=abc123",
        '{"token": "hello world 1", "token": "word", "next": "abcd1234"}',
        "PASS: test_one1 pass: 1234 bypass=abc123",
        "left-pad@1.3.0.rc1, at @2x.png",
        "max_tokens=4096 PRIMARY_KEY=id",
        "the password is not told; see the key",
        "2026-11-22T10:00:00Z 12345678:9",
        "[redacted Mail Address 1]",
        "",
    ],
)
def test_what_is_none_is_left_alone(text):
    assert Redactor().text(text) == text


def test_equal_secrets_have_equal_numbers_in_the_order_of_their_coming():
    redactor = Redactor()
    assert redactor.text("b@x.org a@x.org b@x.org") == (
        "[redacted Mail Address 1] [redacted Mail Address 2] [redacted Mail Address 1]"
    )
    other = redactor.fork()
    assert other.text("c@x.org") == "[redacted Mail Address 3]"
    assert redactor.text("d@x.org c@x.org") == "[redacted Mail Address 3] [redacted Mail Address 4]"


def test_what_was_named_once_is_known_again_without_its_name():
    redactor = Redactor()
    redactor.learn("password: 'hunter2xyz', secret: 'word'")
    assert redactor.text("use hunter2xyz") == "use [redacted Secret Keyword 1]"
    assert redactor.text("a word is a word") == "a word is a word"


def test_a_password_of_letters_is_known_again_if_it_stood_in_quotes():
    redactor = Redactor()
    redactor.learn(
        """password: "swordfish", {'label_password': 'Continue', "password": 'required'}"""
    )
    assert redactor.text("use swordfish!") == "use [redacted Secret Keyword 1]!"
    assert redactor.text("one is aswordfish") == "one is aswordfish"
    assert redactor.text("Continue: a field is required") == "Continue: a field is required"
    redactor.learn("password=sunflowers and nothing else is sure")
    assert redactor.text("sunflowers grow") == "sunflowers grow"


def key(kind: str = "RSA ", ends: str = "\n") -> str:
    dashes, lines = "-" * 5, ["MIIEow" + "aB3/" * 14] * 3 + ["abcd="]
    begin, end = (f"{dashes}{word} {kind}PRIVATE KEY{dashes}" for word in ("BEGIN", "END"))
    return ends.join([begin, *lines, end])


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\\n", "\\\\n", "\n    "])
def test_a_private_key_is_hidden_with_all_its_lines(ends):
    text = f"before{ends}{key(ends=ends)}{ends}after"
    assert Redactor().text(text) == f"before{ends}[redacted Private Key 1]{ends}after"


def test_a_private_key_that_was_cut_is_hidden_as_far_as_it_goes():
    cut = key()[:150]
    assert Redactor().text(f"{cut} ... [cut] and more") == (
        "[redacted Private Key 1] ... [cut] and more"
    )


@pytest.mark.parametrize("kind", sorted({*SECRETS} - {"Mail Address"}))
def test_a_longer_token_leaves_no_rest(kind):
    text = f"x {SECRETS[kind]}abc123 y"
    assert "abc123" not in Redactor().text(text)


def test_the_ends_of_a_token_that_was_cut_are_known_again():
    redactor, token = Redactor(), "gh" + "p_" + "0123456789abcdefghijklmnopqrstuvwxyz"
    redactor.learn(f"token {token}")
    shown = redactor.text(f"{token[:17]} ... cut ... {token[-20:]} and {token}")
    word = "[redacted GitHub Token 1]"
    assert shown == f"{word} ... cut ... {word} and {word}"


def test_a_piece_out_of_the_middle_of_a_token_is_known_again():
    redactor, token = Redactor(), "gh" + "p_" + "0123456789abcdefghijklmnopqrstuvwxyz"
    redactor.learn(f"token {token}")
    assert redactor.text(f"it has {token[9:23]} in it") == "it has [redacted GitHub Token 1] in it"
    assert redactor.text(f"it has {token[9:20]} in it") == f"it has {token[9:20]} in it"


def test_a_line_of_a_private_key_is_known_again_without_the_others():
    redactor = Redactor()
    redactor.learn(key())
    line = key().split("\n")[2]
    assert redactor.text(f"and {line}, cut out") == "and [redacted Private Key 1], cut out"
    assert redactor.text(f"and {line[7:31]}") == "and [redacted Private Key 1]"


@pytest.mark.parametrize("ends", ["\n", "\\n"])
def test_a_private_key_is_hidden_when_its_head_was_cut(ends):
    cut = key(ends=ends).split(ends, 1)[1]
    shown = Redactor().text(f"in prose{ends}{cut[30:]}{ends}and more")
    assert shown == f"in prose{ends}[redacted Private Key 1]{ends}and more"
    assert Redactor().text(f"{cut[30:]} ") == "[redacted Private Key 1] "


def test_everything_that_holds_texts_is_looked_through():
    @dataclass(frozen=True)
    class Note:
        words: str
        count: int = 1

    mail = "ann@example.org"
    held = {
        mail: [mail, (mail, 1)],
        "note": Note(mail),
        "message": Message(mail, "user", (verbatim("m", "text", mail),)),
        "none": None,
    }
    shown = Redactor().within(held)
    assert mail not in repr(shown)
    assert repr(shown).count("[redacted Mail Address 1]") == 6
    assert shown["note"].count == 1
    clean = Note("nothing")
    assert Redactor().within(clean) is clean


def test_nobody_is_asked(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a secret was sent away")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    for secret in SECRETS.values():
        assert findings(f"x {secret} y") or "AKC" in secret


ADDRESSES = ["jane.doe@example-corp.com", "kim@foo.io", "n_o+1@a.b-c.museum", "nora@126.com"]
MARKS = st.text(st.sampled_from(f"{string.punctuation} \t\n«…—"), max_size=6)


@given(MARKS, st.sampled_from(ADDRESSES), MARKS)
@example("", ADDRESSES[0], "-")
@example("_", ADDRESSES[1], "_")
@example("\\", ADDRESSES[3], "..")
def test_an_address_is_hidden_whatever_marks_stand_around_it(before, address, after):
    assert address not in Redactor().text(before + address + after)


@pytest.mark.parametrize("after", ["", "-now", "_old", ".", "._x", "-", "9", "--1.txt"])
def test_an_address_is_the_same_one_in_the_name_of_a_file(after):
    shown = Redactor().text(f"kim@foo.io kim@foo.io{after}")
    if after == "--1.txt":  # what goes on like a domain is hidden as well
        assert shown == "[redacted Mail Address 1] [redacted Mail Address 2]"
    else:
        assert shown == f"[redacted Mail Address 1] [redacted Mail Address 1]{after}"


# Pieces of what the patterns look for, put together by chance.
PIECES = [*SECRETS.values(), "@", ".org", "x@", "eyJ", "sk-", "://a:b", "key: '", "'", "-----"]
PIECES += ["BEGIN PRIVATE KEY", "END PRIVATE KEY", "password=", '\\"', " ", "é", "\ud800", "_KEY="]


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=12).map("".join))
def test_stretches_are_apart_and_cover_what_was_found(text):
    found = findings(text)
    assert all(one.stop <= other.start for one, other in pairwise(found))
    assert all(0 <= each.start < each.stop <= len(text) for each in found)
    shown = Redactor().text(text)
    assert all(
        text[each.start : each.stop] not in shown or each.stop - each.start < 20 for each in found
    )
    assert shown.count("[redacted ") >= len(found)


UNITS = "x eyJ eyJa. / sk- @ a@a. password -----BEGIN~RSA~PRIVATE~KEY----- - ://a ://a:b 1234567890"
UNITS += (
    ' 0123456789abcdef glpat- @a.a.a A_KEY _authToken=~ xoxb-1 -us \\n " %40 password:~ key~~~ ~'
)


@pytest.mark.parametrize("size", [20_000, pytest.param(10_000_000, marks=pytest.mark.slow)])
def test_a_line_of_any_length_is_read_once(size):
    # What took the square of the length would not come to its end within a day.
    units = [unit.replace("~", " ") for unit in UNITS.split(" ")]
    for unit in units if size < 1_000_000 else ["eyJ", "password", "x", "a@example.org ", "glpat-"]:
        line = (unit * (size // len(unit) + 1))[:size]
        shown = Redactor().text(f"{line} ann@example.org")
        assert "ann@example.org" not in shown
