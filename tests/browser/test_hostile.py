"""Hostile names and answers on every page that we write, in a real browser: nothing runs, nothing is asked.

Each attack tries to do one of: mark the window, change the title, open a dialog, write to the console, ask
the network. A dialog would also keep the browser from answering, which fails the test by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.apps.watch.watches import HIGH, LOW, watched
from tests.apps.watch.watches import rating as looked_at
from tests.apps.watch.watches import run as look
from tests.browser.chromium import Chromium
from tests.reports import causal_fixtures, comparisons, fixtures, social_fixtures, trust_fixtures
from trustgauge import plugins
from trustgauge.apps.watch import page
from trustgauge.apps.watch.state import add_look
from trustgauge.apps.watch.state import document as state
from trustgauge.methods.trust import personal_page
from trustgauge.reports import comparison_page
from trustgauge.reports.document import document
from trustgauge.reports.html import report
from trustgauge.reports.notebook import RatingView
from trustgauge.run.profile_ratings import RULES, ProfileQuery, profile_rankings, rate_for_profile

TODAY = date(2026, 12, 1)
ACT = "window.owned=1;document.title='owned';console.error('owned');alert(1)"
FAR = "http://127.0.0.1:9/leak"
ATTACKS = (
    f"<script>{ACT}</script>",
    f"</script><script>{ACT}</script>",
    f"</style><script>{ACT}</script>",
    f'</title></textarea></noscript></template><svg onload="{ACT}">',
    f'<img src=x onerror="{ACT}">',
    f"<img src={FAR}.png><link rel=stylesheet href={FAR}.css><iframe src={FAR}></iframe>",
    f'" autofocus onfocus="{ACT}" x="',
    f"' onmouseover='{ACT}' style='position:fixed;inset:0",
    f"--><svg><animate onbegin={ACT} attributeName=x dur=1s>",
    f"<!--<script>{ACT}",
    f"]]></text></svg><script>{ACT}</script>",
    f"<![CDATA[><script>{ACT}</script>]]>",
    f"<svg xmlns='http://www.w3.org/2000/svg'><script>{ACT}</script></svg>",
    f"javascript:{ACT}",
    f'<a href="javascript:{ACT}">press</a>',
    f"[press](javascript:{ACT}) ![x]({FAR}.png)",
    f"}} body {{ background: url({FAR}); display: none }} @import '{FAR}';",
    f"x;background:url({FAR});position:fixed;inset:0;z-index:9999",
    f"<base href={FAR}><meta http-equiv=refresh content='0;url={FAR}'><form action={FAR}>",
    "{{ 7*7 }}{% raw %}${7*7}#{7*7}<%= 7*7 %>",
    "\u202eevil\u202c \u2066\u2067\u2068 \u200f\u200e\u061c end",
    "\x00\x07\x08\x1b[2J\x1b]0;owned\x07\ufffe\uffff",
    "Z" + "\u0300\u0316\u0334\u0489" * 60 + "algo",
    "W" * 20_000,
    "a\u200b" * 3_000,
    "\u2028\u2029</script>\u0085" + "ﷺ" * 200,
    "&lt;script&gt;&#60;img src=x onerror=alert(1)&#62;&NewLine;&colon;",
)
NAME = "".join(ATTACKS[:5]) + ATTACKS[10] + ATTACKS[17] + ATTACKS[20] + ATTACKS[21] + ATTACKS[22]
LONG = 400
"""Characters of a name: services are called something shorter, and a layout is not made for more."""


def hostile_names(told: Any) -> Any:
    """A document in which everything that others name is an attack."""
    found: Any = json.loads(json.dumps(told))
    for number, one in enumerate(found["ratings"]):
        attack = (ATTACKS[number % 10] + NAME)[:LONG]
        one["service"] |= {"name": attack, "version": NAME[:80], "kind": ATTACKS[4], "provider": ATTACKS[6]}
        one["assessor"] |= {"name": ATTACKS[0], "paid_by": ATTACKS[10]}
        for part in one["parts"]:
            part["title"] = (ATTACKS[4] + str(part["title"]))[:LONG]
    run = found["run"]
    run |= {"name": NAME[:LONG], "command": NAME, "stopped": ATTACKS[1], "collected": ATTACKS[4]}
    run["assessor"] |= {"name": ATTACKS[0], "paid_by": ATTACKS[10]}
    run["versions"] = {ATTACKS[4]: ATTACKS[0]}
    for facts in run["services"].values():
        facts |= {"name": NAME[:LONG], "version": ATTACKS[6], "kind": ATTACKS[0], "provider": ATTACKS[1]}
    return found


SAID = ("sent", "back", "before", "after")


def hostile_answers(rows: pl.DataFrame) -> pl.DataFrame:
    """Evidence whose texts are attacks, one after the other."""
    rows = rows.head(4 * len(ATTACKS))
    clean = [one.encode("utf-8", "replace").decode() for one in ATTACKS]
    texts = pl.Series([clean[at % len(clean)] for at in range(len(rows))], dtype=pl.String)
    trails = pl.Series([[clean[at % len(clean)]] for at in range(len(rows))], dtype=pl.List(pl.String))
    there = [texts.alias(name) for name in SAID if name in rows.columns and rows[name].dtype == pl.String]
    return rows.with_columns(*there, trails.alias("trail"))


def two_step() -> tuple[Any, pl.DataFrame]:
    one = fixtures.all_states()
    return document(fixtures.run([one]), [one]), fixtures.evidence(one, texts=27)


def causal() -> tuple[Any, pl.DataFrame]:
    one = causal_fixtures.all_kinds()
    return document(causal_fixtures.run([one]), [one]), causal_fixtures.evidence("gru", frames=20)


def social() -> tuple[Any, pl.DataFrame]:
    one = social_fixtures.all_states()
    return document(social_fixtures.run([one]), [one]), social_fixtures.evidence()


REPORTS: Mapping[str, Callable[[], tuple[dict[str, Any], pl.DataFrame]]] = {
    "two-step": two_step,
    "causal": causal,
    "social-bias": social,
    "trust": trust_fixtures.ran,
}
VIEWS = ("label", "badge")


def of_report(name: str) -> str:
    result, rows = REPORTS[name]()
    return report(hostile_names(result), hostile_answers(rows))


def of_comparison() -> str:
    result = comparisons.attacked()
    for group in result["groups"]:
        for number, row in enumerate(group["rows"]):
            row["rating"]["service"] |= {"name": (ATTACKS[number % 10] + NAME)[:LONG]}
    return comparison_page.page(result)


def of_profiles(folder: Path) -> str:
    ratings = [trust_fixtures.rating(name, issues) for name, issues in trust_fixtures.PAPER.items()]
    result = hostile_names(trust_fixtures.document_of(*ratings))
    found = rate_for_profile(trust_fixtures.kept(folder, result), ProfileQuery(), TODAY)
    rules = {name: one.model_dump(mode="json") for name, one in RULES.items()}
    return personal_page.page(found, rules, profile_rankings(found))


def of_watch() -> str:
    found = watched()
    for number in range(1, 6):
        more = {"service": NAME[:LONG], "attribute": ATTACKS[4], "version": ATTACKS[number]}
        add_look(found, look(number, looked_at(HIGH if number > 3 else LOW, **more)))
    found.name, found.failed, found.log = NAME[:LONG], ATTACKS[1], ATTACKS[4]
    return page.page([state(found)])


def of_notebook() -> str:
    """What a notebook shows of a rating, in a page without any policy."""
    result, rows = two_step()
    shown = RatingView(hostile_names(result), hostile_answers(rows))._repr_mimebundle_()["text/html"]
    return f"<!doctype html><meta charset=utf-8><title>notebook</title>{shown}"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every page and picture, under attack, written to disk."""
    folder = tmp_path_factory.mktemp("attacked")
    pages = {f"{name}.html": of_report(name) for name in REPORTS}
    pages |= {"comparison.html": of_comparison(), "watch.html": of_watch(), "notebook.html": of_notebook()}
    pages["personal.html"] = of_profiles(folder)
    for name in REPORTS:
        result = hostile_names(REPORTS[name]()[0])
        result["ratings"] = result["ratings"][:1]
        for view in VIEWS:
            pages[f"{name}-{view}.svg"] = plugins.load("exports", view)(result, None, today=TODAY).decode()
    written = {}
    for name, text in pages.items():
        written[name] = folder / name
        written[name].write_bytes(text.encode("utf-8", "surrogatepass"))
    return written


