"""The engine of synthetic conversations: plan the facts, then write the messages.

How a conversation comes about:

1. The **plan** (``plan.py``, ``branches.py``) is drawn first, from streams of its own: which facts
   there are, who states each in which turn, which replaces or takes back which, which are decoys.
   How many of each is the :class:`~compactlab.scenarios.engine.domain.Mix`.
2. The **phrases** (``phrases.toml``) say in which words a fact is stated, in two families of
   which one is held out. Values have at least forty random bits.
3. The **profile** (``profile.py`` and ``profiles/*.toml``) says how long texts get, how long people
   and tools take, how uneven turns are: data with sources, or guesses that say so.
4. The **world** (``world.py``) says everything that is no fact: what is asked, done, returned and
   thought, in the words of a **domain** (``domain.py`` and ``domains/*.toml``).
5. The **generator** (``generator.py``) goes through the turns, puts facts where they belong and
   lets the agent use them when they are needed. The **draft** (``world.py``) keeps messages and
   clock.

Writing a scenario
------------------

A scenario is a domain, which is data, and a frozen dataclass beside this folder that subclasses
:class:`~compactlab.scenarios.engine.story.Story`. For most, nothing else is needed;
``ResearchAssistant`` (``plain.py``) and ``domains/research_assistant.toml`` are one to copy. The
keys of a domain are the fields of :class:`~compactlab.scenarios.engine.domain.Domain`. ::

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

A domain may as well be built in Python: ``domain: ClassVar[Domain] = Domain(...)``.

Then add it to ``_SCENARIOS`` in ``catalogue.py``: by that alone the tests
(``tests/scenarios/test_scenarios_*.py``) hold it to everything that is asked of a scenario.

What to mind:

* A fact's key is an area and a thing, ``northern fare zone``. The name of a thing belongs to one
  type, and no name is the end of another. No name holds a word that rules look for
  (``compactlab/strategies/summarizers/units.py``).
* The template of a value has ``{code}``, ``{hex}`` or ``{chain}`` in it; ``{word}`` may stand
  beside it. What has a blank in it (a command) has no dependents.
* A use holds the value and not the key, or it would state the fact once more. What is not in
  ``uses`` is said, as in ``phrases.toml``.
* ``voices`` says who states the facts of a type. ``tool_detail`` is a tool's: it stands in a result
  and nowhere else, and has that result as its handle. Facts of the agent's voice may be stated in
  any of its texts; without tools it only answers.
* Sizes come from the profile under the tool's name. A scenario with a texture of its own brings a
  profile: put it beside the others and name it in ``BUILT_IN``.
* How many turns there are follows from ``Domain.turn``, tokens to a turn, unless it is said.
* Tools return 40 to 85 % of the tokens. Where people only talk, say so: ``results = (0.0, 0.2)``.
  With ``answers``, the agent often talks instead of working.
* Other shares of facts, chains of revisions and what counts as the last turns are the ``mix``; when
  facts are needed are the ``lags``. The tests hold a scenario to what it says there.
* With ``focus=1``, a turn is about one name of each pool, so that questions, calls, results and
  answers are about the same.
* Where what is stated reads badly in the usual phrases, ``states`` has others, in both families.
  ``together`` lets options be offered at once, and ``resumes`` lets the user come back to a fact
  in words that do not say it ("the second one"): it is needed then. ``HalfThoughts`` has all.

What is peculiar goes into a subclass of :class:`~compactlab.scenarios.engine.world.World`, named in
``world``; ``repetitions.py`` has one. It may override

* ``before(turn)``: do something before the user speaks, say something again with
  ``self.draft.again(message)`` (it is then stated twice), or go back with
  ``self.draft.rewind(id)`` after small talk, made with ``self.draft.say`` and
  ``self.draft.call``. Where there is more than small talk on a branch, override
  ``Story.route`` instead, and the plan (``branches.py``) follows it;
* ``request``, ``prose``: what is asked, said and thought;
* ``act(left)``: the next calls of tools. ``[]`` is an answer, as long as what is left of the turn;
* ``use(fact, left)`` and ``say(fact)``: how a fact is used, by a call or in words;
* ``shows(call, kind)``, ``placed(result, line)``: in which results facts may stand, and where;
  ``display(left)`` has to return a call that shows any fact. ``room(call)`` lets a result show
  several, ``show(call, fact, line)`` keeps what is shown; a line that stands in a later result
  while its fact holds states it again.

What the user says again in other words is ``Mix.restated``. What is wrong on purpose is named in
``Story.faults``, and the tests allow that and nothing else. Unusual ids: ``Story.draft``.

Draw from ``self.rng`` and ``self.writer`` only, so that the same seed makes the same bytes.
"""
