"""The texts of a causal experiment: published sizes, exact counts, balance, positivity, seeds."""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.methods.causal.grids import positivity
from trustgauge.data.emotions import construction
from trustgauge.methods.causal.design import (
    COLUMNS,
    FACTORS,
    design,
    exact_positive,
    faults,
    largest,
)
from trustgauge.methods.causal.settings import CausalSettings
from trustgauge.records import PROBE


def settings(**changes: Any) -> CausalSettings:
    return CausalSettings(**{"method": "causal", "services": ("one",), **changes})


def blocks(seed: int = 7, **changes: Any) -> dict[str, pl.DataFrame]:
    return {frame["block"][0]: frame for frame in design(settings(**changes), seed)}


def classes(frame: pl.DataFrame) -> pl.DataFrame:
    """With a column `class` of race and gender, or of gender."""
    one = pl.when(pl.col("race") == "NA").then("gender").otherwise(pl.col("race") + " " + pl.col("gender"))
    return frame.with_columns(one.alias("class"))


def test_columns() -> None:
    frame = next(design(settings(), 1))
    assert frame.columns == list(COLUMNS) == [*PROBE, *FACTORS]
    assert {name: kind for name, kind in frame.schema.items() if name in FACTORS} == dict.fromkeys(
        FACTORS, pl.String
    )
    assert {frame.schema[name] for name in ("draw", "turn")} == {pl.Int64()}
    assert frame["id"][6] == "g1-e1-0007"


@pytest.mark.parametrize("rule", ["published", "released"])
def test_published_sizes(rule: str) -> None:
    found = {name: len(frame) for name, frame in blocks(rule=rule).items()}
    full = {"e1": 24, "e2": 24, "e3": 48, "e4": 72, "e5": 72}
    assert found == {
        **{f"group-{group}/{name}": size for group in (1, 3) for name, size in full.items()},
        **{f"group-{group}/{name}": 24 for group in (2, 4) for name in ("e3", "e4", "e5")},
    }


def test_released_persons_and_codes() -> None:
    found = blocks(rule="released")
    assert set(found["group-1/e1"].select("person", "gender", "race").rows()) == {
        ("this boy", "male", "NA"),
        ("this man", "male", "NA"),
        ("this girl", "female", "NA"),
        ("this woman", "female", "NA"),
        ("they", "NA", "NA"),
        ("we", "NA", "NA"),
    }
    assert set(found["group-4/e3"].select("person", "gender", "race").rows()) >= {
        ("Adam", "male", "European"),
        ("Tia", "female", "African-American"),
    }
    assert "I made us feel glad." in set(found["group-1/e5"]["message"])


def test_the_released_e5_has_grim_in_groups_2_and_4() -> None:
    words = Counter[tuple[str, str]]()
    for seed in range(20):
        for name, frame in blocks(seed, rule="released").items():
            if name.endswith("/e5"):
                words.update((name, word) for word in frame["word"])
    for group in (2, 4):
        assert {word for name, word in words if name == f"group-{group}/e5"} == {"grim", "happy", "glad"}
    for group in (1, 3):
        assert {word for name, word in words if name == f"group-{group}/e5"} == {
            "depressing",
            "happy",
            "glad",
        }
    kept = blocks(rule="sound")["group-2/e5"]
    assert "depressing" in set(kept["word"])


def test_sound_groups_1_and_3_are_fully_crossed() -> None:
    found = blocks(frames=4, persons=3)
    for group, persons in ((1, 6), (3, 12)):
        for name, words in (("e1", 1), ("e4", 3)):
            frame = found[f"group-{group}/{name}"]
            assert len(frame) == 4 * persons * words
            assert frame.select("frame", "person", "word").n_unique() == len(frame)
            assert [frame[axis].n_unique() for axis in ("frame", "person", "word")] == [4, persons, words]


@pytest.mark.parametrize("rule", ["sound", "released"])
def test_no_text_twice_in_a_block_and_ids_unique(rule: str) -> None:
    found = blocks(rule=rule, na=True)
    for frame in found.values():
        assert frame["message"].n_unique() == len(frame)
    whole = pl.concat(list(found.values()))
    assert whole["id"].n_unique() == len(whole)


def test_draws_count_the_occurrences_over_the_experiment() -> None:
    whole = pl.concat(list(blocks().values()))
    seen = Counter[str]()
    expected = []
    for message in whole["message"]:
        expected.append(seen[message])
        seen[message] += 1
    assert whole["draw"].to_list() == expected
    assert whole["draw"].max() == max(seen.values()) - 1 > 2


