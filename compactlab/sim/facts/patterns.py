"""Patterns of statements that deny, doubt, demand, forbid or order their content."""

from __future__ import annotations

import re

from compactlab.sim.facts.quantities import WORDS

# Patterns of denial, doubt and order. KEY, VALUE and RIVAL (another value of the same sort) are
# placeholders for the items of a fact.


def _words(name: str) -> str:
    """Return the alternatives of a list of words.toml, for a pattern."""
    words = re.split(r"\s*[|\n]\s*" if "|" in WORDS[name] else r"\s+", WORDS[name].strip())
    return "|".join(re.escape(word).replace(r"\*", r"\w*") for word in words)


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text.replace("GAP", r"(?:(?!VALUE|RIVAL|[;:,()]|\bbut\b)\S+ )"))


NOT = (
    r"(?:not|never|no longer|no more|isn't|aren't|wasn't|weren't|won't|don't|doesn't|didn't|cannot"
    r"|can't|mustn't|shouldn't|hasn't|haven't|hadn't|without|instead of|rather than|in place of"
    rf"|in lieu of|{_words('not')}|den(?:y|ies|ied)|disput\w*|refus\w*|wouldn't|neither|nor"
    r"|ruled out|ruling out"
    r"|reject\w*|abandon\w*|discard\w*|dropped|gave up|given up|stopped|stop|other than|except"
    r"|no need|needn't|against|away from|out of|no|nobody|nothing|deixou de|dejó de|nicht"
    r"|kein\w*|nie|niemals|statt|jamais|pas|ne|n'\w+|nunca|ya no|não|nem|mai|non|né)"
)
UNLESS_MORE = r"(?! (?:only|just|exceed\w*|more|less|later|above|below|forget|change|worry|sure)\b)"
FORMER = (
    r"(?:used to(?: be)?|formerly|previously|former|previous|originally|initially|at first"
    r"|(?<!the )first|outdated|obsolete|deprecated|replac\w+(?! (?:by|with))|supersed\w+(?! by)"
    rf"|{_words('former')}|before that|stale|earlier|had been|until recently|no longer)"
)
GONE = (
    r"(?:reject\w*|abandon\w*|dropped|discard\w*|removed|replaced|ruled out|wrong|incorrect|false"
    r"|untrue|outdated|obsolete|deprecated|retired|turned down|cancel\w*|revert\w*|superseded"
    r"|no longer|not(?! to\b)|gone|over|rolled back|history|void|off the table|revoked|withdrawn"
    r"|lifted|a mistake|an error|vetoed|scrapped|declined|refuted|disproved|denied|abolished|ended)"
)
IS_GONE_BY = (
    r"(?:was|were|is|are|has been|have been|had been|got|being|will be|turned out to be|proved)"
)
DENIALS = [
    _pattern(rf"\b{NOT}{UNLESS_MORE} GAP{{0,4}}VALUE"),
    # Nobody: the whole clause behind is denied.
    _pattern(r"\b(?:nobody|no one|none of|no(?! (?:later|more|longer))|niemand|personne|nadie"
             r"|nessuno|ninguém) GAP{0,9}(?:KEY GAP{0,6})?VALUE"),
    _pattern(r"\b(?:taken|pulled|moved|removed) (?:off|from|away from) GAP{0,2}VALUE"),
    _pattern(rf"\b{FORMER} GAP{{0,3}}VALUE"),
    _pattern(r"\( (?:was|were|before|ex|old|from) GAP{0,2}VALUE"),
    _pattern(r"\bfrom GAP{0,2}VALUE GAP{0,3}(?:to|->|→|auf|à|a) "),
    _pattern(r"VALUE (?:->|→|=>) "),
    _pattern(r"\b(?:was|were|had) GAP{0,3}VALUE (?:\S+ ){0,6}(?:now|but|since|then|today) "),
    _pattern(rf"VALUE GAP{{0,4}}{IS_GONE_BY} (?:\w+ly |then |later |since |now |also )*{GONE}\b"),
    _pattern(r"VALUE GAP{0,5}(?:wurden?|ist|sind|war|waren|est|était|sont|été|quedó|quedaron"
             rf"|fue|fueron|sido|está|è|sono|stat[oaie]|foi|foram) GAP{{0,3}}"
             rf"(?:{_words('gone')})\b"),
    # "reduced from VALUE to", where the verb stands before it, or "von VALUE auf"
    _pattern(r"\b(?:ramen|rédui|pass|baiss|augment|redu|sub|baj|port|rido|abbass|aument|mud|cambi"
             r"|alter)\w* GAP{0,2}(?:de|da|di|du|del) VALUE (?:à|a|para) "),
    _pattern(r"VALUE (?:GAP{0,3})(?:isn't|wasn't|aren't|no longer|any ?more|didn't|doesn't"
             r"|rejected|replaced (?:by|with)|nicht|is out)\b"),
    _pattern(rf"VALUE (?:\S+ ){{0,6}}[,;.(] (?:and |but |which |that |this "
             rf"|it )*{IS_GONE_BY} (?:\w+ )?"
             rf"{GONE}\b"),
    _pattern(r"RIVAL (?:has |have )?(?:replaces|replaced|supersedes|superseded) GAP{0,3}VALUE"),
    _pattern(r"VALUE GAP{0,2}(?:until|bis|in favou?r of) "),
    _pattern(rf"\b(?:{GONE}|out of scope|excluded|not included) : (?:\S+ )?GAP{{0,3}}VALUE"),
    _pattern(r"VALUE GAP{0,2}(?:at first|initially|originally|to begin with|in the beginning"
             r"|anfangs|au début|al principio|all'inizio|no início)\b"),
    _pattern(r"\b(?:takes?|took|taking) over GAP{0,5}from GAP{0,2}VALUE"),
    _pattern(r"VALUE (?:does not|doesn't|did not|didn't|do not|no longer"
             r"|never|isn't|is not|won't|cannot) (?:\S+ ){0,2}KEY"),
    _pattern(r"VALUE (?:[^;. ]+ ){0,4}, (?:and |but )?(?:then|later|but) (?:\w+ ){0,2}"
             r"(?:revert\w*|back|chang\w*|switch\w*|moved?) to"),
    _pattern(r"VALUE (?:(?!RIVAL|;)\S+ ){0,5}(?:and|but|then|later|,) (?:(?:it|they|we|he|she"
             r"|has|have|was|were|is|been|since|later|then|got|had|now) )*(?:reset|set back"
             r"|put back|changed|switched|moved|reverted|went back|goes back|raised|lowered"
             r"|replaced|dropped|gave|given|scrapped"
             r"|swapped|wants?) (?:\w+ ){0,3}(?:to|by|with|for|at|in favou?r of|up) "),
    _pattern(r"\b(?:until|till) (?!VALUE)(?:\S+ ){1,2}: VALUE"),
    _pattern(r"\b(?:chosen|preferred|picked|favou?red|instead|won|wins|prefer\w*|chose\w*) "
             r"(?:over|to|against) GAP{0,2}VALUE"),
]  # fmt: skip
DOUBT = re.compile(
    rf"\b(?:{_words('doubt')}"
    r"|rumou?r\w*|(?:KEY|VALUE) (?:\S+ )?may (?:be|become)|front[- ]?runner|pencill?ed in"
    r"|(?:have|has|had)(?:n't| not) (?:\S+ ){1,4}yet)\b"
)
SETTLED = re.compile(
    r"\b(?:settled on|decided on|decided|confirmed|agreed|final|went with|chose|chosen|picked"
    r"|proved|proven|signed|it is now|insists?|approved|taken|selected|won|answered yes|said yes"
    r"|yes)\b"
)
AGREED = re.compile(
    r"\b(?:answered|said|replied) (?:with )?(?:yes|so)\b|\b(?:agreed|confirmed it)\b"
)
# Double negations and similar phrases, with their plain meaning.
PLAINLY = [
    (re.compile(pattern), instead)
    for pattern, instead in (
        (r"\bno (?=(?:dia|mês|ano|final|início|próximo|valor|total|local)\b)", "em "),
        (r"\b(?:without|no|beyond|beyond any|without any|not in)(?: a)? (?:doubt|question)s?\b"
         r"|\bundoubtedly\b",
         "certainly"),
        (r"\b(?:allowed|permitted|okay|ok|fine|free|may|can)((?: \S+){0,3}) without (?:asking"
         r"|permission|approval)\b",
         r"allowed\1"),
        (rf"\b(?:not|never|no longer|isn't|aren't) (?:at all |yet )?(?:{GONE}|stale|{FORMER})\b",
         "right"),
        (r"\b(?:do not|don't|never) forget (?:to )?", "must "),
        (r"\b(?:not|never|no|nothing|nobody|wouldn't|won't|don't|doesn't|didn't|cannot|can't)"
         r" (?:(?!VALUE|;|:)\S+ )*(?:except|other than|but|else than) (?=VALUE)", "only "),
        (r"\bnot (?:yet )?(?:been )?(?:decided|confirmed|settled|agreed|final|signed|approved)\b",
         "undecided"),
        (r"\b(?:not|never|isn't|aren't|wasn't|no longer|nobody is) (?:\w+ly )?(?:allowed|permitted"
         r"|ok"
         r"|okay|fine|free|welcome|safe|supposed)\b(?: (?:to|for))?", "forbidden"),
        (rf"\b{NOT} (?:\S+ ){{1,3}}in favou?r of (?=VALUE)", "chose "),
        (r"\b(?:under no circumstances|on no account|in no case|nobody|no one|nothing|never|neither"
         r"|at no time) (?:may|can|shall|should|must|is allowed to)\b", "forbidden"),
        (r"\b(?:may|can|shall|must|should) (?:never|not|no longer|nobody|under no circumstances)\b",
         "forbidden"),
        (r"\b(?:neither|nor|nobody|no one|none|nothing|no) ((?:(?!;|:)\S+ ){1,5}?)"
         r"(?:may|can|shall|must|should)\b", r"\1 forbidden"),
        (r"\bno exceptions?\b|\bwithout (?:an )?exceptions?\b", "always"),
        (r"\b(?:none|nobody|no one|nothing|no) other than\b|\bnothing (?:but|else than)\b", "only"),
        (r"\bno (?:\w+ )?(?:rule|ban|law|policy|reason|prohibition|restriction|embargo)s? "
         r"(?:\w+ )?(?:against|on|that|forbids|to)\b", "allowed to"),
    )
]  # fmt: skip


