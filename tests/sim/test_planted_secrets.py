"""A planted set: secrets of every kind that is known, in the places where they are met.

All of them are drawn here, so that nobody who looks for secrets finds any in this file.
"""

import base64
import random
import string
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactlab.privacy import Redactor

DRAW = random.Random(17)
LETTERS = string.ascii_letters + string.digits
CAPITALS = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"
BASE64 = f"{LETTERS}+/"


def drawn(length: int, alphabet: str = LETTERS) -> str:
    """Characters, with a digit, a capital and a small letter among them where there are any."""
    least = [
        kind for kind in (string.digits, string.ascii_uppercase, "abcdef") if kind[1] in alphabet
    ]
    text = [DRAW.choice([c for c in kind if c in alphabet]) for kind in least]
    text += DRAW.choices(alphabet, k=length - len(text))
    DRAW.shuffle(text)
    return "".join(text)


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def card(prefix: str, length: int) -> str:
    """A number with an issuer's beginning and the right check digit."""
    digits = prefix + "".join(DRAW.choices(string.digits, k=length - len(prefix) - 1))
    for check in string.digits:
        doubled = "".join(str(int(digit) * 2) for digit in digits[::-2])
        if sum(map(int, doubled + digits[-2::-2] + check)) % 10 == 0:
            return digits + check
    raise AssertionError


def grouped(digits: str, sizes: tuple[int, ...], sign: str) -> str:
    ends = [sum(sizes[: at + 1]) for at in range(len(sizes))]
    return sign.join(digits[end - size : end] for end, size in zip(ends, sizes, strict=True))