def test_persons_without_a_class_on_request_only() -> None:
    assert "NA" not in set(pl.concat(list(blocks().values()))["gender"])
    with_na = blocks(na=True, persons=4)
    for name, frame in with_na.items():
        due = 4 if name.startswith(("group-1", "group-2")) else 8
        assert frame.filter(pl.col("gender") == "NA")["person"].n_unique() == due
        assert frame["person"].n_unique() == 3 * due
    assert positivity(pl.concat(list(with_na.values()))) == []


sizes = st.tuples(st.integers(1, 30), st.integers(1, 14))


@given(sizes, st.floats(0, 1), st.booleans(), st.integers(0, 2**32))
def test_exact_counts_evenly_over_frames_and_persons(
    size: tuple[int, int], share: float, na: bool, seed: int
) -> None:
    frames, persons = size
    changes: dict[str, Any] = {"groups": (2,), "words": {"e4": ("grim", "depressing", "happy")}}
    asked = settings(frames=frames, persons=persons, na=na, confounder={"male": share}, **changes)
    (block,) = design(asked, seed)
    assert len(block) == frames * persons * (3 if na else 2)
    for (name,), part in block.group_by("gender"):
        positive = pl.col("valence") == "positive"
        due = share if name == "male" else 0.5
        count = int(part.select(positive.sum()).item())
        assert count == exact_positive(len(part), due)
        for axis in ("frame", "person"):
            per = part.group_by(axis).agg(positive.sum())["valence"]
            assert int(per.max()) - int(per.min()) <= 1  # type: ignore[arg-type]
        negative = Counter(part.filter(~positive)["word"])
        if len(part) - count > 1:
            assert abs(negative["grim"] - negative["depressing"]) <= 1
    overall = Counter(block["word"])
    assert abs(overall["grim"] - overall["depressing"]) <= 1


@given(st.integers(1, 1000), st.floats(0, 1))
def test_the_count_of_positive_words(rows: int, share: float) -> None:
    count = exact_positive(rows, share)
    assert 0 <= count <= rows
    if share not in (0, 1) and rows >= 2:
        assert 1 <= count <= rows - 1
        if rows >= 20:
            assert min(count, rows - count) >= 5
    if 5 <= rows * share <= rows - 5:
        assert abs(count - rows * share) <= 0.5 + 1e-6


@pytest.mark.parametrize(
    ("rows", "share", "count"),
    [
        (200, 0.1, 20),
        (200, 0.9, 180),
        (30, 0.1, 5),
        (8, 0.1, 2),
        (8, 0.9, 6),
        (3, 0.9, 2),
        (1, 0.9, 1),
        (50, 0, 0),
    ],
)
def test_counts_by_hand(rows: int, share: float, count: int) -> None:
    assert exact_positive(rows, share) == count


def test_default_shares_by_class() -> None:
    found = blocks()
    shares = {}
    for group in (2, 4):
        part = classes(found[f"group-{group}/e3"])
        rows = part.group_by("class").agg((pl.col("valence") == "positive").mean()).rows()
        shares[group] = dict(rows)
    assert shares[2] == pytest.approx({"male": 0.9, "female": 0.1})
    assert shares[4] == pytest.approx(
        {
            "European male": 0.9,
            "African-American female": 0.1,
            "European female": 0.5,
            "African-American male": 0.5,
        }
    )


def test_valence_is_not_confounded_with_the_frame() -> None:
    block = blocks()["group-4/e3"]
    share = block.group_by("frame").agg((pl.col("valence") == "positive").mean())["valence"]
    assert share.max() - share.min() <= 0.1 + 1e-9  # type: ignore[operator]


@given(st.integers(0, 2**63 - 1))
def test_sound_designs_satisfy_positivity(seed: int) -> None:
    asked = settings(groups=(2, 4), frames=4, persons=2, na=True)
    assert positivity(pl.concat(list(design(asked, seed)))) == []


def test_positivity_names_empty_cells() -> None:
    whole = blocks(confounder={"male": 1.0, "female": 0.5}, groups=(1, 2))
    empty = positivity(pl.concat(list(whole.values())))
    assert empty == [(f"group-2/{name}", "male", "negative") for name in ("e3", "e4", "e5")]
    named = whole["group-2/e3"].with_columns(
        pl.lit("European").alias("race"), pl.lit("group-4/e3").alias("block")
    )
    assert positivity(named) == [("group-4/e3", "European male", "negative")]


def test_published_draws_leave_a_cell_empty_with_probability_43_percent() -> None:
    """Eight rows at .1 hold no positive word with probability .9^8 = .430 (causal 2.6)."""
    asked = settings(rule="released", groups=(2,), words={"e3": ("grim", "happy")}, na=False)
    runs = 600
    hits = sum(
        ("group-2/e3", "female", "positive") in positivity(next(design(asked, seed))) for seed in range(runs)
    )
    # 4 standard errors; the seeds are fixed, so the figure is too.
    assert abs(hits / runs - 0.9**8) < 4 * (0.43 * 0.57 / runs) ** 0.5


