"""Where a secret stands by the rules of something: of URLs, headers, command lines, markup."""

from __future__ import annotations

BASIC = "Basic Auth Credentials"
STATED = "Secret Keyword"

# What stands for a value that comes from elsewhere is none.
_NO_PLACE = r"(?!#\{|\*{3}|\$[({]|\$[A-Za-z_]+(?![\w!-])|<|\{|%[sd(])"
_QUOTE = r"(?:[bfruBFRU]?\\{0,7}[\"'`])?"
_MORE = r"[^\s\"'`\\<>]"

# The user may be missing, and a password may hold what it should not, an @ among it.
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
# Of these, what follows is a list in which the secret stands somewhere.
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
# It may hold what begins a path.
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
"""Of each: what it is called, what a text must hold for it to be worth a look, and the pattern,
whose only group is the secret."""
