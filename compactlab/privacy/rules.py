"""Rules that recognise secrets: names, URLs, headers and so on; and values that are no secrets."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from re import IGNORECASE, Match, Pattern
from re import compile as compiled

# Values after a secret's name that are not secrets: code, placeholders, words.

_CODE = compiled(
    r"(?:self|this|cls|args|config|cfg|settings|os|env|process|request|req|options|opts|ctx)\."
    r"|(?:u?int|float|sha|md|base|utf-?|bytes|str|v)\d+\Z|\w+://",
    IGNORECASE,
)
# Placeholders, such as `${USER}:${PASSWORD}`. Separators must not match placeholders.
_PLACE = compiled(
    r"(?:(?:\$\{[^{}]*\}|\$\([^()]*\)|\$[A-Za-z_]+|<[^<>]*>|\{\{?[^{}]*\}?\}|%\(\w*\)s|%[sdr]"
    r"|%[A-Z_]+%|\[[^\[\]]*\])[\s:/@,.-]*)+"
)
_ATTRIBUTE = compiled(r"[A-Za-z_]\w*(?:\??\.[A-Za-z_]\w*)+")
# `password=password`, `password=db_password`, `password: userPassword`
_ECHO = compiled(
    r"(?:\A|.*_|.*[a-z0-9](?=[A-Z]))(?:[Pp]ass(?:wor[dt]|wd|phrase|code)?|PASSWORD|[Pp]wd|[Pp]w)s?"
)
# Words of settings, types and messages about passwords.
_WORDS = compiled(
    r"none|null|nil|undefined|true|false|yes|not|str|string|text|bytes|char|varchar|integer|"
    r"number|bool|boolean|object|secretstr|optional|required|missing|invalid|empty|blank|"
    r"hidden|masked|redacted|unknown|default|changed|expired|incorrect|wrong|reset|prompt|"
    r"stdin|file|path|value|must|should|will|have|this|that|your|from|with|input|getpass|type|"
    r"option|flag|argument|field|auto|disabled|enabled|never|always|only|when|then|else|same|"
    r"please|enter|login|policy|authentication|protected|manager|cannot|does|doesn't|isn't",
    IGNORECASE,
)


def is_code(value: str) -> bool:
    """Whether the start of an unquoted value shows that it is code."""
    return _CODE.match(value) is not None


def is_place(value: str) -> bool:
    """Whether a value is a placeholder for a secret.

    Examples
    --------
    >>> is_place("${USER}:${PASSWORD}"), is_place("<your key>"), is_place("$3cret")
    (True, True, False)
    """
    return _PLACE.fullmatch(value) is not None


def is_ordinary(value: str) -> bool:
    """Whether a value is a common word of settings, types and messages about passwords."""
    return _WORDS.fullmatch(value.rstrip("!?*")) is not None


def may_be_password(value: str, option: bool) -> bool:
    """Whether an unquoted value of letters only may be a password.

    After a command-line option, capitals are a placeholder.

    Examples
    --------
    >>> [may_be_password(value, False) for value in ("swordfish", "string", "form.data")]
    [True, False, False]
    """
    if is_ordinary(value) or not any(c.isalpha() for c in value) or (option and value.isupper()):
        return False
    return not (_ATTRIBUTE.fullmatch(value) or _ECHO.fullmatch(value))


# The end of a quotation: a quotation mark with the same escape level as the opening one.

_MOST = 4_096  # most characters of a quotation
_MARKS = {mark: compiled(rf"(\\+){mark}?|{mark}|[\r\n]") for mark in "\"'`"}


def end_of_quotation(text: str, opened: int) -> int:
    r"""Return the end of a quotation: before the closing mark, at the end of the line or text.

    Nested JSON escapes inner marks: a mark with three backslashes is inside a quotation that was
    opened with one backslash. ``opened`` is the index of the mark after its backslashes.

    Examples
    --------
    >>> text = r'{"password": "say \"so\"", "next": 1}'
    >>> print(text[14 : end_of_quotation(text, 13)])
    say \"so\"
    """
    mark, before = text[opened], text[max(0, opened - 16) : opened]
    level = len(before) - len(before.rstrip("\\"))
    stop = min(len(text), opened + 1 + _MOST)
    for match in _MARKS[mark].finditer(text, opened + 1, stop):
        if match[0] in "\r\n":
            return match.start()
        escaped = len(match[1] or "")
        # Each level doubles the backslashes before a mark and adds one.
        closes = escaped < level or escaped % (2 * level + 2) == level
        if match[0].endswith(mark) and closes:
            return match.end() - 1 - min(level, escaped)
    return stop


# Values assigned to names of secrets: ``password: ...``, ``API_KEY=...``.

# Stems that every name of a secret contains, in all cases: a case-insensitive search is ten times
# slower.
STEMS = tuple(
    spell(stem)
    for stem in ("key", "pass", "pwd", "secret", "token", "contrase")
    for spell in (str, str.upper, str.capitalize)
)
_NAME = 60  # characters
_STEM = rf"(?:{'|'.join(STEMS)})"
_CLOSED = r"\\{0,7}[\"'`]?"  # a quoted name, also in nested JSON
_GIVEN = r"(?:=>|:=|={1,3}|:|%3[ADad]|\\{1,7}u003[adAD])"
_TYPED = r"(?::[ \t]{0,3}[A-Za-z_][\w.\[\]|?]{0,40}[ \t]{0,3}(?==))?"
_QUOTED = compiled(
    rf"{_STEM}(\w{{0,{_NAME}}}){_CLOSED}\]?\s{{0,3}}{_TYPED}{_GIVEN}\s{{0,3}}"
    r"[bBfFrRuU@]{0,2}\\{0,7}([\"'`])"
)
# `WITH PASSWORD '...'`, `the password is "..."`, and `["--password", "..."]`.
_BESIDE = compiled(
    rf"({_STEM}[A-Za-zñÑ]{{0,8}})"
    r"(?:(?:[ \t]{1,3}(?:is|was|to))?[ \t]{1,3}|\\{0,7}[\"'`](,)\s{0,9})\\{0,7}([\"'`])"
)
# Names that the library does not know.
_NAMES = r"(?:access|auth|refresh|bearer|session|bot|csrf)[_-]?token|passphrase|passcode|passwort"
ENV = (
    r"\b[A-Z][A-Z0-9_]{0,60}?(?:KEY|SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIALS)\s{0,3}="
    r"\s{0,3}(?![$<{%\[/\"'])([^\s\"'\\;,)]{8,})"
)

# An unquoted name must end like a secret's name: `token_budget: 4000` is none.
_BARE = compiled(
    rf"({_STEM}[A-Za-zñÑ]{{0,8}}){_CLOSED}(?:\*\*)?"
    rf"([ \t]{{0,3}}{_GIVEN}(?:\*\*)?[ \t]{{0,3}}|[ \t]{{1,3}}(?:(?:is|was):?[ \t]{{1,3}})?)"
    r"(?![<{\[/~.*])([^\s\"'`\\<>(){}\[\],;&|]{4,512})"
)
_PASSWORD = compiled(
    r"(?:passwor[dt]|passwd|passphrase|passcode|pwd|contrase[nñ]a|(?<=[_-])pass"
    r"|(?-i:(?<=[a-z])Pass))\Z",
    IGNORECASE,
)
_STEP = compiled(r"-pass\Z", IGNORECASE)  # `pre-pass: count`
_PASS = compiled(r"(?<![\w.-])pass\Z", IGNORECASE)
_SECRET = compiled(r"secret\Z", IGNORECASE)
_OTHER = compiled(
    r"(?:secret|token|(?:api|auth|access|secret|private|service|account|client|db|database|signing"
    r"|encryption|master)[_-]?key)\Z",
    IGNORECASE,
)
_OPTION = compiled(r"(?:^|[\s\"'`])--[A-Za-z][\w-]*\Z")
_PLAIN = 6  # least length of a value whose name is not a password's
_PWD = compiled(r"(?<![\w-])pwd\Z", IGNORECASE)
_PATH = compiled(r"[/~\\]|[A-Za-z]:[\\/]")
_PHRASE = compiled(r"[^\r\n\"'`\\,;<>{}]{0,200}")


def assigned(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield values that are assigned to names of secrets: start, end, certainty.

    Quoted values with the name of a password are certain.
    """
    for match in _QUOTED.finditer(text):
        stop = end_of_quotation(text, match.start(2))
        name = text[max(0, match.start() - _NAME) : match.end(1)]
        if _is_quoted(name, match, text[match.end() : stop]):
            yield match.end(), stop, bool(_PASSWORD.search(name))
    for match in _BESIDE.finditer(text):
        stop = end_of_quotation(text, match.start(3))
        name = text[max(0, match.start() - _NAME) : match.end(1)]
        if _is_beside(name, bool(match[2]), text[match.end() : stop]):
            yield match.end(), stop, False
    for match in _BARE.finditer(text):
        stop = match.end(3)
        while text[stop - 1] in ".:":
            stop -= 1
        # A quoted name is not followed by an unquoted value.
        closed = match[2].isspace() and match.end(1) < match.start(2)
        name = "" if closed else text[max(0, match.start() - _NAME) : match.end(1)]
        if _is_bare(name, match[2], text[match.start(3) : stop], text[stop : stop + 1]):
            phrase = _PHRASE.match(text, stop) if name.lower().endswith("phrase") else None
            yield match.start(3), phrase.end() if phrase else stop, False


