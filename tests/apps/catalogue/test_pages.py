"""Pages and API over HTTP, in the process: what is served, to whom, and what is refused."""

from __future__ import annotations

import asyncio
import base64
import html
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jsonschema
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import event

from tests.apps.catalogue.documents import chatbots, two_step
from tests.reports import causal_fixtures, hostile, social_fixtures
from tests.reports.trust_fixtures import document_of, kept, rating
from tests.servers import LocalServer, Request, Response
from trustgauge import plugins
from trustgauge.apps.catalogue import method_words
from trustgauge.apps.catalogue.api_requests import openapi_text
from trustgauge.apps.catalogue.app import RateLimiter, application
from trustgauge.apps.catalogue.freeze import freeze
from trustgauge.apps.catalogue.ingest import FolderReader
from trustgauge.apps.catalogue.jobs import JobQueue
from trustgauge.apps.catalogue.method_words import price
from trustgauge.apps.catalogue.options import ServeOptions
from trustgauge.apps.catalogue.site import Site
from trustgauge.apps.catalogue.store import CatalogueStore
from trustgauge.catalogue import run_folders
from trustgauge.plan import load_plan
from trustgauge.records import canonical
from trustgauge.reports.components import view_by_name
from trustgauge.reports.document import document
from trustgauge.run.chain_composition import MOST_PRICED, chain_plan, compose_chain
from trustgauge.run.envelope import seal
from trustgauge.run.options import RunOptions
from trustgauge.run.proof_bundle import bundle_text
from trustgauge.run.run import rate
from trustgauge.run.signing_keys import key_id

TODAY = date(2026, 11, 23)
BOT = "TG-2026-1122-c0de.1"
OPENAPI = json.loads(openapi_text())


