"""The rules for English: orders to the assistant, facts and preferences of a person, decisions, events."""

from __future__ import annotations

import re

from agentmem.longterm.rules import Finding, Rule, Table, pattern_of

_PAST = """
ate became began bought broke brought built came caught chose cut did drank drew drove fell felt fought found flew
forgot forgave gave got grew had heard held hurt kept knew laid learnt led left lent lit lost made met paid quit ran
read rode rang rose said sang sat saw sent set shook shot showed shut slept sold sought spent spoke spread stood stole
stuck swam swore taught threw told took thought understood went woke won wore wrote was were
"""
IRREGULAR_PAST = frozenset(_PAST.split())
_ORDER = """
use write add send call say mention suggest include change touch commit push delete reply answer format explain
recommend put ask book assume share repeat create run install remove give start end show tell quote keep
"""
_KIN = """
wife husband partner girlfriend boyfriend mother father mom mum dad sister brother son daughter kids? child children
family parents? grand\\w+ aunt uncle cousin niece nephew friends? boss manager team colleague dog cat pet roommate
"""
_KIN_VERBS = "is are has have lives? works? loves? likes? hates? goes plays? named called"
_TRAITS = """
vegan vegetarian pescatarian married single divorced engaged pregnant retired left-handed deaf blind diabetic
transgender gay lesbian bisexual religious jewish muslim christian
"""


