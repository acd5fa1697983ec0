"""The engine of synthetic conversations: plan the facts, then write the messages.

How a conversation is made:

1. The **plan** (``plan.py``, ``branches.py``) is drawn first, from its own random streams: which
   facts there are, who states each in which turn, which facts replace or withdraw others, and which
   are decoys. :class:`~compactlab.scenarios.engine.domain.Mix` sets the number of each.
2. The **phrases** (``phrases.toml``) are the words in which facts are stated, in two families, one
   of them held out. Values have at least forty random bits.
3. The **profile** (``profile.py`` and ``profiles/*.toml``) sets the lengths of texts, the times of
   people and tools, and the variation of turns: data with sources, or declared guesses.
4. The **world** (``world.py``) writes everything that is not a fact (requests, calls, results,
   thoughts) in the words of a **domain** (``domain.py`` and ``domains/*.toml``).
5. The **generator** (``generator.py``) goes through the turns, inserts the facts and lets the
   agent use them when they are needed. The **draft** (``world.py``) keeps messages and clock.

Writing a scenario
------------------

A scenario is a domain, which is data, and a frozen dataclass in this folder's parent, a subclass
of :class:`~compactlab.scenarios.engine.story.Story`. Most scenarios need nothing else. A model to
copy is ``ResearchAssistant`` (``plain.py``) with ``domains/research_assistant.toml``. The keys of a
domain are the fields of :class:`~compactlab.scenarios.engine.domain.Domain`. ::

    areas = "northern southern ..."                # sixteen at least
    requests = ["How is {stop} reached from {stop2}?"]
    sentences = ["The {n} at {stop} is late."]

    [words]
    n = "tram bridge depot"                        # {n} in all templates

    [pools]
    stop = ["stop-{n}-{h}", 30]                    # names that come back

    [things.decision]
    "fare zone" = "zone-{code}"

    [kinds]                                        # weights
    decision = 3
    tool_detail = 4

    [tools.timetable]
    arguments = { stop = "{stop}" }
    lines = ["{k} {n} {stop}"]

    [uses]
    decision = [["timetable", { zone = "{value}" }]]

and in ``tram_dispatcher.py``::

    @dataclass(frozen=True)
    class TramDispatcher(Story):
        '''What it is, what is measured and what is a guess.'''

        profile: str = "chat"
        domain = DomainFile("tram_dispatcher")

A domain can also be built in Python: ``domain: ClassVar[Domain] = Domain(...)``.

Then add the class to ``_SCENARIOS`` in ``catalogue.py``. The tests
(``tests/scenarios/test_scenarios_*.py``) then check all requirements for scenarios.

Rules:

* A fact's key is an area and a thing, ``northern fare zone``. The name of a thing belongs to one
  type, and no name is the end of another. No name contains a word that rules search for
  (``compactlab/strategies/summarizers/writer.py``).
* The template of a value contains ``{code}``, ``{hex}`` or ``{chain}``; ``{word}`` may be added. No
  fact depends on a value that contains a blank, such as a command.
* A use contains the value but not the key, so that it does not state the fact again. Facts of types
  not in ``uses`` are used in texts, as in ``phrases.toml``.
* ``voices`` sets who states the facts of a type. Only a tool states a ``tool_detail``: in one
  result, which is also its handle. The agent may state its facts in any of its texts; without tools
  it only answers.
* The profile sets the size of a result, under the tool's name. A scenario with special sizes has
  its own profile: add it to the others and name it in ``BUILT_IN``.
* By default, the number of turns follows from ``Domain.turn``, the tokens per turn.
* Tools return 40 to 85 % of the tokens. If people only talk, set ``results = (0.0, 0.2)``. With
  ``answers``, the agent often talks instead of working.
* ``mix`` sets the shares of facts, the chains of revisions and the number of last turns; ``lags``
  sets when facts are needed. The tests check a scenario against both.
* With ``focus=1``, a turn is about one name of each pool, so that questions, calls, results and
  answers are about the same thing.
* ``states`` replaces the usual phrases for facts, in both families. ``together`` offers options at
  once. ``resumes`` lets the user refer back to a fact without stating it ("the second one"), after
  which it is needed. ``HalfThoughts`` has all three.

Special behaviour needs a subclass of :class:`~compactlab.scenarios.engine.world.World`, named in
``world``; ``repetitions.py`` has one. It may override

* ``before(turn)``: do something before the user speaks, repeat a message with
  ``self.draft.again(message)`` (a fact in it is then stated twice), or go back with
  ``self.draft.rewind(id)`` after small talk, made with ``self.draft.say`` and
  ``self.draft.call``. For branches with more than small talk, override ``Story.route``
  instead, and the plan (``branches.py``) follows it;
* ``request``, ``prose``: the user's requests, the agent's texts and thoughts;
* ``act(left)``: the next tool calls. ``[]`` is an answer, as long as the rest of the turn;
* ``use(fact, left)`` and ``say(fact)``: how a fact is used, by a call or in words;
* ``shows(call, kind)``, ``placed(result, line)``: which results may state facts, and where;
  ``display(left)`` must return a call that can state any fact. ``room(call)`` lets a result state
  several facts, ``show(call, fact, line)`` inserts a line; a line that occurs again in a later
  result, while its fact is valid, states it again.

``Mix.restated`` is the share of facts that the user states again in other words. Intended defects
are named in ``Story.faults``; the tests allow no others. Unusual ids: ``Story.draft``.

Draw from ``self.rng`` and ``self.writer`` only, so that the same seed makes the same bytes.
"""
