"""What is given to the name of a secret is hidden; code and prose about it stay readable."""

import json

import pytest

from compactlab.privacy import Redactor
from compactlab.privacy.redactor import findings

NAMED = "[redacted Secret Keyword 1]"
BASIC = "[redacted Basic Auth Credentials 1]"


@pytest.mark.parametrize(
    "text",
    [
        "password={}",
        "password = {}",
        "passwd: {}",
        "Passwort: {}",
        "**Password:** {}",
        "pass={} user=bob",
        "user_pass: {}",
        "dbPass={}",
        "secret={}",
        "export DB_PASSWORD={}",
        "MYSQL_PWD={} mysqldump",
        "login(user=bob, password={})",
        "/login?password={}&next=/",
        "password%3D{}%26user%3Dbob",
        r"password\u003d{}\u0026user",
        "login --password {}",
        "login --db-password={} now",
        "kubectl create secret generic x --from-literal=password={}",
        "the password is {}",
        "<password>{}</password>",
        "<ns:dbPassword type='x'>{}</ns:dbPassword>",
        "<key>password</key> <string>{}</string>",
        "sshpass -p {} ssh host",
        "mysql -u root -p{} db",
        "docker login -u bob -p {} registry",
        "machine host login bob password {}",
        "Authorization: Bearer {}",
        "authorization: token {}",
        "proxy-authorization: Basic {}",
        '-H "Authorization: ApiKey {}"',
        'headers["Authorization"] = f"Bearer {}"',
        'request.Header.Set("Authorization", "Bearer {}")',
        r"{{\"Authorization\": \"Bearer {}\"}}",
    ],
)
def test_a_secret_without_quotes_is_hidden(text):
    word = () if " is " in text else ("swordfish",)  # behind a word, letters alone are a word
    for secret in (*word, "hunter2", "p@ss!w0rd"):
        shown = Redactor().text(text.format(secret))
        if "%26" in text or "u0026" in text:
            assert secret not in shown
        else:
            assert shown == text.format(NAMED)


@pytest.mark.parametrize(
    "text",
    [
        "password: {}",
        "const password: string = {};",
        "def connect(password: str = {}):",
        "os.environ['DB_PASSWORD'] = {}",
        "config['db']['password'] => {},",
        "password = b{}",
        "CREATE USER bob WITH PASSWORD {};",
        "the password is {}",
        "GRANT ALL ON x TO y IDENTIFIED BY {}",
        "run(['login', '--password', {}])",
    ],
)
@pytest.mark.parametrize("mark", ['"', "'"])
def test_a_secret_in_quotes_is_hidden_as_a_whole(text, mark):
    quoted = f"{mark}{{}}{mark}"
    for secret in ("swordfish", "two words", "$3cret", "%x1y2", "<3 kittens", "a;b)c"):
        shown = Redactor().text(text.format(quoted.format(secret)))
        assert shown == text.format(quoted.format(NAMED))


@pytest.mark.parametrize(
    "secret", ["it's4me", 'say "hi"', "back\\slash", "end\\", "tab\tin", "n\nl\nx"]
)
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_a_quotation_ends_where_json_ends_it(secret, levels):
    def written(value: str) -> str:
        told = {"password": value, "next": "stays"}
        for _ in range(levels):
            told = json.dumps(told)  # type: ignore[assignment]
        return str(told)

    assert Redactor().text(written(secret)) == written(NAMED)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgres://bob:{}@db/x", "postgres://bob:{}@db/x"),
        ("redis://:{}@localhost:6379", "redis://:{}@localhost:6379"),
        (r"amqp:\/\/bob:{}@mq\/v", r"amqp:\/\/bob:{}@mq\/v"),
        ("postgres%3A%2F%2Fbob%3A{}%40db", "postgres%3A%2F%2Fbob%3A{}%40db"),
        ("curl -u bob:{} x", "curl -u bob:{} x"),
        ("curl -s --user 'bob:{}' x", "curl -s --user 'bob:{}' x"),
    ],
)
def test_a_password_in_a_url_is_hidden(text, shown):
    for secret in ("swordfish", "hunter2", "p$s!w=d", "p@s"):
        assert Redactor().text(text.format(secret)) == shown.format(BASIC)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("https://0123456789abcdefghij@localhost/x.git", "0123456789abcdefghij"),
        ("Cookie: sid=abcd1234; theme=dark", "abcd1234"),
        ('"set-cookie": "sid=abcd1234; Path=/; HttpOnly"', "abcd1234"),
        ("Authorization: OAuth realm=x, oauth_signature=abcd1234", "abcd1234"),
        ("Authorization: AWS4-HMAC-SHA256 Credential=x/2026, Signature=abcd1234", "abcd1234"),
        ("passphrase: correct horse battery staple", "battery"),
        ("passphrase: correct horse battery staple", "correct"),
        ("aws_secret_access_key = /" + "a1B2" * 9 + "xyz", "a1B2"),
        (r"write to ann\u0040example.org", "ann"),
        (r"write to ann\\\u0040example.org", "ann"),
        ("write to ann&#64;example.org", "ann"),
        ("write to ann&#x40;example.org", "ann"),
    ],
)
def test_what_is_hidden_wherever_it_stands(text, hidden):
    assert hidden not in Redactor().text(text)


