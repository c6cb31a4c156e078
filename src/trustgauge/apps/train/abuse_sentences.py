"""Learning the shipped model of `methods.trust.abuse_sentences`, and counting its errors.

`python -m trustgauge.apps.train.abuse_sentences` reads the rows `train` of `data/abuse_sentences.csv` and
prints the model, `data/abuse_sentences.json`. Of the shipped model, `--groups` prints in how many neutral
sentences about each social group it sees abuse, `data/abuse_sentences_groups.json`; `--held-out` prints its
counts on the rows `held-out`, by style of answer, and nothing else of them; `--held-out U` on those of one
writer. `--mentions` prints its counts on the rows `mentions`, and those of the model alone, which does not
know mentions from meaning. `--contempt` prints its counts, and those of `words`, on the rows `contempt`.

Of an abusive text of several sentences nobody said which are abusive: at first only short texts teach,
then the worst sentence and the worst pair by the model so far, twice over; sentences of it that look
less than half as bad are taken for harmless.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import cycle, islice
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.data import article, package_table, package_text
from trustgauge.data.social_groups import groups
from trustgauge.methods.trust.abuse_checkers import (
    SENTENCES,
    WORDS,
    Table,
    by_style,
    checker,
    group_false_alarms,
    readings,
)
from trustgauge.methods.trust.abuse_sentences import (
    CLASSES,
    LONGEST,
    SCALE_OF_FORMS,
    SCALE_OF_VECTORS,
    features,
    forms,
    sentences,
    strip_quotations,
)
from trustgauge.methods.trust.abuse_words import HATE, NEITHER
from trustgauge.records import digest

TABLE = "abuse_sentences.csv"
LOOSENESS = 0.04  # inverse strength of the L2 penalty
STEPS = 500
ROUNDS = 3
HARMLESS = 0.5  # share of the worst sentence's probability, below which another one teaches "neither"
DIGITS = 5  # of what is written
FRAMES_A_GROUP = (3, 1)  # harmless, hateful
WEIGHT_OF_FRAMES = 4.0  # of a sentence, beside 1 of a text
HARD_WRITERS = ("AA",)  # who wrote the forms that were taken for abuse by a model that had not met them
WEIGHT_OF_HARD = 2.0  # of a text of theirs

Floats = NDArray[np.float64]


def sentence_table(split: str) -> pl.DataFrame:
    """The rows of a split, "train" or "held-out": id, text, class, form, writer and split."""
    text = package_text("trustgauge.methods.trust", f"data/{TABLE}")
    return pl.read_csv(text.encode(), infer_schema=False).filter(pl.col("split") == split)


def about_groups() -> dict[str, list[str]]:
    """Class -> sentences about every second social group: naming a group is not abuse.

    None of the frames is one of `neutral_sentences`, on which a checker's own bias is measured.
    """
    taught = [one for one in groups() if not one.offensive and not one.control][::2]
    frames_of = package_table(__package__, "abuse_frames.toml")
    found = {}
    for kind, name, each in zip((NEITHER, HATE), ("harmless", "hateful"), FRAMES_A_GROUP, strict=True):
        frames: list[str] = frames_of[name]
        turns = islice(cycle(frames), len(taught) * each)
        found[kind] = [
            _sentence(frame.format(one=f"{article(one.singular)} {one.singular}", many=one.plural))
            for frame, one in zip(turns, (one for one in taught for _ in range(each)), strict=True)
        ]
    return found


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def learn(rows: pl.DataFrame) -> tuple[Floats, Floats]:
    """Weights [3, features] and intercepts [3] of `CLASSES`, from columns text, class and writer."""
    frames = {CLASSES.index(kind): np.vstack(features(some)) for kind, some in about_groups().items()}
    seen = features(rows["text"].to_list())
    labels = [CLASSES.index(one) for one in rows["class"]]
    weights = [WEIGHT_OF_HARD if one in HARD_WRITERS else 1.0 for one in rows["writer"]]
    teaching: dict[int, tuple[list[int], list[int]]] = {}
    for left in reversed(range(ROUNDS)):
        learner = _fitted(seen, labels, weights, teaching, frames)
        if left:
            teaching = {
                place: _worst(learner.predict_proba(some)[:, label])
                for place, (some, label) in enumerate(zip(seen, labels, strict=True))
                if label and len(some) > 1
            }
    return np.asarray(learner.coef_), np.asarray(learner.intercept_)


def _worst(bad: Floats) -> tuple[list[int], list[int]]:
    """Of an abusive text's parts, n sentences before n - 1 pairs: the worst ones, and the harmless."""
    sentences = (len(bad) + 1) // 2
    worst = int(bad[:sentences].argmax())
    pair = sentences + int(bad[sentences:].argmax())
    harmless = [place for place in range(sentences) if bad[place] < HARMLESS * bad[worst]]
    return [worst, pair], harmless