def plainly(text: str) -> str:
    """Replace double negations and indirect bans by plain words."""
    for pattern, instead in PLAINLY:
        text = pattern.sub(instead, text)
    return text


IF = re.compile(
    r"^(?:\W*)(?:if|unless|in case|provided|assuming|should|whenever|when|only if|once|had|wenn"
    r"|falls|otherwise|were|as soon as|as long as)\b|\b(?:if|unless|in case|provided that"
    r"|depending on|falls|whether|as soon as|as long as|only when|sofern|sobald|solange"
    r"|à condition|pourvu|siempre que|a condición|a condizione|purché|desde que|caso)\b"
)
CHOICE = re.compile(
    r"\bcandidates\b|\bVALUE or\b|\bor VALUE|\bRIVAL or VALUE|\beither\b|\boptions?\b|\bwhether\b"
    r"|\bdecide\b|\bto be asked\b|\bwondering\b|\bask(?:s|ed)? (?:if|whether|who|what|which|where"
    r"|when|how)|\bvs\.? "
)
# Words that mark the newer of two values.
ORDERS = re.compile(
    r"\b(?:now|no longer|instead|former\w*|previous\w*|earlier|used to|chang\w+|renam\w+|replac\w+"
    r"|supersed\w+|updat\w+|latest|from now on|any ?more|after all|revis\w+|correct(?:ed|ion)"
    r"|switch\w+|moved|rather than|in place of|doubled|halved|raised|lowered|later|since|increased"
    r"|reduced|slipped|postponed|migrat\w+)\b|->|\u2192"
)
DEMANDS = re.compile(
    r"\b(?:must|always|has to|have to|had to|needs? to|requir\w+|shall|should|only|mandatory"
    r"|obligatory|without exception|every|never without|insists?|expects?|make sure|be sure"
    r"|has got to|ought to|compulsory|at all times|is to|are to|ensure|immer|muss|müssen|toujours"
    r"|doit|siempre|debe|sempre|deve)\b(?! (?:not|never)\b)"
)
FORBIDS = re.compile(
    r"\b(?:not|never|no|cannot|can't|don't|doesn't|mustn't|shouldn't|won't|may not|forbid\w*"
    r"|forbade|prohibit\w*|avoid\w*|without|refrain\w*|off[- ]limits|leave \S+ alone|leave alone"
    r"|hands off|stay\w* away|keep\w* away|keep off|steer clear|banned|bans?|taboo|out of bounds"
    r"|disallow\w*|nothing|none|nobody|neither|nor|untouched|instead of|stop|verboten|nicht|nie"
    r"|niemals|kein\w*|aucun\w*|ningun\w*|ningún|nessun\w*|jamais|interdit\w*|ne|nunca|prohibid\w*"
    r"|no se|mai|vietato|non|não|proibid\w*|embargo|under seal|freeze|unless told)\b"
)
ALLOWS = re.compile(
    r"\b(?:no longer (?:forbid\w*|prohibit\w*|banned|off[- ]limits|taboo|a problem|applies|holds)"
    r"|not (?:forbidden|prohibited|banned|a problem|necessary|needed|required)|(?:fine|okay|ok"
    r"|free|safe|allowed|permitted|welcome|possible) (?:again |now )?(?:to|for)\b|(?:is|are|was"
    r"|were|now|again) (?:again |now )*(?:fine|okay|ok|allowed|permitted|possible)|lifted|ended"
    r"|ends|expired|was dropped|withdrawn|revoked|no need to|doesn't need to|don't (?:need"
    r"|have) to|does not need to|may (?!not)|can (?!not|be no)|feel free|go ahead"
    r"|(?:darf|dürfen) (?!(?:\S+ ){0,4}(?:nicht|nie|kein))|nothing against|no objections?"
    r"|no harm in|not mind|withdr[ae]w\w*|(?:dropp"
    r"|lift|end|remov|scrapp|rescind|relax|abolish)(?:s|ed|ing) (?:the |our |this |that "
    r"|its )?(?:\S+ ){0,3}?(?:ban|rule|restriction|prohibition|embargo|freeze)|ban (?:is"
    r"|was) (?:gone|over)|doesn't matter|does not matter|not hesitate|optional|needn't)"
)
WEAKENS = re.compile(
    r"\b(?:unless|except\w*|preferabl\w+|where possible|if possible|when possible|try to|tries to"
    r"|ideally|better not|better|rather not|normally|usually|mostly|generally|as a rule"
    r"|in principle|sparingly|in small|small doses|more than|VALUE (?:\S+ ){0,3}without"
    r"|during|on weekdays|for now|discouraged|reluctan\w*|as far as|if at all"
    r"|not recommended|only (?:if|when|after)|too (?:often|much)|should avoid|recommended"
    r"|not ideal|not advisable|nicer|nicest|prefers?|frowned|where needed|think twice|carefully"
    r"|with care|if you can|temporarily)\b"
)