class Answer:
    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Calls an ASGI application without a socket."""

    def __init__(self, app: Any) -> None:
        self.app = app

    def __call__(
        self,
        address: str,
        method: str = "GET",
        content: Any = None,
        host: str = "127.0.0.1:8000",
        **headers: str,
    ) -> Answer:
        path, _, query = address.partition("?")
        body = (
            b""
            if content is None
            else content
            if isinstance(content, bytes)
            else json.dumps(content).encode()
        )
        sent = {"host": host, "content-length": str(len(body)), "content-type": "application/json"}
        sent |= {name.replace("_", "-").lower(): value for name, value in headers.items()}
        scope = {
            "type": "http", "http_version": "1.1", "method": method, "path": path, "raw_path": path.encode(),
            "query_string": query.encode(), "root_path": "", "scheme": "http", "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8000), "headers": [(k.encode(), v.encode()) for k, v in sent.items()],
        }  # fmt: skip
        result: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            result.append(message)

        asyncio.run(self.app(scope, receive, send))
        start = result[0]
        return Answer(
            start["status"],
            {name.decode(): value.decode() for name, value in start["headers"]},
            b"".join(one.get("body", b"") for one in result[1:]),
        )


@pytest.fixture
def client(small: CatalogueStore, tmp_path: Path) -> Client:
    small.add(two_step(), actor="lab", is_checked=True)
    small.add(chatbots(), actor="lab", is_checked=True)
    jobs = JobQueue(small, "", tmp_path)
    return Client(application(small, ServeOptions(tmp_path), today=lambda: TODAY, jobs=jobs))


PAGES = (
    "/",
    "/s/bot/",
    f"/r/{BOT}/",
    "/compare/",
    "/personal/",
    "/compose/",
    "/methods/",
    "/methods/trust/",
    "/about/",
    "/runs/",
)


class Links(HTMLParser):
    """What a page leads to, fetches, and whether any element runs something."""

    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = dict(attrs)
        self.links |= {str(facts[name]) for name in ("href", "src", "action") if facts.get(name)}
        self.wrong += [f"{tag} {name}" for name in facts if name.startswith("on") or name == "style"]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_whole_leads_nowhere_else_and_runs_nothing(client: Client, page: str) -> None:
    answer = client(page)
    assert answer.status == 200, answer.text[:300]
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    read = Links()
    read.feed(answer.text)
    assert read.wrong == []
    assert [one for one in read.links if "//" in one] == []
    for link in read.links:
        if link.startswith(("#", "data:", "?")):
            continue
        place = str(Path(page + link.partition("?")[0].partition("#")[0] + "x")).removesuffix("x")
        parts: list[str] = []
        for part in (page + link.partition("?")[0].partition("#")[0]).split("/"):
            parts = parts[:-1] if part == ".." else [*parts, part] if part not in (".", "") else parts
        place = "/" + "/".join(parts) + ("/" if link.endswith("/") and parts else "")
        assert client(place).status == 200, link


def test_the_list_is_filtered_and_says_by_what(client: Client) -> None:
    page = client("/?method=trust&dimension=privacy-first&order=best").text
    assert "<b>1</b> rating" in page
    assert "remove" in page
    assert "No rating matches" in client("/?q=nothing+of+this").text
    assert client("/?after=%00&certainty=x&age=99999999&q=%22%27%3B--").status == 200


def test_services_of_one_key_and_ratings_by_several_rules_are_told_apart(
    small: CatalogueStore, tmp_path: Path
) -> None:
    served: dict[str, Any] = {"service": "mine", "version": "", "kind": "HTTP service"}
    there = {**served, "kind": "HTTP service, there and back", "ways": ["fi", "es>it"], "fingerprint": "b"}
    for number, changes in enumerate((served, {**served, "rule": "sound"}, there)):
        small.add(chatbots(f"TG-2026-1122-000{number}", **changes), actor="lab", is_checked=True)
    site = Client(application(small, ServeOptions(tmp_path), today=lambda: TODAY))
    page = site("/").text
    assert page.count("by our rule (sound)</span>") == 1  # two kinds of users stand in one row
    assert page.count("by the paper’s rule (published)</span>") == 2
    what = "HTTP service, there and back through Spanish, Italian; Finnish · mine-2"
    assert what in page
    alone = site("/?rule=sound").text
    assert "by our rule" not in alone  # no other stands beside it
    assert "rule: our rule (sound)" in alone
    mine, other = site("/s/mine/").text, site("/s/mine-2/").text
    assert f'<a href="../../s/mine-2/">{what}</a>' in mine
    assert '<a href="../../s/mine/">HTTP service</a>' in other
    assert mine.index("by our rule") < mine.index("by the paper’s rule")
    assert [one["route"] for one in site("/api/v1/services").json()["services"]] == ["", "es>it fi"]


@pytest.mark.parametrize(
    "address",
    ["/?method=trust&order=best", "/compare/", "/compose/", "/about/", "/methods/",
     "/methods/trust/", "/s/bot/", f"/r/{BOT}/"],
)  # fmt: skip
def test_a_page_is_rendered_once_whatever_it_does_not_understand_of_its_address(
    client: Client, small: CatalogueStore, address: str
) -> None:
    statements: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        statements.append(statement)

    page = client(address).body
    event.listen(small.engine, "before_cursor_execute", note)
    for more in ("_=1", "_=2", "after=" if address.startswith("/?") else "a1=x"):
        assert client(f"{address}{'&' if '?' in address else '?'}{more}").body == page
    assert len(statements) == 3  # each asks only whether the catalogue changed
    assert client("/?method=trust&q=nothing").body != client("/?method=trust").body


@pytest.mark.parametrize(
    "slip", ["state=in+farce", "limit=many", "order=best&order=newest", "age=-1", "level=XX", "metod=trust"]
)
def test_a_slip_in_a_query_does_not_list_everything(client: Client, slip: str) -> None:
    refused = client(f"/api/v1/ratings?{slip}")
    assert refused.status == 422
    assert [one["place"] for one in refused.json()["faults"]] == [slip.partition("=")[0]]
    assert client("/api/v1/ratings?level=BS").status == 200
    assert client("/api/v1/ratings?level=").status == 200


def test_a_rating_has_its_files_and_its_hash_is_its_etag(client: Client) -> None:
    answer = client(f"/api/v1/ratings/{BOT}")
    tag = answer.headers["etag"]
    assert client(f"/api/v1/ratings/{BOT}", if_none_match=tag).status == 304
    assert client(f"/r/{BOT}/rating.json").body == answer.body
    assert client(f"/r/{BOT}/label.svg").headers["content-type"].startswith("image/svg")
    assert client(f"/r/{BOT}/report.html").status == 200
    assert client(f"/r/{BOT}/evidence.csv").status == 422
    assert client(f"/r/{BOT}").headers["location"] == f"{BOT}/"


def test_the_id_of_a_run_leads_to_its_ratings(client: Client) -> None:
    run = BOT.partition(".")[0]
    led = client(f"/r/{run}/")
    assert (led.status, led.headers["location"]) == (307, f"../../?q={run}&earlier=1")
    assert f"r/{BOT}/" in client(f"/?q={run}&earlier=1").text
    assert client("/r/TG-2026-1122-none/").status == 404


def test_a_withdrawn_rating_keeps_its_page_and_says_so(client: Client, small: CatalogueStore) -> None:
    small.say(BOT, "withdrawal", "<b>Wrong</b> endpoint.", "lab")
    small.say(BOT, "reply", "We mended it.", "Provider")
    page = client(f"/r/{BOT}/").text
    assert "Withdrawn 23 Nov" in page or "Withdrawn" in page
    assert "&lt;b&gt;Wrong&lt;/b&gt; endpoint." in page
    assert "We mended it." in page
    assert "withdrawn" in client(f"/r/{BOT}/badge.svg").text
    assert "withdrawn" in client(f"/r/{BOT}/label.svg").text.lower()
    assert "Rating withdrawn" in client("/feed.atom").text


def test_hostile_ratings_are_inert_on_every_page(small: CatalogueStore, tmp_path: Path) -> None:
    result, _ = hostile.case()
    small.add(result, actor="<script>alert(1)</script>")
    client = Client(application(small, ServeOptions(tmp_path), today=lambda: TODAY))
    name = result["ratings"][0]["id"]
    slug = client("/api/v1/services").json()["services"][0]["slug"]
    for page in ("/", f"/s/{slug}/", f"/r/{name}/", "/about/", "/feed.atom"):
        text = client(page).text
        assert not re.search(r"<(script|img src=x|svg onload)", text), page
        assert "\x1b" not in text
        read = Links()
        read.feed(text)
        assert read.wrong == []


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "localhost:80:80", "[::1", "127.0.0.1@x"]
)
def test_a_foreign_host_is_refused(client: Client, host: str) -> None:
    assert client("/", host=host).status == 421


def test_what_was_published_without_its_answers_is_not_denied(client: Client) -> None:
    assert client(f"/r/{BOT}/").status == 200  # a rating by the trust method
    shown = client("/personal/").text
    assert "no run with such answers lies here: those that were published from elsewhere" in shown
    refused = client("/api/v1/personal?order=leakage").json()
    assert "what was published without its answers is none" in json.dumps(refused)


def test_publishing_needs_a_token_and_is_idempotent(client: Client, small: CatalogueStore) -> None:
    document = chatbots("TG-2026-1123-beef")
    assert client("/api/v1/ratings", "POST", document).status == 401
    reader, lab = small.make_token("reader", "reader"), small.make_token("lab", "assessor")
    assert client("/api/v1/ratings", "POST", document, authorization=f"Bearer {reader}").status == 403
    mine = {"authorization": f"Bearer {lab}"}
    assert client("/api/v1/ratings", "POST", document, **mine).status == 201
    assert client("/api/v1/ratings", "POST", document, **mine).status == 200
    assert (
        client("/api/v1/ratings", "POST", chatbots("TG-2026-1123-beef", expires="2027-02-02"), **mine).status
        == 409
    )
    assert client("/api/v1/ratings", "POST", {"no": "rating"}, **mine).status == 422
    assert client("/api/v1/ratings", "POST", b"{", **mine).status == 400
    assert client("/api/v1/ratings", "POST", b"[" * 100_000, **mine).status == 400
    assert client("/api/v1/ratings", "POST", b'{"of": Infinity}', **mine).status == 400
    assert client("/api/v1/ratings", "POST", document, origin="https://evil.example", **mine).status == 403
    assert client("/api/v1/ratings", "POST", document, content_type="text/plain", **mine).status == 415
    note = {"kind": "withdrawal", "text": "Wrong endpoint."}
    other = {"authorization": f"Bearer {small.make_token('other', 'assessor')}"}
    assert client("/api/v1/ratings/TG-2026-1123-beef.1/notes", "POST", note, **other).status == 403
    assert client("/api/v1/ratings/TG-2026-1123-beef.1/notes", "POST", note, **mine).status == 201
    actors = [(change["actor"], change["action"]) for change in small.changes(newest=True)]
    assert actors[0] == ("lab", "withdrawn")


def test_a_signed_rating_is_taken_as_it_was_signed_or_not_at_all(
    small: CatalogueStore, tmp_path: Path
) -> None:
    ours, other = (Ed25519PrivateKey.from_private_bytes(one * 32) for one in (b"k", b"o"))
    keys = frozenset({key_id(ours.public_key().public_bytes_raw())})
    client = Client(application(small, ServeOptions(tmp_path / "runs", keys=keys), today=lambda: TODAY))
    mine = {"authorization": f"Bearer {small.make_token('lab', 'assessor')}"}
    document = chatbots("TG-2026-1123-51d0")

    def bundle(key: Ed25519PrivateKey) -> bytes:
        rating = canonical(document)
        envelope = seal(rating.encode(), document, key, "2026-11-23T10:00:00+00:00")
        public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
        return bundle_text(rating, {"envelope": envelope, "key": public}, []).encode()

    assert client("/api/v1/ratings", "POST", document, **mine).status == 403
    assert client("/api/v1/ratings", "POST", bundle(other), **mine).json()["code"] == "catalogue.signature"
    forged = bundle(ours).replace(b"2027-02-21", b"2029-02-21")
    assert forged != bundle(ours)
    assert client("/api/v1/ratings", "POST", forged, **mine).status == 422
    assert small.rating("TG-2026-1123-51d0.1") is None
    taken = client("/api/v1/ratings", "POST", bundle(ours), **mine)
    assert (taken.status, taken.json()["signed_by"]) == (201, *keys)
    assert small.rating("TG-2026-1123-51d0.1") is not None
    assert "signature" in [change["action"] for change in small.changes(newest=True)]


def test_the_api_is_what_its_description_says(client: Client, small: CatalogueStore) -> None:
    served = {
        (route.path, method.lower())
        for route in client.app.app.routes
        if route.path.startswith("/api/") or route.path in OPENAPI["paths"]
        for method in route.methods - {"HEAD"}
    }
    assert served == {(path, method) for path, ways in OPENAPI["paths"].items() for method in ways}
    answers = {
        "/api/v1/ratings": client("/api/v1/ratings?limit=1"),
        "/api/v1/services": client("/api/v1/services"),
        "/api/v1/services/{slug}": client("/api/v1/services/bot"),
        "/api/v1/changes": client("/api/v1/changes"),
        "/healthz": client("/healthz"),
    }
    for path, answer in answers.items():
        schema = OPENAPI["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.validate(answer.json(), {**schema, "components": OPENAPI["components"]})
    assert answers["/api/v1/ratings"].headers["link"].endswith('rel="next"')
    problem = client("/api/v1/ratings/none")
    assert problem.headers["content-type"] == "application/problem+json"
    jsonschema.validate(problem.json(), OPENAPI["components"]["schemas"]["Problem"])


def test_a_run_is_started_by_a_form_with_a_token_and_stopped(client: Client, small: CatalogueStore) -> None:
    form = {"content_type": "application/x-www-form-urlencoded"}
    plan = urlencode({"plan": 'name = "coin"\n[services.coin]\nuse = "anchor"\nbehaviour = "coin"\n'})
    assert client("/runs/", "POST", plan.encode(), **form).status == 401
    token = small.make_token("lab", "assessor")
    assert "faults" in client("/runs/", "POST", f"{plan}&token={token}".encode(), **form).text
    rated = '[[experiments]]\nmethod = "two-step"\nservices = ["coin"]\n'
    rest = urlencode({"plan": f'[services.coin]\nuse = "anchor"\n{rated}'})
    started = client("/runs/", "POST", f"{rest}&token={token}".encode(), **form)
    assert started.status == 303
    page = f"/runs/{started.headers['location']}"
    assert "Waits for its turn" in client(page).text
    assert client(f"{page}stop", "POST", b"token=x", **form).status == 401
    assert client(f"{page}stop", "POST", f"token={token}".encode(), **form).status == 303
    assert "Stopped" in client(page).text


def test_every_page_has_its_data_at_the_same_address(client: Client) -> None:
    named = ("index", "s/bot", f"r/{BOT}", "methods", "methods/trust", "about", "runs", "audit", "chat")
    for page in named:
        assert client(f"/{page}.json").headers["content-type"] == "application/json"
    assert client("/compose.json").status == 422
    assert client("/methods/none.json").status == 404
    result = client("/chat.json").json()
    assert (result["open"], result["chatbots"]) == (True, [])  # whose plan does not lie here
    assert "safe-language" in [one["name"] for one in result["profiles"]]
    assert client("/audit.json").json() == {"runs": []}


def test_the_query_of_a_page_is_that_of_its_data(small: CatalogueStore, tmp_path: Path) -> None:
    kept(
        tmp_path,
        document_of(rating("bot", {"leakage": (0.0, "rated"), "abuse": (0.0, "rated")}, "privacy-first")),
    )
    client = Client(application(small, ServeOptions(tmp_path), today=lambda: TODAY))
    by_form = client("/personal.json?p1=leakage&p2=abuse&profile=safe-language")
    assert by_form.status == 200, by_form.text
    assert by_form.body == client("/api/v1/personal?order=leakage+%3E+abuse").body
    refused = client("/compose.json?s1=none&s2=bot")
    assert refused.json()["title"] == client("/api/v1/compose?chain=none+%3E+bot").json()["title"]


def test_a_badge_to_be_copied_leads_to_where_the_catalogue_is_reached(
    small: CatalogueStore, tmp_path: Path
) -> None:
    small.add(chatbots(), actor="lab", is_checked=True)

    def badge(client: Client, host: str) -> str:
        (found,) = re.findall(r"<code>\[!\[.*?</code>", client(f"/r/{BOT}/", host=host).text)
        return str(found)

    near = Client(application(small, ServeOptions(tmp_path), today=lambda: TODAY))
    for host in ("127.0.0.1:8000", "localhost:8080", "127.0.0.1:8000"):
        page = f"http://{host}/r/{BOT}/"
        assert badge(near, host).endswith(f"({page}badge.svg)]({page})</code>")
    options = ServeOptions(tmp_path, address="https://ratings.example/")
    far = badge(Client(application(small, options, today=lambda: TODAY)), "localhost:8080")
    assert far.endswith(f"](https://ratings.example/r/{BOT}/)</code>")


def test_files_of_a_rating_say_what_they_are_and_programs_find_them(client: Client) -> None:
    listed = re.findall(
        r'<li><a href="([^"]+)">\1</a> <span class="second">(.*?)</span>', client(f"/r/{BOT}/").text
    )
    assert len(listed) > 15
    for file, words in listed:
        assert words, file
        kind = client(f"/r/{BOT}/{file}").headers["content-type"]
        assert kind != "application/octet-stream", file
    _, here = json.loads(client("/.well-known/api-catalog").text)["linkset"]
    addresses = [one["href"].partition("/r/")[2] for one in here["api-catalog"]]
    assert f"{BOT}/api-catalog.json" in addresses
    assert "linkset" in json.loads(client(f"/r/{BOT}/api-catalog.json").text)


@pytest.mark.parametrize("method", ["causal", "social-bias", "trust", "two-step"])
def test_the_page_of_a_method_says_what_every_setting_means(client: Client, method: str) -> None:
    page = client(f"/methods/{method}/").text
    rows = re.findall(r'<th scope="row" class="mono">(\w+)</th><td.*?</td><td>(.*?)</td>', page)
    assert {"rule", "settle", "aggregate", "constant_services"} <= {name for name, _ in rows}
    assert [name for name, words in rows if not words.strip()] == []


PLUG_INS = """[trustgauge.methods]
lost = careless:Lost
mute = tests.methods.incomplete:Mute
unseen = trustgauge.methods.causal.method:Causal
blank = trustgauge.methods.causal.method:Causal
[trustgauge.views]
unseen = careless:View
blank = tests.methods.incomplete:Mute
"""


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Methods that cannot be imported, lack members, or whose views cannot be imported or are none."""
    facts = tmp_path / "installed" / "careless-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: careless\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(PLUG_INS)
    (tmp_path / "installed" / "careless.py").write_text("import does_not_exist\n")
    monkeypatch.syspath_prepend(str(tmp_path / "installed"))
    known = (plugins._installed, method_words.why_broken, method_words.level_names, view_by_name)
    for each in known:
        each.cache_clear()
    yield
    monkeypatch.undo()
    for each in known:
        each.cache_clear()


