"""The personalisation page as a file: what stands in it without its script."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.reports.hostile import NAME
from tests.reports.test_html import Reader
from tests.reports.trust_fixtures import PAPER, document_of, kept, rating
from trustgauge.methods.trust import personal_page
from trustgauge.methods.trust import profile_sentences as words
from trustgauge.run.profile_ratings import RULES, ProfileQuery, profile_rankings, rate_for_profile

DUMPED = {name: one.model_dump(mode="json") for name, one in RULES.items()}


def made(folder: Path, *documents: dict[str, Any], **whom: Any) -> str:
    found = rate_for_profile(kept(folder, *documents), ProfileQuery(**whom), date(2026, 12, 1))
    return personal_page.page(found, DUMPED, profile_rankings(found))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    ratings = [rating(name, issues) for name, issues in PAPER.items()]
    return made(tmp_path_factory.mktemp("kept"), document_of(*ratings), profile="privacy-first")


def test_without_a_script_one_order_and_every_profile_are_there(page: str) -> None:
    read = Reader(page).text
    for said in (
        "counts 3",
        "last place: not counted",
        "count rule (published): 3-2-1-0, ties to the worse",
        "Points: Low 6, Medium 0, High 0. In all 24 orders: 18 Low, 0 Medium, 6 High.",
        "Conversation complexity is High here but ranked last, so it is not counted.",
        "Information leakage is assumed, not measured.",
        "Medium · assumed",
        "Safe language",
    ):
        assert said in read
    cells = re.findall(r"<td>([^<]*risk\*?)</td>", page)
    assert len(cells) == 16
    assert cells[:4] == ["Low risk", "Medium risk*", "High risk", "High risk"]


def test_the_policy_allows_its_own_style_and_script_and_nothing_else(page: str) -> None:
    read = Reader(page)
    policy = next(facts["content"] for tag, facts in read.tags if tag == "meta" and facts.get("http-equiv"))
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)[0]
    for kind, inside in (("style-src", style), ("script-src", script)):
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in (policy or "")
    assert (policy or "").startswith("default-src 'none'")
    assert " style=" not in page
    assert not any(name.startswith("on") for _, facts in read.tags for name in facts)
    assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|eval\(|fetch\(|XMLHttp", script)


def test_the_page_is_small(page: str) -> None:
    assert len(page.encode()) < 100_000


def test_hostile_names_stay_inert(tmp_path: Path) -> None:
    document = document_of(rating("bad", PAPER["HR"]), rating("HR", PAPER["HR"]))
    for one in document["ratings"]:
        one["service"] |= {"name": NAME, "version": NAME}
        one["details"]["order"] = [["leakage"], [NAME]]
        one["issue"]["attribute"] = NAME
        one["parts"][1]["key"] = NAME
    page = made(tmp_path, document)
    read = Reader(page)
    assert not any(tag == "img" for tag, _ in read.tags)
    data = page.split('id="data">')[1].split("</script>")[0]
    assert "<" not in data
    assert json.loads(data)["services"][0]["issues"]


def test_services_measured_in_another_way_are_named_and_left_out(tmp_path: Path) -> None:
    other = document_of(rating("Stranger", PAPER["HR"], rule="sound"), id="TG-2026-1122-cccc")
    several = document_of(*(rating(name, issues) for name, issues in PAPER.items()))
    read = Reader(made(tmp_path, several, other)).text
    assert "Not shown here because they were measured differently: Stranger." in read


def test_csv_has_a_row_for_each_issue_and_no_formula(tmp_path: Path) -> None:
    folder = kept(tmp_path, document_of(*(rating(name, issues) for name, issues in PAPER.items())))
    lines = words.csv(rate_for_profile(folder, ProfileQuery(), date(2026, 12, 1))).decode().splitlines()
    assert len(lines) == 1 + 16
    assert lines[0].startswith("profile,order,combining,rule,rank")
    assert sum(",'=3," in line for line in lines) == 8
