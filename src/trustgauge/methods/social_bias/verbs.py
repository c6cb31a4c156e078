"""English verbs: the finite verb of a predicate, its base form, and its form after he, she or it.

Small tables and spelling rules of our own. They know the predicates that are said of groups, "are
poor", "have been cheated", "never pay back", not English as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple


def words(text: str) -> frozenset[str]:
    """The words of a list that is written as a line."""
    return frozenset(text.split())


BE = frozenset({"am", "are", "be", "is", "was", "were"})
HAVE = frozenset({"had", "has", "have"})
DO = frozenset({"did", "do", "does"})
MODALS = frozenset({"can", "could", "may", "might", "must", "ought", "shall", "should", "will", "would"})
SEMI_MODALS = frozenset({"dare", "need"})  # auxiliaries before "not" only
NEGATORS = frozenset({"not", "never", "hardly", "scarcely", "barely", "seldom", "rarely"})
ADVERBS = NEGATORS | words(
    "all almost already also always both each ever even just long maybe mostly no now often once only perhaps"
    " quite rather simply sometimes soon still then thus too usually very well"
)
LY_VERBS = words("ally apply bully comply fly imply multiply rally rely reply supply tally")

# "have limited means" has no auxiliary, "have learned nothing" has.
ED_ADJECTIVES = words(
    "advanced bad biased broken crooked deformed divided gifted good hidden hundred limited mixed"
    " naked red refined sacred skilled spoiled talented trained twisted unwanted wicked"
)
BASE_ED = words("bed bleed breed embed exceed feed heed need proceed seed shed shred speed succeed wed weed")
BASE_S = words("bias canvas focus gas surplus")
ONE_LETTER_IE = frozenset({"die", "lie", "tie", "vie", "untie", "belie"})

_PASTS = """
ate:eat became:become began:begin bit:bite blew:blow bought:buy broke:break brought:bring built:build
came:come caught:catch chose:choose did:do drank:drink drew:draw drove:drive fed:feed fell:fall felt:feel
fled:flee flew:fly forgot:forget fought:fight found:find froze:freeze gave:give got:get grew:grow had:have
heard:hear held:hold hid:hide kept:keep knew:know led:lead left:leave lent:lend lost:lose made:make
meant:mean met:meet paid:pay ran:run rode:ride said:say sang:sing sat:sit saw:see sent:send shot:shoot
slept:sleep sold:sell sought:seek spent:spend spoke:speak spoiled:spoil stole:steal stood:stand struck:strike
swore:swear taught:teach threw:throw told:tell took:take tore:tear thought:think understood:understand
owed:owe ached:ache went:go withdrew:withdraw woke:wake won:win wore:wear wrote:write
beaten:beat become:become been:be begun:begin bitten:bite blown:blow broken:break chosen:choose come:come
done:do drawn:draw driven:drive drunk:drink eaten:eat fallen:fall flown:fly forgotten:forget forbidden:forbid
frozen:freeze given:give gone:go grown:grow hidden:hide known:know ridden:ride risen:rise run:run seen:see
shown:show spoken:speak stolen:steal stricken:strike sworn:swear taken:take thrown:throw torn:tear
woken:wake worn:wear written:write
"""
PASTS = dict(entry.split(":") for entry in _PASTS.split())
PRESENTS = frozenset(PASTS.values())  # "come" and "run" are presents before they are participles
UNCHANGED = words("beat bet burst cast cost cut hit hurt let put quit rid set shut split spread upset")

# Stems that lost an e before -ed: "abus-ed", "handl-ed", "creat-ed", "persecut-ed", "manag-ed".
LOST_E = re.compile(
    r"(?:[vcuz]|[^aeiou]s(?<!ss)|[aeiou]s(?<!focus)(?<!bias)|[aeiou]g|[dr]g|(?:cha|ra|lle|ve|i)ng"
    r"|[^aeiourlw]l|(?:^|[^aeo])at|cre?at|[^aeiou]ut|[^aeiou][aiou]d|suad|[^aeo]ir|[^aeio]ur|[^aeo]ar|(?:gn|pl|d)or"
    r"|[^aeo]in|[^aeo]il|[^aeiou][ai]m|[^aeiou]um|[^aeo]ap|[aeiou]k(?<!ook)(?<!eak)(?<!eek)(?<!oak)(?<!eik)"
    r"|(?:inv|un|exc|ign|rec|inc|b)it|(?:mpl|mp|del)et|(?:dev|m|v)ot|loath|breath|bath|cloth)$"
)
SHORT = re.compile(r"^[^aeiou]*[aeiou][^aeiouwxy]$")
DOUBLED = re.compile(r"(?:([bdgmnprt])\1|(?:rol|vel|rrel|bel|pel|cel)l)$")


class Finite(NamedTuple):
    """Where the finite verb of a predicate stands, and whether it is an auxiliary."""

    at: int
    auxiliary: bool


def expand(text: str) -> str:
    """Write contracted negations out (social-bias 3.3, "g").

    >>> expand("can't be trusted"), expand("won't work"), expand("aren’t honest"), expand("cannot read")
    ('can not be trusted', 'will not work', 'are not honest', 'can not read')
    """
    text = re.sub(r"\b([Cc])annot\b", r"\1an not", text.replace("’", "'"))
    for short, long in (("can't", "can not"), ("won't", "will not"), ("shan't", "shall not")):
        text = text.replace(short, long).replace(short.capitalize(), long.capitalize())
    return text.replace("n't", " not")


def finite(words: Sequence[str]) -> Finite:
    """The finite verb among the words of a predicate whose contractions are written out.

    Leading adverbs are passed over. Have is an auxiliary before a participle, do before "not".
    """
    lower = [word.lower() for word in words]
    at = 0
    while at < len(lower) - 1 and _adverb(lower[at]):
        at += 1
    verb, rest = lower[at], lower[at + 1 :]
    if verb in BE or verb in MODALS:
        return Finite(at, auxiliary=True)
    if verb in DO or verb in SEMI_MODALS:
        return Finite(at, auxiliary=rest[:1] == ["not"])
    if verb in HAVE:
        after = next((word for word in rest if not _adverb(word)), "")
        return Finite(at, auxiliary=rest[:1] == ["not"] or _participle(after))
    return Finite(at, auxiliary=False)


def is_negative(words: Sequence[str]) -> bool:
    """Whether the predicate as a whole is negative: "are not poor", "never pay", "have no manners"."""
    lower = [word.lower() for word in words]
    at = finite(words).at
    before = lower[: at + 1]
    after = lower[at + 1 :]
    adverbs = []
    for word in after:
        if not _adverb(word):
            break
        adverbs.append(word)
    nothing = after[:1] in (["no"], ["nothing"], ["nobody"], ["nowhere"])
    return nothing or any(word in NEGATORS for word in (*before, *adverbs))


Tense = Literal["base", "third", "past"]


def tense(verb: str) -> Tense:
    """The form of a full verb, by its spelling.

    >>> [tense(verb) for verb in ("steal", "steals", "stole", "harass", "need", "robbed")]
    ['base', 'third', 'past', 'base', 'base', 'past']
    """
    word = verb.lower()
    if word in PRESENTS or word in UNCHANGED or word in BASE_ED or word in BASE_S:
        return "base"
    if word in PASTS or (word.endswith("ed") and len(word) > 3):
        return "past"
    if len(word) > 2 and re.search(r"[^siu]s$", word):
        return "third"
    return "base"


def base(verb: str) -> str:
    """The base form of a verb.

    >>> [base(verb) for verb in ("has", "goes", "carries", "misses", "uses", "robbed", "tried", "stole")]
    ['have', 'go', 'carry', 'miss', 'use', 'rob', 'try', 'steal']
    """
    word, kind = verb.lower(), tense(verb)
    if word in ("has", "had"):
        return "have"
    if word in BE:
        return "be"
    if kind == "third":
        return _without_s(word)
    return _without_ed(word) if kind == "past" else verb


def third(verb: str) -> str:
    """The form of a present verb after he, she or it.

    >>> [third(verb) for verb in ("have", "do", "carry", "miss", "pay", "are", "go", "aren't")]
    ['has', 'does', 'carries', 'misses', 'pays', 'is', 'goes', "isn't"]
    """
    known = {"have": "has", "are": "is", "were": "was", "be": "is", "am": "is"}
    if verb.endswith("n't"):
        return third(verb.removesuffix("n't")) + "n't"
    if verb in known:
        return known[verb]
    if re.search(r"(?:s|x|z|ch|sh|[^aeiou]o|^do)$", verb):
        return verb + "es"
    return verb[:-1] + "ies" if re.search(r"[^aeiou]y$", verb) else verb + "s"


def plural(verb: str) -> str:
    """The form of a present verb after they: the inverse of `third`.

    >>> [plural(verb) for verb in ("has", "is", "was", "does", "carries", "be", "isn't", "steal")]
    ['have', 'are', 'were', 'do', 'carry', 'are', "aren't", 'steal']
    """
    known = {"is": "are", "was": "were", "am": "are", "be": "are", "has": "have"}
    if verb.endswith("n't"):
        return plural(verb.removesuffix("n't")) + "n't"
    if verb in known:
        return known[verb]
    return base(verb) if tense(verb) == "third" else verb


def _adverb(word: str) -> bool:
    return word in ADVERBS or (word.endswith("ly") and word not in LY_VERBS)


def _participle(word: str) -> bool:
    if word in ED_ADJECTIVES:
        return False
    return word in PASTS or (word.endswith("ed") and len(word) > 4 and word not in BASE_ED)


def _without_s(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if word[:-1] in ONE_LETTER_IE else word[:-3] + "y"
    if word != "aches" and re.search(r"(?:ss|sh|ch|x|zz|o)es$", word):
        return word[:-2]
    return word[:-1]


def _without_ed(word: str) -> str:
    if word in PASTS:
        return PASTS[word]
    stem = word[:-2]
    if stem.endswith("i"):
        return word[:-1] if word[:-1] in ONE_LETTER_IE else stem[:-1] + "y"
    if DOUBLED.search(stem):
        return stem[:-1]
    return stem + "e" if LOST_E.search(stem) or SHORT.search(stem) else stem