def _any(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


WORDS = {
    "polite": r"^(?:(?:and|also|so|okay|ok|please|hey|hi|by the way|btw|oh|well|yes|yeah|sure|thanks)[,.!]? )*",
    "order": _any(_ORDER),
    "kin": _any(_KIN),
    "kinverb": _any(_KIN_VERBS),
    "trait": _any(_TRAITS),
    "we": r"\b(?:I|we)",
    "am": r"(?:'m| am|'re| are)",
    "have": r"(?:'ve| have)?",
    "adverbs": r"(?:(?:\w+ly|just|also|still|always|never|often|usually|now|even|first|already|sometimes) )*",
    "very": r"(?:really |very |so |quite |severely )?",
    "some": r"(?:a|an|two|three|four|five|several|\d+|no)",
}

INSTRUCTIONS = (
    Rule(
        "standing",
        "instruction",
        90,
        (
            r"{polite}(?:always|never)\b(?! (?:mind|heard|been|knew|thought))",
            r"{polite}(?:from now on|in (?:the )?future|going forward)\b",
            r"\byou (?:should|must|need to|have to|can) (?:always|never)\b",
        ),
    ),
    Rule("occasion", "instruction", 80, (r"{polite}(?:whenever|every time|each time) .+?, ?(?:please )?{order}\b",)),
    Rule("forbidden", "instruction", 75, (r"{polite}(?:do not|don't|stop|avoid) (?:ever )?{order}(?:ing)?\b",)),
    Rule("address", "instruction", 85, (r"{polite}(?:call|address) me (?:as )?\w",), slot="address"),
    Rule(
        "language",
        "instruction",
        80,
        (r"{polite}(?:answer|reply|respond|write|speak|talk)(?: to me)?(?: only| always)? in [A-Z]\w+",),
        slot="language",
    ),
    Rule("reminder", "instruction", 75, (r"{polite}(?:remember|keep in mind|make sure) to \w",)),
    Rule("style", "instruction", 80, (r"{polite}keep (?:your |the |all )?(?:answers|replies|responses|code|it) \w",)),
)

PERSONA = (
    Rule("name", "persona", 90, (r"\bmy (?:full |first |last |real )?name(?:'s| is)\b",), slot="name"),
    Rule(
        "age", "persona", 80, (r"\bI{am} (?:now )?\d{1,3}\b(?! \w+s\b(?<!years))", r"\bI{have} turned \d"), slot="age"
    ),
    Rule(
        "home",
        "persona",
        85,
        (
            r"\bI {adverbs}(?:currently )?live (?:in|near|on|at|outside)\b",
            r"\bI{am} {adverbs}(?:living|based) in\b",
            r"\bI{have} (?:just |recently )?(?:moved|relocated) (?:back )?to\b",
        ),
        slot="home",
    ),
    Rule("origin", "persona", 80, (r"\bI{am} (?:originally )?from\b", r"\bI (?:grew up|was born|was raised) [io]n\b")),
    Rule(
        "work",
        "persona",
        85,
        (
            r"\bI {adverbs}work (?:at|for|as|in|on|with|from)\b",
            r"\bI{am} {adverbs}working (?:at|for|as)\b",
            r"\bmy (?:new |current )?job(?:'s| is)\b",
            r"\bI (?:started|joined|got a (?:new )?job)(?: working)? (?:at|with)\b",
        ),
        slot="work",
    ),
    Rule("allergy", "persona", 90, (r"\bI{am} {very}(?:allergic|intolerant)\b", r"\bI have (?:an? )?[\w ]*allerg")),
    Rule("trait", "persona", 85, (r"\bI{am}(?: an?)? {trait}\b",)),
    Rule(
        "contact",
        "persona",
        85,
        (r"\bmy (?P<what>e-?mail|phone|address|birthday|time ?zone|pronouns?)\b.{0,20}\bis\b",),
        slot="contact",
    ),
    Rule("favourite", "persona", 75, (r"\bmy favou?rite (?P<what>[\w ]{2,30}?)(?:'s| is| are)\b",), slot="favourite"),
    Rule("kin", "persona", 70, (r"\bmy (?:\w+ )?{kin}\b(?:,? [A-Z]\w+,?)?(?:'s| {kinverb})\b",)),
    Rule("fan", "persona", 70, (r"\bI{am} {very}an? (?:big |huge )?fan\b",)),
    Rule("role", "persona", 75, (r"\bI{am} (?:an?|the) (?!bit\b|little\b|lot\b)\w+",)),
    Rule(
        "preference",
        "persona",
        70,
        (
            r"\bI {adverbs}(?:like|love|enjoy|prefer|hate|dislike|adore|detest|avoid|collect)\b",
            r"\bI {adverbs}(?:play|practi[cs]e|speak|study|own|use)\b",
            r"\bI{am} {very}(?:into|interested in|fond of|passionate about|keen on)\b",
            r"\bI{am} {very}(?:good at|bad at|afraid of|scared of)\b",
            r"\bI (?:can't|cannot) (?:stand|eat)\b",
            r"\bI (?:don't|do not|never) (?:like|eat|drink|use|want|speak|own|have)\b",
        ),
    ),
    Rule(
        "has",
        "persona",
        65,
        (r"{we}(?:'ve| have)(?: got)? {some} (?!lot|bit|feeling|question|problem|idea|good|great|nice)\w+",),
    ),
)

DECISIONS = (
    Rule(
        "decision",
        "episodic",
        80,
        (
            r"{we}{have} {adverbs}(?:decided|agreed|chose|chosen|picked|settled on|committed to|opted)\b",
            r"\blet's (?:go with|use|switch to|stick with|choose|pick)\b",
        ),
    ),
    Rule(
        "plan",
        "episodic",
        70,
        (
            r"{we}(?:'ll| will)\b",
            r"{we}{am} (?:going to|planning|thinking of)\b",
            r"{we} (?:plan to|intend to|have to|need to)\b",
            r"{we} want to (?:start|become|learn|move|buy|build|open|study)\b",
        ),
    ),
)

RULES = Table(INSTRUCTIONS, WORDS, re.IGNORECASE), Table(PERSONA + DECISIONS, WORDS, re.IGNORECASE)
STRICT = pattern_of(
    (
        r"\bunder no circumstances|no matter what|without exception|at all times|never ever\b",
        r"\bin (?:every|all|any) (?:chat|conversation|answer|reply|case)s?\b",
    ),
    {},
    re.IGNORECASE,
)
CORRECTION = pattern_of(
    (
        r"^(?:no|nope|actually|correction|wait|sorry|i meant|i mean|to correct)\b[,:]? ",
        r"\b(?:no longer|any ?more|changed my mind|was wrong|misspoke|instead of|rather than|used to)\b",
    ),
    {},
    re.IGNORECASE,
)
CORRECTION_LEAD = re.compile(
    r"^(?:(?:no|nope|actually|correction|wait|sorry|i meant(?: to say)?|i mean|to correct(?: myself| that)?)[,:!.]? )+",
    re.IGNORECASE,
)
FIRST_PERSON = re.compile(r"\b(?:I|I'(?:m|ve|d|ll)|[Mm]y|[Mm]ine|[Mm]e|[Ww]e(?:'(?:re|ve|d|ll))?|[Oo]ur)\b")
_EMPTY_VERBS = """
think guess suppose believe mean see know hope wish wonder agree understand bet sure glad sorry happy excited thankful
grateful appreciate imagine hear doing
"""
_EMPTY = pattern_of(
    (r"{we}(?:{am}|{have})? (?:\w+ly |just |also |so )*{empty}\b", r"{we} can't wait\b"),
    WORDS | {"empty": _any(_EMPTY_VERBS)},
    re.IGNORECASE,
)
_EVENT = pattern_of(
    (r"(?:{we}|\bmy \w+(?: and I)?)(?:{have}|'d| had) {adverbs}(?P<verb>[a-z']+)\b",), WORDS, re.IGNORECASE
)
_STATEMENT_VERBS = """
is are was were has have had will lives? works? starts? begins? ends? costs? uses? runs? needs? moved left won said
told bought went got made took
"""
_STATEMENT = re.compile(rf"^(?:The|This|Our|Their|His|Her|[A-Z][\w'-]+)\b.*\b{_any(_STATEMENT_VERBS)}\b")
_CONCRETE = re.compile(r"\d|(?<=\w )[A-Z][a-z]{2,}")


def find(sentence: str) -> Finding | None:
    """The rule that fits a statement or an order; None for what is not worth keeping."""
    order, fact = RULES
    found = order.find(sentence)
    if found:
        return Finding(found.rule, found.type, -1, found.slot) if STRICT.search(sentence) else found
    if not FIRST_PERSON.search(sentence):
        return _statement(sentence)
    found = fact.find(sentence)
    if found:
        return found
    if any(_is_past(match["verb"]) for match in _EVENT.finditer(sentence)):
        return Finding("event", "episodic", 65)
    if _EMPTY.search(sentence) or len(sentence.split()) < 5:
        return None
    return Finding("statement", "episodic", 60)


def _statement(sentence: str) -> Finding | None:
    """A statement about something else is kept when it names a number or a name."""
    if len(sentence.split()) >= 4 and _STATEMENT.search(sentence) and _CONCRETE.search(sentence):
        return Finding("statement", "episodic", 60)
    return None


def _is_past(verb: str) -> bool:
    return verb in IRREGULAR_PAST or (verb.endswith("ed") and len(verb) > 4)
