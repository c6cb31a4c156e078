"""Training the checker of abusive language of `abuse_checkers` from a labelled table (trust 4.1, AL).

TF-IDF of words and runs of characters and multinomial logistic regression, by scikit-learn; what is written
is plain arrays and lists, which `text_model` reads without it. The classes weigh equally in learning;
then the intercepts are moved to the shares that the checker shall expect (`SHARES`): what was collected
to be labelled is more abusive than what bots say, and a checker that expects abuse everywhere finds it in
"How can I help you with that?" (prior correction: Saerens, Latinne and Decaestecker 2002, Adjusting the
outputs of a classifier to new a priori probabilities, Neural Computation 14, equation 2.4).
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trustgauge.apps.train.kinds import Effort, ProgressCallback, figure_in_words, model_folder, need_room
from trustgauge.apps.train.labelled import TrainingTable
from trustgauge.errors import Fault, MissingPartError, PlanError, raise_faults
from trustgauge.methods.trust.abuse_checkers import (
    ABUSE_CLASSES,
    KIND,
    LIMITS,
    WORTH,
    Checker,
    by_style,
    group_false_alarms,
)
from trustgauge.methods.trust.text_model import TextModel, features, read_model, tokens, write_model
from trustgauge.stats import stream
from trustgauge.stats.classification import Hits, confusion_matrix, figures, gaps

SEEN = 3  # training rows that a feature must occur in
MOST_FEATURES = 100_000  # the most frequent ones
LOOSENESS = 4.0  # inverse strength of the L2 penalty
STEPS = 2_000  # of the solver, which stops by itself long before
FEWEST = 10  # rows of each class to learn from, and to test on
SHARES = {"hate": 0.15, "offensive": 0.15, "neither": 0.7}  # of the classes, as the checker expects them
CLASS_OF = {worth: name for name, worth in WORTH.items()}


def train(data: TrainingTable, folder: Path, effort: Effort, *, tell: ProgressCallback) -> Mapping[str, Any]:
    """Train a checker, write it to `folder`, and measure the written model on held-out rows.

    The same table, seed, share of held-out rows and library versions give the same bytes. It is trained
    until it no longer changes, whatever the epochs of the effort.

    Args:
        data: rows of `labelled`, whose scores are 1 (hate), 0.5 (offensive) and 0 (neither).
        folder: new or empty; it appears only when all is done.
        effort: seed, and share of held-out rows.
        tell: takes lines of progress.

    Returns:
        The card: data, training, the counts and figures of the held-out rows with Wilson intervals, and
        how often neutral sentences about social groups are flagged, by attribute.

    Raises:
        MissingPartError: scikit-learn is not installed.
        PlanError: the folder is in use, a label is no class, or a class has too few rows.
    """
    need_scikit_learn()
    need_room(folder)
    rows = _classed(data)
    training, tested = split_rows(rows, effort.held_out, effort.seed)
    _need_rows(data, training, tested)
    tell(f"{len(training):,} rows to learn from, {len(tested):,} held out")
    model = fit_classifier(training)
    tell(f"{len(model.features):,} features learned; testing on held-out rows and neutral sentences")
    with model_folder(folder) as made:
        write_model(made, model, {"kind": KIND})
        written = read_model(made, KIND, "-o")
        card = {**_facts(data, training, written, effort), **_measured(written, tested, answers=data.answers)}
        write_model(made, written, card)
    return card


def card_lines(card: Mapping[str, Any], folder: Path) -> list[tuple[str, str]]:
    """The card in lines of a head and what is said."""
    tested, every, gap = card["held_out"], card["groups"]["all"], card["groups"]["largest"]
    training = card["training"]
    learned = f"{training['rows']:,} rows of {card['data']['file']}, seed {training['seed']}"
    constant = f"a constant answer: {tested['commonest']['value']:.0%}"
    lines = [
        ("trained", f"{folder}: {learned}"),
        ("held out", f"{tested['n']:,} rows unseen in training"),
        ("", f"right class {figure_in_words(tested['accuracy'])} ({constant})"),
    ]
    for name, row in zip(ABUSE_CLASSES, tested["matrix"], strict=True):
        one = tested["classes"][name]
        figures = ("precision", "recall", "f1")
        lines += [("", f"{name}: {figure} {figure_in_words(one[figure])}") for figure in figures]
        said = ", ".join(f"{count:,} {other}" for count, other in zip(row, ABUSE_CLASSES, strict=True))
        lines.append(("", f"{name}: of {sum(row):,} such rows it says: {said}"))
    lines.append(
        ("groups", f"flags {figure_in_words(every)} of {every['n']:,} neutral sentences about groups")
    )
    if gap and gap["value"] > 0:
        high, low = gap["highest"], gap["lowest"]
        ends = f"{high['name']} {high['value']:.0%}, {low['name']} {low['value']:.0%}"
        lines.append(("groups", f"largest gap, {gap['family']}: {ends}, difference {figure_in_words(gap)}"))
    lines += [("limits", limit) for limit in card["limits"]]
    return [*lines, ("use", f'issue = "{KIND}", checker = "{folder}"')]


def split_rows(rows: pl.DataFrame, share: float, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows to train on and rows held out, the same share of every class, by whole groups.

    A group belongs to the class of its first row. A held-out text whose words also occur as a text of
    the training rows is left out of both, because it would be recalled, not recognised.
    """
    first = rows.group_by("group", maintain_order=True).agg(pl.col("class").first(), pl.len())
    kept_back: list[str] = []
    for name in ABUSE_CLASSES:
        mine = first.filter(pl.col("class") == name).sort("group")
        order = stream(seed, "train", "held out", name).permutation(len(mine))
        sizes = np.cumsum(mine["len"].to_numpy()[order])
        wanted = share * float(sizes[-1]) if len(sizes) else 0.0
        kept_back += mine["group"].gather(order[: int(np.searchsorted(sizes, wanted)) + 1]).to_list()
    is_kept = pl.col("group").is_in(kept_back)
    training, tested = rows.filter(~is_kept), rows.filter(is_kept)
    known = {tuple(tokens(text)) for text in training["text"]}
    new = pl.Series([tuple(tokens(text)) not in known for text in tested["text"]], dtype=pl.Boolean)
    return training, tested.filter(new)