def _fitted(
    seen: Sequence[Floats],
    labels: Sequence[int],
    weights: Sequence[float],
    teaching: dict[int, tuple[list[int], list[int]]],
    frames: dict[int, Floats],
) -> Any:
    rows, taught, each = [], [], []

    def teach(some: Floats, label: int, weight: float) -> None:
        rows.append(some)
        taught.extend([label] * len(some))
        each.extend([weight] * len(some))

    for label, some in frames.items():
        teach(some, label, WEIGHT_OF_FRAMES)
    for place, (some, label, weight) in enumerate(zip(seen, labels, weights, strict=True)):
        if label == 0 or len(some) == 1:
            teach(some, label, weight)
        elif place in teaching:
            worst, harmless = teaching[place]
            teach(some[worst], label, weight / len(worst))
            teach(some[harmless], 0, weight)
    of_class, of_row = np.array(taught), np.array(each)
    shares = [of_row.sum() / len(CLASSES) / of_row[of_class == one].sum() for one in range(len(CLASSES))]
    learner = import_module("sklearn.linear_model").LogisticRegression(C=LOOSENESS, max_iter=STEPS)
    return learner.fit(np.vstack(rows), of_class, sample_weight=of_row * np.array(shares)[of_class])


def learned_from() -> str:
    """Hash of what the weights follow from: texts, frames, forms of speech as they are found, and settings.

    It stands beside the weights, so that whoever changes words or texts without learning again is noticed.
    """
    rows = sentence_table("train")
    settings = (LOOSENESS, STEPS, ROUNDS, HARMLESS, DIGITS, WEIGHT_OF_FRAMES, HARD_WRITERS, WEIGHT_OF_HARD)
    scales = (SCALE_OF_VECTORS, SCALE_OF_FORMS, LONGEST)
    found = [(part, forms(part)) for text in rows["text"] for part in sentences(strip_quotations(text))]
    return digest("texts", [repr((settings, scales)), rows.write_csv(), about_groups(), repr(found)])


def mention_counts() -> dict[str, Table]:
    """Counts of classes by reading of the rows `mentions`: by the checker, and by the model alone."""
    rows, named = sentence_table("mentions"), checker(SENTENCES)
    classes, texts = rows["class"].to_list(), rows["text"].to_list()
    return {
        "read": readings(classes, named.read(texts)),
        "model alone": readings(classes, named.classify(texts)),
    }


def contempt_counts() -> dict[str, Table]:
    """Counts of classes by reading of the rows `contempt`, by checker."""
    rows = sentence_table("contempt")
    classes, texts = rows["class"].to_list(), rows["text"].to_list()
    return {name: readings(classes, checker(name).read(texts)) for name in (SENTENCES, WORDS)}


def main() -> None:
    """Print the model, its counts on rows that did not teach it, or its false alarms about groups."""
    asked = sys.argv[1:]
    if "--held-out" in asked:
        rows = sentence_table("held-out")
        writers = asked[asked.index("--held-out") + 1 :] or rows["writer"].unique().to_list()
        rows = rows.filter(pl.col("writer").is_in(writers))
        read = by_style(checker(SENTENCES), rows, answers=True, on="")
        sys.stdout.write(json.dumps({style: one.table for style, one in read.items()}))
        return
    if "--groups" in asked:
        named = checker(SENTENCES)
        flagged = group_false_alarms(named.classify).filter(pl.col("flagged") > 0)
        counts = dict(flagged.select("group", "flagged").iter_rows())
        sys.stdout.write(json.dumps({"content": named.content, "flagged": counts}) + "\n")
        return
    if "--mentions" in asked:
        sys.stdout.write(json.dumps(mention_counts()) + "\n")
        return
    if "--contempt" in asked:
        sys.stdout.write(json.dumps(contempt_counts()) + "\n")
        return
    rows = sentence_table("train")
    weights, intercepts = learn(rows)
    facts = {
        "learned_from": learned_from(),
        "texts": len(rows),
        "classes": CLASSES,
        "intercepts": np.round(intercepts, DIGITS).tolist(),
        "weights": np.round(weights, DIGITS).tolist(),
    }
    sys.stdout.write(json.dumps(facts))


if __name__ == "__main__":
    main()
