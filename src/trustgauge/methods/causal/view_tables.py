"""The numbers behind a causal rating, so that a reader can redo them: tests, impacts, their arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trustgauge.methods.causal import view_order
from trustgauge.reports import numbers, sentences
from trustgauge.reports.components import Cell, Fold, Piece, Table, Words, heads_of, read_messages

if TYPE_CHECKING:
    from trustgauge.reports.document_model import PartEntry

Facts = Mapping[str, Any]

NOTES = read_messages(__package__).table("notes")
DIVIDED = view_order.UNDEFINED
TINY = 1e-9
ENDS = 10
"""Persons shown from each end of a long list."""


def tests(part: PartEntry, label: str) -> Table:
    """Every data set and pair of classes with its t test, effect sizes and verdict."""
    names = ("Data set", "Classes", "Mean scores", "t, rejections", "p", "ATE, 95 %", "Verdict", "Size")
    heads = heads_of(*names, "Sign flips", texts=("Data set", "Classes", "Verdict"))
    rows = [
        _test(_worded(part, one), test, part["details"].get("wrs") or {})
        for one in part["details"].get("sets") or ()
        for test in one.get("tests") or ()
    ]
    return Table(label, heads, rows, f"{_dots_note(part)} {NOTES['tests']}".strip())


def _dots_note(part: PartEntry) -> str:
    alphas = (part["details"].get("wrs") or {}).get("alphas") or ()
    if not alphas:
        return ""
    named = sentences.listing([f"{100 * (1 - alpha):g} %" for alpha in alphas])
    return NOTES["dots"].format(levels=named)


def _test(one: Facts, test: Facts, wrs: Facts) -> list[Cell]:
    first, second = (sentences.name(str(name)) for name in test["pair"])
    means = " / ".join(numbers.signed_number(mean) for mean in test.get("means") or ())
    sizes = " / ".join(numbers.count(n) for n in test.get("n") or () if n is not None)
    effect = test.get("ate") or {}
    control, flips = test.get("p_control"), test.get("sign_flips")
    return [
        Cell(_set(one), under=_words(one)),
        Cell(f"{first} – {second}"),
        Cell(means or numbers.NONE, under=f"n = {sizes}" if sizes else ""),
        statistic(test, wrs.get("alphas") or ()),
        Cell(numbers.bare_p(test.get("p")), under=_named("max-T", numbers.bare_p(test.get("p_family")))),
        Cell(numbers.signed_number(effect.get("value")), under=reach(effect)),
        Cell(_verdict(test), under=_named("control p", numbers.bare_p(control))),
        Cell(
            _named("g", numbers.signed_number(test.get("hedges_g"))) or numbers.NONE,
            under=_named("δ", numbers.signed_number(test.get("cliffs_delta"))),
        ),
        Cell(numbers.percent(flips), under=_named("W", numbers.percent(test.get("wasserstein")))),
    ]


def _named(name: str, said: str) -> str:
    """A figure with its name, or nothing where there is no figure."""
    return "" if said == numbers.NONE else f"{name} {said}"


def _worded(part: PartEntry, one: Facts) -> dict[str, Any]:
    """A data set with its emotion words, wherever the method tells them."""
    words = one.get("words") or (part["details"].get("words") or {}).get(one["set"]) or ()
    return {**one, "words": words}


def _words(one: Facts) -> str:
    return ", ".join(sentences.name(str(word)) for word in one.get("words") or ())


def _set(one: Facts) -> str:
    return sentences.name(str(one["set"]))


def _verdict(test: Facts) -> str:
    return sentences.name(str(test.get("verdict") or "")) if test.get("testable", True) else "not tested"


def statistic(test: Facts, alphas: Sequence[float]) -> Cell:
    """T with a dot for each level at which equality is rejected; "÷ 0" for an infinite t."""
    if not test.get("testable", True):
        return Cell(numbers.NONE)
    rejected = list(test.get("rejected") or ())
    value = DIVIDED if test.get("t_infinite") else numbers.signed_number(test.get("t"))
    # strictest level last, so that the dots fill from the left
    symbols = "".join("●" if hit else "○" for hit in reversed(rejected))
    levels = [f"{100 * (1 - alpha):g} %" for hit, alpha in zip(rejected, alphas, strict=False) if hit]
    spoken = f"rejected at {sentences.listing(levels)}" if levels else "not rejected"
    under = _named("df", _plain(test.get("df"), 1))
    return Cell(value, under, symbols=symbols, spoken=spoken if rejected else "")


def reach(value: Facts) -> str:
    """The interval of a value: "−0.40 to −0.22"."""
    if value.get("low") is None or value.get("high") is None:
        return ""
    return f"{numbers.signed_number(value['low'])} to {numbers.signed_number(value['high'])}"


def _plain(value: float | None, digits: int) -> str:
    return numbers.NONE if value is None else f"{value:.{digits}f}".removesuffix(".0")


def rejections(part: PartEntry) -> list[Piece]:
    """The weighted rejection score as the sum of the dots, and what chance alone would give."""
    wrs = part["details"].get("wrs")
    if not wrs:
        return []
    pairs = zip(wrs["weights"], wrs["counts"], strict=True)
    terms = " + ".join(f"{weight:g} × {count:g}" for weight, count in pairs)
    known = wrs["value"] is not None
    said = [f"WRS = {terms} = {wrs['value']:.3g}" if known else f"WRS: {NOTES['no-pair']}"]
    if wrs.get("maximum"):
        said[0] += f" of at most {wrs['maximum']:.4g} ({numbers.percent(wrs.get('share'))})"
    if wrs.get("null") is not None:
        said.append(NOTES["null"].format(null=f"{wrs['null']:.3g}"))
    if wrs.get("p") is not None:
        said.append(NOTES["permuted"].format(p=numbers.p_value(wrs["p"])))
    pieces: list[Piece] = [Words("; ".join(said) + ".")]
    if unlike := unlike_texts(part):
        pieces.append(Words(NOTES["unlike-texts"].format(sets=sentences.listing(unlike))))
    if left := wrs.get("untestable"):
        named = sentences.listing([_pair(one) for one in left])
        pieces.append(Words(NOTES["untestable"].format(pairs=named), quiet=True))
    return pieces


def unlike_texts(part: PartEntry) -> list[str]:
    """The data sets in which a class has scores of texts that another one has none of.

    What is tested there is the mean of all scores, so classes may differ because their texts do.
    """
    return [
        sentences.name(str(data["set"]))
        for data in part["details"].get("sets") or ()
        if any(
            test.get("testable") and test.get("covered") is not None and test["covered"] < 1 - TINY
            for test in data.get("tests") or ()
        )
    ]


def _pair(one: Any) -> str:
    if isinstance(one, Mapping):
        words = [one.get("set"), *(one.get("pair") or ())]
        return " / ".join(str(word) for word in words if word)
    return " / ".join(map(str, one)) if isinstance(one, list | tuple) else str(one)


def difference_table(part: PartEntry, label: str) -> Table:
    """Every pair of classes of a table without frames: the difference, and what would explain it away."""
    details = part["details"]
    adjust = sentences.listing(list(details.get("adjust") or ()))
    names = ["Data set", "Classes", "Mean scores", "Observed difference, 95 %"]
    names += [f"Adjusted for {adjust}, 95 %"] if adjust else []
    names += ["p, max-T", "E-value"]
    names += [f"Tipping effect at {numbers.percent(one['gap'])}" for one in details["observed"][0]["tipping"]]
    heads = heads_of(*names, texts=("Data set", "Classes"))
    rows = [_observed(one, adjusted=bool(adjust)) for one in details["observed"]]
    return Table(label, heads, rows, NOTES["observed"])


def _observed(one: Facts, *, adjusted: bool) -> list[Cell]:
    first, second = (sentences.name(str(name)) for name in one["pair"])
    means = " / ".join(numbers.signed_number(mean) for mean in one["means"])
    sizes = " / ".join(numbers.count(n) for n in one["n"])
    limit = one["e_value_limit"]
    best = one["adjusted"] or {}
    return [
        Cell(_set(one)),
        Cell(f"{first} – {second}"),
        Cell(means, under=f"n = {sizes}"),
        Cell(numbers.signed_number(one["observed"]["value"], 3), under=reach(one["observed"])),
        *([Cell(numbers.signed_number(best.get("value"), 3), under=reach(best))] if adjusted else []),
        Cell(numbers.bare_p(one["p_family"])),
        Cell(
            numbers.NONE if one["e_value"] is None else f"{one['e_value']:.2f}",
            under="" if limit is None else f"{limit:.2f}",
        ),
        *(Cell(numbers.percent(tip["effect"])) for tip in one["tipping"]),
    ]


def impacts(part: PartEntry, label: str) -> Table:
    """Every data set and emotion: the mean that is observed, the mean with the classes balanced."""
    names = ("Data set", "Emotion", "Observed mean", "Mean, classes balanced", "Δ, 95 %", "DIE %", "p, max-T")
    texts = ("Data set", "Emotion", "Verdict", "Positivity")
    heads = heads_of(*names, "Verdict", "Texts", "Positivity", texts=texts)
    rows = [
        _impact(_worded(part, one), impact)
        for one in part["details"].get("sets") or ()
        for impact in one.get("impacts") or ()
    ]
    return Table(label, heads, rows, NOTES["impacts"])


def _impact(one: Facts, impact: Facts) -> list[Cell]:
    delta = impact.get("delta") or {}
    valence = str(impact["valence"])
    gone = [str(cell[0]) for cell in one.get("missing") or () if len(cell) > 1 and cell[1] == valence]
    return [
        Cell(_set(one), under=_words(one)),
        Cell(sentences.name(valence)),
        Cell(numbers.signed_number(impact.get("observed"))),
        Cell(numbers.signed_number(impact.get("intervened"))),
        Cell(numbers.signed_number(delta.get("value"), 3), under=reach(delta)),
        Cell(
            percentage(
                impact.get("percent"),
                undefined=bool(impact.get("percent_undefined")),
                shown=bool(impact.get("percent_shown", True)),
            )
        ),
        Cell(numbers.bare_p(impact.get("p_family"))),
        Cell(sentences.name(str(impact.get("verdict") or numbers.NONE))),
        Cell(numbers.NONE if delta.get("n") is None else numbers.count(delta["n"])),
        Cell(f"no text of {sentences.listing(gone)}" if gone else "all classes occur"),
    ]


def percentage(percent: float | None, *, undefined: bool, shown: bool) -> str:
    """DIE %; "÷ 0" where the observed mean is zero, and words where it may be."""
    if undefined:
        return DIVIDED
    if percent is None:
        return numbers.NONE
    return f"{percent:.1f} %" if shown else "not shown"


def arithmetic(part: PartEntry) -> list[Piece]:
    """How the largest effect loses the bias of a maximum before it is judged."""
    effect = part["details"].get("effect")
    if not effect or effect.get("value") is None:
        return []
    value, bias, many = effect["value"], max(0.0, effect.get("bias") or 0.0), numbers.DECIMALS_FROM
    what = effect.get("valence") or effect.get("pair") or ""
    what = " – ".join(map(str, what)) if isinstance(what, list | tuple) else str(what)
    named = [sentences.name(str(word)) for word in (effect.get("set") or "", what) if word]
    at = f" ({', '.join(named)})" if named else ""
    if not bias or not value:
        return [Words(NOTES["largest"].format(at=at, value=numbers.percent(value, many)))]
    figures = {"whole": value + bias, "bias": bias, "value": value}
    shown = {name: numbers.percent(figure, many) for name, figure in figures.items()}
    return [Words(NOTES["corrected"].format(at=at, **shown))]


def persons(part: PartEntry, label: str) -> list[Piece]:
    """Every person's distance from the mean of all in the same frames and words: is it a class or a name?"""
    every = list(part["details"].get("by_person") or ())
    if not every:
        return []
    shown = every if len(every) <= 2 * ENDS else [*every[:ENDS], *every[-ENDS:]]
    rows = [
        [
            Cell(sentences.name(str(one["person"]))),
            Cell(sentences.name(str(one["class"]))),
            Cell(f"{numbers.signed_number(100 * one['difference'], 1)} %"),
            Cell(numbers.count(one["n"])),
        ]
        for one in shown
    ]
    heads = heads_of("Person", "Class", "From the mean", "Scores", texts=("Person", "Class"))
    note = NOTES["persons"]
    if len(shown) < len(every):
        note += f" {NOTES['persons-ends'].format(ends=ENDS, all=len(every))}"
    return [Fold("Person by person", [Table(label, heads, rows, note)])]