@pytest.mark.usefixtures("broken")
def test_a_broken_plug_in_is_named_and_breaks_no_page(
    client: Client, small: CatalogueStore, tmp_path: Path
) -> None:
    assert [page for page in PAGES if client(page).status != 200] == []
    found = client("/methods.json").json()
    assert "trust" in [one["name"] for one in found["methods"]]
    why = {one["name"]: one["why"] for one in found["broken"]}
    assert why.keys() == {"lost", "mute", "unseen", "blank"}
    assert why["lost"] == 'The method "lost" cannot be imported. Mend or remove the package careless.'
    assert why["mute"].startswith('The method "mute" is incomplete')
    text = html.unescape(client("/methods/").text)
    assert [one for one in why.values() if one not in text] == []
    assert str(tmp_path) not in text
    assert client("/methods/lost/").status == client("/methods/unseen.json").status == 404
    assert freeze(small, tmp_path, tmp_path / "frozen", today=lambda: TODAY) > 0
    assert not (tmp_path / "frozen" / "methods" / "lost").exists()


def test_levels_are_filtered_by_their_words(client: Client) -> None:
    assert re.search(r'<option value="BS">adds bias \(BS\)', client("/").text)


def test_an_order_that_cannot_be_read_is_not_passed_over(small: CatalogueStore, tmp_path: Path) -> None:
    kept(
        tmp_path,
        document_of(rating("bot", {"leakage": (0.0, "rated"), "abuse": (0.0, "rated")}, "privacy-first")),
    )
    client = Client(application(small, ServeOptions(tmp_path), today=lambda: TODAY))
    assert "cannot be read" in client("/personal/?p1=leakage&p2=nonsense").text
    assert "cannot be read" not in client("/personal/?p1=leakage&p2=abuse").text