@cache
def _named() -> Pattern[str]:
    from detect_secrets.plugins.keyword import DENYLIST

    return compiled("|".join([*DENYLIST, _NAMES]), IGNORECASE)


def _is_quoted(name: str, match: Match[str], value: str) -> bool:
    """Whether a quoted value is a secret: any value but a placeholder."""
    if len(value) < 4 or is_place(value) or (_PWD.search(name) and _PATH.match(value)):
        return False
    # A plain "token" may be any word.
    mere = not match[1] and _is_other(name, value)
    step = _STEP.search(name) and " " in value
    return mere or bool(_named().search(name)) or (bool(_PASSWORD.search(name)) and not step)


def _is_beside(name: str, listed: bool, value: str) -> bool:
    """Whether a quoted value next to a name is a secret."""
    if len(value) < 4 or is_place(value) or (listed and not _OPTION.search(name)):
        return False
    return _PASSWORD.search(name) is not None or (listed and _is_other(name, value))


def _is_bare(name: str, sign: str, value: str, after: str) -> bool:
    """Whether an unquoted value is a secret, and not code or part of a sentence."""
    if len(value) < 4 or after in {"(", "["} or is_code(value) or is_place(value):
        return False
    option = sign.isspace()
    if option and not _OPTION.search(name):
        return False
    if _PASSWORD.search(name) and not _PATH.match(value):
        mixed = any(c.isdigit() for c in value)
        if sign.strip().rstrip(":") in {"is", "was"}:
            return mixed and any(c.isalpha() for c in value)
        step = _STEP.search(name) and not _OPTION.search(name)
        return mixed or (not step and may_be_password(value, option))
    if sign == "=" and (_SECRET.search(name) or (_PASS.search(name) and not value.isdigit())):
        return any(c.isdigit() for c in value) or may_be_password(value, option)
    return not sign.strip().startswith(("is", "was")) and _is_other(name, value)