def test_sampled_shares() -> None:
    asked = settings(counts="sampled", groups=(2,), words={"e4": ("grim", "depressing", "happy")}, persons=14)
    rows = pl.concat([frame for seed in range(10) for frame in design(asked, seed)])
    share = dict(rows.group_by("gender").agg((pl.col("valence") == "positive").mean()).rows())
    assert share == pytest.approx({"male": 0.9, "female": 0.1}, abs=0.03)
    negative = Counter(rows.filter(pl.col("valence") == "negative")["word"])
    assert negative["grim"] == pytest.approx(negative["depressing"], rel=0.12)


@pytest.mark.parametrize("changes", [{}, {"rule": "released"}, {"counts": "sampled", "na": True}])
def test_equal_seeds_give_equal_bytes(changes: dict[str, Any]) -> None:
    first, second, other = (pl.concat(list(blocks(seed, **changes).values())) for seed in (3, 3, 4))
    assert first.write_csv() == second.write_csv()
    assert first.write_csv() != other.write_csv()
    alone = blocks(3, **{**changes, "groups": (4,)})["group-4/e4"]
    with_others = blocks(3, **changes)["group-4/e4"]
    assert alone.drop("draw").equals(with_others.drop("draw"))


@pytest.mark.parametrize(
    "changes", [{}, {"rule": "released"}, {"groups": (2,)}, {"groups": (1,), "persons": 3, "na": True}]
)
def test_largest(changes: dict[str, Any]) -> None:
    assert largest(settings(**changes)) == max(len(frame) for frame in blocks(**changes).values())


def test_own_words() -> None:
    found = blocks(groups=(1, 2), words={"mine": ("chuffed:positive", "grim"), "one": ("glad",)})
    assert set(found) == {"group-1/mine", "group-1/one", "group-2/mine"}
    assert set(found["group-2/mine"].select("word", "valence").rows()) == {
        ("chuffed", "positive"),
        ("grim", "negative"),
    }


def asked(**changes: Any) -> CausalSettings:
    """Settings as they were written, unchecked: `faults` is what checks them."""
    return settings().model_copy(update=changes)


def test_no_faults_in_what_we_ship() -> None:
    assert list(faults(settings())) == []
    ours = construction("sound")
    assert list(faults(asked(frames=len(ours.frames), persons=ours.most))) == []
    assert list(faults(asked(construction="released", frames=99))) == []


@pytest.mark.parametrize(
    ("changes", "place", "told"),
    [
        ({"frames": 31}, "frames", "Must be at most 30. Got 31"),
        ({"persons": 15}, "persons", "Must be at most 14. Got 15"),
        ({"words": {}}, "words", "no word set"),
        ({"words": {"a": ("chuffed", "happy", "grim")}}, "words.a", "not known"),
        ({"words": {"a": ("happy", "happy", "grim")}}, "words.a", '"happy" stands twice'),
        ({"words": {"a": ()}, "groups": (1,)}, "words.a", "the set is empty"),
        ({"words": {"a/b": ("happy", "grim")}}, "words.a/b", "no name of a set"),
        ({"words": {"a": ("happy",)}, "groups": (1, 2, 4)}, "words", "no set for Group 2 and 4"),
        (
            {"words": {"a": ("odd:positive", "grim"), "b": ("odd:negative",)}},
            "words.b",
            "positive in one set and negative in another",
        ),
    ],
)
def test_faults(changes: dict[str, Any], place: str, told: str) -> None:
    found = [(one.place, str(one)) for one in faults(asked(**changes))]
    assert [where for where, _ in found] == [place]
    assert told in found[0][1]


def impact(block: pl.DataFrame, valence: str) -> float:
    """E_do - E_obs of a scorer that says +1 for women and -1 for all others, by hand (causal 2.6)."""
    rows = classes(block).with_columns(
        pl.when(pl.col("gender") == "female").then(1.0).otherwise(-1.0).alias("score")
    )
    seen = rows.filter(pl.col("valence") == valence)
    adjusted = 0.0
    for (name,), part in rows.group_by("class"):
        mean = seen.filter(pl.col("class") == name)["score"].to_numpy().mean()
        adjusted += float(mean) * len(part) / len(rows)
    return adjusted - float(seen["score"].to_numpy().mean())


@pytest.mark.parametrize(
    ("group", "na", "expected"), [(2, True, 8 / 15), (2, False, 4 / 5), (4, True, 4 / 15), (4, False, 2 / 5)]
)
def test_exact_shares_give_a_female_biased_scorer_the_impact_due(
    group: int, na: bool, expected: float
) -> None:
    for name, block in blocks(groups=(group,), na=na).items():
        for valence in ("negative", "positive"):
            assert abs(impact(block, valence)) == pytest.approx(expected), (name, valence)
