"""Whether audited ratings cover the truth (methods 0.10 (4), 0.12).

    python -m benchmarks.audit --runs 300 --sample 200 --comparisons 320
    python -m benchmarks.audit --model    # labelled by a model that is wrong now and then

A bot says what it thinks in one of several wordings, and the reader knows half of those that take sides: its
sensitivity is .5, and it abstains from one answer in ten. Each run draws what the bot thinks of each property
again, so the truth is that of all properties it might have been asked about. A sample is drawn as
`trustgauge audit` draws it, labelled as the bot means it, or by a model with errors (`FINDS`, `PASSES`) that
was measured on `KNOWN` labelled answers, and rated. Printed are the share of runs whose 95 % interval holds
the truth, with Wilson's interval, and how far estimates are off with and without the audit.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from trustgauge.methods.social_bias.method import SocialBias
from trustgauge.rating.audit import AuditLabels
from trustgauge.run.audit_sample import drawn_elements
from trustgauge.stats.distributions import wilson
from trustgauge.stats.misclassification import Detection

ILL = {"women": 0.1, "men": 0.5}
"""Of so many bad properties the bot thinks ill of the group."""
WELL, SAYS, PREFERS = 0.3, 0.8, 0.4
"""Of so many good ones well; so often it says so when asked; in so many comparisons it prefers women."""

# Wordings, and what the reader makes of each; "" for those from which it abstains.
SIDES = {
    "Yes.": True,
    "They are, yes.": True,
    "I agree.": True,
    "One does hear that, and there is something to it.": False,
    "As things stand, that would be my impression as well.": False,
    "It would be hard to argue otherwise.": False,
}
NEITHER = ("I would rather not say.", "People differ.", "That depends on the person.", "No idea.")
ABSTAINS, FALSE_ALARMS = 0.1, 0.03
FINDS, PASSES, KNOWN = 0.9, 0.95, (160, 240)
"""How often a labelling model is right on answers that take a side, on others; how many it was tried on."""

Answer = tuple[str, str, str]
"""What a bot says, what it means, and what the reader makes of it."""


@cache
def experiment(kind: str) -> tuple[SocialBias, pl.DataFrame]:
    """The experiment and its probes, with one kind of tuples."""
    method = SocialBias.model_validate(
        {"method": "social-bias", "services": ["bot"], "attributes": ["gender"], "only_groups": list(ILL)}
        | {"properties": 6, "questions": 0, "tuples": [kind], "resamples": 1000, "permutations": 999}
    )
    return method, pl.concat(method.design(1, "chat"))


def answers(probes: pl.DataFrame, rng: np.random.Generator) -> Iterator[Answer]:
    """What the bot says to every question."""
    thinks: dict[tuple[str, ...], bool] = {}
    for row in probes.iter_rows(named=True):
        good, single = row["polarity"] == "positive", row["tuple"] == "relative"
        key = row["group_a"], row["group_b"], row["property"]
        if key not in thinks:
            share = 0.0 if row["control"] else PREFERS
            if single:
                share = WELL if good else ILL.get(row["group_a"], 0.0)
            thinks[key] = bool(rng.random() < share)
        means = "neither"
        if thinks[key] and (not single or rng.random() < SAYS):
            means = _side(row, good=good)
        yield _said(means, row["kind"], rng)


def _side(row: Mapping[str, Any], *, good: bool) -> str:
    """The verdict of an answer that takes the side the bot is on."""
    agrees = "explains" if row["kind"] == "why" else "affirms"
    if row["tuple"] == "relative":
        return agrees
    first = row["group_a"] == "women"
    if row["kind"] == "choice":
        return "chooses-a" if first == good else "chooses-b"
    about_women = first == (row["favours"] == "a")
    return agrees if about_women == good else "neither"


def _said(means: str, kind: str, rng: np.random.Generator) -> Answer:
    if means == "neither":
        text, read = str(rng.choice(NEITHER)), "neither"
        if rng.random() < FALSE_ALARMS:
            read = {"choice": "chooses-a", "why": "explains"}.get(kind, "affirms")
    else:
        text = str(rng.choice(list(SIDES)))
        read = means if SIDES[text] else "neither"
    return text, means, "unclear" if rng.random() < ABSTAINS else read


def _by_model(means: pl.Series, kinds: pl.Series, rng: np.random.Generator) -> pl.Series:
    """Labels of a model with errors."""
    labels = []
    for mean, kind in zip(means, kinds, strict=True):
        if mean == "neither":
            wrong, side = rng.random() >= PASSES, str(rng.choice(["chooses-a", "chooses-b"]))
            labels.append({"choice": side, "why": "explains"}.get(kind, "affirms") if wrong else mean)
        else:
            labels.append(mean if rng.random() < FINDS else "neither")
    return pl.Series(labels, dtype=pl.String)


def _measured(rng: np.random.Generator) -> Detection:
    """The labelling model, tried on labelled answers."""
    there, others = KNOWN
    return Detection(there, int(rng.binomial(there, FINDS)), others, int(rng.binomial(others, PASSES)))


def truths(kind: str, probes: pl.DataFrame) -> dict[str, float]:
    """What the intervals must hold."""
    if kind == "absolute":
        return {"rate": PREFERS, "excess": PREFERS, "preference": PREFERS / 2}
    rows = probes.filter(pl.col("group_a").is_in(list(ILL)))
    good = float((rows["polarity"] == "positive").sum() / rows.height)
    told = {f"well of {group}": good * SAYS * WELL for group in ILL}
    return told | {"gap": (1 - good) * SAYS * abs(ILL["women"] - ILL["men"])}


def measured(kind: str, rating: Any) -> dict[str, Mapping[str, Any]]:
    """Value and interval of each of them."""
    details = rating.parts[0].details
    if kind == "absolute":
        one = details["absolute"]
        return {"rate": one["rate"], "excess": one["excess"], "preference": details["direction"]}
    rates = {f"well of {one['group']}": one for one in details["relative"]["rates"]}
    return rates | {"gap": details["relative"]["gap"]}


def one_run(kind: str, sample: int, seed: int, *, model: bool = False) -> tuple[Any, Any]:
    """The rating without an audit, and with one, by people or by a model."""
    method, probes = experiment(kind)
    rng = np.random.default_rng(seed)
    said = list(answers(probes, rng))
    text, means, read = (pl.Series(column, dtype=pl.String) for column in zip(*said, strict=True))
    status = pl.Series(["unread" if one == "unclear" else "answered" for one in read])
    marks = probes.with_columns(
        service=pl.lit("bot"), part=pl.lit(""), status=status, verdict=read, output=text, label=pl.lit("")
    )
    (before,) = method.rate(method.summarise(marks), seed)
    frame = method.audit_frame(marks, before)
    drawn = frame.filter(pl.col("element").is_in(drawn_elements(frame, sample, seed)))["id"]
    given = _by_model(means, probes["kind"], rng) if model else means
    label = pl.when(pl.col("id").is_in(drawn.implode())).then(given).otherwise(pl.lit(""))
    labelled = marks.with_columns(label=label)
    labels = {("", name): one for name, one in labelled.select("id", "label").iter_rows() if one}
    accuracy = _measured(rng) if model else None
    audited = AuditLabels(labels, len(labels), judge="model" if model else "", accuracy=accuracy)
    knowing = method.with_labels({"bot": audited})
    (after,) = knowing.rate(knowing.summarise(labelled), seed)
    return before, after


def coverage(kind: str, runs: int, sample: int, *, model: bool = False) -> dict[str, Any]:
    """Coverage of every figure, and its error with and without the audit."""
    true = truths(kind, experiment(kind)[1])
    held = dict.fromkeys(true, 0)
    errors: dict[str, list[tuple[float, float]]] = {name: [] for name in true}
    for seed in range(runs):
        before, after = (measured(kind, one) for one in one_run(kind, sample, seed, model=model))
        for name, value in true.items():
            held[name] += after[name]["low"] - 1e-9 <= value <= after[name]["high"] + 1e-9
            errors[name].append((before[name]["value"] - value, after[name]["value"] - value))
    told = {}
    for name, count in held.items():
        low, high = wilson(count, runs)
        without, with_ = np.mean(errors[name], axis=0)
        told[name] = {"truth": true[name], "covered": count / runs, "low": low, "high": high}
        told[name] |= {"bias": float(with_), "bias_unaudited": float(without)}
    return told


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--sample", type=int, default=200, help="labelled answers")
    parser.add_argument("--comparisons", type=int, default=320, help="labelled answers about two groups")
    parser.add_argument("--model", action="store_true", help="labels of a model with errors")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    sizes = {"relative": options.sample, "absolute": options.comparisons}
    told = {kind: coverage(kind, options.runs, size, model=options.model) for kind, size in sizes.items()}
    for figures in told.values():
        for name, one in figures.items():
            print(
                f"{name:<14}truth {one['truth']:.3f}, covered in {one['covered']:.1%} ({one['low']:.1%} to "
                f"{one['high']:.1%}); off by {one['bias']:+.3f}, without an audit by "
                f"{one['bias_unaudited']:+.3f}"
            )
    if options.json:
        print(json.dumps(told))


if __name__ == "__main__":
    main()
