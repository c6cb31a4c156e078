"""How a judge of bias errs on bots that each write like one writer (social-bias 3.8, methods 0.10, 0.12).

    python -m benchmarks.judge_writers                  # counts of each held-out writer, and the spread
    python -m benchmarks.judge_writers --rules          # of the rules in place of the default judge
    python -m benchmarks.judge_writers --rate 4         # rates bots like each writer, four of each
    python -m benchmarks.judge_writers --rate 40 --of fit       # like writers drawn from the spread
    python -m benchmarks.judge_writers --rate 4 --unread labelled   # people have read all that it left unread
    python -m benchmarks.judge_writers --rate 4 --unread none       # bots of which it reads every answer
    python -m benchmarks.judge_writers --write          # the counts that ship, of both judges

Counts only are printed and written, of answers that nobody reads. The spread is that of
`stats.heterogeneity`, of what is decided and of what is left unread. A bot means what
`benchmarks.calibration` lets it mean, and each of its answers is misread or unread as often as the writer's
are, in the writer's styles; what a misread answer is taken for comes from all writers of its language.
Printed are, for each bot and for all, the ratings that are settled, those at a wrong level, and how often the
95 % interval of the gap and of the excess holds the truth.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import isnan
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.calibration.chat_answers import TENTHS, Bot, Questions
from benchmarks.calibration.record import certainty_in_report
from benchmarks.calibration.social_bias import ATTRIBUTE, BALANCE, DRAWN, SIZE, true_level
from trustgauge.methods.social_bias import judge_accuracy
from trustgauge.methods.social_bias.audit import LABEL, LABEL_OF_UNREAD
from trustgauge.methods.social_bias.judge_accuracy import (
    OURS,
    STYLE,
    TERSE,
    WRITER,
    WRITERS,
    accuracy_by_writer,
    styles_of,
)
from trustgauge.methods.social_bias.judges.dispatch import BIASED, READ
from trustgauge.methods.social_bias.judges.evaluation import (
    assistant_answers,
    assistant_groups,
    labelled_answers,
    rule_judge,
)
from trustgauge.methods.social_bias.judges.trained import trained_judge
from trustgauge.methods.social_bias.judges.verdict_weights import meaning
from trustgauge.methods.social_bias.method import SocialBias
from trustgauge.rating.audit import AuditLabels
from trustgauge.records import Rating
from trustgauge.stats import stream
from trustgauge.stats.distributions import wilson
from trustgauge.stats.heterogeneity import SPREADS, Counts, draw_place, draw_rates, spread_weights

Floats = NDArray[np.float64]
SEED = 20261124
WRITERS_DRAWN = 20_000
SHIPPED = Path(judge_accuracy.__file__).parent / "data" / WRITERS
NEAR = 1e-9
RATES = {
    "sensitivity": ("found", "biased"),
    "false alarms": ("alarms", "unbiased"),
    "unread, biased": ("unread_biased", "all_biased"),
    "unread, unbiased": ("unread_unbiased", "all_unbiased"),
}
"""What differs between writers -> columns of what is counted, and of what it is counted among."""
Unread = Literal["left", "labelled", "none"]
"""What becomes of answers that the judge leaves unread: nothing; people read them; there are none."""
OTHER = "the other group"
ALL = "all writers"


def _more(gap: float = 0.0, excess: float = 0.0, takes: float = 0.0) -> Bot:
    return Bot(takes, {ATTRIBUTE: excess / 100}, gap={ATTRIBUTE: gap / 100 / BALANCE})


BOTS = {
    "declines every question": Bot(refuses=1.0),
    "says no to all": Bot(habit="no"),
    "speaks well of every group in half": Bot(),
    "one group 4 points above": _more(4),
    "one group 8 points above": _more(8),
    "one group 16 points above": _more(16),
    "one group 26 points above": _more(26),
    "one group 40 points above": _more(40),
    "one group 100 points above": _more(100),
    "favours real groups 8 points more": _more(excess=8, takes=0.02),
    "favours real groups 12 points more": _more(excess=12, takes=0.02),
    "favours real groups 20 points more": _more(excess=20, takes=0.02),
}
"""Bots by name; of none is the true level at a cut."""


@cache
def readings(judge: str) -> pl.DataFrame:
    """Held-out answers as a judge reads them: language, style, writer, kind, label, said."""
    table = _held_out(assistant_answers()).filter(pl.col("verdict") != "unclear")
    judged_by = _trained if judge == "trained" else rule_judge("sound", assistant_groups())
    said = judged_by(table)["verdict"]
    read = table.with_columns(said=said)
    styled = [
        own.with_columns(styles_of(own["answer"], str(language)).alias(STYLE))
        for (language,), own in read.group_by("language", maintain_order=True)
    ]
    return pl.concat(styled).select("language", STYLE, "writer", "kind", "said", label="verdict")


def shipped_counts() -> pl.DataFrame:
    """The counts by writer that ship (`judge_accuracy.WRITERS`): terse answers are our own pairs."""
    terse = pl.col(STYLE) == TERSE
    frames = []
    for name, judged_by in (("sound", rule_judge("sound", assistant_groups())), ("trained", _trained)):
        others = accuracy_by_writer(judged_by, _held_out(assistant_answers()))
        ours = accuracy_by_writer(judged_by, _held_out(labelled_answers()).with_columns(writer=pl.lit(OURS)))
        both = pl.concat([others.filter(~terse), ours.filter(terse)]).sort("language", STYLE, WRITER)
        frames.append(both.select(pl.lit(name).alias("judge"), pl.all().exclude("n", "unclear")))
    return pl.concat(frames)


def _held_out(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("split") == "held-out")


def _trained(table: pl.DataFrame) -> pl.DataFrame:
    rows = table.rename({"question": "message", "answer": "output"}).select(READ)
    return trained_judge(rows, assistant_groups())


def counts(read: pl.DataFrame, *by: str) -> pl.DataFrame:
    """The columns of `RATES`, of each language and what else it is counted by."""
    biased, decided = pl.col("label").is_in(BIASED), pl.col("said") != "unclear"
    speaks = pl.col("said").is_in(BIASED)
    sums = {
        "all_biased": biased,
        "biased": biased & decided,
        "found": biased & speaks,
        "unread_biased": biased & ~decided,
        "all_unbiased": ~biased,
        "unbiased": ~biased & decided,
        "alarms": ~biased & speaks,
        "unread_unbiased": ~biased & ~decided,
    }
    found = read.group_by("language", *by).agg(one.sum().alias(name) for name, one in sums.items())
    return found.sort("language", *by)


def strata(read: pl.DataFrame, rate: str) -> Mapping[tuple[str, str], Counts]:
    """Language and style -> what each of its writers has of what a rate counts, and among how many."""
    count, among = RATES[rate]
    own = counts(read.filter(pl.col(STYLE) != TERSE), STYLE, "writer").filter(pl.col(among) > 0)
    return {
        (str(language), str(style)): tuple(rows.select(count, among).iter_rows())
        for (language, style), rows in own.group_by("language", STYLE, maintain_order=True)
    }


def spread_ends(groups: Sequence[Counts]) -> tuple[float, float, float]:
    """2.5, 50 and 97.5 % of the spread between writers."""
    below = spread_weights(tuple(groups)).cumsum()
    low, middle, high = (float(SPREADS[np.searchsorted(below, chance)]) for chance in (0.025, 0.5, 0.975))
    return low, middle, high


@dataclass(frozen=True)
class Writer:
    """How often a judge errs on what a writer writes.

    Attributes:
        name: of the writer.
        language: as of the labelled answers.
        styles: style -> share of the answers.
        rates: name in `RATES` -> style -> rate.
    """

    name: str
    language: str
    styles: Mapping[str, float]
    rates: Mapping[str, Mapping[str, float]]


def labelled_writers(read: pl.DataFrame) -> list[Writer]:
    """The writers themselves, and all of a language as if they were one; a rate is that over all styles."""
    found = []
    pooled = read.with_columns(writer=pl.lit(ALL))
    for (language, name), own in pl.concat([read, pooled]).group_by(
        "language", "writer", maintain_order=True
    ):
        row = counts(own).row(0, named=True)
        styles = _styles(own)
        rates = {
            rate: dict.fromkeys(styles, row[count] / row[among]) for rate, (count, among) in RATES.items()
        }
        found.append(Writer(str(name), str(language), styles, rates))
    return found


def drawn_writers(read: pl.DataFrame, count: int, rng: np.random.Generator) -> list[Writer]:
    """Writers whom nobody has seen, from what is likely of the spread; half of them in each language."""
    found = []
    for language in ("en", "zh"):
        styles = _styles(read.filter(pl.col("language") == language))
        rates: dict[str, list[dict[str, float]]] = {}
        for rate in RATES:
            known = strata(read, rate)
            place = draw_place(tuple(known.values()), count // 2, rng)
            by_style = {style: draw_rates(known.get((language, style), ()), place, rng) for style in styles}
            rates[rate] = [
                {style: float(one[at]) for style, one in by_style.items()} for at in range(count // 2)
            ]
        found += [
            Writer(f"{language} {at}", language, styles, {rate: rates[rate][at] for rate in RATES})
            for at in range(count // 2)
        ]
    return found


def _styles(read: pl.DataFrame) -> dict[str, float]:
    shares = read.filter(
        pl.col(STYLE).is_in(["prose", "list", "hedged", "refusal", "quotation", "premise-rejection"])
    )
    return dict(shares.group_by(STYLE).agg(pl.len() / shares.height).sort(STYLE).iter_rows())


class Reader:
    """What a judge takes answers for in a language, by what they mean and whether it errs."""

    def __init__(self, read: pl.DataFrame) -> None:
        self._said: dict[tuple[str, str, bool], list[str]] = {}
        for kind, label, said in (
            read.filter(pl.col("said") != "unclear").select("kind", "label", "said").iter_rows()
        ):
            right = (label in BIASED) == (said in BIASED)
            if label.startswith("chooses") and said.startswith("chooses"):
                said = "same" if label == said else OTHER
            self._said.setdefault((kind, _alike(label), right), []).append(said)

    def read(self, kind: str, verdict: str, *, right: bool, rng: np.random.Generator) -> str:
        """The verdict on an answer that means `verdict`."""
        known = self._said.get((kind, _alike(verdict), right))
        if known is None:
            known = ["same"] if right else ["denies" if verdict in BIASED else _biased(kind)]
        said = known[int(rng.integers(len(known)))]
        if said == "chooses":
            return ("chooses-a", "chooses-b")[int(rng.integers(2))]
        if said == OTHER:
            return "chooses-b" if verdict == "chooses-a" else "chooses-a"
        return verdict if said == "same" else said


def _alike(verdict: str) -> str:
    """What labels are counted together: choices, and all verdicts that favour nobody."""
    return "chooses" if verdict.startswith("chooses") else meaning(verdict)


def _biased(kind: str) -> str:
    return {"choice": "chooses", "why": "explains"}.get(kind, "affirms")


@cache
def questions(language: str, judge: str, count: int) -> Questions:
    """The questions of a plan like that of the calibration."""
    given = {
        "method": "social-bias",
        "services": ["bot"],
        "language": language,
        **SIZE,
        **DRAWN,
        "questions": count,
    }
    return Questions(
        SocialBias.model_validate(given | ({"judge": {"use": "rules"}} if judge == "sound" else {})), SEED
    )


@dataclass(frozen=True)
class Trial:
    """A rating: whether it is settled, settled wrong, right; its certainty; whether intervals hold."""

    settled: bool
    wrong: bool
    certainty: float
    right: bool
    gap: bool | None
    excess: bool | None


def rated(
    asked: Questions, bot: Bot, writer: Writer, judge: str, rng: np.random.Generator, *, unread: Unread
) -> Trial:
    """One run of a bot that writes like this writer."""
    reader = Reader(readings(judge).filter(pl.col("language") == writer.language))
    meant = bot.meant(asked, rng)
    biased = np.isin(meant.astype(str), BIASED)
    styles = rng.choice(list(writer.styles), size=len(meant), p=list(writer.styles.values()))

    def drawn(of_biased: str, of_others: str) -> NDArray[np.bool_]:
        pairs = zip(biased, styles, strict=True)
        chance = [writer.rates[of_biased if takes else of_others][style] for takes, style in pairs]
        return np.asarray(rng.random(len(meant)) < np.array(chance))

    found = drawn("sensitivity", "false alarms")
    left = drawn("unread, biased", "unread, unbiased") & (unread != "none")
    kinds = asked.asked["kind"].to_list()
    said = [
        reader.read(kind, verdict, right=takes == hit, rng=rng)
        for kind, verdict, takes, hit in zip(kinds, meant, biased, found, strict=True)
    ]
    is_left = pl.Series(left)
    rows = asked.asked.with_columns(
        pl.when(is_left).then(pl.lit("unclear")).otherwise(pl.Series(said, dtype=pl.String)).alias("verdict"),
        pl.when(is_left).then(pl.lit("unread")).otherwise(pl.lit("answered")).alias("status"),
        pl.Series(STYLE, styles.astype(str)),
        pl.Series("segment", rng.permutation(len(meant)) * TENTHS // len(meant), dtype=pl.Int64),
    )
    method = asked.method
    if unread == "labelled":
        labels = pl.when(is_left).then(pl.Series(meant.astype(str))).otherwise(pl.lit(""))
        rows = rows.with_columns(pl.lit("").alias(LABEL), labels.alias(LABEL_OF_UNREAD))
        known = rows.filter(pl.col(LABEL_OF_UNREAD) != "").select("part", "id", LABEL_OF_UNREAD).iter_rows()
        read_by_people = {(part, str(key)): label for part, key, label in known}
        method = method.with_labels({"bot": AuditLabels({}, 0, unread=read_by_people)})
    (rating,) = method.rate(method.summarise(rows), int(rng.integers(2**32)))
    return _trial(rating, bot, asked.method)


def _trial(rating: Rating, bot: Bot, method: SocialBias) -> Trial:
    details = rating.parts[0].details
    right = rating.level == ("L" if bot.habit else true_level(bot, ATTRIBUTE, method))
    settled = rating.state == "rated"
    gap = (
        None
        if bot.habit
        else _holds(details["relative"]["gap"], BALANCE * bot.gap.get(ATTRIBUTE, 0.0) * (1 - bot.refuses))
    )
    excess = None if bot.habit else _holds(details["absolute"]["excess"], bot.excess.get(ATTRIBUTE, 0.0))
    return Trial(settled, settled and not right, certainty_in_report(rating), right, gap, excess)


def _holds(interval: Mapping[str, float | None], truth: float) -> bool | None:
    low, high = interval["low"], interval["high"]
    return None if low is None or high is None else low - NEAR <= truth <= high + NEAR


def tell_counts(judge: str) -> None:
    """Print the counts of each writer, over all styles and by style, and the spread."""
    read = readings(judge)
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True):
        print(counts(read, "writer"))
        print(counts(read, STYLE, "writer"))
    for rate in RATES:
        for language in ("en", "zh", ""):
            known = [one for (own, _), one in strata(read, rate).items() if language in ("", own)]
            low, middle, high = spread_ends(known)
            print(f"{rate}, {language or 'both'}: spread {middle:.2f} ({low:.2f} to {high:.2f})")
    for language in ("en", "zh"):
        ends = (f"{low:.2f} to {high:.2f}" for low, high in left_of_difference(language, judge))
        print(f"left of a difference, {language}: {' (pooled '.join(ends)})")


def left_of_difference(language: str, judge: str) -> Iterator[tuple[float, float]]:
    """Between what se + sp - 1 is for 95 % of the writers, over all held-out styles, and by all as one."""
    figures = judge_accuracy.by_style(language, judge)
    styles = {style: one.positives + one.negatives for style, one in figures.items() if style != TERSE}
    measured = judge_accuracy.instrument(styles, language, figures=figures).accuracy
    assert measured is not None
    for one in (measured, replace(measured, writers=())):
        se, sp = one.draw(WRITERS_DRAWN, stream(SEED, "left of a difference"))
        low, high = np.quantile(se + sp - 1.0, [0.025, 0.975])
        yield float(low), float(high)


def tell_ratings(
    judge: str, writers: Sequence[Writer], runs: int, bots: Mapping[str, Bot], count: int, *, unread: Unread
) -> None:
    """Rate every bot like every writer so often, and print."""
    every: dict[str, list[Trial]] = {}
    by_writer: dict[str, list[Trial]] = {}
    for name, bot in bots.items():
        for writer in writers:
            for run in range(runs * (len(writers) // 2 if writer.name == ALL else 1)):
                rng = stream(SEED, "judge-writers", name, writer.language, writer.name, run)
                trial = rated(
                    questions(writer.language, judge, count), bot, writer, judge, rng, unread=unread
                )
                key = f"{ALL}: {name}" if writer.name == ALL else name
                every.setdefault(key, []).append(trial)
                if writer.name != ALL:
                    by_writer.setdefault(f"{writer.language} {writer.name}", []).append(trial)
        print(_line(name, every[name]), flush=True)
        if f"{ALL}: {name}" in every:
            print(_line(f"  {ALL} as one", every[f"{ALL}: {name}"]), flush=True)
    for name, trials in by_writer.items() if len(by_writer) < 30 else ():
        print(_line(f"like {name}", trials))
    apart = [trial for name, trials in every.items() if not name.startswith(ALL) for trial in trials]
    print(_line("all bots", apart))
    known = [one for one in apart if not isnan(one.certainty)]
    for low, high in ((0.0, 0.6), (0.6, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 0.99), (0.99, 1.01)):
        own = [one for one in known if low <= one.certainty < high]
        if own:
            said = np.mean([one.certainty for one in own])
            print(f"certainty {low} to {high}: said {said:.1%}, right {_share([one.right for one in own])}")


def _line(name: str, trials: Sequence[Trial]) -> str:
    settled, wrong = ([getattr(one, field) for one in trials] for field in ("settled", "wrong"))
    gap = _share([one.gap for one in trials if one.gap is not None])
    excess = _share([one.excess for one in trials if one.excess is not None])
    return f"{name:38} settled {_share(settled)}, wrong {_share(wrong)}, gap held {gap}, excess held {excess}"


def _share(hits: Sequence[bool | None]) -> str:
    if not hits:
        return "-"
    low, high = wilson(sum(map(bool, hits)), len(hits))
    return f"{sum(map(bool, hits)) / len(hits):.1%} ({low:.1%} to {high:.1%})"


def main() -> None:
    """Count, or rate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rules", action="store_true", help="the rules in place of the default judge")
    parser.add_argument(
        "--rate", type=int, default=0, metavar="N", help="ratings of each bot like each writer"
    )
    parser.add_argument("--of", choices=("labelled", "fit"), default="labelled", help="which writers")
    parser.add_argument(
        "--unread", choices=get_args(Unread), default="left", help="what becomes of unread answers"
    )
    parser.add_argument("--only", action="append", metavar="TEXT", help="bots whose name holds this text")
    parser.add_argument("--questions", type=int, default=SIZE["questions"], metavar="N", help="of a plan")
    parser.add_argument("--write", action="store_true", help="write the counts that ship")
    options = parser.parse_args()
    if options.write:
        shipped_counts().write_csv(SHIPPED)
        return
    judge = "sound" if options.rules else "trained"
    if not options.rate:
        tell_counts(judge)
        return
    read, runs = readings(judge), options.rate
    bots = {name: bot for name, bot in BOTS.items() if any(one in name for one in options.only or [""])}
    if options.of == "fit":
        writers, runs = drawn_writers(read, runs, stream(SEED, "judge-writers")), 1
    else:
        writers = labelled_writers(read)
    tell_ratings(judge, writers, runs, bots, options.questions, unread=options.unread)


if __name__ == "__main__":
    main()
