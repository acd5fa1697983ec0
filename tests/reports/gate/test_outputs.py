"""What a gate says, in every form; and names that would like to say something else."""

import json
import re
from dataclasses import replace
from random import Random
from xml.etree.ElementTree import fromstring

import pytest
from inline_snapshot import snapshot

from compactlab.reports.gate.baseline import Baseline
from compactlab.reports.gate.gate import gate
from compactlab.reports.gate.outputs import (
    command,
    commands,
    in_short,
    junit,
    report,
    summary,
)
from compactlab.reports.gate.rules import Demand, Outcome, Rule
from compactlab.reports.gate.verdict import Finding, Verdict
from compactlab.reports.render import markdown as as_markdown
from compactlab.reports.render import terminal as as_text
from compactlab.reports.render.text import without_inline_commands
from compactlab.reports.render.write import write_json
from tests.reports.spoken import folded


def terminal(verdict: Verdict) -> str:
    return as_text.write(in_short(verdict))


def markdown(verdict: Verdict) -> str:
    return as_markdown.write(report(verdict))


def machine(verdict: Verdict) -> str:
    return write_json(report(verdict))


FORMS = {
    "terminal": terminal,
    "markdown": markdown,
    "json": machine,
    "junit": lambda verdict: junit(verdict).decode(),
    "github": lambda verdict: "\n".join(commands(verdict)),
}


@pytest.fixture
def verdict(two, changed, judged):
    """One thing that regressed, one that cannot be judged, and one that holds."""
    after = changed(two(), cost_usd=lambda was, run: was * 1.5, write_spike_ratio=None)
    return judged(
        two(),
        after,
        Demand(Rule.parse("cost_usd", "+2%"), strategy=("sliding_window",)),
        Demand(Rule.parse("write_spike_ratio", "<= 6"), strategy=("sliding_window",)),
        Demand(Rule.parse("calls", "exact"), strategy=("sliding_window",)),
    )


def test_the_terminal_says_what_failed_with_before_and_after_and_where(verdict):
    assert folded(terminal(verdict)) == snapshot("""\
REGRESSED  cost_usd +2%, sliding_window(keep=20) under recorded
    0.033975 → 0.0509625 USD (+50.0%; allowed +2%)
    changed most: a 0.011325 → 0.0169875; b 0.011325 → 0.0169875; c 0.011325 → 0.0169875
CANNOT JUDGE  write_spike_ratio <= 6, sliding_window(keep=20) under recorded
    4 ratio → no value; it has no value
gate: regressed: 1 regressed and 1 cannot be judged of 3 checks\
""")


def test_causes_come_first_and_what_follows_from_them_is_a_count(two, judged):
    verdict = judged(two(), two(window=9), ("structural_validity", "<= 1"), ("cost_usd", "+2%"))
    assert folded(terminal(verdict)) == snapshot("""\
CANNOT JUDGE  other provenance: the window: was 2000, is 9
CANNOT JUDGE  2 checks: the baseline is of another provenance
gate: cannot judge: 2 cannot be judged of 4 checks\
""")
    assert folded(markdown(verdict).splitlines()[2:4]) == snapshot("""\
- cannot judge: `other provenance: the window: was 2000, is 9`
- cannot judge: 2 checks: `the baseline is of another provenance`\
""")
    assert len(commands(verdict)) == 2
    assert len(json.loads(machine(verdict))["findings"]) == 4
    [suite] = fromstring(junit(verdict))
    assert (suite.get("tests"), suite.get("errors")) == ("5", "3")


def test_what_is_new_is_told_in_a_line_whatever_is_asked(two, judged):
    known = two()
    known.runs = [run for run in known.runs if run.strategy == "keep_all()"]
    verdict = judged(known, two(), ("cost_usd", "+2%"), ("calls", "+2%"))
    assert folded(terminal(verdict)) == snapshot("""\
CANNOT JUDGE  2 checks of sliding_window(keep=20) under recorded: it is not in the baseline
note: not in the baseline: sliding_window(keep=20) (recorded)
gate: cannot judge: 2 cannot be judged of 4 checks\
""")
    longer = judged(two("ab"), two("abc"), ("cost_usd", "+2%"), ("calls", "+2%"))
    assert folded(terminal(longer).splitlines()[:2]) == snapshot("""\
CANNOT JUDGE  2 checks of keep_all under recorded: 1 run not in the baseline
CANNOT JUDGE  2 checks of sliding_window(keep=20) under recorded: 1 run not in the baseline\
""")
    one = terminal(judged(known, two(), ("calls", "+2%"))).splitlines()
    assert folded(one[:1]) == snapshot(
        "CANNOT JUDGE  calls +2%, sliding_window(keep=20) under recorded"
    )


