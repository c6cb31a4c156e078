"""The personalisation page in the browser: its arithmetic is Python's, and every way of moving agrees."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.browser.chromium import Chromium
from tests.browser.test_report import CONTRAST, LOOKS
from tests.reports.trust_fixtures import PAPER, Issue, document_of, kept, rating
from trustgauge.methods.trust import personal_page, view_sentences
from trustgauge.methods.trust.profile_model import ProfileDocument
from trustgauge.methods.trust.profiles import IssueOrder
from trustgauge.run.profile_ratings import (
    RULES,
    ProfileQuery,
    combine_issues,
    profile_rankings,
    rate_for_profile,
)

DUMPED = {name: one.model_dump(mode="json") for name, one in RULES.items()}
TODAY = date(2026, 12, 1)
NAMES = ("abuse", "bias", "complexity", "leakage")
ALT = 1


def written(folder: Path, **services: dict[str, Issue]) -> tuple[Path, ProfileDocument]:
    found = rate_for_profile(
        kept(folder, document_of(*(rating(name, issues) for name, issues in services.items()))),
        ProfileQuery(),
        TODAY,
    )
    page = folder / "personal.html"
    page.write_text(personal_page.page(found, DUMPED, profile_rankings(found)), "utf-8")
    return page, found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    services = PAPER | {"Half": PAPER["HR"] | {"bias": (None, "not tested")}}
    return written(tmp_path_factory.mktemp("personal"), **services)[0]


def order(browser: Chromium) -> list[str]:
    rows: list[str] = browser.run("[...document.querySelectorAll('#order li')].map(r => r.dataset.issue)")
    return rows


def cards(browser: Chromium) -> dict[str, str]:
    facts: dict[str, str] = dict(
        browser.run(
            "[...document.querySelectorAll('#cards li')].map(c => [c.querySelector('h3 bdi').textContent,"
            " c.querySelector('.place').textContent + ' ' + c.querySelector('.pill, .untested').textContent])"
        )
    )
    return facts


def press(browser: Chromium, issue: str, control: str) -> None:
    browser.run(f"document.querySelector('#order li[data-issue={issue}] [data-act={control}]').click()")


def status(browser: Chromium) -> str:
    return str(browser.run("document.querySelector('#status').textContent"))


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing(browser: Chromium, page: Path, axe: str, look: dict[str, Any]) -> None:
    browser.open(page, hash="#o=IL,AL=B&r=count", **look)
    assert browser.violations(axe) == []
    assert browser.run(CONTRAST)["weak"] == []


@pytest.mark.parametrize("width", [1180, 720, 390])
def test_nothing_leaves_the_file_and_the_page_never_scrolls_sideways(
    browser: Chromium, page: Path, width: int
) -> None:
    browser.open(page, width=width)
    for name in ("leakage", "bias"):
        press(browser, name, "down")
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.requests == [page.as_uri()]
    assert browser.complaints == []


def test_the_script_says_what_the_page_said_without_it(browser: Chromium, page: Path) -> None:
    told_of = "[...document.querySelectorAll('#cards li')].map(c => c.textContent.replace(/\\s+/g, ''))"
    left = "[...document.querySelectorAll('#order li')].map(c => c.querySelector('.under').textContent)"
    browser.open(page, script=False)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.run("[...document.querySelectorAll('.tools')].every(t => !t.checkVisibility())")
    before = browser.run(told_of), browser.run(left)
    browser.open(page)
    assert (browser.run(told_of), browser.run(left)) == before
    assert len(before[0]) == 5


def test_a_page_that_was_moved_alone_has_no_dead_link(browser: Chromium, tmp_path: Path) -> None:
    found = rate_for_profile(
        kept(tmp_path, document_of(*(rating(name, issues) for name, issues in PAPER.items()))),
        ProfileQuery(links="#"),
        TODAY,
    )
    moved = tmp_path / "elsewhere" / "mailed.html"
    moved.parent.mkdir()
    moved.write_text(personal_page.page(found, DUMPED, profile_rankings(found)), "utf-8")
    browser.open(moved)
    for hash_ in ("", "#o=leakage,abuse,bias,complexity&r=count"):  # as it is, and drawn again by its script
        browser.run(f"location.hash = {hash_!r}")
        browser.until(f"document.querySelectorAll('#cards h3 a').length === {len(PAPER)}")
        target = "document.getElementById(a.getAttribute('href').slice(1))"
        dead = f"[...document.links].filter(a => !{target}).length"
        assert browser.run(dead) == 0
    order_before = order(browser)
    browser.run("document.querySelector('#cards h3 a').click()")
    browser.until("location.hash.startsWith('#rating-')")
    assert order(browser) == order_before


def test_page_and_python_agree_for_random_scores_orders_and_rules(browser: Chromium, tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    services: dict[str, dict[str, Issue]] = {}
    for number in range(30):
        issues: dict[str, Issue] = {name: (float(round(rng.uniform(), 3)), "rated") for name in NAMES}
        for name in NAMES:
            change = rng.uniform()
            if change < 0.08:
                issues[name] = (None, "not tested")
            elif change < 0.14:
                issues[name] = (0.5, "assumed")
            elif change < 0.2:
                issues[name] = (issues[name][0], "not settled")
        services[f"bot-{number:02}"] = issues
    low: dict[str, Issue] = dict.fromkeys(("abuse", "bias"), (0.117, "not settled"))
    services["together"] = {**low, "complexity": (0.5, "rated"), "leakage": (0.0, "rated")}
    services["mixed"] = services["together"] | {"abuse": (0.117, "assumed")}
    page, _ = written(tmp_path, **services)
    ratings = {name: document_of(rating(name, issues))["ratings"][0] for name, issues in services.items()}
    browser.open(page)
    for places in (
        (("leakage",), ("abuse",), ("bias",), ("complexity",)),
        (("complexity",), ("abuse", "bias"), ("leakage",)),
        (("complexity",), ("abuse",), ("bias",), ("leakage",)),
        (("abuse", "leakage"), ("bias", "complexity")),
        (("bias",), ("leakage",)),
        (("abuse",),),
    ):
        mine = IssueOrder(places)
        codes = ",".join("=".join(place) for place in places)
        for name, settings in RULES.items():
            browser.run(f"location.hash = '#o={codes}&r={name}'")
            browser.until(f"document.querySelector('#rule').value === {name!r}")
            browser.until(f"document.querySelectorAll('#order li').length === {len(mine.issues)}")
            seen = browser.run(
                "[...document.querySelectorAll('#cards li')].map(c => [c.querySelector('h3 bdi').textContent,"
                " c.dataset.levels, c.dataset.state, c.querySelector('p').textContent])"
            )
            assert len(seen) == len(services)
            for service, levels, state, words in seen:
                due = combine_issues(ratings[service], mine, settings)
                assert (levels, state) == ("".join(due["levels"]), due["state"]), (service, codes, name)
                lines = [view_sentences.arithmetic(due["explained"]), view_sentences.orders(due["orders"])]
                assert words == " ".join(line for line in lines if line), (service, codes, name)


def test_the_page_begins_with_the_combination_of_the_plan(browser: Chromium, tmp_path: Path) -> None:
    document = document_of(*(rating(name, issues, rule="sound") for name, issues in PAPER.items()))
    for one in document["ratings"]:
        one["method"]["options"]["combination"] = {
            "rule": "raw-weighted", "weights": [9, 2, 1, 0.5], "cuts": [0.05, 0.2],
        }  # fmt: skip
    found = rate_for_profile(kept(tmp_path, document), ProfileQuery(), TODAY)
    page = tmp_path / "own.html"
    page.write_text(personal_page.page(found, DUMPED, profile_rankings(found)), "utf-8")
    browser.open(page)
    assert browser.run("document.querySelector('#rule').value") == "of-the-plan"
    told_of = "[...document.querySelectorAll('#cards li')].map(c => [c.dataset.levels, c.dataset.state])"
    for codes, places in (
        ("IL,AL,B,CC", (("leakage",), ("abuse",), ("bias",), ("complexity",))),
        ("CC,AL=B,IL", (("complexity",), ("abuse", "bias"), ("leakage",))),
        ("CC,B", (("complexity",), ("bias",))),
    ):
        browser.run(f"location.hash = '#o={codes}&r=of-the-plan'")
        browser.until(f"document.querySelectorAll('#order li').length === {sum(map(len, places))}")
        whom = ProfileQuery(order=" > ".join(" = ".join(place) for place in places))
        rows = rate_for_profile(tmp_path, whom, TODAY)["groups"][0]["rows"]
        assert browser.run(told_of) == [["".join(row["levels"]), row["state"]] for row in rows]
        lines = [
            f"{view_sentences.arithmetic(row['explained'])} {view_sentences.orders(row['orders'])}"
            for row in rows
        ]
        assert browser.run("[...document.querySelectorAll('#cards p')].map(p => p.textContent)") == lines


def test_ranks_agree_with_the_command(browser: Chromium, page: Path) -> None:
    for rule in RULES:
        browser.open(page, hash=f"#o=IL,AL,B,CC&r={rule}")
        found = rate_for_profile(page.parent, ProfileQuery(rule=rule, profile="privacy-first"), TODAY)
        (group,) = found["groups"]
        due = [(row["rating"]["service"]["name"], row["shown"] or "–") for row in group["rows"]]
        assert [(name, said.split()[0]) for name, said in cards(browser).items()] == due


def test_buttons_keys_and_dragging_agree(browser: Chromium, page: Path) -> None:
    after = ["abuse", "bias", "leakage", "complexity"]
    browser.open(page)
    assert order(browser) == ["leakage", "abuse", "bias", "complexity"]
    press(browser, "leakage", "down")
    press(browser, "leakage", "down")
    assert order(browser) == after
    by_button = cards(browser), browser.run("location.hash"), status(browser)
    browser.open(page)
    browser.run("document.querySelector('#order li[data-issue=leakage] [data-act=handle]').focus()")
    for _ in range(2):
        facts = {"key": "ArrowDown", "code": "ArrowDown", "windowsVirtualKeyCode": 40, "modifiers": ALT}
        browser.call("Input.dispatchKeyEvent", type="rawKeyDown", **facts)
        browser.call("Input.dispatchKeyEvent", type="keyUp", **facts)
    assert order(browser) == after
    assert (cards(browser), browser.run("location.hash"), status(browser)) == by_button
    assert browser.run("document.activeElement.closest('li').dataset.issue") == "leakage"
    browser.open(page)
    row = "document.querySelector('#order li[data-issue={}] .handle').getBoundingClientRect()"
    spot = f"(r => [r.left + r.width / 2, r.top + r.height / 2])({row})"
    x, y = browser.run(spot.format("leakage"))
    _, end = browser.run(spot.format("bias"))
    held = {"button": "left", "buttons": 1}
    browser.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, clickCount=1, **held)
    for step in range(1, 13):
        at = y + (end + 30 - y) * step / 12
        browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=at, **held)
    browser.call(
        "Input.dispatchMouseEvent", type="mouseReleased", x=x, y=end + 30, clickCount=1, button="left"
    )
    assert order(browser) == after
    assert (cards(browser), browser.run("location.hash"), status(browser)) == by_button


def test_the_status_line_names_the_place_and_the_best(browser: Chromium, page: Path) -> None:
    browser.open(page)
    press(browser, "bias", "up")
    assert status(browser).startswith("Bias is now number 2 of 4. Best for you: Insurance.")
    assert browser.run("document.activeElement.getAttribute('aria-label')") == "Move up: Bias"
    press(browser, "bias", "up")
    assert browser.run("document.activeElement.closest('li').dataset.issue") == "bias"


def test_issues_share_a_place_are_left_out_and_come_back(browser: Chromium, page: Path) -> None:
    browser.open(page)
    press(browser, "bias", "share")
    assert browser.run("location.hash") == "#o=IL,AL=B,CC&r=count"
    assert "Bias now shares place 2 of 3." in status(browser)
    numbers = browser.run("[...document.querySelectorAll('#order .number')].map(n => n.textContent)")
    assert numbers == ["1", "2", "2", "3"]
    press(browser, "bias", "share")
    assert browser.run("location.hash") == "#o=IL,AL,B,CC&r=count"
    press(browser, "leakage", "out")
    assert order(browser) == ["abuse", "bias", "complexity"]
    assert status(browser).startswith("Information leakage is excluded.")
    assert cards(browser)["HR"] != cards(browser)["Insurance"] or cards(browser)["HR"].startswith("=")
    browser.run("document.querySelector('#out button').click()")
    assert order(browser) == ["abuse", "bias", "complexity", "leakage"]


def test_the_address_is_read_and_a_wrong_one_is_said(browser: Chromium, page: Path) -> None:
    browser.open(page, hash="#o=CC,AL=B&r=sound")
    assert order(browser) == ["complexity", "abuse", "bias"]
    assert browser.run("document.querySelector('#rule').value") == "sound"
    for wrong in ("#o=XX,AL&r=sound", "#o=AL,AL", "#o=AL&r=best", "#o=%E0%A4%A"):
        browser.open(page, hash=wrong)
        assert order(browser) == ["leakage", "abuse", "bias", "complexity"]
        assert status(browser).startswith("The address contains no valid order")
        assert browser.complaints == []


def test_profiles_and_rules_start_anew_and_say_so(browser: Chromium, page: Path) -> None:
    browser.open(page)
    safe = "document.querySelector('#start button[data-start=\"Safe language\"]')"
    browser.run(f"{safe}.focus(); {safe}.click()")
    assert order(browser) == ["abuse", "complexity", "bias", "leakage"]
    assert browser.run("document.activeElement.textContent") == "Safe language"
    assert browser.run("document.activeElement.getAttribute('aria-pressed')") == "true"
    assert cards(browser)["Half"] == "– Low or Medium risk"
    assert "Low or Medium risk, depending on bias, which was not tested." in browser.run(
        "document.querySelector('#cards').textContent"
    )
    browser.run(
        "(() => {const s = document.querySelector('#rule'); s.value = 'worst-of';"
        "s.dispatchEvent(new Event('change'))})()"
    )
    assert status(browser).startswith("The rule is now: worst of the first.")
    assert browser.run("location.hash").endswith("&r=worst-of")


def test_an_order_is_saved_under_a_name_and_forgotten(browser: Chromium, page: Path) -> None:
    browser.open(page, hash="#o=CC,B&r=sound")
    browser.run("document.querySelector('#name').value = '<b>Mine</b>'")
    browser.run("document.querySelector('#save').click()")
    own = "document.querySelector('#start button[data-start=\"<b>Mine</b>\"]')"
    assert browser.run(f"{own}.textContent") == "<b>Mine</b>"
    browser.run("document.querySelector('#start button').click()")
    browser.run(f"{own}.click()")
    assert order(browser) == ["complexity", "bias"]
    assert browser.run("document.querySelector('#h-order').textContent") == "<b>Mine</b>"
    forget = "[...document.querySelectorAll('#start button')].find(b => b.textContent.startsWith('Forget'))"
    browser.run(f"{forget}.click()")
    assert browser.run(f"{own} === null")
    browser.run("document.querySelector('#copy').click()")
    browser.until("/Link copied|address of this page/.test(document.querySelector('#status').textContent)")
    assert browser.complaints == []


def test_keyboard_reaches_every_control_with_a_visible_focus_and_no_trap(
    browser: Chromium, page: Path
) -> None:
    browser.open(page)
    wanted = browser.run(
        "[...document.querySelectorAll('a[href],button:not(:disabled),select,input,[tabindex=\"0\"]')]"
        ".filter(e => e.checkVisibility()).length"
    )
    browser.key("Tab", 9)
    assert browser.run("document.activeElement.className") == "skip"
    seen = set()
    for step in range(wanted + 5):
        facts = browser.run(
            "(() => {const e = document.activeElement, s = getComputedStyle(e);"
            "if (e === document.body) return null;"
            "e.dataset.n = e.dataset.n || String(Math.random());"
            "return [e.dataset.n, s.outlineStyle, parseFloat(s.outlineWidth)]})()"
        )
        if facts is None:
            break
        name, style, width = facts
        assert style != "none", step
        assert width >= 3
        seen.add(name)
        browser.key("Tab", 9)
    assert len(seen) == wanted


def test_targets_are_large_enough(browser: Chromium, page: Path) -> None:
    browser.open(page, width=390)
    small = browser.run(
        "[...document.querySelectorAll('button,select,input')].filter(e => e.checkVisibility())"
        ".filter(e => {const r = e.getBoundingClientRect(); return r.height < 24 || r.width < 24})"
        ".map(e => e.outerHTML.slice(0, 80))"
    )
    assert small == []