def test_no_input_makes_the_api_fail(client: Client, small: CatalogueStore) -> None:
    token = {"authorization": f"Bearer {small.make_token('fuzz', 'admin')}"}
    odd = "?after=|||&limit=0&q=%ff%00&chain=%00&order=%3E%3E&a=x&b=y&profile=é&rule=1"
    bodies: tuple[Any, ...] = ({}, [], None, {"kind": "reply", "text": 5}, {"services": {"x": {"use": "é"}}})
    for path, ways in OPENAPI["paths"].items():
        for hole in ("%00", "é'..%2f", BOT) if "{" in path else ("",):
            result = client(re.sub(r"\{.*?\}", hole, path) + odd)
            assert result.status < 500, (path, hole, result.text[:200])
        for content in bodies if "post" in ways else ():
            result = client(re.sub(r"\{.*?\}", BOT, path), "POST", content, **token)
            assert result.status < 500, (path, content, result.text[:200])


def test_assistants_read_the_catalogue_by_tools(client: Client) -> None:
    def call(method: str, params: Any = None, **headers: str) -> Any:
        result = client(
            "/mcp", "POST", {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}, **headers
        )
        return result.json()

    def tool(name: str, **arguments: Any) -> Any:
        result = call("tools/call", {"name": name, "arguments": arguments})["result"]
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        return result["structuredContent"] | {"failed": result["isError"]}

    assert call("initialize", {"protocolVersion": "2025-06-18"})["result"]["capabilities"] == {"tools": {}}
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert client("/mcp", "POST", note).status == 202
    for one in call("tools/list")["result"]["tools"]:
        jsonschema.Draft202012Validator.check_schema(one["inputSchema"])
    found = tool("search_ratings", q="bot", limit=1)
    assert (found["total"], [one["id"] for one in found["ratings"]]) == (2, [BOT])
    assert tool("search_ratings", q="bot", limit=1, after=found["next"])["ratings"][0]["id"] != BOT
    assert tool("get_rating", id=BOT, document=True)["document"]["ratings"][0]["id"] == BOT
    assert len(tool("service_history", service="bot")["ratings"]) == 2
    assert tool("get_rating", id="none")["failed"]
    assert tool("compare_ratings", a=BOT, b=BOT)["failed"]
    assert tool("rate_for_priorities", order="x > y")["failed"]
    assert tool("search_ratings", limit="all")["error"] == "limit must be of type integer"
    assert call("tools/call", {"name": "rm"})["error"]["code"] == -32602
    assert call("resources/list")["error"]["code"] == -32601
    assert client("/mcp", "POST", b"{").status == 400
    assert client("/mcp", "POST", [1]).status == 400
    assert client("/mcp", "POST", note, origin="https://evil.example").status == 403
    assert client("/mcp").status == 405