def _is_other(name: str, value: str) -> bool:
    """Whether a value of a secret's name is neither a word nor a number."""
    if len(value) < _PLAIN or any(c.isspace() for c in value) or not _OTHER.search(name):
        return False
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


# Secrets in known syntax: URLs, headers, command lines, markup.

BASIC = "Basic Auth Credentials"
STATED = "Secret Keyword"

# Excludes references to values that are defined elsewhere.
_NO_PLACE = r"(?!#\{|\*{3}|\$[({]|\$[A-Za-z_]+(?![\w!-])|<|\{|%[sd(])"
_QUOTE = r"(?:[bfruBFRU]?\\{0,7}[\"'`])?"
_MORE = r"[^\s\"'`\\<>]"

# The user may be missing, and a password may contain invalid characters such as @.
_URL = (
    r"(?::(?:\\{0,7}/){2}|%3[Aa]%2[Ff]%2[Ff])[^\s/?#:@\"'`<>%\\]{0,128}(?::|%3[Aa])"
    rf"{_NO_PLACE}([^\s/\"'`<>\\]{{1,256}})(?:@|%40)(?=[\w.\[$\{{])"
)
_USER = rf"://{_NO_PLACE}([A-Za-z0-9_.~-]{{20,256}})@(?=[\w\[])"