PAGES = (*(f"{name}.html" for name in REPORTS), "comparison.html", "personal.html", "watch.html")
PICTURES = tuple(f"{name}-{view}.svg" for name in REPORTS for view in VIEWS)
FOREIGN = "script:not([type]),img,iframe,object,embed,link,base,form,meta[http-equiv=refresh],foreignObject"


def inert(browser: Chromium, file: Path) -> None:
    """Nothing of an attack happened, and no element or handler of one is there."""
    assert browser.run("window.owned === undefined")
    assert browser.run("document.title") != "owned"
    assert browser.requests == [file.as_uri()]
    assert browser.complaints == []
    assert not [one for one in browser.events if one["method"] == "Page.javascriptDialogOpening"]
    handlers = (
        "[...document.querySelectorAll('*')].filter(e => [...e.attributes].some("
        "a => a.name.startsWith('on') || /^\\s*javascript:/i.test(a.value) && a.name !== 'content')).length"
    )
    assert browser.run(handlers) == 0
    moved = (
        "[...document.querySelectorAll('body *')].filter(e => getComputedStyle(e).zIndex === '9999').length"
    )
    assert browser.run(moved) == 0


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [1180, 390])
def test_pages_stay_inert_and_in_shape(
    browser: Chromium, files: dict[str, Path], name: str, width: int
) -> None:
    browser.open(files[name], width=width)
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true })")
    inert(browser, files[name])
    assert browser.run(f"document.querySelectorAll('{FOREIGN}').length") == browser.run(
        "[...document.scripts].filter(one => !one.type).length"
    ), "no element but the page's own script"
    assert browser.run("document.documentElement.scrollWidth") <= width
    visible = browser.run("document.querySelector('main, body').getBoundingClientRect().height")
    assert 200 < visible < 400_000
    assert "window.owned=1" in browser.run("document.body.textContent"), "the attack is shown as text"