@pytest.mark.parametrize(
    "text",
    [
        "token = next(tokens); token = tokenizer.next(); token: Token",
        "the password is required, must be set, and the password was changed yesterday",
        "Enter password: \nPassword: ********",
        "password = read_line(); password = None; password: str = ''; password?: string",
        "connect(user=user, password=password, pwd=pwd, passwd=db_password)",
        "if password == other_password: return user.password",
        "password: string; password: String, password: SecretStr = None",
        "password: z.string().min(8); password=form.password.data",
        "def login(user: str, password: str) -> None:",
        '"password": {"type": "string"}; <input type="password" name="x">',
        '<label for="password">Password</label><password>${env.PW}</password>',
        'password: "${PASSWORD}", secret: "<your secret>", "password": "{{ password }}"',
        'password: "$PASSWORD"; password="%s"; export PASSWORD=$(cat /run/secrets/x)',
        "`--password` takes one; --password PASSWORD, --password TEXT, --password <pw>",
        'PWD=/home/x OLDPWD=/home/y1 {"pwd": "/home/x1/project"} pwd: C:/Users/x1',
        "password_hash = hash(password); passwords = load(); password reset: see the docs",
        "secret = shared; key = value; api_key = key; secret: true",
        "Enter passphrase for key '/home/x/.ssh/id':",
        'curl -H "Authorization: Bearer $TOKEN" -H "Authorization: Bearer <token>"',
        "Authorization: Bearer token; the Authorization: header; authorization = check(user)",
        "postgres://$USER:$PASS@host/db http://localhost:8080/a@b",
        "mysql -u root -p$PASS db; mysql --port 3306 -p db; curl -u $USER:$PASS x",
        "a cookie: it is small; cookies: 3; the default login and password must be changed",
        '["username", "password", "email"]',
        "Pre-pass: count them; 'test-pass': 'Tests pass but they are slow'",
        "Authorization: Bearer #{token}; AUTHORIZATION: basic ***",
        "-----END of it; implementation of the BEGIN marker",
    ],
)
def test_code_and_prose_about_secrets_stay_readable(text):
    assert Redactor().text(text) == text


UNITS = [
    "key='", 'key=\\"', '\\"', '\\\\"', "\\", "<password ", "<a", "cookie: a=bcde;", "curl ",
    "mysql ", "login ", "password is ", "password '", "a.", "$a", "${a}", "key: str = ",
    "passphrase: a", "\\u0040", "&#64;", "END PRIVATE KEY ", "aB3/" * 5 + "\n", "Authorization=1a",
    "%3A%2F%2Fa%3Ab",
    "://:", "secret_access_key=", "AB_KEY", "identified by '",
]  # fmt: skip


@pytest.mark.parametrize("size", [30_000, pytest.param(300_000, marks=pytest.mark.slow)])
def test_what_repeats_is_read_once(size):
    # What took the square of the length would not come to its end within a day.
    for unit in UNITS:
        line = (unit * (size // len(unit) + 1))[:size]
        assert findings(f"{line} ann@example.org")
