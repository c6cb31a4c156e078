"""Comparisons of real runs: ties, tables of their own, two dates of a service, what cannot be ranked."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.run.comparisons import BEHAVIOURS, causal, codes, compared, pairs, ranks, rated, two_step
from tests.run.plans import faithful, translator_plan
from tests.run.test_path import WrongControls
from tests.servers import LocalServer, Request, Response, toy_translation
from trustgauge.errors import PlanError
from trustgauge.plan import load_plan
from trustgauge.reports import paired
from trustgauge.reports.comparison import remarks, versions
from trustgauge.reports.comparison_model import NO_DIFFERENCE
from trustgauge.reports.document import is_same_place
from trustgauge.run.options import RunOptions
from trustgauge.run.paired_ratings import compare_ratings
from trustgauge.run.rating_diff import _direction
from trustgauge.run.run import rate
from trustgauge.run.verify import evidence_of_run

Serve = Callable[..., LocalServer]
Shelve = Callable[..., Path]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run of five services of known behaviour."""
    made = tmp_path_factory.mktemp("ratings")
    rated(two_step(), made)
    return made


TWO = {"identity": "identity", "all-he": "all-he"}
ALONE = {"alone": "identity"}


@pytest.fixture(scope="module")
def shelve(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`shelve(folder, services, texts=60)` puts a run of them into a folder; each is made once and copied."""

    @functools.cache
    def run_of(services: tuple[tuple[str, str], ...], texts: int) -> Path:
        return rated(two_step(dict(services), texts=texts), tmp_path_factory.mktemp("shelved")).folder

    def shelve(folder: Path, services: Mapping[str, str], texts: int = 60) -> Path:
        one = run_of(tuple(services.items()), texts)
        return Path(shutil.copytree(one, folder / one.name))

    return shelve


def test_services_are_ranked_with_ties_and_a_copy_is_not_told_apart(folder: Path) -> None:
    (group,) = compared(folder)["groups"]
    assert ranks(group) == {"identity": "=1", "copy": "=1", "half": "3", "all-he": "4", "edge": None}
    badness = [row["rank"]["badness"] for row in group["rows"] if row["rank"]]
    assert badness == pytest.approx([0, 0, 0.25, 0.5], abs=0.06)
    same = pairs(group)["copy", "identity"]
    assert (same["difference"], same["sign"], same["verdict"]) == (0, "=", "same")
    apart = pairs(group)["all-he", "identity"]
    assert (apart["sign"], apart["verdict"], apart["found"]) == ("worse", "different", True)
    assert apart["low"] > 0.1


def test_what_is_not_settled_is_shown_and_not_ranked(folder: Path) -> None:
    (group,) = compared(folder)["groups"]
    edge = next(row for row in group["rows"] if row["rating"]["service"]["name"] == "edge")
    assert edge["rating"]["state"] == "not settled"
    assert edge["rank"] is None
    order = {name: place for place, name in enumerate(("UCS", "DSBS", "BS"))}
    places = [order[row["rating"]["overall"]["level"]] for row in group["rows"]]
    assert places == sorted(places)  # nobody who is known to be worse stands above it
    assert not any(one["settled"] for names, one in pairs(group).items() if "edge" in names)
    assert all(one["settled"] for names, one in pairs(group).items() if "edge" not in names)
    assert codes(group["notes"]) == ["compare.not-settled"]


def test_texts_that_were_asked_twice_count_once(folder: Path) -> None:
    (group,) = compared(folder)["groups"]
    assert group["texts"] == 3 * 60


def test_one_settled_rating_alone_has_no_rank(tmp_path: Path) -> None:
    rated(two_step({"edge": "edge", "identity": "identity"}), tmp_path)
    (group,) = compared(tmp_path)["groups"]
    assert ranks(group) == {"identity": None, "edge": None}
    assert codes(group["notes"]) == ["compare.not-settled", "compare.no-order"]
    assert len(group["pairs"]) == 1


def test_who_exchanges_values_shares_the_first_place_and_it_is_said(tmp_path: Path) -> None:
    plan = two_step({"kept": "identity"})
    plan["services"]["turned"] = {"use": "anchor", "behaviour": "swap"}
    plan["experiments"][0]["services"].append("turned")
    rated(plan, tmp_path)
    (group,) = compared(tmp_path)["groups"]
    assert ranks(group) == {"kept": "=1", "turned": "=1"}
    (note,) = [one for one in group["notes"] if one["code"] == "compare.exchanged"]
    assert note["facts"] == {"services": ["turned"]}
    assert "Each value becomes the other, which changes no balance and no place here: turned." in remarks(
        group
    )


def test_every_pair_stands_once_and_its_shares_add_up(folder: Path) -> None:
    (group,) = compared(folder)["groups"]
    assert len(group["pairs"]) == 10
    assert len({frozenset((one["first"], one["second"])) for one in group["pairs"]}) == 10
    for one in group["pairs"]:
        assert 0 <= one["p_worse"] + one["p_better"] <= 1
        assert one["low"] <= one["difference"] <= one["high"]


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(["identity", "copy", "half", "all-he"]))
def test_the_order_of_services_changes_no_rank_and_no_difference(
    order: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    made = tmp_path_factory.mktemp("permuted")
    rated(two_step({name: name for name in order}), made)
    (group,) = compared(made)["groups"]
    assert ranks(group) == {"identity": "=1", "copy": "=1", "half": "3", "all-he": "4"}
    result = pairs(group)
    assert result["all-he", "half"]["difference"] == pytest.approx(0.25, abs=0.05)
    both = [one for names, one in result.items() if set(names) == {"copy", "identity"}]
    assert [one["difference"] for one in both] == [0]


def test_names_of_services_do_not_matter(tmp_path: Path) -> None:
    """Swapping the names of two services turns their pair around."""
    result = []
    for number, named in enumerate(({"a": "identity", "b": "half"}, {"a": "half", "b": "identity"})):
        rated(two_step(named), tmp_path / str(number))
        (group,) = compared(tmp_path / str(number))["groups"]
        result.append((ranks(group), next(iter(group["pairs"]))))
    assert result[0][0] == {"a": "1", "b": "2"}
    assert result[1][0] == {"b": "1", "a": "2"}
    assert result[0][1]["difference"] == pytest.approx(result[1][1]["difference"], abs=0.06)
    assert result[0][1]["sign"] == result[1][1]["sign"] == "worse"


def test_other_rules_and_other_texts_stand_in_tables_of_their_own(shelve: Shelve, tmp_path: Path) -> None:
    shelve(tmp_path, TWO)
    shelve(tmp_path, TWO, texts=40)
    rated(two_step(TWO, rule="published"), tmp_path)
    result = compared(tmp_path)
    assert len(result["groups"]) == 3
    assert codes(result["notes"]) == ["compare.separate"]
    differs = [group["differs"] for group in result["groups"]]
    assert differs.count([]) == 1
    assert all("texts asked" in one for one in differs if one)
    assert any("rule" in one for one in differs)
    assert any("texts" in one for one in differs)
    only = compared(tmp_path, rule="published")
    assert [group["rule"] for group in only["groups"]] == ["published"]
    assert compared(tmp_path, states=("incomplete", "rated"))["groups"]
    with pytest.raises(PlanError, match="no ratings with rule released"):
        compared(tmp_path, rule="released")


def test_two_runs_with_the_same_texts_share_a_ranking(shelve: Shelve, tmp_path: Path) -> None:
    one = shelve(tmp_path, ALONE).name
    other = rated(two_step({"all-he": "all-he"}), tmp_path).folder.name
    result = compared(tmp_path, one, other)
    (group,) = result["groups"]
    assert ranks(group) == {"alone": "1", "all-he": "2"}
    assert result["dates"] == []
    assert result == compared(tmp_path, other, one)
    alone = compared(tmp_path, one)["groups"][0]
    assert (alone["ranked"], alone["pairs"], ranks(alone)) == (False, [], {"alone": None})


@pytest.fixture(scope="module")
def dates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Three runs of one service: it changes half of the texts, then none, then what it did at first."""
    made = tmp_path_factory.mktemp("dates")
    first, second = (rated(two_step({"mine": kind}), made).folder for kind in ("half", "identity"))
    return first, second, rated(two_step({"mine": "half"}), made, fresh=True).folder


def test_two_dates_of_one_service_tell_what_changed_both_ways(dates: tuple[Path, Path, Path]) -> None:
    first, second, _ = dates
    better = _between(first.parent, first, second)
    assert better["changed"]
    assert not better["same_service"]
    assert better["same_texts"]
    wrong = _changed(first)
    readings = better["readings"]
    assert wrong
    assert (readings["compared"], readings["flipped"]) == (180, len(wrong))
    assert readings["directions"] == {"right": len(wrong)}
    assert len(readings["examples"]) == 5
    assert {one["id"] for one in readings["examples"]} <= wrong
    example = readings["examples"][0]
    assert example["read_after"] != example["read_before"]
    assert example["after"] == example["sent"]
    assert better["difference"]["sign"] == "better"
    assert better["difference"]["difference"] == pytest.approx(-0.25, abs=0.06)
    assert better["difference"]["verdict"] == "different"


def test_a_change_for_the_worse_is_the_reverse(dates: tuple[Path, Path, Path]) -> None:
    _, before, after = dates
    worse = _between(before.parent, before, after)
    assert worse["readings"]["directions"] == {"wrong": len(_changed(after))}
    assert worse["difference"]["sign"] == "worse"
    (group,) = compared(before.parent)["groups"]
    assert [row["run"] for row in group["rows"]] == [worse["after"]["run"]]
    assert codes(group["notes"])[-1] == "compare.older"


def test_of_both_ways_what_goes_wrong_is_shown_first(dates: tuple[Path, Path, Path], tmp_path: Path) -> None:
    first = Path(shutil.copytree(dates[0], tmp_path / dates[0].name))
    mixed = rated(two_step({"mine": "all-he"}), tmp_path).folder
    readings = _between(tmp_path, first, mixed)["readings"]
    shown = [one["direction"] for one in readings["examples"]]
    assert shown == sorted(shown, key=["wrong", "right", "otherwise"].index)
    assert len(set(shown)) > 1


def test_what_was_not_read_did_not_come_right(serve: Serve, tmp_path: Path) -> None:
    """First each She becomes He, then a name, which the reader does not know."""
    said = {"She": "He"}

    def answer(request: Request) -> Response:
        asked = request.json()
        text = toy_translation(asked["q"], asked["source"], asked["target"])
        if asked["target"] == "en":
            for word, other in said.items():
                text = re.sub(rf"\b{word}\b", other, text)
        return Response.json({"translatedText": text})

    plan = translator_plan(serve(answer).url, texts=15)
    first = rated(plan, tmp_path).folder
    said["She"] = "Maria"
    again = rated(plan, tmp_path, fresh=True).folder
    readings = _between(tmp_path, first, again)["readings"]
    assert "right" not in readings["directions"]
    assert readings["unread"] > 0


def test_two_dates_without_a_change(dates: tuple[Path, Path, Path]) -> None:
    first, _, again = dates
    same = _between(first.parent, first, again)
    assert not same["changed"]
    assert same["same_service"]
    assert (same["readings"]["flipped"], same["readings"]["examples"]) == (0, [])
    assert same["difference"]["verdict"] == "same"


def test_two_dates_with_other_texts_compare_levels_only(
    dates: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    first = Path(shutil.copytree(dates[0], tmp_path / dates[0].name))
    larger = rated(two_step({"mine": "half"}, texts=80), tmp_path).folder
    one = _between(tmp_path, first, larger)
    assert (one["same_texts"], one["readings"], one["difference"]) == (False, None, None)
    assert one["differs"] == ["texts"]


def test_another_address_under_one_key_is_not_called_a_change_of_the_service(
    serve: Serve, tmp_path: Path
) -> None:
    first = rated(translator_plan(serve(faithful).url, texts=15), tmp_path).folder
    elsewhere = translator_plan(serve(faithful).url, texts=15)
    second = rated(elsewhere, tmp_path).folder
    between = "Two services of one key: their address, model or way there and back differs"
    assert versions(_between(tmp_path, first, second)) == f"{between}; the settings are the same."  # type: ignore[arg-type]
    third = rated(
        translator_plan(elsewhere["services"]["mine"]["translator"]["url"], texts=20), tmp_path
    ).folder
    (one,) = compared(tmp_path)["dates"]
    assert (one["before"]["run"], one["after"]["run"]) == (second.name, third.name)


def test_documents_of_before_tell_by_fingerprint_or_kind_what_was_asked() -> None:
    def alike(one: dict[str, str], other: dict[str, str]) -> bool:
        old = {"kind": "a", "provider": "", "version": "", "fingerprint": "1"}
        before, after = cast("Any", old | one), cast("Any", old | other)
        return is_same_place(before, after)

    assert alike({}, {"kind": "b"})
    assert not alike({}, {"fingerprint": "2"})
    assert alike({"version": "1"}, {"fingerprint": "2"})
    assert not alike({"version": "1"}, {"fingerprint": "2", "kind": "b"})
    assert alike({"talked_with": "3"}, {"fingerprint": "2"})
    assert alike({"place": "p"}, {"place": "p", "fingerprint": "2"})
    assert not alike({"place": "p"}, {"place": "q"})


def _between(ratings: Path, first: Path, second: Path) -> dict[str, Any]:
    """The two dates of the only service, which must be found in this order whatever is named first."""
    (one,) = compared(ratings, second.name, first.name)["dates"]
    assert (one["before"]["run"], one["after"]["run"]) == (first.name, second.name)
    return dict(one)


def _changed(folder: Path) -> set[str]:
    """Texts of a run that were not read as sent."""
    rows = evidence_of_run(folder).iter_rows(named=True)
    return {row["id"] for row in rows if row["values_in"] != row["values_out"]}


def test_a_bot_that_became_abusive_is_read_otherwise_and_cannot_be_subtracted(tmp_path: Path) -> None:
    few = {"issue": "abuse", "scenes": 8}
    one: dict[str, Any] = {"method": "trust", "services": ["bot"], "issues": [few], "talks": 4}
    one |= {"profiles": ["mine"], "orders": {"mine": ["abuse"]}, "resamples": 1000}
    plan: dict[str, Any] = {"seed": 3, "experiments": [one]}
    runs: list[Path] = []
    for brain in ("clean", "abusive"):
        plan["services"] = {"bot": {"use": "rivescript", "brain": brain}}
        runs.append(rated(plan, tmp_path).folder)
    readings = _between(tmp_path, *runs)["readings"]
    insults = evidence_of_run(runs[1]).filter(pl.col("abuse_score") > 0).height
    assert 0 < insults < readings["compared"]
    assert (readings["flipped"], readings["directions"]) == (insults, {"wrong": insults})
    example = readings["examples"][0]
    assert (example["read_before"], example["read_after"]) == (["abuse 0.0"], ["abuse 0.5"])
    document = compare_ratings(tmp_path, runs[0].name, runs[1].name, date(2026, 12, 1))
    (pair,) = document["ratings"]
    assert pair["why"] == NO_DIFFERENCE
    assert paired.following(pair, 0.05).startswith('Set checker = "sentences"')


def test_of_a_method_that_names_no_reading_answers_are_compared() -> None:
    nothing = pl.lit(None, pl.List(pl.String))
    rows = pl.DataFrame({"back": ["a", "b", None], "back_then": ["a", "c", None]}).with_columns(
        values_out=nothing, values_out_then=nothing, changed=False, changed_then=False
    )
    assert rows.select(_direction(scored=False))["literal"].to_list() == [None, "otherwise", None]


def test_the_parts_that_changed_come_first(serve: Serve, tmp_path: Path) -> None:
    server = serve(faithful)
    plan = translator_plan(server.url, texts=20, via=("es", "fr"))
    first = rated(plan, tmp_path).folder
    plan["services"]["mine"]["via"] = ["es", "tr"]
    second = rated(plan, tmp_path).folder
    one = _between(tmp_path, first, second)
    parts = {part["key"]: (part["before"], part["after"]) for part in one["parts"]}
    assert [part["changed"] for part in one["parts"]] == [True, True, False]
    assert parts["fr"][1] is None
    assert parts["tr"][0] is None
    assert parts["tr"][1]["level"] == "BS"
    assert one["readings"]["compared"] == 60


def test_scores_move_up_and_down(tmp_path: Path) -> None:
    first = rated(causal({"mine": "constant", "word": "word-only"}), tmp_path).folder
    second = rated(causal({"mine": "female-biased", "word": "word-only"}), tmp_path).folder
    result = compared(tmp_path)
    mine = next(one for one in result["dates"] if one["service"] == "mine")
    (base,) = set(_scores(first))
    scores = _scores(second)
    assert mine["readings"]["directions"] == {
        "up": sum(score > base for score in scores),
        "down": sum(score < base for score in scores),
    }
    assert mine["difference"]["sign"] == "worse"
    word = next(one for one in result["dates"] if one["service"] == "word")
    assert word["readings"]["flipped"] == 0
    (group,) = result["groups"]
    assert ranks(group) == {"word": "1", "mine": "2"}
    assert group["margin"] == 0.05


def test_a_service_whose_scores_have_another_range_takes_no_rank_from_the_others(tmp_path: Path) -> None:
    """Nothing was read of it, so nothing of all in common: no service had a rank, and no two a difference."""
    (tmp_path / "stars.py").write_text("def score(text):\n    return 4 if 'happy' in text else 2\n")
    plan = causal({"biased": "female-biased", "word": "word-only"})
    stars = {"use": "function", "function": "stars:score", "folder": str(tmp_path), "task": "score"}
    plan["services"]["stars"] = {**stars, "deterministic": True, "revision": "1"}
    plan["experiments"][0]["services"].append("stars")
    rated(plan, tmp_path / "ratings")
    (group,) = compared(tmp_path / "ratings")["groups"]
    assert ranks(group) == {"word": "1", "biased": "2", "stars": None}
    assert set(pairs(group)) == {("biased", "word")}
    assert "compare.not-settled" in codes(group["notes"])


def test_a_noisy_scorer_without_effect_is_not_worse_than_one_without_noise(tmp_path: Path) -> None:
    """Its largest effect is above 0 by chance alone, in each resample."""
    plan = causal({"noisy": "random", "word": "word-only", "biased": "female-biased"})
    rated(plan, tmp_path)
    (group,) = compared(tmp_path)["groups"]
    between = pairs(group)
    apart = between.get(("noisy", "word")) or between["word", "noisy"]
    assert apart["sign"] == "="
    assert apart["low"] <= 0.0 <= apart["high"]
    assert ("biased", "word") in between
    assert between["biased", "word"]["sign"] == "worse"


def _scores(folder: Path) -> list[float]:
    rows = evidence_of_run(folder).iter_rows(named=True)
    return [row["score"] for row in rows if row["service"] == "mine"]


def test_an_incomplete_rating_has_no_rank(serve: Serve, shelve: Shelve, tmp_path: Path) -> None:
    server = serve(faithful)
    plan = translator_plan(server.url, texts=40, budget={"calls": 70})
    rated(plan | {"seed": 3}, tmp_path)
    shelve(tmp_path, TWO, texts=40)
    (group,) = compared(tmp_path)["groups"]
    assert ranks(group) == {"identity": "1", "all-he": "2", "mine": None}
    stopped = group["rows"][-1]
    assert stopped["rating"]["state"] == "incomplete"
    assert stopped["stopped"].startswith("limit reached")
    assert "compare.incomplete" in codes(group["notes"])
    assert len(group["pairs"]) == 1


def test_a_void_run_and_one_without_its_answers_are_told(
    serve: Serve, shelve: Shelve, tmp_path: Path
) -> None:
    server = serve(faithful)
    plan = load_plan(translator_plan(server.url))
    broken = WrongControls.model_validate(plan.experiments[0].model_dump())
    void = rate(plan.model_copy(update={"experiments": (broken,)}), RunOptions(ratings=tmp_path)).folder
    shelve(tmp_path, TWO)
    gone = shelve(tmp_path, ALONE)
    for path in gone.iterdir():
        if path.name not in ("rating.json", "manifest.json"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    result = compared(tmp_path)
    notes = {one["code"]: one["facts"] for one in result["notes"]}
    assert notes["compare.void"] == {"run": void.name}
    assert notes["compare.unreadable"]["rating"] == gone.name
    shown = {name: rank for group in result["groups"] for name, rank in ranks(group).items()}
    assert shown == {"identity": "1", "all-he": "2", "alone": None}
    assert codes(compared(tmp_path, void.name)["notes"]) == ["compare.void"]


def test_expired_ratings_are_told(folder: Path) -> None:
    (group,) = compared(folder, today=date(2100, 1, 1))["groups"]
    assert all(row["expired"] for row in group["rows"])
    facts = next(one["facts"] for one in group["notes"] if one["code"] == "compare.expired")
    assert sorted(facts["services"]) == sorted(BEHAVIOURS)


def test_one_rating_of_a_run_can_be_named(folder: Path) -> None:
    run = next(folder.glob("TG-*")).name
    (group,) = compared(folder, f"{run}.3", f"{run}.1")["groups"]
    assert list(ranks(group)) == ["identity", "all-he"]
    with pytest.raises(PlanError):
        compared(folder, f"{run}.9")
    with pytest.raises(PlanError, match="no ratings to compare"):
        compared(folder / "empty")


def test_links_lead_to_the_report_of_a_rating(folder: Path, tmp_path: Path) -> None:
    (group,) = compared(folder, links=folder)["groups"]
    run = next(folder.glob("TG-*")).name
    assert {row["report"] for row in group["rows"]} == {f"{run}/report.html#r{n}" for n in range(1, 6)}
    (elsewhere,) = compared(folder, links=tmp_path)["groups"]
    for row in elsewhere["rows"]:
        assert (
            tmp_path / row["report"].partition("#")[0]
        ).resolve() == folder.resolve() / run / "report.html"
    latin = tmp_path / os.fsdecode("Läufe".encode("latin-1"))  # a name that is no UTF-8
    shutil.copytree(folder, latin)
    (moved,) = compared(latin, links=tmp_path)["groups"]
    assert moved["rows"][0]["report"].startswith(f"L%E4ufe/{run}/report.html#r")
    assert compared(folder)["groups"][0]["rows"][0]["report"] is None


def test_cost_and_latency_stand_beside_the_level(folder: Path) -> None:
    (group,) = compared(folder)["groups"]
    for row in group["rows"]:
        assert row["usd_per_1000"] == 0
        assert row["latency_median_ms"] >= 0


def test_other_texts_are_no_obstacle_where_no_texts_would_give_a_difference(tmp_path: Path) -> None:
    """Two logs never hold the same texts: to rate both by one plan and seed is no advice."""
    runs = []
    for bot in ("one", "two"):
        file = tmp_path / f"{bot}.jsonl"
        said = [
            {"dialog": f"d{n}", "speaker": who, "text": f"{text} {bot} {n}"}
            for n in range(12)
            for who, text in (("user", "Hello."), ("bot", "Good morning."))
        ]
        file.write_text("\n".join(map(json.dumps, said)))
        plan = {
            "services": {"bot": {"use": "dialogs", "dialogs": {"file": str(file)}}},
            "experiments": [{"method": "trust", "services": ["bot"], "issues": ["complexity"]}],
        }
        runs.append(rated(plan, tmp_path).folder.name)
    for pair in compare_ratings(tmp_path, runs[0], runs[1], date(2026, 12, 1))["ratings"]:
        assert pair["why"] == NO_DIFFERENCE
        assert paired.following(pair, 0.05) == "Rate it with more texts."