@pytest.mark.parametrize("name", [f"{name}.html" for name in REPORTS])
def test_every_switch_of_a_report_leaves_it_inert(
    browser: Chromium, files: dict[str, Path], name: str
) -> None:
    """Rows that a script builds, masks that open, filters that match: all by text alone."""
    browser.open(files[name])
    browser.run("document.querySelectorAll('button').forEach(one => one.click())")
    browser.run(
        "document.querySelectorAll('select').forEach(one => { one.selectedIndex = one.options.length - 1;"
        " one.dispatchEvent(new Event('change', {bubbles: true})) })"
    )
    browser.run(
        "document.querySelectorAll('input').forEach(one => { one.value = '<img src=x onerror=alert(1)>';"
        " one.dispatchEvent(new Event('input', {bubbles: true})) })"
    )
    browser.run("new Promise(done => setTimeout(done, 100)).then(() => 0)")
    inert(browser, files[name])
    assert browser.run("document.images.length") == 0


def test_an_address_that_attacks_is_text_too(browser: Chromium, files: dict[str, Path]) -> None:
    """What stands behind the hash is the reader's, or of whoever sent the link."""
    for name in (*PAGES[:4], "personal.html"):
        browser.open(
            files[name], hash=f"#q=<img src=x onerror={ACT}>&part=%3Cscript%3E&o=<svg onload=alert(1)>"
        )
        assert browser.run("window.owned === undefined")
        assert browser.run("document.images.length") == 0
        assert len(browser.requests) == 1


@pytest.mark.parametrize("name", PICTURES)
def test_labels_and_badges_are_pictures_only(browser: Chromium, files: dict[str, Path], name: str) -> None:
    """Opened by itself an SVG is a document with scripts of its own: ours has none, whatever it names."""
    browser.open(files[name])
    assert browser.run("document.documentElement.tagName") == "svg", "well-formed"
    inert(browser, files[name])
    assert browser.run(f"document.querySelectorAll('script,style,{FOREIGN}').length") == 0
    assert browser.run("document.querySelectorAll('a[*|href^=\"javascript\"]').length") == 0


def test_a_notebook_shows_attacks_as_text(browser: Chromium, files: dict[str, Path]) -> None:
    browser.open(files["notebook.html"])
    inert(browser, files["notebook.html"])
    assert browser.run("document.querySelectorAll('script,img,iframe').length") == 0


def test_json_inside_pages_cannot_end_its_element(files: dict[str, Path]) -> None:
    for name in PAGES:
        text = files[name].read_text("utf-8", "surrogatepass")
        for piece in text.split("<script")[1:]:
            kind, _, rest = piece.partition(">")
            data = rest.partition("</script>")[0]
            if "json" in kind:
                assert "<" not in data.replace("<\\/", "")
                json.loads(data)


def test_the_attacks_work_where_nobody_escapes_them(browser: Chromium, tmp_path: Path) -> None:
    """Without escaping this very list marks the window: else the tests above would prove nothing."""
    careless = tmp_path / "careless.html"
    harmless = "".join(ATTACKS[:12]).replace("alert(1)", "0")
    careless.write_text(f"<!doctype html><title>calm</title><body>{harmless}", "utf-8")
    browser.open(careless)
    browser.until("window.owned === 1")
    assert browser.run("document.title") == "owned"
    assert len(browser.requests) > 1
    assert browser.complaints != []