PRONOUNS = frozenset(WORDS["pronouns"].split())
POSSESSIVE = frozenset(["their", "his", "her", "whose"])  # they begin another subject
LINKS = frozenset(WORDS["links"].split())
IS_SAID = re.compile(
    r"(?:(?!is |are |was |were |: |= )\S+ ){0,3}?(?:is|are|was|were|will be|:|=|remains|became|to"
    r"|by|on|in|at|with|of|opens)\s(.*)"
)
FRONT = frozenset(WORDS["front"].split())
FINITE = frozenset(WORDS["finite"].split())
MODALS = frozenset(WORDS["modals"].split())
# Verbs that demand or forbid, before their object.
RULES = re.compile(
    r"\b(?:verboten|forbidden|forbade|prohibited|banned|warned|interdit|prohibido|prohibió|vietato"
    r"|insists?|insisted|demanded|demands|required|rule|rules)\b"
)
NONE = re.compile(r"\b(?:no|never|avoid|kein\w*|without|zero) (?:\w+ )?VALUE")
REPORTS = re.compile(
    r"\b(?:wrote|said|says|asked|told|answered|confirmed|about|insisted|decided)\b"
)
# Headings whose content is not a statement.
VOID = re.compile(
    r"\b(?:rejected|discarded|abandoned|ruled out|open questions?|ideas?|options|alternatives"
    r"|obsolete|outdated|deprecated|candidates|to decide|undecided|not chosen|superseded|old"
    r"|previous\w*|former|archive\w*|history)\b"
)
# Headings of values that replace others: "final values (override all candidates)".
INSTEAD = re.compile(
    r"\b(?:overrid(?:es?|ing)|supersed(?:es?|ing)|replac(?:es?|ing)|instead of|in place of)"
    r"(?: (?:all|any|every|the|these|those|earlier|its|their)){0,3} \w+"
)
# Bans of any action on a thing.
BAN = re.compile(
    r"\b(?:hands off|off[- ]limits|taboo|leave \S+ alone|leave alone|untouched|under seal"
    r"|stay away|keep away|keep off|steer clear|out of bounds|nothing may|read[- ]only|forbidden"
    r"|prohibited|banned)\b"
)
VAGUE = re.compile(
    r"\b(?:see|above|below|set|chosen|made|given|noted|known|decided|agreed|discussed|same"
    r"|unchanged|attach\w*|redacted|tbd|unknown|still|here|file|later|earlier|open|pending|fixed"
    r"|moved|told|stored|done|found|confirmed|updated|what|which|whatever|not|there|usual|last"
    r"|mentioned|before|analysed|documented|described|listed|cleared|omitted|missing|in the|ready"
    r"|up to)\b|\["
)
COMMENT = re.compile(
    r"[,;.(\u2013\u2014-]?\s?(?:and |but )?(?:the |a )?(?:user|client|customer|he|she"
    r"|they)?\s?(?:answered|confirmed|agreed|rejected|declined|refused|denied|said (?:yes|no))\b"
    r"|[,;.(\u2013\u2014-]?\s?(?:and |but |which |that |this |it |though |although )*(?:(?:is|was"
    r"|are|were|has been|had been|turned out|proved|could|may|might|can) )?(?:not|never|wrong"
    r"|incorrect|outdated|obsolete|rejected|dropped|abandoned|if|unless|in case|maybe|probably"
    r"|perhaps|tentative\w*|unconfirmed|undecided|tbd|tbc|closed|resolved|solved|expired|merged"
    r"|until|only|except\w*|provided|formerly|previously|was|were|no longer|replaced|superseded"
    r"|reset|reverted|changed|switched|moved|raised|lowered|set back|rolled back|according|or|now"
    r"|then|otherwise|preferably|where|when|ideally|possibly|to be|subject|pending|pure|just a"
    r"|still|(?:i think|i guess|we think)(?! (?:\w+ ){2})|or so|as a)\b"
)


