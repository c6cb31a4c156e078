"""The pages of the catalogue: functions from the store to HTML, the same for a server and for frozen files.

Every page is a folder (`r/TG-.../`), and links between pages are relative, so that the same bytes work under
any address. Nothing on a page is fetched from elsewhere, and no page needs a script.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, fields
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from markupsafe import Markup
from sqlalchemy import RowMapping

from trustgauge import plugins
from trustgauge.apps.catalogue.cards import read_card
from trustgauge.apps.catalogue.exports import FILES, export_files
from trustgauge.apps.catalogue.history import MOST as MOST_MARKS
from trustgauge.apps.catalogue.history import history
from trustgauge.apps.catalogue.method_words import (
    FILTERS,
    WORDS,
    chain_facts,
    filter_words,
    method_facts,
    plain,
    rule_words,
    service_words,
    value_words,
    whole_methods,
    why_broken,
)
from trustgauge.apps.catalogue.queries import STATES, RatingQuery
from trustgauge.apps.catalogue.store import CatalogueRating, CatalogueStore
from trustgauge.apps.catalogue.templates import (
    comparison_environment,
    environment,
    own_file,
    personal_environment,
    policy,
    site_environment,
    style,
)
from trustgauge.catalogue import rating_files
from trustgauge.errors import PlanError, TrustgaugeError
from trustgauge.reports import (
    comparison,
    comparison_page,
    label,
    numbers,
    paired,
    sentences,
    views,
)
from trustgauge.reports.comparison_model import ComparisonDocument, RatingDifference
from trustgauge.reports.components import view_by_name
from trustgauge.reports.document import is_expired
from trustgauge.reports.document_model import RatingEntry

if TYPE_CHECKING:
    from trustgauge.apps.catalogue.jobs import JobQueue
    from trustgauge.run.chain_composition import ComposedChain

PAGE = 50
"""Ratings on a page of the list."""
MOST_CHOICES = 500
"""Ratings that can be chosen from for a comparison."""
MOST_WITHDRAWN = 100_000
"""Withdrawn ratings that no chain is inferred from."""
LIST_PARAMETERS = tuple(one.name for one in fields(RatingQuery))
PAIR_PARAMETERS = ("a", "b")
PERSONAL_PARAMETERS = (*(f"p{number}" for number in range(1, 9)), "rule", "profile")
CHAIN_PARAMETERS = tuple(f"s{number}" for number in range(1, 5))
"""What the pages understand of an address; they are given nothing else of it."""
CERTAINTIES = (("95", "95 %"), ("90", "90 %"), ("80", "80 %"))
AGES = (("30", "30 days"), ("90", "90 days"), ("365", "a year"))


class NotFoundError(LookupError):
    """There is no such page."""


class Site:
    """Renders the pages of a catalogue.

    Args:
        store: what it shows.
        ratings: folder of the runs that were made here: comparisons and chains read their answers.
        address: where the catalogue is reached from outside, with a slash at its end; "" if unknown.
        today: the date by which ratings are expired.
        jobs: the runs that are started here; None if none may be.
        frozen: the pages are written to files: the list holds all, and its form is worked by a script.
    """

    def __init__(
        self,
        store: CatalogueStore,
        ratings: Path,
        *,
        address: str = "",
        today: Callable[[], date] | None = None,
        jobs: JobQueue | None = None,
        frozen: bool = False,
    ) -> None:
        self.store, self.ratings, self.address, self.frozen = store, ratings, address, frozen
        self.jobs = jobs
        self.by_proxy = False  # whether a reverse proxy names users, so that forms ask for no token
        self.today = today or (lambda: datetime.now(UTC).date())
        self._comparison: tuple[object, ComparisonDocument] | None = None
        self._comparing = Lock()

    def index(self, given: Mapping[str, str]) -> str:
        """The list of ratings."""
        query, today = RatingQuery.of(given), self.today()
        page = self.store.list_ratings(query, today, 100_000 if self.frozen else PAGE)
        ranked = query.order == "best" and bool(query.method and query.dimension)
        places = _places(self.store.level_counts(query, today)) if ranked else {}
        rules = {row["rule"] for row in page.rows}
        rows = [
            _listed(row)
            | {"place": places.get(row["badness"], "–"), "by_rule": _by_rule(row["rule"], rules)}
            | {"what": service_words(row, row["service"])}
            for row in page.rows
        ]
        groups = [[row] for row in rows] if ranked else _together(rows)
        note = ""
        if query.order == "best" and not ranked:
            note = "Best level first. To see places, filter by one method and by what was rated for."
        elif ranked:
            note = (
                "Services with the same level share a place: lists do not tell them apart. "
                "“Compare” tells apart those that were asked the same texts."
            )
        shown = {name: value for name, value in query.to_parameters().items() if name != "after"}
        return self.render(
            "index.html.j2",
            0,
            title="Ratings",
            query=asdict(query),
            filters=self._filters(),
            filtered=len(set(shown) - {"q"}),
            given=[
                (name, filter_words(name, value), self._list_address(shown, without=name))
                for name, value in shown.items()
            ],
            total=page.total,
            groups=groups,
            ranked=ranked,
            ranked_note=note,
            after=f"?{urlencode({**shown, 'after': page.after})}" if page.after else "",
            script=self.frozen,
        )

    def _filters(self) -> list[tuple[str, str, list[tuple[str, str]]]]:
        known = self.store.choices()
        counted = {
            name: [(value, f"{value_words(name, value)} ({count:,})") for value, count in found]
            for name, found in known.items()
        }
        fixed = {"certainty": list(CERTAINTIES), "age": list(AGES), "state": [(one, one) for one in STATES]}
        return [(name, words, (counted | fixed).get(name, [])) for name, words in FILTERS.items()]

    def _list_address(self, given: Mapping[str, str], without: str) -> str:
        rest = {name: value for name, value in given.items() if name != without}
        return f"?{urlencode(rest)}" if rest else "./"

    def service(self, slug: str) -> str:
        """The history of a service, with all assessors beside each other."""
        service = self.store.service(slug)
        if service is None:
            raise NotFoundError("no such service")
        rows = self.store.history(slug)
        series: dict[tuple[str, ...], dict[str, list[RowMapping]]] = {}
        for row in rows:
            key = (row["method"], row["rule"], row["dimension"])
            series.setdefault(key, {}).setdefault(row["assessor"], []).append(row)
        return self.render(
            "service.html.j2",
            2,
            title=service["name"],
            service=service,
            what=service_words(service, slug),
            others=[
                (one["slug"], service_words(one, one["slug"]))
                for one in self.store.services_of_key(service["key"])
                if one["slug"] != slug
            ],
            count=len(rows),
            groups=[_series(series[key]) for key in sorted(series, key=lambda one: (one[1] != "sound", one))],
        )

    def rating(self, name: str, base: str = "") -> str:
        """The page of one rating, which never moves; `base` is where a reader has reached the catalogue."""
        found = self._rating(name)
        r, row = found.entry, found.row
        run = found.document["run"]
        words = {file: what for file, _, what in FILES.values()}
        return self.render(
            "rating.html.j2",
            2,
            title=f"{label.service(r)}: {label.outcome(r, self.today())}",
            r=r,
            row=row,
            stale=is_expired(r, self.today()),
            superseded_by=found.superseded_by,
            notes=found.notes,
            replies=[one for one in found.notes if one["kind"] == "reply"],
            corrections=[one for one in found.notes if one["kind"] == "correction"],
            revisions=found.revisions,
            quotations=json.loads(row["quotations"]),
            anchors_line=sentences.controls(run["anchors"]),
            limits=views.limits(found.shown),
            files=[
                (file, words.get(file, ""))
                for file in export_files(found, evidence=bool(row["has_evidence"]))
            ],
            has_badge=label.badge(r) is not None,
            has_evidence=bool(row["has_evidence"]),
            address=self.rating_address(name, base) or "./",
        )

    def rating_address(self, name: str, base: str = "") -> str:
        """Where a rating is reached: from outside, else by this base; "" if neither is known."""
        known = self.address or base
        return f"{known}r/{name}/" if known else ""

    def _rating(self, name: str) -> CatalogueRating:
        found = self.store.rating(name)
        if found is None:
            raise NotFoundError("no such rating")
        return found

    def compare(self, given: Mapping[str, str]) -> str:
        """All comparable ratings in rankings with ties; or two of them, text by text."""
        first, second = given.get("a", ""), given.get("b", "")
        chosen = {"a": first, "b": second, "options": self._compared(), "root": "../"}
        form = "" if self.frozen else environment().get_template("choose.html.j2").render(chosen)
        choose = Markup(form)  # a template that escapes
        if first or second:
            pairs, problem = self._pairs(first, second)
            return self.render(
                "paired.html.j2", 1, title="What changed", choose=choose, pairs=pairs, problem=problem
            )
        try:
            document = deepcopy(self.comparison())  # which gets links to the pages here
        except TrustgaugeError:
            document = None
        if document is None:
            problem = "No run lies in the folder of this catalogue, so there are no answers to compare."
            return self.render("paired.html.j2", 1, title="Compare", choose=choose, pairs=[], problem=problem)
        self._link_reports(document)
        styles = f"{comparison_page.style()}\n{own_file('site.css')}"
        content = comparison_page.content(document) | {
            "root": "../",
            "choose": choose,
            "style": Markup(styles),  # our own files
            "policy": policy(styles),
        }
        return comparison_environment().get_template("compare.html.j2").render(content)

    def comparison(self) -> ComparisonDocument:
        """What `trustgauge compare` says of all runs here; made again only after one was added or changed.

        It reads all their answers, which takes seconds. Who asks meanwhile waits for the same document.

        Raises:
            PlanError: there is nothing to compare.
        """
        from trustgauge.run.comparison import ComparisonQuery, compare

        with self._comparing:
            today = self.today()
            version = (today, sorted(rating_files(self.ratings)))
            if self._comparison is None or self._comparison[0] != version:
                self._comparison = version, compare(self.ratings, ComparisonQuery(), today)
            return self._comparison[1]

    def _link_reports(self, document: Mapping[str, Any]) -> None:
        """Lead every row of a comparison to its page here."""
        for group in document["groups"]:
            for row in group["rows"]:
                row["report"] = f"../r/{row['id']}/"
        for one in document.get("dates", ()):
            for side in (one["before"], one["after"]):
                side["report"] = f"../r/{side['id']}/"

    def _compared(self) -> list[tuple[str, str]]:
        """Ratings whose answers lie here, as choices of a form."""
        query = RatingQuery(earlier="1")
        rows = self.store.list_ratings(query, self.today(), MOST_CHOICES).rows
        return [
            (
                row["id"],
                f"{row['name']} {row['version']} · {_card(row)['issue']} · {numbers.day(row['tested'])}",
            )
            for row in rows
        ]

    def _pairs(self, first: str, second: str) -> tuple[list[dict[str, Any]], str]:
        from trustgauge.run.paired_ratings import compare_ratings

        try:
            if not (self.store.rating(first) and self.store.rating(second)):
                raise PlanError.of("rating", "choose two ratings of the catalogue")
            document = compare_ratings(self.ratings, first, second, self.today())
        except TrustgaugeError as error:
            return [], plain(error)
        return [_pair(number, one) for number, one in enumerate(document["ratings"], 1)], ""

    def personal(self, given: Mapping[str, str]) -> str:
        """Chatbots for one's own order of issues; the order stands in the address only."""
        from trustgauge.methods.trust import personal_page
        from trustgauge.methods.trust.messages import CODES
        from trustgauge.run.profile_ratings import RULES, ProfileQuery, profile_rankings, rate_for_profile

        places = [given.get(name, "") for name in PERSONAL_PARAMETERS[:8]]
        order, rule = " > ".join(filter(None, places)), given.get("rule", "")
        problem = ""
        try:
            whom = ProfileQuery(
                order=order[:200], rule=rule[:40], profile="" if order else given.get("profile", "")
            )
            document = rate_for_profile(self.ratings, whom, self.today())
        except TrustgaugeError as error:
            problem = plain(error)
            try:
                document = rate_for_profile(self.ratings, ProfileQuery(), self.today())
            except TrustgaugeError:
                words = (
                    "The trust method rates for several kinds of users. This page reads the answers behind "
                    "its ratings, and no run with such answers lies here: those that were published from "
                    "elsewhere stand in the list."
                )
                return self.render("missing.html.j2", 1, title="For you", words=words)
        self._link_reports(document)
        rules = {name: one.model_dump(mode="json") for name, one in RULES.items()}
        content = personal_page.content(document, rules, profile_rankings(document))
        issues = [(CODES.get(name, name), name) for name in document["issues"]]
        chosen = (places + [""] * len(issues))[: max(len(issues), 1)]
        facts = {"issues": issues, "chosen": chosen, "rules": list(RULES), "rule": rule}
        styles = f"{personal_page.style()}\n{own_file('site.css')}"
        content |= {
            "root": "../",
            "problem": problem,
            "orders": Markup(
                "" if self.frozen else site_environment().get_template("orders.html.j2").render(facts)
            ),
            "style": Markup(styles),  # our own files
            "policy": policy(styles, personal_page.script()),
        }
        return personal_environment().get_template("profile.html.j2").render(content)

    def compose(self, given: Mapping[str, str]) -> str:
        """What follows for a chain of rated services."""
        chosen = [given.get(name, "") for name in CHAIN_PARAMETERS]
        chain, problem = None, ""
        if any(chosen):
            try:
                chain = chain_facts(self.infer_chain(" > ".join(filter(None, chosen))), self.ratings)
            except TrustgaugeError as error:
                problem = plain(error)
        return self.render(
            "compose.html.j2",
            1,
            title="Chains",
            chosen=chosen,
            options=self._composable(),
            frozen=self.frozen,
            chain=chain,
            problem=problem,
        )

    def infer_chain(self, chain: str) -> ComposedChain:
        """What follows for a chain "A > B" from the ratings here that were not withdrawn.

        Raises:
            TrustgaugeError: it cannot be inferred.
        """
        from trustgauge.run.chain_composition import compose_chain

        gone = RatingQuery(state="withdrawn", earlier="1")
        withdrawn = {row["id"] for row in self.store.list_ratings(gone, self.today(), MOST_WITHDRAWN).rows}
        return compose_chain(chain, self.ratings, self.today(), withdrawn=withdrawn)

    def _composable(self) -> list[str]:
        """Services and their parts that chains can be made of."""
        rows = self.store.list_ratings(RatingQuery(method="two-step"), self.today(), MOST_CHOICES).rows
        named: dict[str, None] = {}
        for row in rows:
            found = self.store.rating(row["id"])
            if found is None or not found.row["folder"]:
                continue
            key = str(found.entry["service"]["key"])
            parts = [part["key"] for part in found.entry["parts"] if part["key"]]
            named |= dict.fromkeys([f"{key}:{part}" for part in parts] if len(parts) > 1 else [key])
        return sorted(named)

    def methods(self) -> str:
        """All methods."""
        return self.render("methods.html.j2", 1, title="Methods", **self.methods_facts())

    def method(self, name: str) -> str:
        """One method: levels, rules, controls, settings."""
        one = self.method_facts(name)
        words = view_by_name(name).messages.table("rules")
        rules = [(key, text) for key, text in words.items() if "{" not in text]
        return self.render(
            "method.html.j2", 2, title=name, one=one, rules=rules or list(WORDS["rules"].items())
        )

    def methods_facts(self) -> dict[str, Any]:
        """What all methods say of themselves."""
        broken = [
            {"name": name, "why": why} for name in plugins.names("methods") if (why := why_broken(name))
        ]
        return {"methods": [self.method_facts(name) for name in whole_methods()], "broken": broken}

    def method_facts(self, name: str) -> dict[str, Any]:
        """What a method says of itself, and how many ratings it made."""
        if name not in plugins.names("methods"):
            raise NotFoundError("no such method")
        if why_broken(name):
            raise NotFoundError("the plug-in of this method is broken")
        return method_facts(name, self.store.count(RatingQuery(method=name), self.today()))

    def about(self) -> str:
        """Who rates, how to complain, what words mean."""
        return self.render("about.html.j2", 1, title="About", **self.about_facts())

    def about_facts(self) -> dict[str, Any]:
        """How much stands here, by whom, and what states mean."""
        return {
            "ratings": self.store.count(RatingQuery(earlier="1"), self.today()),
            "services": len(self.store.services()),
            "assessors": self.store.choices()["assessor"],
            "states": list(WORDS["states"].items()),
        }

    def runs(self, problem: str = "", plan: str = "") -> str:
        """The runs that were started here, and a form that starts one."""
        jobs = [
            job | {"words": _job_words(job), "ratings": self.store.ratings_of_run(job["run"] or "")}
            for job in self._jobs().jobs()
        ]
        return self.render("runs.html.j2", 1, title="Runs", jobs=jobs, problem=problem, plan=plan)

    def run(self, name: str) -> str:
        """How far one run is."""
        job = self._jobs().job(name)
        if job is None:
            raise NotFoundError("no such run")
        parts, others, last = self._jobs().progress(name)
        found = [self.store.rating(one) for one in self.store.ratings_of_run(job["run"] or "")]
        running = job["state"] in ("waiting", "running")
        return self.render(
            "run.html.j2",
            2,
            title=job["name"] or "Run",
            job=job | {"words": _job_words(job)},
            running=running,
            script=running,
            parts=parts,
            last=last,
            events=[words for one in others if (words := _event_words(one))],
            ratings=[
                (one.row["id"], f"{one.row['name']}: {_card(one.row)['outcome']}") for one in found if one
            ],
        )

    def _jobs(self) -> JobQueue:
        if self.jobs is None:
            raise NotFoundError("runs cannot be started here")
        return self.jobs

    def missing(self, title: str, words: str, depth: int = 0) -> str:
        """A page that says why there is none."""
        return self.render("missing.html.j2", depth, title=title, words=words)

    def needs_server(self, title: str) -> str:
        """What stands in frozen files in the place of a page that works with people."""
        words = f"{title} needs a server: these pages are files. Serve the catalogue: trustgauge serve."
        return self.render("missing.html.j2", 1, title=title, words=words)

    def render(self, template: str, depth: int, **content: Any) -> str:
        """A page, by its template and its depth in folders."""
        known: dict[str, Any] = {
            "root": "../" * depth or "./",
            "by_proxy": self.by_proxy,
            "today": self.today().isoformat()
            if template in ("index.html.j2", "service.html.j2")
            else self.today(),
            "style": Markup(style()),  # our own files
            "policy": policy(style(), own_script=bool(content.get("script"))),
        }
        return site_environment().get_template(template).render(known | content)


