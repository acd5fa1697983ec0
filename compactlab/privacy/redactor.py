"""Replaces everything that looks like a secret by a placeholder."""

from __future__ import annotations

import dataclasses
import re
from binascii import a2b_base64
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from re import Match, Pattern
from re import compile as compiled
from typing import Any, TypeVar

import msgspec

from compactlab.privacy.rules import (
    BASIC,
    CREDENTIALS,
    ENV,
    STATED,
    STEMS,
    assigned,
    aws_secrets,
    card_numbers,
    is_ordinary,
)

MAIL = "Mail Address"
PRIVATE_KEY = "Private Key"
CARD = "Card Number"
ENCODED = "Base64 Secret"
ASSIGNED = STATED
"""Any value that is assigned to a name such as `password` or `API_KEY`."""

# A token starts after a character that tokens do not contain, or after an escaped line break in
# JSON. Open-ended patterns may only start there, or long lines would be read again and again.
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf]))"


def _begun(prefix: str) -> str:
    """Return a pattern for a prefix at a token start; its letters first, for a faster search."""
    return rf"{prefix}(?:(?<![A-Za-z0-9_-]{prefix})|(?<=\\[nrtbf]{prefix}))"


_MORE = compiled(r"[A-Za-z0-9_=-]*")
_SIGNATURE = compiled(r"(?:\.?[A-Za-z0-9_+/=-]+)*")
_EDGES = " \t\r\n=:\"'"

# The character @: plain, in a URL, in JSON, in HTML.
_AT = r"(?:@|%40|\\{1,7}u0040|&#(?:0*64|[xX]0*40);|&commat;)"
_LOCAL = 256  # most characters before an @
_DOMAIN = compiled(
    # Excludes image names (`@2x.`) and versions (`@1.2.0.rc1`).
    rf"{_AT}(?!\dx\.|(?:\d{{1,5}}\.){{2,4}}[^\W\d_]{{1,9}}\d{{1,5}}(?![\w.-]))"
    # Any character may follow: in file names `-`, `_` or a digit.
    r"(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}[^\W\d_]{2,24}"
)
_BEFORE = compiled(r"[\w.+%'-]+\Z")

_KEY_BEGINS = compiled(
    r"-{0,10}BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-{0,10}|PuTTY-User-Key-File-\d"
)
_KEY_ENDS = compiled(
    r"-{0,10}END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-{0,10}|Private-MAC: ?[0-9a-fA-F]*"
)
_BREAK = r"(?:[ \t\r\n]|\\+[nr])*"
_KEY_LINES = compiled(
    rf"(?:{_BREAK}[A-Za-z0-9+/=]{{20,}})*(?:{_BREAK}[A-Za-z0-9+/]{{1,76}}={{1,2}})?"
)
_KEY = 16_384  # most characters of a key before its end marker
_KEY_LINE = compiled(
    r"(?:(?<![A-Za-z0-9+/=])|(?<=\\[nr]))([A-Za-z0-9+/=]{1,200})(?:[ \t\r\n]|\\+[nr])+"
)