YES = frozenset(["yes", "ja", "oui", "sí", "yep", "sure"])
NO = frozenset(["no", "nein", "non", "never", "nope"])


# A verb and its object; a name directly followed by a value is a setting.
IMPERATIVE = re.compile(
    r"(?:(?:\S+ )+: )?(?:\W+|and |then |first |please |always |also )*"
    r"KEY (?![:=]|is\b|are\b|was\b|VALUE)"
)
EXCUSES = re.compile(
    r"\b(?:optional|no need|needn't|(?:don't|doesn't|does not|do not|didn't) (?:need|have) to"
    r"|not (?:necessary|required|needed|mandatory|obligatory)|no longer|may (?:be )?(?:skip"
    r"|omit)\w*|can (?:be )?(?:skip|omit)\w*|unless|except|preferabl\w+|if possible|where possible"
    r"|ideally|nice to have|forbidden)\b"
)


def ruled(text: str, core: str, polarity: str) -> str:
    """Return whether a statement demands or forbids its subject."""
    if polarity == "must":
        if IF.search(text) or DOUBT.search(text) or EXCUSES.search(text):
            return "denied"
        alone = re.sub(r", not (?!\w*(?:ed|en)\b)[^,;]*", "", core)  # "A, not B" demands A
        if re.search(rf"\b{NOT}{UNLESS_MORE} ", alone) and not DEMANDS.search(core):
            return "denied"
        return "held" if DEMANDS.search(core) or IMPERATIVE.match(core) else "plain"
    if FORBIDS.search(core):
        if any(each.search(text) for each in (ALLOWS, WEAKENS, IF, DOUBT)):
            return "denied"
        return "held"
    return "denied"