def _places(counts: Sequence[tuple[int, int]]) -> dict[int, str]:
    """The place of each level: "1", or "=2" if several ratings share it."""
    places, before = {}, 0
    for badness, count in counts:
        if badness < 99:
            places[badness] = f"={before + 1}" if count > 1 else str(before + 1)
        before += count
    return places


def _together(rows: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Ratings of one run and service for several kinds of users stand in one row of the list."""
    groups: list[list[dict[str, Any]]] = []
    for row in rows:
        key = (row["run"], row["service"], row["method"])
        last = groups[-1][0] if groups else None
        if last and row["card"]["audience"] and (last["run"], last["service"], last["method"]) == key:
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups


def _card(row: RowMapping) -> dict[str, Any]:
    return read_card(row["card"])


def _listed(row: RowMapping) -> dict[str, Any]:
    """A rating as lists show it."""
    card = _card(row)
    drawn = {"pill": Markup(card["pill"]), "sure": Markup(card["sure"])}  # escaped when they were drawn
    return {**row, **drawn, "card": card}


def _by_rule(rule: str, rules: Collection[str]) -> str:
    """By which rule a rating is, in words; "" for our own where no other stands beside it."""
    return "" if rule == "sound" and len(rules) == 1 else f"by {rule_words(rule)}"


def _series(assessors: Mapping[str, Sequence[RowMapping]]) -> dict[str, Any]:
    """Ratings by one method, rule and dimension: one column an assessor, the newest rating first."""
    shown = []
    for name, rows in assessors.items():
        newest = _listed(rows[0])
        entries = [_entry(row) for row in reversed(rows[:MOST_MARKS])]
        shown.append(
            {
                "name": name,
                "relationship": rows[0]["relationship"],
                "id": rows[0]["id"],
                "pill": newest["pill"],
                "sure": newest["sure"],
                "outcome": newest["card"]["outcome"],
                "headline": newest["card"]["headline"],
                "figure": history(entries) if len(entries) > 1 else "",
                "rows": [{**row, "outcome": _card(row)["outcome"]} for row in rows],
            }
        )
    first = next(iter(assessors.values()))[0]
    card = _card(first)
    return {
        "title": card["issue"],
        "audience": card["audience"],
        "method": first["method"],
        "rule": rule_words(first["rule"]),
        "assessors": shown,
    }


def _entry(row: RowMapping) -> RatingEntry:
    entry: RatingEntry = json.loads(row["entry"])
    return {**entry, "withdrawn": row["withdrawn"] or None}


def _pair(number: int, one: RatingDifference) -> dict[str, Any]:
    """Two ratings as the page of a comparison shows them."""
    readings = one["readings"]
    examples = readings["examples"] if readings else []
    return {
        "name": paired.name(one),
        "sides": [one["before"], one["after"]],
        "verdict": paired.WORDS[one["verdict"]],
        "sentence": paired.sentence(one),
        "next": paired.following(one, 0.05),
        "counted": comparison.directions(readings) if readings else "",
        "examples": comparison_page.examples(number, examples) if examples else None,
    }


def _job_words(job: Mapping[str, Any]) -> str:
    words: Mapping[str, str] = WORDS["jobs"]
    if job["next"]:
        return f"{words[job['state']]}; looked at again from {numbers.moment(job['next'])}"
    return "Stopping" if job["stopping"] else words[job["state"]]


def _event_words(event: Mapping[str, Any]) -> str:
    """An event of the run in words; "" for one that the bars show."""
    if event["event"] in ("plan", "answer", "part-done", "done"):
        return ""
    try:
        return f"{numbers.moment(event['at'])}: {sentences.event(**event)}"
    except (KeyError, ValueError):
        return ""
