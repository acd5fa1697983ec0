"""Stories: what strategies make of a conversation that is told in letters.

A row has what it shows, the arguments of the strategy, the story (see ``tell`` in ``conftest.py``),
what is sent, and what is told or played otherwise than in the rows beside it. What is sent is
written so: the ids of the messages of a prompt, ``+3`` for three calls more whose prompts only
grow by what has been said (or a comma and the new ids, where that was taken back later), and a bar
before a prompt that was rewritten: ``!`` if that was a compaction, ``?`` if it was one of another
kind, else the user went back. Behind an id stand ``~`` for a message that was shortened and ``*``
for one with a place-holder; behind a prompt stand its side calls in brackets, and ``^`` if it
exceeds the window. A mark behind ``+3`` holds for each of the three.
"""

from typing import Any

import pytest

from compactlab.strategies.catalogue import find_strategy
from compactlab.strategies.summarizers.catalogue import find_summarizer

PI = "reserve_tokens=1000, reserve_tokens_floor=0, keep_recent_tokens=400"
PLAN = "reserve_tokens_floor=0, dynamic_reserve_ratio=0.0, min_dynamic_reserve_tokens=1000"
TTL = (
    "keep_last_assistants=1, soft_trim_ratio=0.0, soft_trim_max_chars=100, "
    "soft_trim_head_chars=40, soft_trim_tail_chars=20"
)