def test_a_measured_chain_stands_beside_the_inferred_one_and_a_contradiction_is_marked(
    small: CatalogueStore, tmp_path: Path, serve: Callable[..., LocalServer]
) -> None:
    now = {"all-he": False}

    def answer(request: Request) -> Response:
        """Gives back what it got; later it knows men only."""
        text = request.json()["text"]
        return Response.json({"output": text.replace("She ", "He ") if now["all-he"] else text})

    one = {"use": "http", "task": "translate"}
    plan = {
        "services": {name: {**one, "url": f"{serve(answer).url}/{name}"} for name in ("first", "second")},
        "experiments": [
            {
                "method": "two-step",
                "services": ["first", "second"],
                "patterns": ["subject"],
                "texts": 60,
                "draws": 1000,
            }
        ],
    }
    runs = tmp_path / "runs"
    rate(load_plan(plan), RunOptions(ratings=runs))
    announced: list[int] = []
    FolderReader(small, runs, announced.append).take_in()
    assert announced == [1]
    (made,) = run_folders(runs)
    copy, refused = Path(shutil.copytree(made, f"{made}-copy")), dict[str, str]()
    altered = json.loads((copy / "rating.json").read_text("utf-8"))
    altered["ratings"][0]["overall"]["score"] = 0.005
    (copy / "rating.json").write_text(json.dumps(altered), "utf-8")
    FolderReader(small, runs, refuse=refused.__setitem__).take_in()
    assert f"run {made.name} was published with different content" in refused.pop(copy.name)
    assert (refused, [*run_folders(runs)]) == ({}, [made])
    shutil.rmtree(copy)
    today = datetime.now(UTC).date()
    client = Client(application(small, ServeOptions(runs), today=lambda: today))
    page, data = "/compose/?s1=first&s2=second", "/compose.json?s1=first&s2=second"
    assert "measured: this counts" not in client(page).text
    assert client(data).json()["measured"] is None

    def test_chain(minutes: int) -> str:
        chain = chain_plan(compose_chain("first > second", runs, today))
        later = datetime.now(UTC) + timedelta(minutes=minutes)
        run = rate(load_plan(chain), RunOptions(ratings=runs, fresh=True, now=lambda: later))
        FolderReader(small, runs).take_in()
        return str(run.document["ratings"][0]["id"])

    composed = compose_chain("first > second", runs, today)
    large = replace(composed, inference=replace(composed.inference, calls=MOST_PRICED + 1))
    assert price(large, runs) == "A test of the whole chain takes about 20,001 calls."
    assert "about" not in price(composed, runs).partition("calls")[0]
    same = test_chain(1)
    assert "The test agrees" in client(page).text
    assert "it sends no requests" in client(page).text
    assert client(data).json()["measured"]["id"] == same
    now["all-he"] = True
    other = test_chain(2)
    shown = client(page).text
    assert "contradict each other.</b> Inferred DSBS, measured BS;" in shown
    assert re.search(rf'this counts</span> <b><a href="\.\./r/{other}/">adds bias \(BS\)', shown)
    measured = client(data).json()["measured"]
    assert (measured["id"], measured["level"], measured["agrees"]) == (other, "BS", False)
    small.say(other, "withdrawal", "Wrong endpoint.", "lab")
    assert client(data).json()["measured"]["id"] == same
    small.say(same, "withdrawal", "Wrong endpoint.", "lab")
    assert "measured: this counts" not in client(page).text


