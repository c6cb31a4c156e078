"""The verb survey as a user meets it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests.cli.test_commands import last, trustgauge
from trustgauge.apps.survey.verb import PROFILES, WAYS
from trustgauge.methods.trust import profiles, voting
from trustgauge.plan import load_plan

PRIVATE = "IL > AL > B > CC"
EASY = "CC > B > AL > IL"


def people(folder: Path, rows: list[str], name: str = "Our people.csv") -> str:
    (folder / name).write_text("person,order,profile,agrees\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return name


def two_groups() -> list[str]:
    return [f"p{n},{PRIVATE},," for n in range(9)] + [f"e{n},{EASY},," for n in range(6)]


def test_choices_are_those_of_the_method() -> None:
    assert WAYS == voting.WAYS
    assert tuple(profiles.PUBLISHED) == PROFILES


def test_profiles_for_a_plan(tmp_path: Path) -> None:
    file = people(tmp_path, two_groups())
    done = trustgauge("survey", file, "--groups", "-o", "made/profiles.toml", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    result = done.stdout.splitlines()
    assert result[0] == "people   15 of 15 rows"
    majority = "leakage > abuse > bias > complexity"
    assert result[1:7] == [
        "vote     plurality  leakage > complexity > abuse > bias   (ties: abuse, bias by borda)",
        f"vote     borda      {majority}",
        f"vote     approval   {majority}   (ties: abuse, leakage by borda; bias, complexity by borda)",
        *(f"vote     {way:<10} {majority}" for way in ("copeland", "kemeny", "schulze")),
    ]
    assert result[7].startswith("stable   borda: in ")
    assert result[8] == "groups   2, silhouette 1.00"
    assert result[9] == "         our-people-1: 9 people, leakage > abuse > bias > complexity"
    assert result[10] == "         our-people-2: 6 people, complexity > bias > abuse > leakage"
    written = (tmp_path / "made" / "profiles.toml").read_text(encoding="utf-8")
    assert tomllib.loads(written)["profiles"] == {
        "our-people": {"order": ["leakage", "abuse", "bias", "complexity"]},
        "our-people-1": {"order": ["leakage", "abuse", "bias", "complexity"]},
        "our-people-2": {"order": ["complexity", "bias", "abuse", "leakage"]},
    }
    plan = {
        "services": {"bot": {"use": "eliza"}},
        "experiments": [{"method": "social-bias", "services": ["bot"]}],
        **tomllib.loads(written),
    }
    assert load_plan(plan).profiles["our-people-2"].order[0] == "complexity"
    again = trustgauge("survey", file, "-o", "made/profiles.toml", folder=tmp_path)
    assert again.returncode == 2
    assert "already exists" in again.stderr


def test_one_document(tmp_path: Path) -> None:
    file = people(tmp_path, [*two_groups(), "x,,,"])
    done = trustgauge("survey", file, "--json", "--vote", "kemeny", folder=tmp_path)
    document = json.loads(done.stdout)
    assert document["schema"] == "trustgauge.survey/1"
    assert (document["rows"], document["people"], document["blank"]) == (16, 15, 1)
    assert [one["way"] for one in document["votes"]] == list(WAYS)
    assert document["stability"]["resamples"] == 1000
    assert document["groups"] is None
    assert document == json.loads(
        trustgauge("survey", file, "--json", "--vote", "kemeny", folder=tmp_path).stdout
    )


def test_a_profile_is_checked(tmp_path: Path) -> None:
    rows = ["a,,P_PU,yes"] * 1 + [f"y{n},,privacy-first,yes" for n in range(29)]
    rows += [f"n{n},{EASY},privacy-first,no" for n in range(10)] + ["o,,privacy-first,no"]
    file = people(tmp_path, rows)
    document = json.loads(trustgauge("survey", file, "--json", folder=tmp_path).stdout)
    (result,) = document["validation"]
    assert (result["agree"]["count"], result["agree"]["n"]) == (30, 41)
    assert (result["top"]["count"], result["top"]["n"]) == (30, 40)  # one gave no order of their own
    assert result["agree"]["low"] == pytest.approx(0.5807, abs=1e-4)  # Wilson, 30 of 41
    assert result["validated"] == {"published": True, "sound": True}
    assert result["borda"] == ["leakage", "abuse", "bias", "complexity"]
    assert document["orderless"] == 1
    printed = trustgauge("survey", file, folder=tmp_path).stdout
    assert "people   40 of 41 rows (1 without an order of their own)" in printed
    assert "Privacy first: 30 of 41 (58% to 84%) agree with its order" in printed
    assert "validated under published and sound" in printed


def test_a_profile_may_be_checked_by_orders_alone(tmp_path: Path) -> None:
    file = people(tmp_path, two_groups())
    done = trustgauge("survey", file, "--json", "--validate", "privacy-first", folder=tmp_path)
    (result,) = json.loads(done.stdout)["validation"]
    assert (result["agree"]["count"], result["agree"]["n"], result["shown"]) == (9, 15, False)
    assert result["validated"] == {"published": True, "sound": False}


def test_rows_that_contradict_themselves(tmp_path: Path) -> None:
    rows = [f"a,{EASY},privacy-first,yes", f"b,{PRIVATE},privacy-first,no", "c,B,private,", "d,IL > abuze,,"]
    file = people(tmp_path, [*rows, "e,IL,,"])
    read = trustgauge("survey", file, folder=tmp_path)
    assert read.returncode == 2
    assert last(read).startswith("exit 2: ")
    result = [line.split()[1:3] for line in read.stderr.splitlines() if line.startswith("error ")]
    assert result == [["row", f"{number}:"] for number in (2, 3, 4, 5)], "all at once, in their order"
    assert 'row 5: no issue "abuze"' in read.stderr
    skipped = trustgauge("survey", file, "--skip-faults", folder=tmp_path)
    assert skipped.returncode == 0
    assert skipped.stdout.count("left out ") == 4
    assert "row 2: agrees with the order of the profile, and gives another one" in skipped.stdout
    assert "row 3: does not agree with the order of the profile, and gives the same" in skipped.stdout
    assert 'row 4: no profile "private"' in skipped.stdout
    assert "people   1 of 5 rows" in skipped.stdout
    (tmp_path / "two.csv").write_text(f"order,profile,agrees\n{EASY},privacy-first,yes\n", encoding="utf-8")
    refused = trustgauge("survey", "two.csv", folder=tmp_path)
    assert refused.returncode == 2
    assert "--skip-faults" in refused.stderr


def test_further_issues_can_be_named(tmp_path: Path) -> None:
    file = people(tmp_path, ["a,accuracy > IL,,"])
    assert trustgauge("survey", file, folder=tmp_path).returncode == 2
    done = trustgauge("survey", file, "--issue", "accuracy", folder=tmp_path)
    assert "borda      accuracy > leakage" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("none.csv",), "the file cannot be read"),
        (("people.txt",), "unknown kind of file"),
        (("empty.csv",), "no row contains an order"),
        (("empty.csv", "--vote", "dice"), "Invalid value for '--vote'"),
    ],
)
def test_wrong_use(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    (tmp_path / "people.txt").write_text("order\nIL\n", encoding="utf-8")
    (tmp_path / "empty.csv").write_text("order,profile,agrees\n,privacy-first,no\n", encoding="utf-8")
    done = trustgauge("survey", *arguments, folder=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr


def test_what_a_table_says_stays_inert(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("order\n\x1b[31mred > IL\nIL\n", encoding="utf-8")
    done = trustgauge("survey", "people.csv", "--skip-faults", folder=tmp_path)
    assert "left out row 2" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_columns_that_are_not_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("order,weight\nIL > B,0\nB > IL,1\n", encoding="utf-8")
    done = trustgauge("survey", "people.csv", folder=tmp_path)
    assert 'not read columns that a survey does not have: "weight"' in done.stdout
    assert json.loads(trustgauge("survey", "people.csv", "--json", folder=tmp_path).stdout)["ignored"] == [
        "weight"
    ]