# fmt: off
STORIES: dict[str, tuple[dict[str, Any], list[tuple[Any, ...]]]] = {
    "as_recorded": ({}, [
        ("a made up conversation is kept", "", "ua ua", "u1 +1"),
    ]),
    "auto_compact": ({"size": 400, "window": 2000}, [
        ("below the reserve it leaves everything alone", PI, "uaua", "u1 +1"),
        ("beyond it a summary stands in front of the tail", PI, "ua" * 6,
         "u1 +3 +1(summary) | !summary-1 u7 a8 u9 a10 u11"),
        ("the message that reaches the size of the tail stays",
         "reserve_tokens=1000, reserve_tokens_floor=0, keep_recent_tokens=401", "ua" * 6,
         "u1 +3 +1(summary)(summary) | !summary-1 a6 u7 a8 u9 a10 u11"),
        # pi looks before the prompt, too, but at the usage of the last answer.
        ("it is the answer that counts and not what the user says next", PI, "ua" * 4,
         "u1 +2 +1(summary)", {"sizes": {"u7": 4000}}),
        ("within a turn it does not look", PI, "u" + "cr" * 5 + "a", "u1 +4 +1(summary)"),
        # The trap of pi's: behind the budget there is no place to cut, so everything is kept. A
        # summary is asked for all the same, of nothing, and put in front.
        ("a turn that was broken off at a large result is not cut at all", PI, "uaua ucr uc",
         "u1 +2 | ?summary-1 u1 a2 u3 a4 u5 c6 r7 u8(summary)",
         {"sizes": {"c6": 2400, "r7": 2400}}),
        # The refusal stands behind the result as an answer, and there the session can be cut.
        ("where the provider refuses such a turn only the summary is left", PI, "uaua ucra",
         "u1 +2 | !summary-1(summary)(summary)", {"sizes": {"r7": 9000}}),
        # What is kept was answered beyond the reserve, but pi does not compact twice in a row.
        ("behind a compaction there is nothing to compact", f"{PI}, version='0.49.3'", "ua" * 6,
         "u1 +3 +1(summary) | !summary-1 u7 a8 u9 a10 u11"),
        ("a compaction is one rewrite and one side call", PI, "ua" * 12,
         "u1 +3 +1(summary) | !summary-1 u7 a8 u9 a10 u11 +1 +1(summary) | !summary-2 u13 a14 "
         "u15 a16 u17 +1 +1(summary) | !summary-3 u19 a20 u21 a22 u23"),
        # What was reported before the rewind says nothing about the branch that goes on.
        ("a short history after a rewind is left alone", PI, "uaua uaua <6 ua",
         "u1 +2, a6 u7(summary) | u1 a2 u3 a4 u5 a6 u9(summary)", {"window": 1800}),
        ("a rewind takes a compaction back", PI, "ua" * 6 + "<2 ua",
         "u1, a2 u3, a4 u5, a6 u7, a8 u9(summary) | !summary-1 u7 a8 u9 a10 u11 | u1 a2 u13"),
        # pi alone asks for a summary of nothing, and puts it in front of everything.
        ("where nothing can be cut off it does not compact",
         "reserve_tokens=1000, reserve_tokens_floor=0, keep_recent_tokens=9000", "ua" * 7,
         "u1 +3 +1(summary) | ?summary-1 u1 a2 u3 a4 u5 a6 u7 a8 u9 a10 u11(summary) | "
         "?summary-2 u1 a2 u3 a4 u5 a6 u7 a8 u9 a10 u11 a12 u13(summary)"),
    ]),
    "background_compaction": ({"size": 400, "window": 5000}, [
        ("after three requests that brought nothing it gives up", "", "u" + "cr" * 24 + "a",
         "u1 +17 +3(summary) +2 +2^", {"summarizer": "empty"}),
    ]),
    "clear_tool_results": ({}, [
        ("below the trigger nothing happens", "trigger=600, keep=1", "ucrcra", "u1 +2",
         {"sizes": {"r": 1000}}),
        ("beyond it all but the newest are cleared and stay so", "trigger=600, keep=1",
         "u" + "cr" * 4 + "a", "u1 +2 | !u1 c2 r3* c4 r5* c6 r7 +1", {"sizes": {"r": 1000}}),
        ("each clearing is a rewrite and between two the prompt only grows", "trigger=600, keep=1",
         "u" + "cr" * 5 + "a",
         "u1 +2 | !u1 c2 r3* c4 r5* c6 r7 +1 | !u1 c2 r3* c4 r5* c6 r7* c8 r9* c10 r11",
         {"sizes": {"r": 1000}}),
        ("a gate lets nothing be cleared unless it is worth it",
         "trigger=600, keep=1, clear_at_least=700", "u" + "cr" * 6 + "a",
         "u1 +3 | !u1 c2 r3* c4 r5* c6 r7* c8 r9 +2", {"sizes": {"r": 1000}}),
        ("langchain takes the same number for enough",
         "trigger=600, keep=1, clear_at_least=200, gate='langchain'", "u" + "cr" * 6 + "a",
         "u1 +2 | !u1 c2 r3* c4 r5 c6 r7 +3", {"sizes": {"r": 1000}}),
        ("the trigger may count tool uses", "trigger=2, trigger_type='tool_uses', keep=1",
         "u" + "cr" * 4 + "a", "u1 +2 | !u1 c2 r3* c4 r5* c6 r7 +1", {"sizes": {"r": 1000}}),
        ("a result no larger than the place holder stays", "trigger=50, keep=1", "ucrcrcra",
         "u1 +2 | !u1 c2 r3 c4 r5* c6 r7", {"size": 3, "sizes": {"r3": 3, "r5": 1000, "r7": 1000}}),
        ("a rewind takes a clearing back", "trigger=600, keep=1", "ucrcrcra <3 ua",
         "u1 +1, c4 r5 | !u1 c2 r3* c4 r5* c6 r7 | u1 c2 r3 u9", {"sizes": {"r": 1000}}),
    ]),
    "inspect_compaction": ({"size": 40, "sizes": {"r": 1000}}, [
        ("a summary stands behind the input", "trigger=1200", "u" + "cr" * 8 + "a",
         "u1 +4 | !u1 summary-1(summary) +3"),
        ("edit removes all but the newest results", "kind='edit', trigger=1200, keep_tool_uses=1",
         "u" + "cr" * 8 + "a",
         "u1 +4 | !u1 c2 r3* c4 r5* c6 r7* c8 r9* c10 r11 +2 | !u1 c2 r3* c4 r5* c6 r7* c8 r9* c10 "
         "r11* c12 r13* c14 r15* c16 r17"),
        ("trim keeps the input and four fifths of the rest", "kind='trim', trigger=1200",
         "u" + "cr" * 8 + "a",
         "u1 +4 | !u1 c4 r5 c6 r7 c8 r9 c10 r11 | !u1 c6 r7 c8 r9 c10 r11 c12 r13 | !u1 c8 r9 c10 "
         "r11 c12 r13 c14 r15 | !u1 c10 r11 c12 r13 c14 r15 c16 r17"),
    ]),
    "cliff_compaction": ({"size": 400}, [
        ("the first digest has what was said and short results, the second drops the first",
         "trigger=1000, keep_recent=1", "ucrcr" + "ua" * 6,
         "u1 +3 | !u1 summary-1~ a9 u10 | !u1 summary-2~ a11 u12 +2"),
    ]),
    "agentic_compaction": ({"size": 600, "window": 20000}, [
        ("without a summary nothing happens", "trigger=2000, preserve_recent_tokens=500", "ua" * 10,
         "u1 +4 +5(summary)", {"summarizer": "empty"}),
        ("what does not fit is shortened without a model", "trigger=1000000",
         "uauauauauauau" + "cr" * 20,
         "u1 +7 | !u1 u3 u5 u7 u9 u11 a12 u13 +3 | !u1 u3 u5 u7 u9 u11 a12 u13 +3 | !u1 u3 u5 u7"
         " u9 u11 a12 u13 +3 | !u1 u3 u5 u7 u9 u11 a12 u13 +3 | !u1 u3 u5 u7 u9 u11 a12 u13 +1",
         {"size": 2000, "window": 8000}),
    ]),
    "half_truncation": ({"size": 800, "window": 6000}, [
        ("of a prompt that is refused three quarters go", "trigger=1000000", "ua" * 10,
         "u1 +8 | !u1 a2 u15 a16 u17 a18 u19", {"sizes": {"u19": 12000}}),
    ]),
    "copilot_cli": ({"size": 800, "window": 20000}, [
        ("what came while it was prepared stands behind the summary", "trigger=3000", "ua" * 24,
         "u1 +6 +1(summary) +2 | !summary-1 u15 a16 u17 a18 u19 a20 u21 +3 +1(summary) +2 | "
         "!summary-2 u29 a30 u31 a32 u33 a34 u35 +3 +1(summary) +2"),
    ]),
    "described_results": ({"window": 4000}, [
        ("below the trigger nothing happens", "tail_ratio=0.0, protect_last_n=2", "ucrcra",
         "u1 +2"),
        ("describing may be enough", "tail_ratio=0.0, protect_last_n=2", "u" + "cr" * 6 + "a",
         "u1 +5 | !u1 c2 r3* c4 r5* c6 r7* c8 r9* c10 r11* c12 r13",
         {"size": 100, "sizes": {"r": 2000}}),
    ]),
    "endpoint_compaction": ({"size": 400, "window": 1000}, [
        ("in the middle of a turn the item is last and the context before the users words",
         "item_tokens=20", "mmuau" + "cr" * 4 + "a",
         "m1 m2 u3 +2 | !u3 m1 m2 u5 summary-1(summary) +2"),
        ("before a new turn the context comes after the item", "item_tokens=20", "mm" + "ua" * 5,
         "m1 m2 u3 +3 | !u5~ u7 u9 summary-1 m1 m2 u11(summary)"),
        # The report is of 880 tokens, with what is said next it would be more than 900.
        ("what the user says next is not counted yet", "item_tokens=20", "ua" * 5, "u1 +4"),
        ("an answer that does not come changes nothing", "item_tokens=20", "ua" * 6,
         "u1 +4 +1(summary)(summary)^", {"summarizer": "empty"}),
        ("when a prompt is too large the last words are cut", "item_tokens=20", "ua",
         "u1~ summary-1(summary)", {"sizes": {"u1": 20000}}),
    ]),
    "user_words": ({"size": 400, "window": 1000}, [
        # The report is of 880 tokens, with what is said next it would be more than 900.
        ("what the user says next is not counted yet; the summary stands between what was said "
         "and the new message; a smaller limit can be set and a larger one has no effect", "",
         "ua" * 5, "u1 +3 | !u3~ u5 u7 summary-1 u9(summary)"),
        ("in the middle of a turn it comes last", "", "u" + "cr" * 4 + "a",
         "u1 +3 | !u1 summary-1(summary)"),
        ("what the client said at the beginning stays in front", "", "mmuamuauaua",
         "m1 m2 u3 +2 | !m1 m2 u3~ u6 u8 summary-1 u10(summary)"),
        ("without being put in again it is lost", "reinject=False", "mmuamuauaua",
         "m1 m2 u3 +2 | !u3~ u6 u8 summary-1 u10(summary)"),
        ("a smaller limit can be set and a larger one has no effect", "trigger=500", "ua" * 5,
         "u1 +1 | !u1 u3 summary-1 u5(summary) | !u1~ u3 u5 summary-2 u7(summary) | !u3~ u5 u7 "
         "summary-3 u9(summary)"),
        ("a smaller limit can be set and a larger one has no effect", "trigger=5000", "ua" * 5,
         "u1 +3 | !u3~ u5 u7 summary-1 u9(summary)"),
        ("a stale report does not set it off again", "", "ua" * 9,
         "u1 +3 | !u3~ u5 u7 summary-1 u9(summary) +2 | !u9~ u11 u13 summary-2 u15(summary) +1"),
        ("one message of the user that is too large is cut", "", "ua", "u1~ summary-1(summary)",
         {"sizes": {"u1": 20000}}),
        ("a summary that is too long is asked for twice and still is", "", "ua" * 5,
         "u1 +3 | !u5~ u7 u9 summary-1(summary)(summary)^", {"summarizer": "inflating"}),
    ]),
    "event_ranges": ({"size": 400}, [
        ("every three turns are summarised when they are over", "", "ua" * 7,
         "u1 +1 +1(summary) | !range-1 u7 +1 +1(summary) | !range-1 range-2 u13"),
        ("a range that holds another takes its place", "overlap_size=9", "ua" * 7,
         "u1 +1 +1(summary) | !range-1 u7 +1 +1(summary) | !range-2 u13"),
        ("what the client said before anybody spoke stays", "", "mm" + "ua" * 4,
         "m1 m2 u3 +1 +1(summary) | !m1 m2 range-1 u9"),
        ("a reminder before the user speaks is no turn of the one before", "",
         "uaua" + "uam" * 4 + "ua",
         "u1 +1 +1(summary) | !range-1 m7 u8 +1 +1(summary) | !range-1 range-2 m16 u17"),
        ("without a trigger a long turn is never summarised", "", "u" + "cr" * 10 + "a",
         "u1 +6 +4^", {"window": 1500}),
        ("by tokens all but the newest events are summarised",
         "compaction_interval=0, trigger=1000, event_retention_size=3", "u" + "cr" * 8 + "a",
         "u1 +5 | !range-1 c10 r11 c12 r13(summary) +2"),
        ("a report from before a compaction does not set it off again",
         "compaction_interval=0, trigger=1000, event_retention_size=3", "u" + "cr" * 20 + "a",
         "u1 +5 | !range-1 c10 r11 c12 r13(summary) +3 | !range-2 c18 r19 c20 r21(summary) +3 | "
         "!range-3 c26 r27 c28 r29(summary) +3 | !range-4 c34 r35 c36 r37(summary) +2"),
        ("tokens come before turns", "compaction_interval=2, trigger=300, event_retention_size=1",
         "uauaua", "u1 +1(summary) | !range-1 a4 u5(summary)"),
        ("tokens come before turns", "compaction_interval=2", "uauaua",
         "u1 +1(summary) | !range-1 u5"),
        ("a rewind takes a compaction back", "", "ua" * 4 + "<4ua",
         "u1 +1, a4 u5(summary) | !range-1 u7 | u1 a2 u3 a4 u9(summary)"),
        ("where no summary comes back the history stays", "", "ua" * 4, "u1 +1 +2(summary)",
         {"summarizer": "empty"}),
        # A call that nobody has answered ends the range within its turn, which counts once more.
        ("a turn of which only the beginning was summarised is new", "overlap_size=0",
         "uauauc2rauauaua",
         "u1 +2 +1(summary) | !range-1 c6 r7 a8 u9 +1(summary) | !range-1 range-2 u13"),
    ]),
    "fraction_split": ({"size": 400, "window": 2000}, [
        ("the newest third stays behind summary and acknowledgement", "", "ua" * 8,
         "u1 +5 | !summary-1 summary-1/answer u11 a12 u13(summary)(summary) +1"),
        # A finished turn may go as a whole; the new message stays, and so does a result.
        ("what is about to be sent is no part of the history", "", "u" + "cr" * 5 + "aucra",
         "u1 +5 | !summary-1 summary-1/answer u13(summary)(summary) +1"),
        ("in a turn that never ends there is nowhere to cut", "", "u" + "cr" * 8 + "a", "u1 +8"),
        ("a reminder behind a result is no place for a cut", "", "u" + "crm" * 6 + "a",
         "u1 +5 +1^"),
        ("it goes by the last prompt alone and not by a stale one", "", "ua" * 14,
         "u1 +5 | !summary-1 summary-1/answer u11 a12 u13(summary)(summary) +3 | !summary-2 "
         "summary-2/answer u19 a20 u21(summary)(summary) +3"),
        ("a summary that makes it larger is refused once and for all", "", "ua" * 9,
         "u1 +5 +1(summary)(summary) +2", {"summarizer": "inflating"}),
        ("after that only outputs are cut", "output_budget=100", "uaua ucrcrcr" + "a u" * 3 + "a",
         "u1 +3 +1(summary)(summary) | !u1 a2 u3 a4 u5 c6 r7~ c8 r9 c10 r11 +3",
         {"sizes": {"r7": 60000}, "window": 30000, "summarizer": "inflating"}),
        ("an empty summary is refused every time", "", "ua" * 9, "u1 +5 +3(summary)(summary)",
         {"summarizer": "empty"}),
    ]),
    "full_summary": ({"size": 400, "window": 2000}, [
        ("below the limit it leaves everything alone", "", "uauaua", "u1 +2"),
        ("at the limit a summary is all that is left", "", "ua" * 7,
         "u1 +4 | !summary-1(summary) +1"),
        ("in the middle of a turn too and no result is left alone", "", "u" + "cr" * 6 + "a",
         "u1 +4 | !summary-1(summary) +1"),
        # After the compaction the last report is of the prompt before it.
        ("a stale report does not set it off again", "", "ua" * 9,
         "u1 +4 | !summary-1(summary) +3"),
        # And the request leaves out what would not fit.
        ("a prompt that is too large is summarised at once", "", "uaua u a",
         "u1 +1 | !summary-1(summary)", {"sizes": {"u5": 6000}}),
        ("old outputs can be cleared first", "clear_first=True, keep_outputs=1",
         "u" + "cr" * 5 + "a", "u1 +4 | !u1 c2 r3* c4 r5* c6 r7* c8 r9* c10 r11"),
    ]),
    "write_guard": ({}, [
        ("it stays and is made up once", "", "uc" + " ua" * 3, "u1 | ?u1 c2 missing-c2/0 u3 +2"),
        ("without made up results a call stays open", "synthetic_results=False", "uc ua", "u1 +1"),
        ("a result that comes late is written all the same", "", "uc u r a",
         "u1 | ?u1 c2 missing-c2/0 u3 r4"),
        ("a rewind takes back what was made up", "", "uc ua <2 r a",
         "u1 | ?u1 c2 missing-c2/0 u3 | u1 c2 r5"),
    ]),
    "middle_summary": ({"size": 1000, "window": 20000}, [
        # A turn of calls without a word: the tail begins with the only answer that has words.
        ("it gives up where nothing can be gained", "trigger=2000, protect_first_n=0",
         "uau" + "cr" * 12,
         "u1 +3 | !summary-1 u3 c4 r5 c6 r7 c8 r9(summary) | !summary-2 u3 c4 r5 c6 r7 c8 r9 c10"
         " r11(summary) +7"),
        ("or nothing is done at all", "trigger=2000, abort_on_summary_failure=True", "ua" * 20,
         "u1 +4 +1(summary) +2 +1(summary) +2 +1(summary) +2 +1(summary) +2 +1(summary) +2",
         {"size": 800, "summarizer": "empty"}),
        ("a prompt that does not fit is compressed whatever was in vain", "trigger=1000000",
         "ua" * 10, "u1 +8 | !summary-1++ u15 a16 u17 a18 u19(summary)(summary)(summary)^",
         {"size": 800, "sizes": {"u19": 30000}, "window": 8000}),
    ]),
    "idle_compaction": ({}, [
        ("a small prompt is not worth it unless one does not ask", "", "ua~ua", "u1 +1",
         {"size": 3000}),
        ("a small prompt is not worth it unless one does not ask", "priced=False", "ua~ua",
         "u1 | !summary-1 u3(summary)(summary)", {"size": 3000}),
        # The cache lives from the start of the request: of 250 seconds of an answer on, it is late.
        ("where an answer took too long there is no time left", "", "ua~ua", "u1 +1",
         {"sizes": {"u1": 240000}, "gap": 250.0}),
        ("while an answer is written nobody is idle", "priced=False", "u~aua", "u1 +1(summary)",
         {"sizes": {"u1": 240000}}),
        ("the silence at the end is paid for too", "", "ua", "u1(summary)",
         {"sizes": {"u1": 240000}}),
        ("two in one session carry the first summary on", "", "ua~ua~ua",
         "u1 | !summary-1 u3(summary) | !summary-2 u5(summary)",
         {"sizes": {"u1": 240000, "u3": 240000}}),
    ]),
    "keep_all": ({}, [
        ("it sends everything", "", "ucra ua", "u1 +2"),
        ("a rewind takes it back to what was said by then", "", "uaua <2 ua",
         "u1, a2 u3 | u1 a2 u5"),
        ("its prompt is never rewritten and in the end too large", "", "ua" * 20, "u1 +4 +15^",
         {"size": 2000, "window": 5000}),
    ]),
    "keep_none": ({}, [
        ("it sends the current turn", "", "ucra ucra", "u1 +1 | !u5 +1"),
        ("what no person typed starts no turn", "", "ua m a", "u1 +1"),
        ("before anybody has spoken everything is the current turn", "", "m a m a", "m1 +1"),
        ("a rewind into an earlier turn brings that turn back", "", "ucraua <4 m a",
         "u1 +1 | !u5 | u1 c2 r3 a4 m7"),
        ("every turn begins with a compaction", "", "ucra ucra ucra", "u1 +1 | !u5 +1 | !u9 +1"),
    ]),
    "observation_masking": ({}, [
        ("the newest observations stay", "n=2", "u" + "cr" * 4 + "a",
         "u1 +2 | !u1 c2 r3* c4 r5 c6 r7 | !u1 c2 r3* c4 r5* c6 r7 c8 r9"),
        # So with a polling of 2 the mask moves when an odd number of outputs has come.
        ("the task counts as an observation and is never masked", "n=2, polling=2",
         "u" + "cr" * 4 + "a", "u1 +2 | !u1 c2 r3* c4 r5 c6 r7 +1"),
        ("without a task the first output is what stays", "n=1", "crcrcra",
         "- +2 | !c1 r2 c3 r4* c5 r6"),
        ("what the user says later is no observation", "n=1", "ucra ucra ua",
         "u1 +2 | !u1 c2 r3* a4 u5 c6 r7 +1"),
        ("tools may be kept or removed whatever their age", "n=1, keep_tools=('read',)", "ucrcrcra",
         "u1 +3"),
        ("tools may be kept or removed whatever their age", "remove_tools=('read',)", "ucrcrcra",
         "u1, c2 r3*, c4 r5*, c6 r7*"),
        ("openhands leaves out all results of a call that is masked in part",
         "n=3, system='openhands'", "uc2rrcra", "u1 +1 | !u1 r3* c5 r6"),
        ("a rewind takes the mask back", "n=1", "ucrcra <3 ua",
         "u1 +1 | !u1 c2 r3* c4 r5 | u1 c2 r3 u7"),
    ]),
    "pair_repair": ({}, [
        ("what went wrong in a turn is put right in the next", "", "uca ua ua",
         "u1 +1 | ?u1 c2 missing-c2/0 a3 u4 +1"),
        # After a rewind it is repaired anew, and the result that is made up is the same message.
        ("the session keeps what it has", "", "uca ua <4 a",
         "u1 +1 | ?u1 c2 missing-c2/0 a3 u4 | ?u1 c2 missing-c2/0 a3 u4"),
        ("one repair is one rewrite", "", "uc" + "au" * 6 + "a",
         "u1 +1 | ?u1 c2 missing-c2/0 a3 u4 +5"),
    ]),
    "turn_slice": ({}, [
        ("it puts right what another one cut apart", "history_limit=1, repair=False", "ua cur a ua",
         "u1 +2 | !u4 r5 a6 u7"),
        # The original slices what it loads, and the user's new prompt is not yet in there.
        ("it sends the newest turns before the current one", "history_limit=1", "ucra ua ua",
         "u1 +2 | !u5 a6 u7"),
        ("users in a row are a turn each", "history_limit=2", "uuuua", "u2 u3 u4"),
        ("what no person typed is no turn", "history_limit=1", "ua m m a ua", "u1 +2"),
        ("it acts once a turn so the rest of the turn only grows", "history_limit=1",
         "u" + "aucrcr" * 4 + "a",
         "u1 +3 | !u3 c4 r5 c6 r7 a8 u9 +2 | !u9 c10 r11 c12 r13 a14 u15 +2 | !u15 c16 r17 c18 "
         "r19 a20 u21 +2"),
        # It is a projection: after a turn the history is whole again, and is sliced anew.
        ("the session goes on beneath it", "history_limit=1", "ua " * 3 + "<4 ua",
         "u1 +1 | !u3 a4 u5 | !u3 a4 u7"),
        # A rewind to a user's message, from which the script goes straight on with an answer.
        ("an answer asked for again gets the same turns", "history_limit=1", "ua " * 3 + "<5 a",
         "u1 +1 | !u3 a4 u5 | !u3 a4 u5"),
        ("before 2026.2.17 calls and results were not put together",
         "history_limit=1, repair=False",
         "ua cur a u a", "u1 +2 | !u4 r5 a6 u7"),
    ]),
    "pipelines": ({}, [
        ("it puts right what another one cut apart",
         "turn_slice(history_limit=1, repair=False) + pair_repair", "ua cur a ua",
         "u1 +1 | ?u1 a2 c3 missing-c3/0 u4 r5 | !u4 a6 u7"),
    ]),
    "pair_safe_window": ({}, [
        ("it cuts after a turn where a user speaks", "window_size=3", "ua " * 3 + "ua",
         "u1 +1 | !u3 a4 u5 | !u5 a6 u7"),
        ("within a turn it lets everything grow", "window_size=3", "ucrcrcra ua",
         "u1 +3 | !c6 r7 a8 u9"),
        ("where no user speaks it cuts at a call whose result follows", "window_size=4",
         "ucrcrcra ua", "u1 +3 | !c6 r7 a8 u9"),
        ("if asked before every so many calls it cuts then too", "window_size=2, per_turn=2",
         "u" + "cr" * 4 + "a", "u1 | !c2 r3 +1 | !c6 r7 +1"),
        ("the first messages can be pinned for good", "window_size=3, pin_first=1",
         "ua " * 3 + "ua", "u1 +1 | !u1 u3 a4 u5 | !u1 u5 a6 u7"),
        ("the other half of a pinned call is pinned with it", "window_size=2, pin_first=2",
         "ucra ua ua", "u1 +2 | !u1 c2 r3 u5 a6 u7"),
        ("a rewind behind the first cut takes the pins back", "window_size=2, pin_first=1",
         "ua ua <2 ua ua", "u1, a2 u3 | u1 a2 u5 | !u1 u5 a6 u7"),
        ("and then the front is cut off until it fits", "", "ua " * 3 + "u cr a",
         "u1 +1 | !u3 a4 u5 | !u5 a6 u7 | !u7 c8 r9~", {"size": 800, "window": 900}),
        ("a single message that is too large cannot be helped", "", "ua", "u1^",
         {"sizes": {"u1": 9000}, "window": 900}),
        # It looks at the next message alone, and a reminder counts as a user's words.
        ("a result that comes late may lose its call", "window_size=3", "ucmra ua",
         "u1 +1 | !m3 r4 a5 u6"),
    ]),
    "preserve_turns": ({"size": 400, "window": 2000}, [
        # OpenClaw had pi 0.58.0 then.
        ("what a compaction had kept is lost by the next", f"recent_turns_preserve=1, {PI}",
         "ua" * 9,
         "u1 +3 +1(summary)(summary)(summary)(summary)(summary)(summary) | !summary-1 u7 a8 u9 "
         "a10 u11 +2 | !summary-2 u13 a14 u15 a16 u17"),
        # pi alone asks for a summary of nothing, and puts it in front of everything.
        ("where nothing can be cut off it does not compact",
         "recent_turns_preserve=1, reserve_tokens=1000, reserve_tokens_floor=0, "
         "keep_recent_tokens=9000", "ua" * 7, "u1 +6"),
    ]),
    "prune_then_summarize": ({"size": 400, "window": 13333}, [
        # The newest two turns stay, then 100 tokens; the two before that come to more than 150.
        ("outputs are erased when a turn is over",
         "protect_tokens=100, minimum_tokens=150, preserve_recent_tokens=300", "ucra" * 6,
         "u1 +9 | !u1 c2 r3* a4 u5 c6 r7* a8 u9 c10 r11 a12 u13 c14 r15 a16 u17 c18 r19 a20 u21 "
         "+1"),
        ("not until they come to the minimum",
         "protect_tokens=100, minimum_tokens=200, preserve_recent_tokens=300", "ucra" * 6,
         "u1 +11"),
        ("not until they come to the minimum", "prune=False, protect_tokens=0, minimum_tokens=0",
         "ucra" * 6, "u1 +11"),
        ("outputs of some tools always stay",
         "protect_tokens=100, minimum_tokens=150, protected_tools=('read',)", "ucra" * 6, "u1 +11"),
        ("a full window leaves a question its answer the newest turns and a word",
         "protect_tokens=100, minimum_tokens=150, preserve_recent_tokens=300", "ua" * 6,
         "u1 +4 | !summary-1/question summary-1 a10 u11 summary-1/go-on(summary)",
         {"window": 1333}),
        ("results of the newest turn are cut off with their calls",
         "protect_tokens=100, minimum_tokens=150, preserve_recent_tokens=300", "u" + "cr" * 6 + "a",
         "u1 +4 | !summary-1/question summary-1 c10 r11 summary-1/go-on(summary) +1",
         {"window": 1333}),
        ("in the first turn there is nothing to go back to",
         "protect_tokens=100, minimum_tokens=150, preserve_recent_tokens=300", "ucr a",
         "u1 | !summary-1/question summary-1 summary-1/go-on(summary)",
         {"sizes": {"r3": 9000}, "window": 1333}),
        ("an empty answer on the live prompt is asked for again",
         "preserve_recent_tokens=3000, rides='live'", "ua" * 13,
         "u1 +11 | !summary-1/question a24 u25 summary-1/go-on(summary)(summary)",
         {"size": 4000, "window": 32000, "summarizer": "empty"}),
    ]),
    "history_summary": ({"size": 800, "window": 60000}, [
        ("everything gives way to a summary that is acknowledged", "trigger=2000", "ua" * 12,
         "u1 +4 | !summary-1 summary-1/answer u11(summary) +4 | !summary-2 summary-2/answer "
         "u21(summary) +1"),
        ("in a turn the last call stays with its result", "trigger=2000", "u" + "cr" * 12,
         "u1 +4 | !summary-1 summary-1/answer c10 r11(summary) +3 | !summary-2 summary-2/answer "
         "c18 r19(summary) +2"),
        ("after three attempts in vain it stops", "trigger=2000", "ua" * 20,
         "u1 +4 +3(summary)(summary) +12", {"summarizer": "empty"}),
    ]),
    "random_keep": ({}, [
        ("a share of one keeps everything and of zero the current turn", "share=1",
         "ucra ucra ucra", "u1 +5"),
        ("a share of one keeps everything and of zero the current turn", "share=0",
         "ucra ucra ucra", "u1 +1 | !u5 +1 | !u9 +1"),
    ]),
    "recency_buffer": ({"size": 4000, "window": 20000}, [
        ("the buffer is of what is older than the tail", f"keep_messages=2, {PI}", "ua" * 6,
         "u1 +3 +1(summary) | !summary-1 u7 a8 u9 a10 u11", {"size": 400, "window": 2000}),
        # Two halves, and a third request that makes them one; pi asks once.
        ("what is more than a request may take is summarised in stages",
         "enabled=False, keep_messages=2, reserve_tokens=1000, reserve_tokens_floor=0, "
         "keep_recent_tokens=2000", "ua" * 12,
         "u1 +7 +1(summary)(summary)(summary) | !summary-1 u17 a18 u19 +2"),
        ("if much is new the oldest are summarised first",
         "enabled=False, keep_messages=2, reserve_tokens=1000, reserve_tokens_floor=0, "
         "keep_recent_tokens=2000, max_history_share=0.1", "ua" * 12,
         "u1 +7 +1(summary)(summary)(summary)(summary) | !summary-1 u17 a18 u19 +2"),
    ]),
    "recent_events": ({}, [
        ("the first and the newest are sent", "max_events=3", "ua" * 4,
         "u1 +1 | !u1 a4 u5 | !u1 a6 u7"),
        ("the original sends the head twice as long as the history fits",
         "max_events=4, mended=False", "uauaua", "u1 u1 +1 | !u1 u3 a4 u5"),
        ("the session goes on beneath it", "max_events=5", "ua" * 4 + " <4 ua",
         "u1 +1, a4 u5 | !u1 a4 u5 a6 u7 | u1 a2 u3 a4 u9"),
        ("it parts calls from their results", "max_events=2", "ucrcra", "u1 | ?u1 r3 | !u1 r5"),
    ]),
    "amortized_forgetting": ({}, [
        ("forgetting by halves lets the prompt grow in between", "max_size=4", "ua" * 6,
         "u1 +1 | !u1 u5 +1 | !u1 u9 +1"),
        ("what is forgotten stays forgotten until the user goes back", "max_size=4",
         "ua" * 4 + " <4 ua", "u1 +1 | !u1 u5, a6 u7 | !u1 u9"),
        ("nothing need be pinned", "max_size=4, keep_first=0", "uauaua", "u1 +1 | !a4 u5"),
    ]),
    "rolling_summary": ({}, [
        ("it acts as soon as the size is reached",
         "trigger=('messages', 10), keep=('messages', 4), summary_input=0", "ua" * 5 + "ma",
         "u1 +4 | !summary-1 a8 u9 a10 m11(summary)"),
        # What the provider reported counts beside the approximation.
        ("its default trigger is a share of the window", "keep=('messages', 3)", "ua" * 12,
         "u1 +6 | !summary-1 u13 a14 u15(summary) +4", {"size": 400, "window": 2000}),
        # What the provider reported counts beside the approximation.
        ("its default trigger is a share of the window", "trigger=(), keep=('messages', 3)",
         "ua" * 12, "u1 +8 +3^", {"size": 400, "window": 2000}),
        ("a cut among results walks back to their call",
         "trigger=('messages', 8), keep=('messages', 2)", "uaua uc3rrra",
         "u1 +2 | !summary-1 c6 r7 r8 r9(summary)"),
        ("a late result goes with its call", "trigger=('messages', 11), keep=('messages', 4)",
         "uaua uc2rmra ua", "u1 +3 | !summary-1 m8 a10 u11(summary)"),
    ]),
    "server_compaction": ({"size": 40000}, [
        ("beyond the trigger a block is all that is left", "trigger=50000", "uauaua",
         "u1 +1 | !summary-1(summary)"),
        ("all that was before the block is ignored from then on", "trigger=50000", "ucrcrcra",
         "u1 +1 | !summary-1(summary) +1"),
        ("it does not go by a report", "trigger=50000", "ua" * 8,
         "u1 +1 | !summary-1(summary) +2 | !summary-2(summary) +2"),
        ("a pass that fails changes nothing", "trigger=50000", "uauaua", "u1 +1 +1(summary)",
         {"summarizer": "empty"}),
    ]),
    "sliding_window": ({}, [
        ("it sends the newest messages", "keep=3", "uauaua", "u1 +1 | !u3 a4 u5"),
        ("it sends fewer where the first would be a result without its call", "keep=3", "ucra u a",
         "u1 +1 | !a4 u5"),
        ("it sends fewer where the first would be a result without its call", "keep=4",
         "uc2rr a u a", "u1 +1 | !a5 u6"),
        ("in a long turn it drops what the user asked for", "keep=3", "u cr cr a",
         "u1 +1 | !c4 r5"),
        ("a full window is rewritten at every call", "keep=4", "ua" * 10,
         "u1 +1 | !a2 u3 a4 u5 | !a4 u5 a6 u7 | !a6 u7 a8 u9 | !a8 u9 a10 u11 | !a10 u11 a12 u13"
         " | !a12 u13 a14 u15 | !a14 u15 a16 u17 | !a16 u17 a18 u19"),
        ("a rewind brings back what had slid out", "keep=3", "uauaua <2 ua",
         "u1, a2 u3 | !u3 a4 u5 | u1 a2 u7"),
    ]),
    "token_budget": ({"size": 400, "window": 2000}, [
        ("it plans once a turn and lets the turn grow",
         "reserve_tokens_floor=0, dynamic_reserve_ratio=0.0, min_dynamic_reserve_tokens=1000",
         "ua" * 6 + "ucrcra",
         "u1 +4 | !u3 a4 u5 a6 u7 a8 u9 a10 u11 | !u5 a6 u7 a8 u9 a10 u11 a12 u13 +2"),
    ]),
    "tool_groups": ({}, [
        ("the oldest groups are left out whole", "strategy='truncation', max_n=5, compact_to=3",
         "ucrcrcra", "u1 +2 | !c6 r7"),
        ("the first words of the user can be kept",
         "strategy='truncation', max_n=5, compact_to=3, preserve_first_user_group=True", "ucrcrcra",
         "u1 +2 | !u1 c6 r7"),
        ("a window of groups", "strategy='sliding_window', keep_last_groups=2", "ucrcrcra",
         "u1 +1 | !c2 r3 c4 r5 | !c4 r5 c6 r7"),
        ("old tool uses can be left out alone",
         "strategy='selective_tool_call', keep_last_tool_call_groups=1", "ucrcra ua",
         "u1 +1 | !u1 c4 r5 +1"),
        ("a message told before stays where it is",
         "strategy='tool_result', keep_last_tool_call_groups=0", "ucra ucra",
         "u1 | ?u1 tool_summary_group_c2 +1 | ?u1 tool_summary_group_c2 a4 u5 "
         "tool_summary_group_c6"),
    ]),
    "trim_messages": ({}, [
        ("the newest that fit are sent", "max_tokens=5, token_counter='len'", "ua" * 4,
         "u1 +2 | !u3 a4 u5 a6 u7"),
        ("it can begin where a user speaks",
         "max_tokens=5, token_counter='len', start_on=('human',)", "ucra ucrcra",
         "u1 +2 | !u5 c6 r7 +1"),
        ("if nobody speaks in what fits nothing is left",
         "max_tokens=5, token_counter='len', start_on=('human',)", "ucrcrcra", "u1 +2 | !-"),
        ("it can end on some type", "max_tokens=5, token_counter='len', end_on=('ai',)", "ua ua",
         "- +1"),
        ("from the front", "max_tokens=5, strategy='first', token_counter='len'", "ua" * 4,
         "u1 +2 | ?u1 a2 u3 a4 u5"),
        ("the system prompt may count", "max_tokens=250", "ua" * 4,
         "u1 +1 | !a2 u3 a4 u5 | !a4 u5 a6 u7", {"size": 200, "system": 100}),
        ("the system prompt may count", "max_tokens=250, include_system=True", "ua" * 4,
         "u1 | !a2 u3 | !a4 u5 | !a6 u7", {"size": 200, "system": 100}),
        ("the session goes on beneath it", "max_tokens=5, token_counter='len'", "uauaua <4 ua",
         "u1 +1, a4 u5 | u1 a2 u3 a4 u7"),
        ("by itself it guards no pairs", "max_tokens=5, token_counter='len'", "ucrcrcra",
         "u1 +2 | !r3 c4 r5 c6 r7"),
    ]),
    "ttl_prune": ({"size": 400}, [
        # The next one, within the lifetime, sends everything in full again.
        ("after a pause results are pruned for one request", TTL, "ucra cra ~ ucra ua",
         "u1 +3 | !u1 c2 r3~ a4 c5 r6~ a7 u8 | ?u1 c2 r3 a4 c5 r6 a7 u8 c9 r10 +1"),
        ("if it is sticky they stay pruned", f"{TTL}, sticky=True", "ucra cra ~ ucra ua",
         "u1 +3 | !u1 c2 r3~ a4 c5 r6~ a7 u8 +2"),
        ("without a pause nothing is pruned", TTL, "ucra cra ucra ua", "u1 +6"),
        ("in the first turn nothing is known of a cache", TTL, "ucr ~ a cr ~ a", "u1 +3"),
        ("results are cleared where trimming is not enough",
         "keep_last_assistants=1, soft_trim_ratio=0.0, soft_trim_max_chars=100, "
         "soft_trim_head_chars=19000, soft_trim_tail_chars=1000", "u" + "cra " * 3 + "~ ua",
         "u1 +5 | !u1 c2 r3~ a4 c5 r6~ a7 c8 r9~ a10 u11",
         {"sizes": {"r": 40000}, "window": 40000, "size": 20}),
        ("results are cleared where trimming is not enough",
         "keep_last_assistants=1, soft_trim_ratio=0.0, soft_trim_max_chars=100, "
         "soft_trim_head_chars=19000, soft_trim_tail_chars=1000", "u" + "cra " * 3 + "~ ua",
         "u1 +4 +1^ | !u1 c2 r3* a4 c5 r6~ a7 c8 r9~ a10 u11",
         {"sizes": {"r": 40000}, "window": 25000, "size": 20}),
        ("results are cleared where trimming is not enough",
         "keep_last_assistants=1, soft_trim_ratio=0.0, soft_trim_max_chars=100, "
         "soft_trim_head_chars=19000, soft_trim_tail_chars=1000, hard_clear_enabled=False",
         "u" + "cra " * 3 + "~ ua", "u1 +4 +1^ | !u1 c2 r3~ a4 c5 r6~ a7 c8 r9~ a10 u11",
         {"sizes": {"r": 40000}, "window": 25000, "size": 20}),
        ("tools may be left out", f"{TTL}, tools_deny=('RE*',)", "ucra ~ ua", "u1 +2"),
        ("tools may be left out", f"{TTL}, tools_allow=('exec',)", "ucra ~ ua", "u1 +2"),
        ("tools may be left out", f"{TTL}, tools_allow=('exec', 'read')", "ucra ~ ua",
         "u1 +1 | !u1 c2 r3~ a4 u5"),
        ("a rewind takes the touch back", TTL, "ucra ~ ua <4 ua",
         "u1 +1 | !u1 c2 r3~ a4 u5 | !u1 c2 r3~ a4 u7"),
    ]),
    "turn_checkpoints": ({}, [
        ("it acts when so many turns stand before those that stay; checkpoints pile up behind "
         "the task as in the original", "every=3, keep=2", "u" + "cr" * 9 + "a",
         "u1 +4 | !u1 summary-1 c8 r9 c10 r11(summary) +2 | !u1 summary-1 summary-2 c14 r15 c16 "
         "r17(summary) +1"),
        ("or the new one stands for those before it too", "every=3, keep=2, pile=False",
         "u" + "cr" * 9 + "a",
         "u1 +4 | !u1 summary-1 c8 r9 c10 r11(summary) +2 | !u1 summary-2 c14 r15 c16 "
         "r17(summary) +1"),
        # A reminder may stand between a call and its late result.
        ("answers and results that belong together are not parted", "every=1, keep=2",
         "u c2rmr crcra", "u1 +2 | !u1 summary-1 m4 c6 r7 c8 r9(summary)"),
        ("nothing but answers that call tools makes a turn", "every=1, keep=0", "ua" * 9, "u1 +8"),
        ("without a task the checkpoint comes first", "every=1, keep=1", "mcrcra",
         "m1 +1 | !summary-1 c4 r5(summary)"),
    ]),
}