# Tokens of fixed length: their name, a string to search first, their prefix, and the alphabet and
# number of the following characters. The library finds some of them, too, but not across line ends.
# Sources: https://shopify.dev/changelog/length-of-the-shopify-access-token-is-increasing
# https://shopify.dev/changelog/app-secret-key-length-has-increased
# https://docs.aws.amazon.com/secretsmanager/latest/userguide/mes-partner-DatabricksPAT.html
# https://github.com/C2SP/C2SP/blob/main/age.md (Bech32 of 32 bytes and a checksum) and for the
# others, whose issuers document the prefix only, the rules of gitleaks:
# https://github.com/gitleaks/gitleaks/tree/master/cmd/generate/config/rules
_FIXED = (
    ("GitHub Token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_", "A-Za-z0-9", 36),
    ("GitLab Token", ("glpat-",), r"glpat-", r"A-Za-z0-9_-", 20),
    ("AWS Access Key", ("AKIA", "ASIA"), r"(?:AKIA|ASIA)", "A-Z0-9", 16),
    ("Google API Key", ("AIza",), r"AIza", r"A-Za-z0-9_-", 35),
    ("NPM tokens", ("npm_",), r"npm_", "A-Za-z0-9", 36),
    ("DigitalOcean Token", ("_v1_",), r"do[opr]_v1_", "a-f0-9", 64),
    (
        "Shopify Token",
        ("shpat_", "shpca_", "shppa_", "shpss_"),
        r"shp(?:at|ca|pa|ss)_",
        "a-fA-F0-9",
        32,
    ),
    ("Linear API Key", ("lin_api_",), r"lin_api_", "A-Za-z0-9", 40),
    ("Databricks Token", ("dapi",), r"dapi", "a-f0-9", 32),
    ("Age Secret Key", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1", "AC-HJ-NP-Z02-9", 58),
)

# Characters between the lines of a broken token: quotation marks, string concatenation, an
# indentation, and line numbers of some tools.
_JOINT = r"[ \t\"'`+.\\]{0,16}(?:\r?\n|\\+n)(?:[ \t]{0,16}\d{1,6}[→\t])?[ \t\"'`+.]{0,80}"
# A token of variable length continues only on a next line that it fills.
_REST = (
    rf"{_JOINT}(?=[a-z\d_-]{{0,512}}[A-Z])(?=[A-Z\d_-]{{0,512}}[a-z])(?=[A-Za-z_-]{{0,512}}\d)"
    r"[A-Za-z0-9_-]{16,512}(?:\.[A-Za-z0-9_-]{16,512})?(?=[\"'`,;)]{0,4}[ \t]*(?:[\r\n\\]|\Z))"
)
_WRAPPED = compiled(_REST)
_OPEN = frozenset({"Google OAuth Token", "JSON Web Token", "OpenAI Token", "Vault Token"})

# Tokens without a detector in the library.
_OWN = (
    ("OpenAI Token", ("sk-",), _begun("sk-") + r"(?:ant-|proj-|or-|svcacct-)?[A-Za-z0-9_-]{20,}"),
    ("Google API Key", ("AIza",), r"AIza[0-9A-Za-z_-]{35}"),
    ("Google OAuth Token", ("ya29.",), _begun(r"ya29\.") + r"[0-9A-Za-z_-]{20,}"),
    # Google documents no length; all known tokens have 40 or more characters.
    (
        "Google OAuth Token",
        ("1//0", "1\\/", "1%2F", "1%2f"),
        _begun("1") + r"(?:\\{0,3}/|%2[Ff]){2}0[0-9A-Za-z_-]{40,}",
    ),
    # https://developer.hashicorp.com/vault/docs/concepts/tokens: 24 characters or more. A name in
    # code has neither a digit nor many capitals.
    (
        "Vault Token",
        ("hvs.", "hvb.", "hvr."),
        _begun(r"hv[sbr]\.")
        + r"(?=[A-Za-z_-]{0,90}\d|(?:[a-z_-]{0,20}[A-Z]){7})[A-Za-z0-9_-]{24,}",
    ),
    # A truncated token: the library needs the whole payload.
    ("JSON Web Token", ("eyJ",), rf"{_begun('eyJ')}[\w-]{{8,}}\.eyJ[\w-]{{8,}}(?={_REST})"),
    ("GitHub Token", ("github_pat_",), r"github_pat_[0-9A-Za-z_]{22,}"),
    ("Slack Token", ("xapp-", "xoxe"), r"(?:xapp-|xoxe[.-])[0-9A-Za-z.-]{10,}"),
    ("Hugging Face Token", ("hf_",), _begun("hf_") + r"[0-9A-Za-z]{30,}"),
    ("NPM tokens", ("npm_",), r"npm_[0-9A-Za-z]{36}"),
    ("NPM tokens", ("_authToken",), r"_authToken\s{0,3}=\s{0,3}([^\s\"'\\$]{8,})"),
    ("Stripe Access Key", ("k_test_",), r"[rs]k_test_[0-9a-zA-Z]{24}"),
    ("Bearer Token", ("earer ",), r"\b[Bb]earer\s{1,3}([A-Za-z0-9_.~+/=-]{16,})"),
    ("Basic Auth Credentials", ("asic ",), r"\b[Bb]asic\s([A-Za-z0-9+/]{15,}={0,2}(?![\w/]))"),
)  # fmt: skip

# Detectors of the library: module, class, a string to search first, and the group of the secret.
# Its other detectors need a network, match anything random (digests and ids), or take hours for a
# line of blanks.
_LIBRARY: tuple[tuple[str, str, tuple[str, ...], tuple[int, ...]], ...] = (
    ("aws", "AWSKeyDetector", ("A3T", "ABIA", "ACCA", "AKIA", "ASIA", "aws"), (0, 1)),
    ("artifactory", "ArtifactoryDetector", ("AKC",), (0,)),
    ("azure_storage_key", "AzureStorageKeyDetector", ("AccountKey=",), (0,)),
    ("basic_auth", "BasicAuthDetector", ("://",), (1,)),
    ("discord", "DiscordBotTokenDetector", (".",), (0,)),
    ("github_token", "GitHubTokenDetector", ("gh",), (0,)),
    ("gitlab_token", "GitLabTokenDetector", ("gl", "GR1348941"), (0,) * 7),
    ("jwt", "JwtTokenDetector", ("eyJ",), (0,)),
    ("mailchimp", "MailchimpDetector", ("-us",), (0,)),
    ("openai", "OpenAIDetector", ("T3BlbkFJ",), (0,)),
    ("pypi_token", "PypiTokenDetector", ("pypi-Ag",), (0, 0)),
    ("sendgrid", "SendGridDetector", ("SG.",), (0,)),
    ("slack", "SlackDetector", ("xox", "XOX", "hooks.slack.com"), (0, 0)),
    ("square_oauth", "SquareOAuthDetector", ("sq0csp-",), (0,)),
    ("stripe", "StripeDetector", ("k_live_",), (0,)),
    ("telegram_token", "TelegramBotTokenDetector", (":",), (0,)),
    ("twilio", "TwilioKeyDetector", ("AC", "SK"), (0, 0)),
)
_BEGINNING = frozenset({"jwt", "openai", "mailchimp"})


@dataclass(frozen=True, order=True)
class Finding:
    """A range of a text, its kind, and whether it is certainly a password."""

    start: int
    stop: int
    kind: str
    sure: bool = False


@lru_cache(1024)  # repeated requests share most messages
def findings(text: str) -> tuple[Finding, ...]:
    """Return all possible secrets and mail addresses, from left to right, without overlaps."""
    matches = sorted(_all(text), key=lambda each: (each.start, -each.stop))
    apart: list[Finding] = []
    for each in matches:
        if apart and each.start < apart[-1].stop:
            last = apart.pop()
            kind = each.kind if last.kind == MAIL else last.kind
            sure = each.sure and each.start == last.start and each.stop >= last.stop
            each = Finding(last.start, max(last.stop, each.stop), kind, sure)  # noqa: PLW2901
        apart.append(each)
    return tuple(apart)


def _all(text: str) -> Iterator[Finding]:
    if any(sign in text for sign in ("@", "%40", "u0040", "&#", "&commat;")):
        yield from _mails(text)
    if "PRIVATE KEY" in text or "PuTTY-User-Key" in text:
        yield from _private_keys(text)
    yield from _cards(text)
    yield from _encoded(text)
    for needles, find in _detectors():
        for needle in needles:  # most texts contain none: any() takes ten times as long
            if needle in text:
                yield from find(text)
                break


def _mails(text: str) -> Iterator[Finding]:
    for domain in _DOMAIN.finditer(text):
        begin = max(0, domain.start() - _LOCAL)
        before = _BEFORE.search(text[begin : domain.start()].rpartition("@")[2])
        if before is not None:
            local = before[0].lstrip(".'%+-")
            # The last letter of an escaped line break in JSON is not part of the address.
            at = domain.start() - len(local)
            cut = text[max(0, at - 1) : at] == "\\" and local[:1] in "nrtbf"
            size = len(local) - cut
            if size:
                yield Finding(domain.start() - size, domain.end(), MAIL)


def _private_keys(text: str) -> Iterator[Finding]:
    ends = list(_KEY_ENDS.finditer(text))
    stops = [match.end() for match in ends]
    stop = 0
    covered: set[int] = set()
    for begin in _KEY_BEGINS.finditer(text):
        if begin.start() < stop:
            continue
        after = bisect_right(stops, begin.end())
        lines = _KEY_LINES.match(text, begin.end())
        # A key without its end marker: hide what still looks like a key.
        stop = stops[after] if after < len(stops) else lines.end() if lines else begin.end()
        covered.add(stop)
        yield Finding(begin.start(), stop, PRIVATE_KEY)
    before = 0
    for match in ends:
        if match.end() not in covered:
            yield Finding(_beginning(text, before, match.start()), match.end(), PRIVATE_KEY)
        before = match.end()


def _beginning(text: str, start: int, end: int) -> int:
    """Return the start of a private key whose header was cut off."""
    at = end
    for line in reversed(list(_KEY_LINE.finditer(text, max(start, end - _KEY), end))):
        if line.end() != at or (at < end and len(line[1]) < 20):
            break
        at = line.start(1)
    return at


Find = Callable[[str], Iterable[Finding]]


@cache
def _detectors() -> tuple[tuple[tuple[str, ...], Find], ...]:
    """Return the token finders, each with a string to search first."""
    from importlib import import_module

    detectors: list[tuple[tuple[str, ...], Find]] = []
    for module, name, needles, groups in _LIBRARY:
        detector = getattr(import_module(f"detect_secrets.plugins.{module}"), name)
        sound = getattr(detector, "is_formally_valid", None)
        for pattern, group in zip(detector.denylist, groups, strict=False):
            begun = _START if module in _BEGINNING else ""
            regex = compiled(begun + pattern.pattern, pattern.flags)
            more = _SIGNATURE if module == "jwt" else _MORE
            kind = detector.secret_type
            detectors.append(
                (needles, partial(_tokens, regex, group, kind, more=more, sound=sound))
            )
    for kind, needles, own in _OWN:
        regex = compiled(own)
        detectors.append((needles, partial(_tokens, regex, regex.groups, kind)))
    for kind, needles, prefix, alphabet, length in _FIXED:
        begun = _begun(prefix)
        regex = compiled(rf"{begun}[{alphabet}]{{{length}}}")
        piece = rf"([{alphabet}]{{4,{length - 4}}})"
        broken = compiled(rf"{begun}{piece}{_JOINT}{piece}(?![A-Za-z0-9])")
        detectors.append((needles, partial(_fixed, regex, broken, length, kind)))
    for kind, needles, own in CREDENTIALS:
        detectors.append((needles, partial(_tokens, compiled(own), 1, kind, more=None)))
    detectors.append((("AKIA", "ASIA"), _aws))
    detectors.append((STEMS, _assigned))
    detectors.append((STEMS, partial(_tokens, compiled(ENV), 1, ASSIGNED, more=None)))
    return tuple(detectors)


def _tokens(
    regex: Pattern[str],
    group: int,
    kind: str,
    text: str,
    *,
    more: Pattern[str] | None = _MORE,
    sound: Callable[[str], bool] | None = None,
) -> Iterator[Finding]:
    last = 0
    for match in regex.finditer(text):
        if match.end(group) > last and (sound is None or _is_sound(sound, match)):
            start, stop = match.span(group)
            while start < stop and text[start] in _EDGES:
                start += 1
            while stop > start and text[stop - 1] in _EDGES:
                stop -= 1
            # Nothing of a token longer than its pattern may remain.
            rest = more.match(text, stop) if more else None
            last = rest.end() if rest else stop
            wrapped = _WRAPPED.match(text, last) if kind in _OPEN else None
            last = wrapped.end() if wrapped else last
            yield Finding(start, last, kind)


def _fixed(
    regex: Pattern[str], broken: Pattern[str], length: int, kind: str, text: str
) -> Iterator[Finding]:
    yield from _tokens(regex, 0, kind, text)
    for match in broken.finditer(text):
        if len(match[1]) + len(match[2]) == length:
            yield Finding(*match.span(), kind)


def _cards(text: str) -> Iterator[Finding]:
    return (Finding(start, stop, CARD, sure=True) for start, stop in card_numbers(text))


def _aws(text: str) -> Iterator[Finding]:
    return (Finding(start, stop, "AWS Access Key") for start, stop in aws_secrets(text))


_CHARACTERS = compiled(r"[A-Za-z0-9+/]{16,}={0,2}")
# Four characters are three bytes; in text, none of them has its highest bit set.
_TEXT = compiled(
    r"(?:[CDI-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/]){3,}"
)
_MOST = 8_192  # characters: enough for a private key or a settings file, not for an image
_AUTH = compiled(r"auth\\{0,7}[\"'`]?\s{0,3}[:=]\s{0,3}\\{0,7}[\"'`]?\Z")  # Docker's, npm's
_PAIR = compiled(r"[!-9;-~]{1,64}:[!-~]{3,}")


def _encoded(text: str) -> Iterator[Finding]:
    """Yield base64 strings that encode a text with a secret."""
    for run in _CHARACTERS.finditer(text):
        start, stop = run.span()
        # The last letter of an escaped line break in JSON is not part of it.
        start += text[max(0, start - 1)] == "\\" and text[start] in "nrt"
        if stop - start <= _MOST and _TEXT.match(text, start):
            held = _decoded(text[start:stop].rstrip("="))
            pair = _PAIR.match(held) and _AUTH.search(text, max(0, start - 24), start)
            if pair or any(each.kind != MAIL for each in findings(held)):
                yield Finding(start, stop, ENCODED)


def _decoded(run: str) -> str:
    whole = run[:-1] if len(run) % 4 == 1 else run  # a single character encodes no byte
    return a2b_base64(whole + "=" * (-len(whole) % 4)).decode("latin-1")


def _assigned(text: str) -> Iterator[Finding]:
    return (Finding(start, stop, ASSIGNED, sure) for start, stop, sure in assigned(text))


def _is_sound(sound: Callable[[str], bool], match: Match[str]) -> bool:
    try:
        return sound(match[0])
    except RecursionError:  # too deeply nested to decide
        return True


# Memory of known secrets, which recognises them without context.

# Named values are remembered as a whole, unless they may occur by chance.
_WHOLE = {ASSIGNED, BASIC, CARD, ENCODED}
_TELLING = 8
_REMEMBERED = 500
# Minimum length of a piece of a token that is recognised: summaries quote, compactions cut, and
# actions use parts of tokens.
_PIECE = 12
_PIECES = 100_000
_VARIED = 4  # least number of different characters of a piece, to exclude lines of dashes
_RUN = re.compile(r"[A-Za-z0-9+/=_-]{12,}")
_LINE = re.compile(r"[A-Za-z0-9+/=]{20,}")  # a line of a private key
_WORD = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"


class Memory:
    """Recognises known secrets."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._pieces: dict[str, str] = {}
        self._again: re.Pattern[str] | None = None

    def copy(self) -> Memory:
        """Return a copy that learns independently."""
        other = Memory()
        other._values, other._pieces = dict(self._values), dict(self._pieces)
        other._again = self._again
        return other

    def learn(self, kind: str, secret: str, word: str, sure: bool) -> None:
        """Remember a secret and its placeholder; ``sure``: a password, even of letters only."""
        if kind == MAIL:
            return
        named = kind in _WHOLE
        if named and _is_telling(secret, sure) and len(self._values) < _REMEMBERED:
            if secret not in self._values:
                self._values[secret] = word
                self._again = None
            return
        if not named:
            for piece in _pieces(kind, secret):
                if len(self._pieces) < _PIECES:
                    self._pieces.setdefault(piece, word)

    def hidden(self, text: str) -> str:
        """Return a text without known secrets."""
        if self._values:
            if self._again is None:
                longest = sorted(self._values, key=lambda value: (-len(value), value))
                known = "|".join(map(_bounded, longest))
                self._again = re.compile(f"({known})[A-Za-z0-9_-]*")
            text = self._again.sub(lambda match: self._values[match[1]], text)
        return self._without_pieces(text) if self._pieces else text

    def _without_pieces(self, text: str) -> str:
        pieces, at = [], 0
        for run in _RUN.finditer(text):
            for start, stop, word in self._met(text, run.start(), run.end()):
                if start >= at:
                    pieces += [text[at:start], word]
                at = max(at, stop)
        return "".join([*pieces, text[at:]]) if pieces else text

    def _met(self, text: str, start: int, stop: int) -> Iterator[tuple[int, int, str]]:
        """Yield ranges of a run that contain pieces of secrets, with their placeholders."""
        at = start
        while at + _PIECE <= stop:
            word = self._pieces.get(text[at : at + _PIECE])
            if word is None:
                at += 1
                continue
            begin, end = at, at + _PIECE
            while end < stop and text[end - _PIECE + 1 : end + 1] in self._pieces:
                end += 1
            # Adjacent word characters belong to it.
            while begin > start and text[begin - 1] in _WORD:
                begin -= 1
            while end < stop and text[end] in _WORD:
                end += 1
            yield begin, end, word
            at, start = end, end


def _is_telling(secret: str, sure: bool) -> bool:
    if len(secret) < _TELLING or any(c.isspace() for c in secret):
        return False
    if any(c.isdigit() for c in secret) and any(c.isalpha() for c in secret):
        return True
    # A label, such as "Password" or "Continue", is not a secret.
    return sure and not secret.istitle() and not is_ordinary(secret)


def _bounded(value: str) -> str:
    """Return a pattern for a value; a value of letters is not matched inside a longer word."""
    return re.escape(value) if any(map(str.isdigit, value)) else rf"(?<!\w){re.escape(value)}"


def _pieces(kind: str, secret: str) -> Iterator[str]:
    runs = (_LINE if kind == PRIVATE_KEY else _RUN).findall(secret)
    for run in runs:
        for at in range(len(run) - _PIECE + 1):
            piece = run[at : at + _PIECE]
            if len(set(piece)) >= _VARIED:
                yield piece


T = TypeVar("T")


class Redactor:
    """Hides what looks like keys, tokens and mail addresses.

    Equal secrets get equal numbers, in order of occurrence. No digest of them is made: readers can
    only see which secrets are equal.

    Examples
    --------
    >>> redactor = Redactor()
    >>> redactor.text("ann@example.org asked bob@example.org; ann@example.org waits")
    '[redacted Mail Address 1] asked [redacted Mail Address 2]; [redacted Mail Address 1] waits'
    >>> redactor.text("4f1c9a0b77d2e6c8 is a digest")
    '4f1c9a0b77d2e6c8 is a digest'
    """

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = {}
        self._memory = Memory()

    def fork(self) -> Redactor:
        """Return a copy with the known secrets that learns independently."""
        other = Redactor()
        other._numbers = {kind: dict(numbers) for kind, numbers in self._numbers.items()}
        other._memory = self._memory.copy()
        return other

    def text(self, text: str) -> str:
        """Return a text without anything that looks like a secret."""
        pieces, at = [], 0
        for finding in findings(text):
            pieces += [
                text[at : finding.start],
                self._word(finding, text[finding.start : finding.stop]),
            ]
            at = finding.stop
        return self._memory.hidden("".join([*pieces, text[at:]]) if pieces else text)

    def excerpt(self, text: str) -> str:
        """Return an excerpt of a text without any secret of that text.

        A value of a name such as ``password`` may be too short to be recognised elsewhere, and an
        excerpt lacks the name.
        """
        known = {s: (kind, n) for kind, held in self._numbers.items() for s, n in held.items() if s}
        if known and text:
            longest = sorted(known, key=lambda secret: (-len(secret), secret))
            every = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)")
            text = every.sub(lambda m: "[redacted {} {}]".format(*known[m[0]]), text)
        return self.text(text)

    def learn(self, text: str) -> None:
        """Number the secrets of a text, so that they are recognised later."""
        for finding in findings(text):
            self._word(finding, text[finding.start : finding.stop])

    def within(self, value: T) -> T:
        """Redact all texts in a value, including lists, mappings and dataclasses.

        A value without secrets is returned as the same object.
        """
        redacted: Any = self._within(value)
        return redacted  # type: ignore[no-any-return]

    def _within(self, value: Any) -> Any:
        redacted = value
        if isinstance(value, str):
            redacted = self.text(value)
        elif isinstance(value, Mapping):
            redacted = {self._within(key): self._within(each) for key, each in value.items()}
        elif isinstance(value, tuple) and hasattr(value, "_fields"):
            redacted = type(value)(*map(self._within, value))
        elif isinstance(value, list | tuple | set | frozenset):
            redacted = type(value)(map(self._within, value))
        elif isinstance(value, msgspec.Struct):
            redacted = self._changed(value, value.__struct_fields__, msgspec.structs.replace)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [field.name for field in dataclasses.fields(value) if field.init]
            redacted = self._changed(value, names, dataclasses.replace)
        return redacted

    def _changed(self, value: Any, names: Any, replace: Any) -> Any:
        before = {name: getattr(value, name) for name in names}
        after = {name: self._within(each) for name, each in before.items()}
        changed = {name: each for name, each in after.items() if each != before[name]}
        return replace(value, **changed) if changed else value

    def _word(self, finding: Finding, secret: str) -> str:
        numbers = self._numbers.setdefault(finding.kind, {})
        word = f"[redacted {finding.kind} {numbers.setdefault(secret, len(numbers) + 1)}]"
        self._memory.learn(finding.kind, secret, word, finding.sure)
        return word