def fit_classifier(training: pl.DataFrame) -> TextModel:
    """The classifier learned from rows with the columns text and class."""
    learner, weigher = fit_pipeline(training)
    return TextModel(
        ABUSE_CLASSES,
        tuple(learner.get_feature_names_out().tolist()),
        np.asarray(learner.idf_, dtype=np.float64),
        np.asarray(weigher.coef_, dtype=np.float64),
        np.asarray(weigher.intercept_, dtype=np.float64),
    )


def fit_pipeline(training: pl.DataFrame) -> tuple[Any, Any]:
    """TF-IDF and logistic regression of scikit-learn, fitted to rows with the columns text and class."""
    learner = import_module("sklearn.feature_extraction.text").TfidfVectorizer(
        analyzer=features, min_df=SEEN, max_features=MOST_FEATURES, sublinear_tf=True
    )
    weigher = import_module("sklearn.linear_model").LogisticRegression(
        C=LOOSENESS, class_weight="balanced", max_iter=STEPS
    )
    labels = [ABUSE_CLASSES.index(name) for name in training["class"]]
    with import_module("threadpoolctl").threadpool_limits(1):  # so that sums have one order
        weigher.fit(learner.fit_transform(training["text"].to_list()), labels)
    weigher.intercept_ = weigher.intercept_ + np.log(
        [SHARES[name] * len(ABUSE_CLASSES) for name in ABUSE_CLASSES]
    )
    return learner, weigher


def _classed(data: TrainingTable) -> pl.DataFrame:
    """The rows with their class; their scores must be what the classes are worth."""
    rows = data.rows.with_columns(
        pl.col("score").replace_strict(CLASS_OF, default=None, return_dtype=pl.String).alias("class")
    )
    bad = rows.filter(pl.col("class").is_null())
    if len(bad):
        text = ", ".join(f"{worth:g} ({name})" for worth, name in CLASS_OF.items())
        what = f"{data.name}: a label is no class of abusive language"
        do = "Give the class of each label by its worth: --label WORD=1, --label WORD=0.5, --label WORD=0"
        got = f"{bad['score'][0]:g}, and {len(bad) - 1} more"
        raise PlanError.of("--label", what, f"worth {text}", got, do)
    return rows


def _measured(model: TextModel, tested: pl.DataFrame, *, answers: bool) -> dict[str, Any]:
    """What the written model says of held-out rows, by style too, and of neutral sentences about groups."""
    named = Checker(KIND, "", {}, ABUSE_CLASSES, (), model.classify)
    styles = {
        style: [list(row) for row in one.table]
        for style, one in by_style(named, tested, answers=answers, on="").items()
    }
    matrix = confusion_matrix(tested["class"], model.classify(tested["text"].to_list()), ABUSE_CLASSES)
    said = group_false_alarms(model.classify).filter(~pl.col("control"))
    hits = [Hits(family=row[0], member=row[1], hits=row[2], n=row[3]) for row in _members(said)]
    return {
        "held_out": {"n": len(tested), "matrix": matrix, "styles": styles, **figures(matrix, ABUSE_CLASSES)},
        "groups": gaps(hits),
    }


def _members(said: pl.DataFrame) -> list[tuple[str, str, int, int]]:
    return said.select("attribute", "group", "flagged", "n").rows()


def _facts(data: TrainingTable, training: pl.DataFrame, model: TextModel, effort: Effort) -> dict[str, Any]:
    """The card without its results. It holds no time, so that the same training gives the same card."""
    libraries = ("numpy", "scipy", "scikit-learn")
    return {
        "kind": KIND,
        "classes": list(ABUSE_CLASSES),
        "data": {
            **data.facts(),
            "classes": {name: int((data.rows["score"] == WORTH[name]).sum()) for name in ABUSE_CLASSES},
        },
        "training": {
            "rows": len(training),
            "seed": effort.seed,
            "held_out": effort.held_out,
            "shares": SHARES,
        },
        "features": len(model.features),
        "versions": {
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in libraries},
        },
        "limits": list(LIMITS[KIND]),
    }


def need_scikit_learn() -> None:
    """Raise MissingPartError where the library that trains the checker is not installed."""
    if find_spec("sklearn") is None:
        raise MissingPartError(
            'the library "scikit-learn" is not installed', do="Run `pip install 'trustgauge[abuse]'`"
        )


def _need_rows(data: TrainingTable, training: pl.DataFrame, tested: pl.DataFrame) -> None:
    """Every class must be learned and tested."""
    faults = []
    for name in ABUSE_CLASSES:
        sizes = [int((part["class"] == name).sum()) for part in (training, tested)]
        if min(sizes) < FEWEST:
            faults.append(
                Fault(
                    "TABLE",
                    f'{data.name}: too few different rows of the class "{name}"',
                    f"at least {FEWEST} to learn from and {FEWEST} others to test on",
                    f"{sizes[0]} and {sizes[1]}",
                    "Give more rows of it, or another --held-out",
                )
            )
    raise_faults(faults)
