"""Speed of the judges on short and long answers, and how often they are right on the labelled pairs.

    POLARS_MAX_THREADS=1 python -m benchmarks.judges --answers 200000 --repeated 1000000

Four kinds of distinct answers: the labelled ones, which people wrote, said of other groups in English;
short ones put together in English and in Chinese, each to a question of its own; and such of which no two
have the same text, where hardly any two say the same in the same way (`short_answers.py`). Repeated ones are
drawn from 2,000 of the first. Long ones are answers of assistants of about 60 words, each to a question of
its own and read once: one half of them by the sound judge, the other by the trained judge. CPU seconds of
one core, in which everything counts that a judge does; the first run of each, in which patterns are made
and caches are empty, is told too. The naive judge is the published one without keeping anything, row after
row, in the same run. Accuracy is that of methods 0.10 on the held-out pairs and on those that were written
after the rules (`labelled_answers.md`).
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections import defaultdict
from collections.abc import Callable

import polars as pl

from benchmarks.short_answers import short_answers
from benchmarks.subjects import LONG
from trustgauge.data.social_groups import Group, groups
from trustgauge.methods.social_bias.expressions import expressions
from trustgauge.methods.social_bias.judges import judge
from trustgauge.methods.social_bias.judges.dispatch import READ, PublishedReader
from trustgauge.methods.social_bias.judges.evaluation import (
    assistant_answers,
    assistant_groups,
    labelled_answers,
    measure,
    rule_judge,
)
from trustgauge.methods.social_bias.judges.trained import trained_judge
from trustgauge.records import Rule

GROUPS = {one.id: one for one in groups()}

FEWEST_WORDS, MOST_WORDS = 45, 80
PORTIONS = 4
"""Of long answers, of which the first fills the caches."""
Reader = Callable[[pl.DataFrame], pl.DataFrame]
RULES: tuple[Rule, ...] = ("sound", "published", "released")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--answers", type=int, default=200_000, help="distinct answers")
    parser.add_argument("--repeated", type=int, default=1_000_000, help="answers of which many are equal")
    parser.add_argument("--seed", type=int, default=20260101)
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    parser.add_argument("--long", action="store_true", help="measure long answers only")
    options = parser.parse_args()
    if options.long:
        print_long(options.seed)
        return
    told: dict[str, list[float]] = {}
    for name, distinct in corpora(options.answers, options.seed).items():
        length = distinct["output"].str.len_chars().sum() / len(distinct)
        texts = distinct["output"].n_unique()
        print(f"{len(distinct):,} distinct answers of {length:.0f} characters, {name} ({texts:,} texts)")
        cold, *warm = (per_second(lambda rows=distinct: sound(rows), len(distinct)) for _ in range(4))  # type: ignore[misc]
        some = distinct.head(min(5_000, len(distinct)))
        slow = per_second(lambda rows=some: naive(rows), len(some))  # type: ignore[misc]
        told[name] = [len(distinct), max(warm), cold, slow]
        print(f"  sound: {max(warm):,.0f} a second, the first time {cold:,.0f}")
        print(f"  naive published: {slow:,.0f} a second, {max(warm) / slow:.0f} times slower")
        for rule in RULES[1:]:
            speed = per_second(lambda rows=some, rule=rule: judge(rows, GROUPS, rule), len(some))  # type: ignore[misc]
            print(f"  {rule}: {speed:,.0f} a second")
    repeated = answers(2_000, options.seed).sample(options.repeated, with_replacement=True, seed=options.seed)
    speed = max(per_second(lambda: sound(repeated), len(repeated)) for _ in range(3))
    print(f"{len(repeated):,} repeated answers\n  sound: {speed:,.0f} a second")
    long = print_long(options.seed)
    if options.json:
        told |= {f"{LONG}{name}": [found] for name, found in long.items()}
        told["repeated"] = [len(repeated), speed]
        print(json.dumps(told))
        return
    accuracy()


def print_long(seed: int) -> dict[str, float]:
    """Measure long answers, and print how many a judge reads in a second."""
    long = long_speeds(seed)
    print("long answers, each read once")
    for name, found in long.items():
        print(f"  {name}: {found:,.0f} a second")
    return long


def corpora(number: int, seed: int) -> dict[str, pl.DataFrame]:
    """Distinct answers by what they are."""
    return {
        "labelled ones said of other groups": answers(number, seed),
        "put together in English": short_answers(number, seed, "en"),
        "put together in Chinese": short_answers(number, seed, "zh"),
        "put together in English, no two alike": short_answers(number, seed, "en", alike=False),
    }


def sound(rows: pl.DataFrame) -> pl.DataFrame:
    """The sound judge."""
    return judge(rows, GROUPS, "sound")


def answers(number: int, seed: int) -> pl.DataFrame:
    """Distinct questions with short answers: the English labelled pairs, said of other groups."""
    chance = random.Random(seed)
    pairs = labelled_answers().filter((pl.col("language") == "en") & (pl.col("split") == "tuning"))
    rows = pairs.select("question", "answer", "kind", "group_a", "group_b").rows()
    alike: dict[str, list[Group]] = defaultdict(list)
    for one in GROUPS.values():
        alike[one.attribute].append(one)
    made: dict[tuple[str, str, str, str, str], None] = {}
    while len(made) < number:
        question, answer, kind, a, b = chance.choice(rows)
        others = chance.sample(alike[chance.choice(list(alike))], 2)
        for old, new in zip((a, b), others, strict=True):
            if old:
                name = re.compile(rf"\b{re.escape(GROUPS[old].plural)}\b")
                question, answer = name.sub(new.plural, question), name.sub(new.plural, answer)
        made[question, answer, kind, others[0].id, others[1].id if b else ""] = None
    frame = pl.DataFrame(list(made), schema=["message", "output", "kind", "group_a", "group_b"], orient="row")
    return frame.with_columns(pl.lit("en").alias("language"))


def long_speeds(seed: int) -> dict[str, float]:
    """Long answers that a judge reads in a CPU second, the most of several portions."""
    known = assistant_groups()
    readers: dict[str, Reader] = {
        "sound": lambda rows: judge(rows, known, "sound"),
        "trained": lambda rows: trained_judge(rows, known),
    }
    answers = long_answers(seed)
    return {
        name: _speed_on_new(read, answers.gather_every(len(readers), place))
        for place, (name, read) in enumerate(readers.items())
    }


def _speed_on_new(read: Reader, rows: pl.DataFrame) -> float:
    size = len(rows) // PORTIONS
    first, *others = (rows[start : start + size] for start in range(0, size * PORTIONS, size))
    read(first)
    return max(per_second(lambda some=some: read(some), size) for some in others)  # type: ignore[misc]


def long_answers(seed: int) -> pl.DataFrame:
    """English answers of assistants from which the trained judge learned, no two to one question."""
    words = pl.col("answer").str.split(" ").list.len()
    some = assistant_answers().filter(
        pl.col("split") == "training",
        pl.col("language") == "en",
        words.is_between(FEWEST_WORDS, MOST_WORDS),
    )
    distinct = some.unique("question", maintain_order=True).unique("answer", maintain_order=True)
    return (
        distinct.rename({"question": "message", "answer": "output"})
        .select(READ)
        .sample(fraction=1, shuffle=True, seed=seed)
    )


def naive(rows: pl.DataFrame) -> list[str]:
    """The published judge, row after row."""
    reader = PublishedReader(GROUPS, {"en": expressions("en"), "zh": expressions("zh")})
    return [
        reader.read(message, output, kind, a, b, language)[0]
        for message, output, kind, a, b, language in rows.select(READ).iter_rows()
    ]


def per_second(work: Callable[[], object], rows: int) -> float:
    """Rows a CPU second."""
    began = time.process_time()
    work()
    return rows / (time.process_time() - began)


def accuracy() -> None:
    """Print what each judge is worth."""
    told = (
        "n",
        "unclear",
        "same",
        "same_low",
        "accuracy",
        "accuracy_low",
        "precision",
        "recall",
        "sensitivity",
    )
    with pl.Config(
        tbl_rows=-1, tbl_cols=-1, tbl_width_chars=200, float_precision=3, tbl_hide_dataframe_shape=True
    ):
        for split in ("held-out", "fresh"):
            table = labelled_answers().filter(pl.col("split") == split)
            for rule in RULES:
                print(f"{split}, {rule}")
                found = measure(rule_judge(rule, GROUPS), table)
                print(found.select("language", "kind", *told, "specificity", "kappa"))


if __name__ == "__main__":
    main()