# Open decisions in words that otherwise express a decision.
_TO_COME = re.compile(
    r"\b(?:be|being|once|if|when|after|until|unless|before)(?: it| that| this| they)?(?: is| are"
    r"| has been| have been)? (?:approved|confirmed|decided|chosen|agreed|answered|picked|selected"
    r"|taken|signed)\b|\b(?:wait(?:s|ing)? for|await(?:s|ing)?|needs?|without|until"
    r"|before) (?:\w+ ){0,2}yes\b"
)
_LEAVES_OPEN = re.compile(
    r"\b(?:open|unanswered|undecided|unsettled|unapproved|pending|await\w*|wait(?:s|ing)? (?:for"
    r"|on)|ask(?:s|ed|ing)?|question\w*|offer(?:s|ed)?|up to (?:the user|you|them|him|her|us)"
    r"|options?|alternatives?|ideas?|candidates?|to decide|no (?:answer|decision|approval|word)"
    r"|(?:needs?|wants?|without) (?:\w+ ){0,2}(?:answer|decision|approval|consent|yes|go-ahead)"
    r"|nobody has|has not|have not|hasn't|haven't|did not|didn't|could|either|whether)\b"
)
_DISCARDED = re.compile(
    r"\b(?:rejected|discarded|abandoned|ruled out|not chosen|superseded|dropped|declined)\b"
)


def decided(text: str, above: str) -> bool:
    """Whether a statement presents something asked or proposed as decided.

    Examples
    --------
    >>> decided("switch the KEY to VALUE ", "next steps ")
    True
    >>> decided("the user was asked whether the KEY is to be VALUE ", "")
    False
    """
    if _DISCARDED.search(f"{above}; {text}"):
        return True
    text = _TO_COME.sub("undecided", text)
    if SETTLED.search(text):
        return True
    every = f"{above}; {text}"
    return not any(each.search(every) for each in (_LEAVES_OPEN, DOUBT, CHOICE, IF))