_AUTHORIZATION = (
    r"(?:[Aa]uthorization|AUTHORIZATION)\\{0,7}[\"'`]?\]?"
    rf"\s{{0,3}}(?:=>|:=|[:=,])\s{{0,3}}{_QUOTE}"
)
_SCHEME = r"(?i:bearer|basic|token|api-?key|key|negotiate|ntlm|sso-key|dpop|genie-?key|ssws)"
# Schemes followed by a list that contains the secret.
_LISTS = r"(?i:digest|hawk|oauth|aws4-hmac-sha256)"
_HEADER = (
    rf"{_AUTHORIZATION}{_SCHEME}\s{{1,3}}(?!(?i:tokens?|scheme|auth\w*|credentials?)\b)"
    rf"{_NO_PLACE}({_MORE}{{3,4096}})"
)
_BARE_HEADER = rf"{_AUTHORIZATION}(?=[\w.~+/=-]{{0,512}}\d){_NO_PLACE}([\w.~+/=-]{{8,4096}})"
_LISTED = rf"{_AUTHORIZATION}{_LISTS}\s{{1,3}}([^\s\"'`\\<>{{$][^\r\n'`\\<>]{{2,4096}})"
_COOKIE = (
    rf"(?i:cookie)\\{{0,7}}[\"'`]?:\s{{0,3}}{_QUOTE}"
    r"((?:[\w.%-]{1,64}=[^\s;\"'`\\<>]{4,4096}(?:; ?)?){1,64})"
)

_CURL = (
    r"\b(?:curl|wget|http)\b[^\r\n]{0,300}?\s(?:-u ?|--(?:proxy-)?user[ =])\\{0,7}[\"']?"
    rf"[^\s:\"'\\]{{1,64}}:{_NO_PLACE}([^\s\"'\\]{{2,256}})"
)
_SSHPASS = rf"\bsshpass\s{{1,3}}-p\s?\\{{0,7}}[\"']?{_NO_PLACE}([^\s\"'\\]{{3,256}})"
_MYSQL = (
    rf"\b(?:mysql|mariadb)\w{{0,10}}\b[^\r\n|;]{{0,200}}?\s-p\\{{0,7}}[\"']?{_NO_PLACE}"
    r"([^\s\"'|;&\\]{3,256})"
)
_LOGIN = (
    r"\b(?:docker|podman|helm|oras)\b[^\r\n|;]{0,100}?\slogin\b[^\r\n|;]{0,200}?\s-p[ =]?"
    rf"\\{{0,7}}[\"']?{_NO_PLACE}([^\s\"'|;&\\]{{3,256}})"
)
_NETRC = (
    r"\bmachine\s{1,9}[^\s\\]{1,200}\s{1,9}login\s{1,9}[^\s\\]{1,200}\s{1,9}password\s{1,9}"
    rf"{_NO_PLACE}([^\s\\]{{3,256}})"
)

_NAMED = r"(?i:password|passwd|passphrase|passcode|secret|token|api_?key|access_?key|private_?key)"
_MARKUP = (
    rf"<[\w.:-]{{0,40}}?{_NAMED}(?:\s[^<>]{{0,80}})?>\s{{0,9}}{_NO_PLACE}([^<>\r\n]{{4,512}})</"
)
_PLIST = rf"{_NAMED}</key>\s{{0,40}}<string>([^<>\r\n]{{4,512}})"
_SQL = r"(?i:\bidentified\s{1,3}by)\s{1,3}\\{0,7}[\"']([^\"'\r\n\\]{3,256})"
# It may contain characters that start a path.
_AWS = r"(?i:secret_?access_?key)[^\w/+]{1,8}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"

CREDENTIALS = (
    (BASIC, ("://", "/\\", "%2F%2F", "%2f%2f"), _URL),
    (BASIC, ("://",), _USER),
    (STATED, ("uthorization", "UTHORIZATION"), _HEADER),
    (STATED, ("uthorization", "UTHORIZATION"), _BARE_HEADER),
    (STATED, ("uthorization", "UTHORIZATION"), _LISTED),
    (STATED, ("ookie", "OOKIE"), _COOKIE),
    (BASIC, ("curl", "wget", "http"), _CURL),
    (STATED, ("sshpass",), _SSHPASS),
    (STATED, ("mysql", "mariadb"), _MYSQL),
    (STATED, (" login",), _LOGIN),
    (STATED, ("machine",), _NETRC),
    (STATED, ("</",), _MARKUP),
    (STATED, ("</key>",), _PLIST),
    (STATED, ("dentified", "DENTIFIED"), _SQL),
    ("AWS Access Key", ("ecret", "ECRET"), _AWS),
)
"""Name, a string to search first, and a pattern whose only group is the secret."""