# What is planted. Tokens with their prefix and what stands behind it:
PIECES = {
    "vault service": ("hvs.", drawn(24)),
    "vault service, long": ("hvs.", "CAES" + drawn(91, LETTERS + "_-")),
    "vault batch": ("hvb.", "AAAAAQ" + drawn(140, LETTERS + "_-")),
    "vault recovery": ("hvr.", drawn(24)),
    "digitalocean personal": ("dop_v1_", drawn(64, HEX)),
    "digitalocean oauth": ("doo_v1_", drawn(64, HEX)),
    "digitalocean refresh": ("dor_v1_", drawn(64, HEX)),
    "shopify public": ("shpat_", drawn(32, HEX)),
    "shopify custom": ("shpca_", drawn(32, HEX)),
    "shopify private": ("shppa_", drawn(32, HEX)),
    "shopify secret": ("shpss_", drawn(32, HEX)),
    "linear": ("lin_api_", drawn(40)),
    "databricks": ("dapi", drawn(32, HEX)),
    "databricks, numbered": ("dapi", drawn(32, HEX) + "-2"),
    "age": ("AGE-SECRET-KEY-1", drawn(58, BECH32)),
    "google refresh": ("1//0g", drawn(100, LETTERS + "_-")),
}
PREFIXED = {name: "".join(pieces) for name, pieces in PIECES.items()}
KNOWN = {
    "github": "gh" + "p_" + drawn(36),
    "gitlab": "gl" + "pat-" + drawn(20),
    "aws id": "AK" + "IA" + drawn(16, CAPITALS),
    "google api": "AI" + "za" + drawn(35),
    "npm": "np" + "m_" + drawn(36),
    "anthropic": "s" + "k-ant-api03-" + drawn(90, LETTERS + "_-") + "A1",
    "slack": "xo" + "xb-" + drawn(11, string.digits) + "-" + drawn(24),
    "stripe": "s" + "k_li" + "ve_" + drawn(24),
    "sendgrid": "S" + "G." + drawn(22) + "." + drawn(43),
    "hugging face": "h" + "f_" + drawn(34),
    "json web token": b64('{"alg":"HS256"}').rstrip("=")
    + "."
    + b64(f'{{"sub":"{drawn(50)}"}}')
    + "."
    + drawn(43),
    "telegram": drawn(10, string.digits) + ":AA" + drawn(33),
}
VISA, MASTERCARD = card("4", 16), card("54", 16)
SECRET = drawn(40, BASE64)
PASSWORD = drawn(14)
# A text with a place for it, and the secret.
PLANTED: dict[str, tuple[str, str]] = {
    **{name: (f"it is {{}}, {name}", secret) for name, secret in (KNOWN | PREFIXED).items()},
    "password": ("password={}", drawn(12)),
    "url": ("postgres://app:{}@db.internal/x", drawn(12)),
    "bearer": ("Authorization: Bearer {}", drawn(30)),
    "env": ("DEPLOY_KEY={}", drawn(30)),
    "card with blanks": ("charged {} today", grouped(VISA, (4, 4, 4, 4), " ")),
    "card with hyphens": ("charged {} today", grouped(MASTERCARD, (4, 4, 4, 4), "-")),
    "card, american": ("charged {} today", grouped(card("37", 15), (4, 6, 5), " ")),
    "card, of 14": ("charged {} today", grouped(card("36", 14), (4, 6, 4), " ")),
    "card beside its word": ("Visa: {}", card("4", 16)),
    "card in JSON": ('{{"creditCard": {{"number": "{}"}}}}', card("2221", 16)),
    "card before its word": ("{} (mastercard)", card("51", 16)),
    "card with a date": ("{} 12/27 123", grouped(card("6011", 16), (4, 4, 4, 4), " ")),
    "aws secret, same line": (f"{KNOWN['aws id']},{{}}", drawn(40, BASE64)),
    "aws secret, next line": (f"id {KNOWN['aws id']}\n\n    {{}}\n", drawn(40, BASE64)),
    "aws secret, before": (f"{{}} of {KNOWN['aws id']}", drawn(40, BASE64)),
    "aws secret, written out": (f"{KNOWN['aws id']}\\n{{}}\\n", drawn(40, BASE64)),
    "base64 under a name": ("data:\n  password: {}\n", b64(PASSWORD)),
    "base64 of a name": ("echo {} | base64 -d", b64(f"password={PASSWORD}")),
    "base64 of settings": (".env: {}", b64(f"PORT=80\nDB_PASSWORD={PASSWORD}\n")),
    "base64 of a token": ("run({})", b64(f"use {KNOWN['github']} here")),
    "base64 of a private key": (
        "tls.crt: {}",
        b64(f"{'-' * 5}BEGIN PRIVATE KEY{'-' * 5}\n{drawn(64, BASE64)}\n"),
    ),
    "base64 for docker": ('{{"auths": {{"r": {{"auth": "{}"}}}}}}', b64(f"robot$app:{PASSWORD}")),
    "base64 twice": ("x={}", b64(b64(f"secret_key={PASSWORD}"))),
    "basic": ("Authorization: Basic {}", b64(f"app:{PASSWORD}")),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_secret_is_hidden_and_nothing_else(name):
    text, secret = PLANTED[name]
    before, after = text.format("\0").split("\0")
    shown = Redactor().text(text.format(secret))
    assert secret not in shown
    if "AKIA" not in text:
        assert shown.startswith(before)
        assert shown.endswith(after[-2:])


WHOLE = {name: secret for name, secret in (KNOWN | PREFIXED).items() if len(secret) > 12}
BREAKS: dict[str, Callable[[str, str], str]] = {
    "line": lambda head, tail: f"use {head}\n{tail} for it",
    "indented": lambda head, tail: f"key: {head}\n      {tail}\n",
    "continued": lambda head, tail: f"export KEY_OF_IT={head}\\\n{tail}\n",
    "joined": lambda head, tail: f'key = "{head}" +\n      "{tail}";',
    "beside": lambda head, tail: f'key = (\n    "{head}"\n    "{tail}"\n)',
    "numbered": lambda head, tail: f'     7→"{head}"\n     8→"{tail}"\n',
    "written out": lambda head, tail: f"key {head}\\n{tail}\\n",
    "windows": lambda head, tail: f"key {head}\r\n{tail}\r\n",
}
FIXED = ["github", "gitlab", "google api", "npm", "linear", "databricks", "age", "shopify public"]
FIXED += ["digitalocean personal", "aws id"]


@pytest.mark.parametrize("way", BREAKS)
@pytest.mark.parametrize("name", FIXED)
def test_a_token_of_fixed_length_is_known_over_the_end_of_a_line(name, way):
    token = WHOLE[name]
    for at in (len(token) - 5, len(token) * 3 // 4):
        shown = Redactor().text(BREAKS[way](token[:at], token[at:]))
        assert token[:at] not in shown
        assert token[at:] not in shown


@pytest.mark.parametrize("way", sorted({*BREAKS} - {"line"}))
@pytest.mark.parametrize("name", ["anthropic", "google refresh", "json web token", "vault batch"])
def test_of_a_token_of_any_length_the_rest_fills_the_next_line(name, way):
    token = WHOLE[name]
    shown = Redactor().text(BREAKS[way](token[:70], token[70:]))
    assert token[:70] not in shown
    assert token[70:] not in shown


@pytest.mark.parametrize("name", PREFIXED)
def test_what_stands_in_the_middle_of_a_longer_word_is_no_token(name):
    text = f"x{PREFIXED[name]} x_{PREFIXED[name]}"
    assert Redactor().text(text) == text


@pytest.mark.parametrize("name", PIECES)
def test_what_is_too_short_or_of_other_letters_is_no_token(name):
    prefix, body = PIECES[name]
    for text in (prefix, prefix + body[:18], f"{prefix}!{body}", f"{prefix} {body}"):
        assert Redactor().text(text) == text


# What only looks like a secret.
PLAIN = card("4", 16)
ROW = grouped(card("4", 16), (4, 4, 4, 4), " ")
WRONG = str(int(VISA) + 1).zfill(16)
INNOCENT = {
    "digest of git": drawn(40, HEX),
    "digest": "sha256:" + drawn(64, HEX),
    "integrity": "sha512-" + drawn(86, BASE64) + "==",
    "uuid": "-".join(drawn(size, HEX) for size in (8, 4, 4, 4, 12)),
    "uuid of digits": "-".join(drawn(size, string.digits) for size in (8, 4, 4, 4, 12)),
    "order": f"order {PLAIN} is paid",
    "order of a kind": f"visa-{PLAIN}-7 card_{PLAIN}",
    "longer number": f"card 9{VISA} card {VISA}0000",
    "row of numbers": f"1024 {ROW}\n{ROW} 2048",
    "account of a bank": f"DE57 {ROW} 12",
    "wrong check digit": f"card {WRONG}, card {grouped(WRONG, (4, 4, 4, 4), ' ')}",
    "no issuer": "card " + card("9", 16),
    "other groups": grouped(VISA, (2, 6, 6, 2), " "),
    "discarded": f"discard {PLAIN}; wildcard {PLAIN}; gcc {PLAIN}; company {PLAIN}",
    "book": "ISBN 978-3-16-148410-0, 9783161484100",
    "time": "1763900000000 2026-11-23T12:00:00.123456Z 1763900000.123456",
    "picture": "data:image/png;base64,iVBORw0KGgo" + drawn(300, BASE64),
    "base64 of prose": b64("Whoever reads this finds prose, and no key to anything. " * 3),
    "base64 of settings": b64('{"version": 3, "sources": ["a.ts"], "names": []}'),
    "base64 of a pair": f"title: {b64('summary: nothing')}",
    "prose": "keys begin with sk- or hvs. or dapi; 1//0 is no number, AGE-SECRET-KEY-1 is a prefix",
    "version": "v1.2.3-rc.4+build.5678 @1.2.0 ^18.0.0",
    "words": "dapiDataGetTopLongShortPositionRatio dapi_client_with_a_very_long_name endapi",
    "code": "hvs.some_quite_long_name_of_a_method(hvb.another_long_name_of_a_method)",
    "constant": "_v1_ dop_v1_token shpat_example lin_api_key_for_the_linear_workspace",
    "minified": "function(e,t){return e[t]||(e[t]=getOwnPropertyNames(t).map(n=>n+1))}var a1=2;",
    "path": "/usr/lib/python3/dist-packages/Component1/SomeVeryLong/Name",
    "url": "https://example.org/1//0/index.html?x=1//0",
    "id of a call": "toolu_01A09q90qw90lq917835lq9 msg_01XFDUDYJgAACzvnptvVoYEL",
    "two short lines": "gh" + f"p_{drawn(10)}\n{drawn(12)} and lin_api_\n{drawn(40)}",
    "lines of another length": "gh" + f"p_{drawn(20)}\n{drawn(20)}",
}  # fmt: skip


@pytest.mark.parametrize("name", INNOCENT)
def test_what_only_looks_like_a_secret_is_left_alone(name):
    assert Redactor().text(INNOCENT[name]) == INNOCENT[name]


# What docs/security.md says of what stays visible.
VISIBLE = {
    "card without a word": f"paid with {PLAIN}",
    "card in other groups": grouped(VISA, (4, 4, 4, 4), "."),
    "card at a letter": f"card n{PLAIN}",
    "aws secret alone": SECRET,
    "base64 of a bare word": b64(f"it is {PASSWORD}, and no more"),
    "short base64": b64("pwd=abcd12")[:15],
    "hexadecimal": f"password={PASSWORD}".encode().hex(),
    "base64 in UTF-16": base64.b64encode(f"password={PASSWORD}".encode("utf-16-le")).decode(),
    "broken prefix": "gh" + f"\n{KNOWN['github'][2:]}".replace("_", "\n"),
    "broken near its end": f"{KNOWN['github'][:-3]}\n{KNOWN['github'][-3:]}",
    "on three lines": "\n".join(KNOWN["github"][at : at + 15] for at in (0, 15, 30)),
    "on one line": f'"{KNOWN["github"][:20]}" + "{KNOWN["github"][20:]}"',
}


@pytest.mark.parametrize("name", VISIBLE)
def test_what_stays_visible_is_what_the_docs_say(name):
    assert Redactor().text(VISIBLE[name]) == VISIBLE[name]


def test_beside_the_id_of_a_key_of_aws_only_what_looks_like_its_secret_is_hidden():
    known, digest = KNOWN["aws id"], drawn(40, HEX)
    path = "src/components/ComponentOne1/SomeLongNam"
    text = f"{digest} {{}} {path} {drawn(41, BASE64)}\n\n\n\n\n{SECRET}"
    assert Redactor().text(text.format(known)) == text.format("[redacted AWS Access Key 1]")


def test_after_a_token_of_any_length_another_line_is_left_alone():
    token = KNOWN["anthropic"]
    for line in (
        drawn(40, HEX),
        "a_line_of_code_1",
        "Some prose with Words and 1 digit",
        f"A={SECRET}",
    ):
        shown = Redactor().text(f"{token}\n{line}")
        assert shown == f"[redacted OpenAI Token 1]\n{line}"


def test_a_number_of_a_card_is_known_again_without_its_word():
    redactor = Redactor()
    redactor.learn(f"Visa {VISA}, or as JSON")
    assert redactor.text(f"order {VISA}, {PLAIN}") == f"order [redacted Card Number 1], {PLAIN}"


@given(st.text("0123456789 -", max_size=60))
def test_of_a_number_of_a_card_nothing_but_its_own_digits_is_hidden(text):
    number = grouped(VISA, (4, 4, 4, 4), "-")
    shown = Redactor().text(f"{text}; {number}; {text}")
    assert number not in shown
    assert "; [redacted Card Number " in shown


UNITS = [
    "1",
    "4111 ",
    "4-",
    "dapi",
    "hvs.",
    "1//0",
    "AKIA",
    "YWJj",
    "A",
    "shpat_a\n",
    "cGFzc3dvcmQ9",
    "\\n",
]
UNITS += [f"{KNOWN['aws id']} ", "gh" + "p_abcd\n", "card ", "s" + "k-" + "a1B2" * 6 + "\n"]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("size", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_hostile_line_is_read_once(unit, size):
    line = (unit * (size // len(unit) + 1))[:size]
    assert "ann@example.org" not in Redactor().text(f"{line} ann@example.org")