def test_junit_tells_failures_from_errors(verdict):
    [suite] = fromstring(junit(verdict))
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["3", "1", "1"]
    cases = {case.get("name"): [(part.tag, part.text) for part in case] for case in suite}
    assert cases == snapshot(
        {
            "cost_usd +2%": [
                (
                    "failure",
                    """\
0.033975 → 0.0509625 USD (+50.0%; allowed +2%)
changed most:
  a 0.011325 → 0.0169875
  b 0.011325 → 0.0169875
  c 0.011325 → 0.0169875\
""",
                )
            ],
            "write_spike_ratio <= 6": [("error", "4 ratio → no value; it has no value")],
            "calls exact": [("system-out", "12 calls, as before")],
        }
    )


def test_without_anything_to_judge_junit_is_an_error():
    [suite] = fromstring(junit(Verdict()))
    assert (suite.get("tests"), suite.get("errors")) == ("1", "1")


def test_json_has_all_figures(verdict):
    told = json.loads(machine(verdict))
    assert (told["verdict"], told["exit_code"]) == ("regressed", 1)
    cost = told["findings"][0]
    assert cost["rule"] == "+2%"
    assert cost["after"] == pytest.approx(1.5 * cost["before"])
    assert cost["limit"] == pytest.approx(1.02 * cost["before"])
    assert [move["conversation"] for move in cost["moved"]] == ["a", "b", "c"]


def test_json_has_what_is_infinite_as_text():
    demand = Demand(Rule.parse("break_even_calls", "+5%"))
    finding = Finding(demand, None, Outcome.REGRESSED, before=7.0, after=float("inf"))
    [told] = json.loads(machine(Verdict((finding,))))["findings"]
    assert (told["before"], told["after"], told["limit"]) == (7, "inf", 7.35)


def test_markdown_has_what_failed_in_a_table_and_the_rest_folded_up(verdict):
    shown, _, folded = markdown(verdict).partition("<details>")
    assert shown.splitlines()[0] == snapshot(
        "### Gate: regressed: 1 regressed and 1 cannot be judged of 3 checks"
    )
    assert "`cost_usd +2%`" in shown
    assert "`calls exact`" not in shown
    assert "`calls exact`" in folded
    widths = {row.count(" | ") for row in shown.splitlines() if row.startswith("|")}
    assert len(widths) == 1


def test_github_is_told_each_failure_and_of_many_how_many_more(verdict, two, changed, judged):
    assert folded(commands(verdict)) == snapshot("""\
::error title=gate%3A cost_usd +2%25 regressed::sliding_window(keep=20) under recorded; 0.033975
→ 0.0509625 USD (+50.0%25; allowed +2%25)%0Achanged most: a 0.011325 → 0.0169875; b 0.011325 →
0.0169875; c 0.011325 → 0.0169875
::error title=gate%3A write_spike_ratio <= 6 cannot judge::sliding_window(keep=20) under
recorded; 4 ratio → no value; it has no value\
""")
    many = judged(two(), changed(two(), cost_usd=9), *[("cost_usd", f"+{n}%") for n in range(12)])
    told = commands(many)
    assert len(told) == 10
    assert told[-1] == snapshot("::error title=gate::3 checks more did not pass")


def test_a_summary_that_github_would_not_take_is_cut_at_a_line():
    text = "\n".join(f"| line {number} |" for number in range(100_000))
    kept = summary(text)
    assert len(kept.encode()) <= 1024 * 1024
    assert kept.endswith("|\n\nThe rest was too long for this page.\n")


def test_an_interval_and_what_could_have_been_seen_are_told_of_what_holds_too(two, judged):
    before, after = two("abcdefghijkl", 5), two("abcdefghijkl", 5)
    for run in after.runs:
        run.metrics["cost_usd"] *= 1 + Random(f"{run.conversation} {run.seed}").random() / 100
    told = terminal(judged(before, after, ("cost_usd", "+2%")))
    assert told.count("ok  cost_usd +2%") == 2
    assert re.search(r"95% interval 0\.\d+ to 0\.\d+ \(percentile, 12 conversations\)", told)
    assert re.search(r"smallest detectable change 0\.\d+", told)