def test_frozen_pages_are_the_served_ones(small: CatalogueStore, tmp_path: Path) -> None:
    small.add(two_step(), actor="lab", is_checked=True)
    small.add(chatbots(), actor="lab", is_checked=True)
    kept(
        tmp_path,
        document_of(rating("bot", {"leakage": (0.0, "rated"), "abuse": (0.0, "rated")}, "privacy-first")),
    )
    address = "https://ratings.example/"
    client = Client(application(small, ServeOptions(tmp_path, address=address), today=lambda: TODAY))
    said: list[str] = []
    site = tmp_path / "site"
    count = freeze(small, tmp_path, site, address=address, today=lambda: TODAY, show=said.append)
    assert count > 40
    assert said[-1] == f"Writing the catalogue: {count:,} files so far"
    methods = ("causal", "social-bias", "trust", "two-step")
    services = [one["slug"] for one in client("/api/v1/services").json()["services"]]
    ratings = [one["id"] for one in client("/api/v1/ratings").json()["ratings"]]
    pages = [f"methods/{one}/" for one in methods] + [f"s/{one}/" for one in services]
    pages += [f"r/{one}/" for one in ratings]
    for page in ("methods/", "about/", *pages):
        assert (tmp_path / "site" / page / "index.html").read_bytes() == client(f"/{page}").body
    for page in ("compare/", "personal/", "compose/"):  # but for forms that need a server
        served = re.sub(r"(?s)<form.*?</form>", "", client(f"/{page}").text)
        frozen = (tmp_path / "site" / page / "index.html").read_text("utf-8")
        frozen = re.sub(r"<p>On a machine that has the runs:.*?</p>", "", frozen)  # instead of its form
        assert "".join(served.split()) == "".join(frozen.split()), page
    data = ["index", "about", "methods", "compare", "personal", f"r/{BOT}"]
    data += [f"s/{one}" for one in services] + [f"methods/{one}" for one in methods]
    files = (f"r/{BOT}/label.svg", f"r/{BOT}/rating.json", f"r/{BOT}/report.html", "openapi.json")
    for file in (*files, *(f"{one}.json" for one in data)):
        assert (tmp_path / "site" / file).read_bytes() == client(f"/{file}").body
    listed = json.loads((tmp_path / "site" / "search.json").read_text("utf-8"))
    assert BOT in {one["id"] for one in listed}