# Numbers of payment cards (ISO/IEC 7812): the issuer's range and length, and a check digit.

# In the groups printed on cards, or without groups. A number in a longer row of groups is part of a
# table; one attached to a word is an id.
_NUMBER = compiled(
    r"[2-6][0-9]{3}(?:([ -])(?:[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?:\1[0-9]{3})?|[0-9]{6}\1[0-9]{4,5})"
    r"|[0-9]{8,15})(?!\w|-\w|\.[0-9])"
)
_BEFORE = compiled(r"(?<![\w.])(?<!\w-)")
_ROW = compiled(r"(?:[0-9]{2}|[A-Z]{2})[0-9]{2}[ -]\Z")  # an IBAN starts with letters
_ROW_ON = compiled(r"[ -][0-9]{4}(?![0-9])")
_ISSUED = compiled(
    r"4[0-9]{15}(?:[0-9]{3})?"  # Visa
    # Mastercard
    r"|(?:5[1-5][0-9]{2}|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}"
    r"|3[47][0-9]{13}"  # American Express
    r"|3(?:0[0-59]|[689][0-9])[0-9]{11}"  # Diners Club
    r"|35(?:2[89]|[3-8][0-9])[0-9]{12}"  # JCB
    r"|(?:6011|64[4-9][0-9]|65[0-9]{2})[0-9]{12}(?:[0-9]{3})?"  # Discover
    r"|62[0-9]{14,17}"  # UnionPay
    r"|(?:5018|5020|5038|5893|6304|6759|676[1-3])[0-9]{8,15}"  # Maestro
)
_CARD = compiled(
    r"(?:(?<![A-Za-z])(?:[Cc]ard|[Cc][Cc]|PAN)|(?<=[a-z])Card|(?<![A-Z])CARD|[Cc]reditcard"
    r"|[Vv]isa|VISA|[Mm]aster[Cc]ard|MASTERCARD|[Aa]mex|AMEX|American Express|[Mm]aestro|JCB"
    r"|[Uu]nion[Pp]ay|Diners)(?:s|[Nn]umbers?|[Nn]um|[Nn]o)?(?![a-z])"
)


def card_numbers(text: str) -> Iterator[tuple[int, int]]:
    """Yield the card numbers in a text: in groups, or near a word for a card."""
    for match in _NUMBER.finditer(text):
        start, stop = match.span()
        digits = match[0].replace(match[1], "") if match[1] else match[0]
        if _BEFORE.match(text, start) and _ISSUED.fullmatch(digits) and _is_checked(digits):
            grouped = match[1] and not (
                _ROW.search(text, max(0, start - 5), start) or _ROW_ON.match(text, stop)
            )
            beside = text[max(0, start - 40) : start], text[stop : stop + 20]
            if grouped or any(map(_CARD.search, beside)):
                yield start, stop


def _is_checked(digits: str) -> bool:
    """Whether the last digit is the check digit of the others (Luhn)."""
    doubled = "".join(str(int(digit) * 2) for digit in digits[-2::-2])
    return sum(map(int, digits[-1::-2] + doubled)) % 10 == 0


# An AWS secret key without a name: 40 base64 characters near its key id.

_AWS_ID = compiled(r"A[KS]IA(?<![A-Za-z0-9].{4})[A-Z0-9]{16}(?![A-Za-z0-9])")
_AWS_SECRET = compiled(
    r"(?:(?<![A-Za-z0-9/+])|(?<=\\[nrt]))"
    # Requires upper case, lower case and digits, to exclude digests.
    r"(?=[a-z0-9/+]{0,39}[A-Z])(?=[A-Z0-9/+]{0,39}[a-z])(?=[A-Za-z/+]{0,39}[0-9])"
    r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"
)
_NEAR = 200  # characters
_LINES = 3
_MIXED = 20  # least number of different characters; paths and names have fewer


def aws_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Yield the AWS secret keys in a text that are near their key id."""
    for match in _AWS_SECRET.finditer(text) if _AWS_ID.search(text) else ():
        start, stop = match.span()
        near = _AWS_ID.finditer(text, max(0, start - _NEAR), stop + _NEAR)
        between = (text[min(stop, each.end()) : max(start, each.start())] for each in near)
        if len(set(match[0])) >= _MIXED and any(each.count("\n") <= _LINES for each in between):
            yield start, stop
