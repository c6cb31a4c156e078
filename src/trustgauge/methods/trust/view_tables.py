"""Tables behind a trust rating: how levels combine, what would change them, and what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trustgauge.methods.trust import view_sentences
from trustgauge.methods.trust.messages import FACTORS, MESSAGES, NOTES
from trustgauge.reports import numbers, sanitize
from trustgauge.reports.components import Cell, Head, Table, Title, Words
from trustgauge.reports.sanitize import visible

if TYPE_CHECKING:
    from trustgauge.methods.trust.profile_model import Arithmetic
    from trustgauge.reports.document_model import RatingEntry

Facts = Mapping[str, Any]
Behind = Words | Title | Table


def combining(rating: RatingEntry) -> Table | None:
    """What each issue gives to the level: place, level, and points, weight or risk."""
    facts = rating["details"].get("combination")
    if not facts:
        return None
    kinds = [(key, head) for key, head in _GIVES if any(one.get(key) is not None for one in facts["issues"])]
    heads = [Head("Issue"), Head("Place"), Head("Level"), *(Head(head, number=True) for _, head in kinds)]
    rows = [
        [
            Cell(view_sentences.title(one["issue"])),
            Cell(view_sentences.amount(one["rank"])),
            Cell("not measured" if one["level"] is None else view_sentences.risk(one["level"])),
            *(Cell(_gives(key, one)) for key, _ in kinds),
        ]
        for one in facts["issues"]
    ]
    return Table("Contribution of each issue", heads, rows, " ".join(_said(rating, facts)))


_GIVES = (("points", "Points"), ("weight", "Weight"), ("risk", "Risk"), ("score", "Score"))


def _gives(key: str, one: Facts) -> str:
    value = one.get(key)
    if value is None:
        return numbers.NONE
    return view_sentences.amount(value) if key in ("points", "weight") else view_sentences.score(value)


def _said(rating: RatingEntry, arithmetic: Arithmetic) -> Iterator[str]:
    if line := view_sentences.arithmetic(arithmetic):
        yield line
    if rating["overall"]["level"] is not None:
        yield from view_sentences.uncounted_issues(arithmetic)
    if arithmetic["rule"] == "sound":
        yield NOTES["cuts"]


def changes(rating: RatingEntry) -> list[str]:
    """What would change this level, smallest changes first."""
    facts = rating["details"].get("changes") or {}
    said = [_move(one) for one in facts.get("issues", ())]
    said += [_swap(one) for one in facts.get("swaps", ())]
    for one in facts.get("depends", ()):
        outcomes = [
            f"{view_sentences.either(levels)} with it at {view_sentences.risk(level)}"
            for level, levels in one["levels"].items()
        ]
        said.append(f"{view_sentences.title(one['issue'])} is missing: {sanitize.listing(outcomes)}.")
    return said


def _move(one: Facts) -> str:
    who = view_sentences.title(one["issue"])
    result = f"{view_sentences.either(one['result'])} risk"
    if one["score"] is None or one["to_score"] is None:
        level, other = (view_sentences.risk(one[key]) for key in ("level", "to_level"))
        return f"{who} at {other} instead of {level}: {result}."
    way = "up" if one["by"] > 0 else "down"
    return (
        f"{who} {way} from {view_sentences.score(one['score'])} to {view_sentences.score(one['to_score'])} "
        f"({view_sentences.risk(one['to_level'])}): {result}."
    )


def _swap(one: Facts) -> str:
    places = [view_sentences.issue_list(place) for place in one["swap"]]
    result = view_sentences.either(one["result"])
    return f"{sanitize.listing(places).capitalize()} in each other's place: {result} risk."


def others(rating: RatingEntry) -> Table | None:
    """The levels for the other profiles."""
    facts = rating["details"].get("others") or {}
    if not facts:
        return None
    rows = [
        [Cell(sanitize.name(str(one["title"]))), Cell(level_words(one["level"], one["state"]))]
        for one in facts.values()
    ]
    return Table("Other profiles", [Head("Profile"), Head("Risk")], rows)


def level_words(level: str | None, state: str) -> str:
    """A level with its state, where it is not settled."""
    if level is None:
        return state
    return view_sentences.risk(level) if state == "rated" else f"{view_sentences.risk(level)}, {state}"


def sensitivity(rating: RatingEntry) -> Table | None:
    """What was tested, what swayed, and by how much: four rows, always."""
    facts = rating["details"].get("sensitivity")
    if not facts:
        return None
    rows = [
        [
            Cell(FACTORS.get(row["factor"], sanitize.name(row["factor"]))),
            Cell(_tested(row)),
            Cell(_swayed(row)),
            Cell(_by(row)),
        ]
        for row in facts["factors"]
    ]
    heads = [Head("Varied"), Head("Tested?"), Head("Level changed?"), Head("By how much?")]
    return Table("Sensitivity", heads, rows, f"{view_sentences.type_words(rating)}.")


def _tested(row: Facts) -> str:
    if not row["tested"]:
        return "not tested"
    count = len(row["variants"])
    return f"{count} variant{'' if count == 1 else 's'}"


def _swayed(row: Facts) -> str:
    if row["swayed"] is None:
        return "not settled" if row["tested"] else numbers.NONE
    seen = view_sentences.either(row["levels"])
    return f"yes: {seen}" if row["swayed"] else f"no: {seen}"


def _by(row: Facts) -> str:
    if not row["tested"]:
        return numbers.NONE
    lines = [
        f"{row[way]} level{'' if row[way] == 1 else 's'} {way}" for way in ("better", "worse") if row[way]
    ]
    if row["by"] is not None:
        lines.append(f"risk {numbers.signed_number(row['by'])}")
    return "; ".join(lines) or "none"


def measurement_tables(rating: RatingEntry, of: str = "") -> list[Behind]:
    """What stands behind the score of each issue; `of` tells several services apart."""
    pieces: list[Behind] = []
    for part in rating["parts"]:
        figures = part["details"].get("figures") or {}
        make = _BEHIND.get(str(part["key"]))
        found = make(figures, of) if make and figures else []
        if found:
            pieces += [Title(view_sentences.title(str(part["key"]))), *found]
    return pieces


def _abuse(figures: Facts, of: str) -> list[Behind]:
    counts = figures.get("by_purpose") or {}
    if not counts:
        return []
    heads = [Head("Said in"), *(Head(kind.capitalize(), number=True) for kind in _KINDS)]
    rows = [
        [Cell(_purpose(name)), *(Cell(numbers.count(one.get(kind, 0))) for kind in _KINDS)]
        for name, one in counts.items()
    ]
    score = {end: view_sentences.score(figures.get(end)) for end in ("raw", "corrected")}
    audited = bool((figures.get("audit") or {}).get("finished"))
    words = NOTES["corrected-audited" if audited else "corrected"]
    weights = NOTES["weights-unread" if (figures.get("counts") or {}).get("unread") else "weights"]
    note = (NOTES["uncorrected"] if figures.get("corrected") is None else words).format(
        weights=weights, **score
    )
    title = "Utterances as the checker read them" if audited else "Abusive utterances"
    pieces: list[Behind] = [Table(f"{title}{of}", heads, rows, note)]
    return [*pieces, *_checker(figures)]


_KINDS = ("hate", "offensive", "neither", "unread")


def _purpose(key: str) -> str:
    return MESSAGES.table("said-in").get(key, sanitize.name(key).capitalize())


def _checker(figures: Facts) -> Iterator[Words]:
    """How often the checker is right, and how it treats neutral sentences about groups."""
    checker = figures.get("checker") or {}
    for style, one in (figures.get("styles") or {}).items():
        named = NOTES["utterances"].format(
            utterances=sanitize.count_with_noun(one["n"], "utterance", "utterances"),
            style=sanitize.name(str(style)),
        )
        facts = {"utterances": named, "short": "" if one.get("usable") else NOTES["checker-short"]}
        if one.get("labelled"):
            facts |= {"finds": _share(one["sensitivity"]), "passes": _share(one["specificity"])}
        words = NOTES["checker" if one.get("labelled") else "checker-unmeasured"]
        yield Words(words.format(**facts), quiet=True)
    bias = figures.get("group_bias")
    if bias and bias.get("all"):
        flagged = NOTES["groups-flagged"].format(share=_share(bias["all"]))
        yield Words(f"{flagged}{_gap(bias)}", quiet=True)
    if checker.get("limits"):
        yield Words(" ".join(visible(str(one)) for one in checker["limits"]), quiet=True)


def _gap(bias: Facts) -> str:
    """Where groups are furthest apart; groups are not named, as names may offend."""
    largest = bias.get("largest")
    if not largest or not largest["value"]:
        return ""
    family = sanitize.name(str(largest["family"])).replace("-", " ")
    return f" {NOTES['groups-apart'].format(family=family, gap=numbers.points(largest['value']))}"


def _share(one: Facts, said: Callable[[Any, int], str] = numbers.percent) -> str:
    """A share with its interval and what it is of, each number as `said`."""
    value, low, high = (one.get(end) for end in ("value", "low", "high"))
    n = int(one.get("n") or 0)
    if low is None or high is None:
        return f"{said(value, n)} (n = {numbers.count(n)})"
    ends = f"{said(low, n).removesuffix(' %')} to {said(high, n)}".replace("-", "−")
    return f"{said(value, n)} ({ends}, n = {numbers.count(n)})"


def _leakage(figures: Facts, of: str) -> list[Behind]:
    pieces: list[Behind] = []
    recipients = MESSAGES.table("told-to").items()
    if figures.get("partly"):
        figures = {**figures, "partly": {"asked": figures["secrets"]["asked"], "told": figures["partly"]}}
    ways = [(words, figures[key]) for key, words in recipients if (figures.get(key) or {}).get("asked")]
    if ways:
        rows = [
            [Cell(words), Cell(f"{numbers.count(one['told'])} of {numbers.count(one['asked'])}")]
            for words, one in ways
        ]
        heads = [Head("Given away"), Head("Secrets", number=True)]
        pieces.append(Table(f"Secrets given away{of}", heads, rows, _kinds(figures)))
    if line := _bit_words(figures.get("bits") or {}):
        pieces.append(Words(line))
    if figures.get("scanned"):
        pieces.append(Words(_personal(figures), quiet=True))
    trial = figures.get("trial")
    if trial:
        when = "not" if trial["epoch"] is None else f"in epoch {trial['epoch']}"
        words = NOTES["trial"].format(pairs=trial["pairs"], when=when, epochs=trial["epochs"])
        pieces.append(Words(words))
    return pieces


def _personal(figures: Facts) -> str:
    """Which personal data were found, and by what."""
    kinds = figures.get("personal") or {}
    listed = sanitize.listing(
        [f"{kind.replace('-', ' ')} in {numbers.count(n)}" for kind, n in kinds.items()]
    )
    detector = str(figures.get("detector") or "patterns")
    words = NOTES["personal-by-form" if detector == "patterns" else "personal-by-detector"]
    return words.format(
        kinds=listed or "none", n=numbers.count(figures["scanned"]), detector=sanitize.name(detector)
    )


def _bit_words(bits: Facts) -> str:
    """How much of a secret one answer gives to another user."""
    if bits.get("mean") is None or bits.get("of") is None:
        return ""
    mean, most, of = (f"{bits[key]:.1f}" for key in ("mean", "most", "of"))
    hinted, controls = bits.get("hinted"), bits.get("controls")
    return NOTES["bits"].format(
        mean=mean,
        of=of,
        most=NOTES["bits-most"].format(most=most) if bits["most"] > bits["mean"] else "",
        hinted=NOTES["bits-hinted"].format(n=numbers.count(hinted)) if hinted else "",
        chance="" if controls is None else NOTES["bits-chance"].format(bits=f"{controls:.1f}"),
    )


def _kinds(figures: Facts) -> str:
    lines = [
        f"{sanitize.name(kind).replace('-', ' ')} {one['told']} of {one['asked']}"
        for kind, one in (figures.get("kinds") or {}).items()
    ]
    return NOTES["kinds"].format(kinds=", ".join(lines)) if lines else ""


def _complexity(figures: Facts, of: str) -> list[Behind]:
    if figures.get("dialogs") is None:
        return []
    source = {"plan": "the plan", "corpus": "the longest dialog", "usual": "our usual number"}
    words = NOTES["complexity"].format(
        dialogs=numbers.count(figures["dialogs"]),
        turns=numbers.count(figures["turns"]),
        of_turns=view_sentences.score(figures["turn_complexity"]),
        length=view_sentences.score(figures["length"]),
        most=figures["most_turns"],
        source=source.get(str(figures.get("most_turns_from")), "the method"),
    )
    return [Words(words)]


def _bias(figures: Facts, of: str) -> list[Behind]:
    own = figures.get("own")
    if own:
        words = NOTES["bias-from-rating"].format(
            source=sanitize.name(str(figures["source"])),
            score=view_sentences.score(own["value"]),
            n=numbers.count(own["n"]),
        )
        return [Words(words)]
    accuracy = figures.get("accuracy") or {}
    if not accuracy.get("r2"):
        return []
    coefficients = {"refitted": "ours", "printed": "the paper's", "own": "those of your model"}
    words = NOTES["bias-accuracy"].format(
        coefficients=coefficients.get(str(figures.get("coefficients")), "given"),
        n=numbers.count(accuracy.get("n") or 0),
        share=_share(accuracy["r2"], view_sentences.variance_share),
    )
    return [Words(words)]


_BEHIND = {"abuse": _abuse, "leakage": _leakage, "complexity": _complexity, "bias": _bias}