def test_a_client_that_asks_too_often_waits() -> None:
    now = [0.0]
    limiter = RateLimiter(60, lambda: now[0])
    assert [limiter.take("a") for _ in range(10)] == [0.0] * 10
    assert 0 < limiter.take("a") <= 1
    assert limiter.take("b") == 0
    now[0] = 2.0
    assert limiter.take("a") == 0


@pytest.mark.parametrize("method", ["two-step", "causal", "social-bias", "trust"])
def test_a_level_is_found_by_the_name_that_its_method_gives_it(
    client: Client, small: CatalogueStore, method: str
) -> None:
    """Lists write "3 strong effect" and "Low risk"; a reader of the documentation asks for 3 and L."""
    told = whole_documents()[method]
    small.add(told, actor="lab", is_checked=True)
    levels = {one["overall"]["level"] for one in told["ratings"]} - {None}
    assert levels
    for level in levels:
        listed = client(f"/api/v1/ratings?level={level}&method={method}&earlier=1").json()["ratings"]
        wanted = {one["id"] for one in told["ratings"] if one["overall"]["level"] == level}
        assert wanted <= {one["id"] for one in listed}
        as_written = {one["level"] for one in listed}
        assert len(as_written) == 1
        again = client(f"/api/v1/ratings?{urlencode({'level': as_written.pop(), 'earlier': '1'})}").json()
        assert wanted <= {one["id"] for one in again["ratings"]}


