"""Where in a text something stands that must not be shown: a stretch, and what it looks like."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from re import Match, Pattern
from re import compile as compiled

from compactlab.privacy.rules import CREDENTIALS, ENV, STATED, STEMS, assigned

MAIL = "Mail Address"
PRIVATE_KEY = "Private Key"
ASSIGNED = STATED
"""What a name such as `password` or `API_KEY` is given, whatever it looks like."""

# A token begins behind whatever is no piece of one, or behind a line break that JSON has written
# out. Patterns without an end may only begin there, or a long line would be read again and again.
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf]))"
_MORE = compiled(r"[A-Za-z0-9_=-]*")
_SIGNATURE = compiled(r"(?:\.?[A-Za-z0-9_+/=-]+)*")
_EDGES = " \t\r\n=:\"'"

# As it is, in a URL, in JSON, in HTML.
_AT = r"(?:@|%40|\\{1,7}u0040|&#(?:0*64|[xX]0*40);|&commat;)"
_LOCAL = 256  # characters of what stands before an @
_DOMAIN = compiled(
    # No name of a picture (`@2x.`), and no version (`@1.2.0.rc1`).
    rf"{_AT}(?!\dx\.|(?:\d{{1,5}}\.){{2,4}}[^\W\d_]{{1,9}}\d{{1,5}}(?![\w.-]))"
    # What follows may be anything: in names of files it is `-`, `_` or a digit.
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
_KEY = 16_384  # characters of a key that are looked for before its end
_KEY_LINE = compiled(
    r"(?:(?<![A-Za-z0-9+/=])|(?<=\\[nr]))([A-Za-z0-9+/=]{1,200})(?:[ \t\r\n]|\\+[nr])+"
)

# What the library has no detector for.
_OWN = (
    ("OpenAI Token", ("sk-",), _START + r"sk-(?:ant-|proj-|or-|svcacct-)?[A-Za-z0-9_-]{20,}"),
    ("Google API Key", ("AIza",), r"AIza[0-9A-Za-z_-]{35}"),
    ("Google OAuth Token", ("ya29.",), _START + r"ya29\.[0-9A-Za-z_-]{20,}"),
    ("GitHub Token", ("github_pat_",), r"github_pat_[0-9A-Za-z_]{22,}"),
    ("Slack Token", ("xapp-", "xoxe"), r"(?:xapp-|xoxe[.-])[0-9A-Za-z.-]{10,}"),
    ("Hugging Face Token", ("hf_",), _START + r"hf_[0-9A-Za-z]{30,}"),
    ("NPM tokens", ("npm_",), r"npm_[0-9A-Za-z]{36}"),
    ("NPM tokens", ("_authToken",), r"_authToken\s{0,3}=\s{0,3}([^\s\"'\\$]{8,})"),
    ("Stripe Access Key", ("k_test_",), r"[rs]k_test_[0-9a-zA-Z]{24}"),
    ("Bearer Token", ("earer ",), r"\b[Bb]earer\s{1,3}([A-Za-z0-9_.~+/=-]{16,})"),
    ("Basic Auth Credentials", ("asic ",), r"\b[Bb]asic\s([A-Za-z0-9+/]{15,}={0,2}(?![\w/]))"),
)  # fmt: skip

# Of the library: the module of a detector and its class, what a text must hold for it to be worth
# a look, and the group that is the secret. Its other detectors need a network, take whatever looks
# random (digests and ids of every kind do), or read a line of blanks for hours.
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
    """A stretch of a text, what it looks like, and whether it is surely a password."""

    start: int
    stop: int
    kind: str
    sure: bool = False


def findings(text: str) -> list[Finding]:
    """Whatever looks like a secret or a mail address, from left to right, without overlaps."""
    matches = sorted(_all(text), key=lambda each: (each.start, -each.stop))
    apart: list[Finding] = []
    for each in matches:
        if apart and each.start < apart[-1].stop:
            last = apart.pop()
            kind = each.kind if last.kind == MAIL else last.kind
            sure = each.sure and each.start == last.start and each.stop >= last.stop
            each = Finding(last.start, max(last.stop, each.stop), kind, sure)  # noqa: PLW2901
        apart.append(each)
    return apart


def _all(text: str) -> Iterator[Finding]:
    if any(sign in text for sign in ("@", "%40", "u0040", "&#", "&commat;")):
        yield from _mails(text)
    if "PRIVATE KEY" in text or "PuTTY-User-Key" in text:
        yield from _private_keys(text)
    for needles, find in _detectors():
        if any(needle in text for needle in needles):
            yield from find(text)


def _mails(text: str) -> Iterator[Finding]:
    for domain in _DOMAIN.finditer(text):
        begin = max(0, domain.start() - _LOCAL)
        before = _BEFORE.search(text[begin : domain.start()].rpartition("@")[2])
        if before is not None:
            local = before[0].lstrip(".'%+-")
            # Of JSON's written-out line break the last letter is no part of the address.
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
        # Without its end, because somebody has cut it, what still looks like a key is hidden.
        stop = stops[after] if after < len(stops) else lines.end() if lines else begin.end()
        covered.add(stop)
        yield Finding(begin.start(), stop, PRIVATE_KEY)
    before = 0
    for match in ends:
        if match.end() not in covered:
            yield Finding(_beginning(text, before, match.start()), match.end(), PRIVATE_KEY)
        before = match.end()


def _beginning(text: str, start: int, end: int) -> int:
    """Where the lines of a private key begin whose head somebody has cut off."""
    at = end
    for line in reversed(list(_KEY_LINE.finditer(text, max(start, end - _KEY), end))):
        if line.end() != at or (at < end and len(line[1]) < 20):
            break
        at = line.start(1)
    return at


Find = Callable[[str], Iterable[Finding]]


@cache
def _detectors() -> tuple[tuple[tuple[str, ...], Find], ...]:
    """What finds tokens, each with what a text must hold for it to be worth a look."""
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
    for kind, needles, own in CREDENTIALS:
        detectors.append((needles, partial(_tokens, compiled(own), 1, kind, more=None)))
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
            # Of a token that is longer than its pattern nothing may be left over.
            rest = more.match(text, stop) if more else None
            last = rest.end() if rest else stop
            yield Finding(start, last, kind)


def _assigned(text: str) -> Iterator[Finding]:
    return (Finding(start, stop, ASSIGNED, sure) for start, stop, sure in assigned(text))


def _is_sound(sound: Callable[[str], bool], match: Match[str]) -> bool:
    try:
        return sound(match[0])
    except RecursionError:  # something nested so deep that nobody can say
        return True