# What is left of a view at a moment; "=" where it is that very view.
MOMENTS: dict[str, tuple[dict[str, Any], list[tuple[Any, ...]]]] = {
    "full_summary": ({}, [
        ("an empty view is left alone", "", "", "="),
    ]),
    "pair_repair": ({}, [
        ("nothing to repair is the same view", "", "ucra uc2rra u", "="),
        ("a history without tools is not looked at", "", "uaua u", "="),
        ("the current turn is not yet history", "", "u o a u o", "u1 a3 u4 o5"),
    ]),
    "sliding_window": ({}, [
        ("a full window is left alone", "keep=3", "uau", "="),
    ]),
    "token_budget": ({"size": 400, "window": 2000}, [
        # Of a window of 2000 that leaves 1000 for history and prompt. A prompt of 100 leaves
        # (1000 - 100) * 0.9 = 810 tokens: eight messages of 100, of nine.
        ("a history that fits is left alone", PLAN, "ucraucra u", "="),
        ("the oldest messages go in the middle of a turn too", PLAN, "uauauauaua u",
         "u3 a4 u5 a6 u7 a8 u9 a10 u11"),
        ("the oldest messages go in the middle of a turn too", PLAN, "uauauauau u",
         "a2 u3 a4 u5 a6 u7 a8 u9 u10"),
        ("a result whose call was dropped is dropped by the repair", PLAN, "ucraucraua u",
         "a4 u5 c6 r7 a8 u9 a10 u11"),
        # Whatever the plan says: the repair comes behind it.
        ("a call that was never answered is given a result", PLAN, "ucu c2ra u",
         "u1 c2 missing-c2/0 u3 c4 r5 missing-c4/1 a6 u7", {"size": 20}),
        ("the turn before the current one is kept whatever its size", PLAN, "uaucra u",
         "u3 c4 r5 a6 u7", {"sizes": {"r5": 40000}}),
        ("a share of the budget may be asked for",
         f"{PLAN}, max_history_share=0.5",
         "uauauauaua u", "u7 a8 u9 a10 u11"),
        ("where nothing is left only the last message before the prompt is kept", "", "uaua u",
         "a4 u5", {"size": 20}),
        # The last message is a result without its call: the original then replaces nothing.
        ("where the repair leaves nothing the history stays", "", "uaucr u", "=", {"size": 20}),
        ("a limit of turns comes after the plan", f"{PLAN}, history_limit=2", "uauauauaua u",
         "u7 a8 u9 a10 u11"),
        ("a limit of turns comes after the plan", f"{PLAN}, history_limit=2", "uauaua u",
         "u3 a4 u5 a6 u7", {"size": 20}),
        ("system prompt and current turn count as static", PLAN, "uaua u", "u3 a4 u5",
         {"system": 600}),
        ("system prompt and current turn count as static", PLAN, "uaua u", "u3 a4 u5",
         {"sizes": {"u5": 3200}}),
        ("a first turn has no history", PLAN, "u", "=", {"size": 4000, "window": 10}),
        ("at its defaults a window of 200 000 is trimmed at 147 600", "", "ua u", "=",
         {"sizes": {"u1": 590340, "u3": 0}, "size": 20, "window": 200000}),
        ("at its defaults a window of 200 000 is trimmed at 147 600", "", "ua u a u", "a2 u3 a4 u5",
         {"sizes": {"u1": 590380, "u5": 0}, "size": 20, "window": 200000}),
        ("a message that weighs nothing counts what it takes to write it down", PLAN, "uauau", "=",
         {"sizes": {"u1": 0, "a2": 0, "u5": 0, "u3": 3000}}),
        ("a message that weighs nothing counts what it takes to write it down", PLAN, "uauau",
         "a2 u3 a4 u5", {"sizes": {"u1": 0, "a2": 0, "u5": 0, "u3": 3100}}),
    ]),
    "turn_slice": ({}, [
        ("no more turns than that is left alone", "history_limit=2", "ucra u u", "="),
        # The original gives the same array back: a summary in front is not lost so early.
        ("with no more turns than that what came before the first stays too", "history_limit=1",
         "a u a u", "="),
        ("what came before the first turn goes with the first cut", "history_limit=1", "a u a u u",
         "u4 u5"),
        ("from 2026 2 17 on calls and results are put together afterwards", "", "ua cur a u",
         "u1 a2 c3 r5 u4 a6 u7"),
        ("and a result whose call was cut off goes", "history_limit=1", "ua cur a u", "u4 a6 u7"),
        ("where the repair leaves nothing the history stays", "history_limit=1", "o o u", "="),
        ("what nobody typed stays", "history_limit=1", "o m o u", "m2 u4"),
    ]),
}
# fmt: on


def rows(table):
    return [
        pytest.param(
            arguments if name == "pipelines" else f"{name}({arguments})",
            (story, {**beside, **dict(*own)}),
            result,
            id=f"{name}: {why}",
        )
        for name, (beside, rows) in table.items()
        for why, arguments, story, result, *own in rows
    ]


@pytest.mark.parametrize(("spec", "story", "sent"), rows(STORIES))
def test_what_is_sent(spec, story, sent, tell, play, shown):  # noqa: PLR0917
    letters, how = story
    played = {name: how[name] for name in ("window", "summarizer") if name in how}
    if "summarizer" in played:
        played["summarizer"] = find_summarizer(played["summarizer"])
    told = tell(letters, **{name: value for name, value in how.items() if name not in played})
    assert shown(play(told, find_strategy(spec), **played)) == sent


@pytest.mark.parametrize(("spec", "story", "left"), rows(MOMENTS))
def test_what_is_left(spec, story, left, moment, ids):
    now = moment(story[0], **story[1])
    after = find_strategy(spec).compact(now.view, now.host)
    assert (after is now.view) == (left == "=")
    assert left in ("=", ids(after.messages))