def whole_documents() -> dict[str, Any]:
    """A document of each method."""
    causal = [causal_fixtures.rating(name) for name in ("gru", "textblob")]
    social = [social_fixtures.all_states()]
    return {
        "two-step": two_step("TG-2026-1122-0001"),
        "trust": chatbots("TG-2026-1122-0002"),
        "causal": document(causal_fixtures.run(causal), causal),
        "social-bias": document(social_fixtures.run(social), social),
    }


def test_runs_are_compared_once_until_one_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []

    def compared(ratings: Path, *_: Any) -> Any:
        asked.append(ratings)
        return {"groups": [{"rows": [{"id": "TG-1"}]}], "dates": []}

    monkeypatch.setattr("trustgauge.run.comparison.compare", compared)
    shown = Site(CatalogueStore.__new__(CatalogueStore), tmp_path, today=lambda: TODAY)
    for _ in range(3):
        assert shown.comparison()["groups"]
    assert len(asked) == 1
    (tmp_path / "TG-2026-1122-0001").mkdir()
    (tmp_path / "TG-2026-1122-0001" / "rating.json").write_text("{}")
    shown.comparison()
    assert len(asked) == 2


def test_texts_of_ones_own_are_in_no_language_that_anybody_named(
    client: Client, small: CatalogueStore
) -> None:
    """A table of French sentences was listed as English."""
    told = whole_documents()["causal"]
    listed = {one["id"] for one in told["ratings"]}
    for one in told["ratings"]:
        one["method"]["options"]["sentences"] = {"file": "phrases.csv"}
    small.add(told, actor="lab", is_checked=True)
    english = client("/api/v1/ratings?language=en&method=causal").json()["ratings"]
    assert not listed & {one["id"] for one in english}
    every = client("/api/v1/ratings?method=causal").json()["ratings"]
    assert listed <= {one["id"] for one in every}