HOSTILE = {
    "script": "<script>alert(1)</script>",
    "image": "![x](https://example.invalid/x.png)",
    "mention": "@everyone [link](javascript:alert(1))",
    "command": "x\n::error title=no::planted\n::stop-commands::t",
    "old command": "##[add-mask]x",
    "azure": "##vso[task.setvariable variable=a]b",
    "teamcity": "##teamcity[buildStop]",
    "escapes": "\x1b[31mred\x1b]8;;https://example.invalid\x07\x9b2J",
    "bidi": "a\u202eb\u2066c\u200b",
    "cdata": "]]> ]]&gt; <![CDATA[x]]>",
    "controls": "a\x00b\x08c\x0bd\x7f\ufffe\ud800".encode("utf-8", "replace").decode(),
    "table": "a|b`c`|d\\|e",
    "long": "x" * 50_000,
    "template": "{{ 7 * 7 }} {% raw %} ${{ github.token }}",
}


@pytest.mark.parametrize("kind", sorted(HOSTILE))
def test_hostile_names_say_nothing_of_their_own(kind, two, changed, judged):
    name = HOSTILE[kind]

    def named(results):
        for run in results.runs:
            run.source = run.title = name
            run.rows["facts"].columns["statement"][:] = name
            run.rows["facts"].columns["stated_in"][:] = name
            run.conversation = f"{name} {run.conversation}"
            run.model = f"{name} model"
        results.manifest["strategies"]["sliding_window(keep=20)"] = f"{name} label"
        return results

    before, after = named(two()), changed(named(two()), cost_usd=9)
    rule = Demand(Rule.parse("cost_usd", "+2%"), scenario=("*",), strategy=("sliding_window",))
    lost = Demand(Rule.parse("amnesia_need", "< 0.01"), strategy=("*label", "sliding_window"))
    missing = Demand(Rule.parse("cost_usd", "+2%"), strategy=(name,), place="rules")
    after.runs[1].metrics["amnesia_need"] = 0.5
    verdicts = judged(before, after, rule, missing, lost), judged(before, after)
    assert all(any(finding.lost for finding in verdict.findings) for verdict in verdicts)
    for verdict in (*verdicts, judged(before, named(two("ab")), rule)):
        for form, write in FORMS.items():
            says_nothing_of_its_own(form, write(verdict))


def says_nothing_of_its_own(form: str, said: str) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b]", said)
    assert not re.search(r"^\s*::(?!error title=gate)", said, re.MULTILINE)
    assert "\n::error title=no" not in said
    assert len(said) < 30_000 or form == "json"
    if form == "github":
        assert not re.search(r"##\w*\[", said)
    if form == "junit":
        assert list(fromstring(said.encode()))
    if form == "json":
        json.loads(said)
    if form == "markdown":
        outside = re.sub(r"`[^`]*`", "", said)
        outside = re.sub(r"</?(details|summary)>", "", outside)
        assert not set("<[@") & set(outside)
        rows = [row for row in said.splitlines() if row.startswith("|")]
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {7}


def test_a_hostile_baseline_says_nothing_of_its_own_either():
    reason = "\x1b[31m <img src=x>\n::error::x"
    finding = Finding(
        Demand(Rule.parse("calls", "+2%")), None, Outcome.UNJUDGED, reason, type=reason
    )
    verdict = Verdict((finding,), (reason,), (reason,))
    for form in FORMS.values():
        said = form(verdict)
        assert "\x1b" not in said
        assert not re.search(r"^\s*::error::x", said, re.MULTILINE)
    assert "<img" not in re.sub(r"`[^`]*`", "", markdown(verdict))


@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_metric_that_nobody_knows_is_told_and_nothing_more(form, two):
    name = "\x1b[31m<img>" + "x" * 50_000
    kept = replace(Baseline.of(two()), metrics=("calls", name))
    verdict = gate(two(), kept)
    assert verdict.code == 2
    said = FORMS[form](verdict)
    assert "\x1b" not in said
    assert len(said) < 10_000 or form == "json"


def test_a_command_cannot_be_left():
    assert command("error", "a\nb::c", "d%0Ae") == "::error title=a b%3A%3Ac::d%250Ae"
    assert without_inline_commands("##[group]") == "# #[group]"


def test_of_two_cases_of_one_name_a_viewer_shows_one(two, judged):
    rule = Rule.parse("cost_usd", "+2%")
    demands = [Demand(rule, scenario=(name,)) for name in ("claude-code", "claude-*")]
    [suite] = fromstring(junit(judged(two(), two(), *demands)))
    names = [(case.get("classname"), case.get("name")) for case in suite]
    assert len(set(names)) == len(names) == 4
    assert names[0][1] == snapshot("cost_usd +2%, over scenarios claude-code")
