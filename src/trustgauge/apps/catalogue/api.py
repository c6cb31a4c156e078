"""The API of the catalogue: the same queries as the pages, as JSON.

`openapi.json` beside this module describes it; a test holds both against each other.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from trustgauge.apps.catalogue import exports
from trustgauge.apps.catalogue.api_requests import (
    Problem,
    body_of,
    check_query,
    openapi_text,
    page_of,
    page_size,
    period,
    problem_of,
    text_of,
)
from trustgauge.apps.catalogue.feed import WORDS
from trustgauge.apps.catalogue.live_chats import ChatView, LiveChats, refusal
from trustgauge.apps.catalogue.method_words import level_names
from trustgauge.apps.catalogue.plan_access import network_plan
from trustgauge.apps.catalogue.queries import RatingQuery
from trustgauge.apps.catalogue.site import Site
from trustgauge.apps.catalogue.store import ROLES, CatalogueRating, CatalogueStore, Role
from trustgauge.apps.catalogue.summaries import rating_summary, service_facts, service_summary
from trustgauge.apps.catalogue.webhooks import add_webhook
from trustgauge.errors import CatalogueError, PlanError, PublishedError, TrustgaugeError
from trustgauge.records import canonical
from trustgauge.reports.document_model import document_schema
from trustgauge.reports.exports import EVIDENCE

if TYPE_CHECKING:
    from trustgauge.apps.catalogue.jobs import JobQueue
    from trustgauge.apps.catalogue.options import ServeOptions

MOST_LINKS = 1_000
"""Rated services that programs find in the catalogue of APIs; the list has all."""


class Api:
    """Addresses of the API.

    Args:
        store: the catalogue.
        site: its pages, for what they compute too.
        options: how it is served.
        jobs: runs that may be started here; None if none may.
    """

    def __init__(
        self, store: CatalogueStore, site: Site, options: ServeOptions, jobs: JobQueue | None
    ) -> None:
        self.store, self.site, self.options, self.jobs = store, site, options, jobs
        self.chats = LiveChats(store, options.ratings)

    def routes(self) -> list[Route]:
        """All addresses, each with its one method."""
        routes: list[tuple[str, str, Callable[..., Any]]] = [
            ("GET", "/api/v1/ratings", self.ratings),
            ("POST", "/api/v1/ratings", self.publish),
            ("GET", "/api/v1/ratings/{id}", self.rating),
            ("GET", "/api/v1/ratings/{id}/evidence", self.evidence),
            ("POST", "/api/v1/ratings/{id}/notes", self.note),
            ("GET", "/api/v1/services", self.services),
            ("GET", "/api/v1/services/{slug}", self.service),
            ("POST", "/api/v1/services/{slug}/testing", self.testing),
            ("GET", "/api/v1/compare", self.compare),
            ("GET", "/api/v1/compose", self.compose),
            ("GET", "/api/v1/personal", self.personal),
            ("GET", "/api/v1/changes", self.changes),
            ("POST", "/api/v1/webhooks", self.webhook),
            ("POST", "/api/v1/plans:check", self.check_plan),
            ("POST", "/api/v1/runs", self.start_run),
            ("GET", "/api/v1/runs/{id}", self.run),
            ("GET", "/api/v1/runs/{id}/events", self.events),
            ("POST", "/api/v1/runs/{id}/stop", self.stop_run),
            ("POST", "/api/v1/chats", self.start_chat),
            ("POST", "/api/v1/chats/{id}/turns", self.say),
            ("POST", "/api/v1/chats/{id}/end", self.close_chat),
            ("GET", "/openapi.json", self.openapi),
            ("GET", "/schemas/rating-1.json", self.schema),
            ("GET", "/.well-known/api-catalog", self.api_catalog),
            ("GET", "/healthz", self.health),
        ]
        return [Route(path, answer, methods=[method]) for method, path, answer in routes]

    def ratings(self, request: Request) -> Response:
        """The list of ratings, by pages."""
        listed = [name for name, _ in self.store.choices()["level"]]
        places = (name.partition(" ")[0] for name in listed)  # of an order of systems
        levels = [*level_names(), *listed, *filter(str.isdigit, places)]
        check_query(request, "/api/v1/ratings", {"level": levels})
        query = RatingQuery.of(request.query_params)
        page = self.store.list_ratings(query, self.site.today(), page_size(request))
        content = {"ratings": [rating_summary(row) for row in page.rows]}
        return page_of(content, query.to_parameters(), page.after, request)

    def rating(self, request: Request) -> Response:
        """One rating: its `rating.json`, which is what was hashed."""
        found = self._found(request)
        tag = f'"{found.row["hash"]}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if any(
            one.strip().removeprefix("W/") in (tag, "*")
            for one in request.headers.get("If-None-Match", "").split(",")
        ):
            return Response(status_code=304, headers=headers)
        return Response(canonical(found.document), media_type="application/json", headers=headers)

    def evidence(self, request: Request) -> Response:
        """The texts behind a rating, by pages."""
        check_query(request, "/api/v1/ratings/{id}/evidence")
        found = self._found(request)
        rows = exports.evidence_rows(
            self.store.evidence(found.row["run"]), str(found.entry["service"]["key"])
        )
        if rows is None:
            raise Problem(404, "catalogue.no-evidence", "The texts behind this rating were not published")
        asked = request.query_params
        if "part" in asked and "part" in rows.columns:
            rows = rows.filter(rows["part"] == asked["part"])
        if asked.get("changed") == "true" and "changed" in rows.columns:
            rows = rows.filter(rows["changed"].fill_null(value=False))
        if words := asked.get("q", "").lower():
            both = rows["sent"].fill_null("") + " " + rows["back"].cast(str, strict=False).fill_null("")
            rows = rows.filter(both.str.to_lowercase().str.contains(words, literal=True))
        start = int(asked.get("after") or 0)
        limit = page_size(request)
        shown = [name for name in EVIDENCE if name in rows.columns]
        listed = json.loads(rows.select(shown).slice(start, limit).write_json())
        content = {"total": rows.height, "rows": listed}
        after = str(start + limit) if start + limit < rows.height else ""
        given = {name: asked[name] for name in ("part", "changed", "q") if name in asked}
        return page_of(content, given, after, request)

    def services(self, request: Request) -> Response:
        """All services."""
        return JSONResponse({"services": [service_summary(row) for row in self.store.services()]})

    def service(self, request: Request) -> Response:
        """One service, and all its ratings."""
        found = service_facts(self.store, request.path_params["slug"])
        if found is None:
            raise Problem(404, "catalogue.not-found", "There is no such service")
        return JSONResponse(found)

    def compare(self, request: Request) -> Response:
        """What `trustgauge compare` says, of all runs here or of two ratings."""
        from trustgauge.run.paired_ratings import compare_ratings

        a, b = (request.query_params.get(name, "")[:100] for name in ("a", "b"))
        if not (a or b):
            return JSONResponse(self.site.comparison())
        if not (self.store.rating(a) and self.store.rating(b)):
            raise Problem(404, "catalogue.not-found", "There is no such rating")
        return JSONResponse(compare_ratings(self.site.ratings, a, b, self.site.today()))

    def compose(self, request: Request) -> Response:
        """What `trustgauge compose` infers for a chain "A > B"."""
        asked = request.query_params
        parts = [asked.get(f"s{number}", "") for number in range(1, 5)]  # as the form of the page says it
        chain = (asked.get("chain", "") or " > ".join(filter(None, parts)))[:1000]
        return JSONResponse(self.site.infer_chain(chain).facts(self.site.ratings))

    def personal(self, request: Request) -> Response:
        """What `trustgauge compare --order` says."""
        from trustgauge.run.profile_ratings import ProfileQuery, rate_for_profile

        profile, order, rule = (
            request.query_params.get(name, "")[:200] for name in ("profile", "order", "rule")
        )
        places = [request.query_params.get(f"p{number}", "") for number in range(1, 9)]
        if any(places) and not order:  # as the form of the page says it
            order, profile = " > ".join(filter(None, places))[:200], ""
        whom = ProfileQuery(profile=profile, order=order, rule=rule)
        return JSONResponse(rate_for_profile(self.site.ratings, whom, self.site.today()))

    def changes(self, request: Request) -> Response:
        """What was published, corrected, withdrawn and replied, oldest first."""
        check_query(request, "/api/v1/changes")
        limit = page_size(request)
        rows = self.store.changes(int(request.query_params.get("after") or 0), limit)
        shown = [
            {"number": row["number"], "at": row["at"], "action": row["action"], "rating": row["subject"]}
            for row in rows
            if row["action"] in WORDS
        ]
        return page_of({"changes": shown}, {}, str(rows[-1]["number"]) if len(rows) == limit else "", request)

    async def publish(self, request: Request) -> Response:
        """Take in a document, or a bundle of `trustgauge prove`. Publishing it again changes nothing."""
        name = await self.allow(request, "assessor")
        body = await body_of(request)
        document, key = await run_in_threadpool(_signed_document, body, await request.body())
        if self.options.keys and key not in self.options.keys:
            must = f"signed by {' or '.join(sorted(self.options.keys))}"
            raise Problem(
                403, "catalogue.signature", "Only signed ratings are taken here", must=must, got=key
            )
        try:
            changed = await run_in_threadpool(self.store.add, document, actor=name)
        except CatalogueError as error:
            raise problem_of(error, 409 if isinstance(error, PublishedError) else 422) from error
        run = document["run"]["id"]
        if changed and key:
            await run_in_threadpool(self.store.record, name, "signature", f"{run} {key}")
        signed = {"signed_by": key} if key else {}
        return JSONResponse({"run": run, "changed": changed, **signed}, 201 if changed else 200)

    async def note(self, request: Request) -> Response:
        """A correction, a withdrawal, or a provider's reply."""
        asked = await body_of(request)
        kind, said = asked.get("kind"), asked.get("text")
        if kind not in ("correction", "withdrawal", "reply") or not isinstance(said, str) or not said.strip():
            must = "kind: correction, withdrawal or reply; text: why"
            raise Problem(422, "catalogue.refused", "This is no note", must=must)
        name = await self.allow(request, "admin" if kind == "reply" else "assessor")
        author = asked.get("author") if kind == "reply" and isinstance(asked.get("author"), str) else name
        if not await run_in_threadpool(self._may_note, request, name):
            raise Problem(403, "catalogue.not-yours", "Only who published a rating, or an admin, may do that")
        if not await run_in_threadpool(
            self.store.say, request.path_params["id"], kind, said, cast("str", author)[:200]
        ):
            raise Problem(404, "catalogue.not-found", "There is no such rating")
        return JSONResponse({"rating": request.path_params["id"], "kind": kind}, 201)

    def _may_note(self, request: Request, name: str) -> bool:
        if self._holder(request)[1] == "admin":
            return True
        return self.store.publisher(request.path_params["id"]) in ("", name)

    async def testing(self, request: Request) -> Response:
        """Say that a provider forbids tests of a service, or that it no longer does."""
        name = await self.allow(request, "admin")
        asked = await body_of(request)
        if not isinstance(asked.get("forbidden"), bool) or not isinstance(asked.get("note", ""), str):
            raise Problem(422, "catalogue.refused", "forbidden must be true or false")
        slug = request.path_params["slug"]
        done = await run_in_threadpool(
            lambda: self.store.forbid_testing(slug, asked.get("note", ""), name, forbidden=asked["forbidden"])
        )
        if not done:
            raise Problem(404, "catalogue.not-found", "There is no such service")
        return JSONResponse({"service": slug, "forbidden": asked["forbidden"]})

    async def webhook(self, request: Request) -> Response:
        """Tell an address of every change from now on; the answer holds the secret, this once."""
        name = await self.allow(request, "admin")
        url = (await body_of(request)).get("url")
        hook, secret = await run_in_threadpool(add_webhook, self.store, url if isinstance(url, str) else "")
        await run_in_threadpool(self.store.record, name, "webhook", hook)
        return JSONResponse({"id": hook, "secret": secret}, 201)

    async def check_plan(self, request: Request) -> Response:
        """All faults of a plan, or what it would ask."""
        await self.allow(request, "assessor")
        return JSONResponse(await run_in_threadpool(_checked_plan, await body_of(request)))

    async def start_run(self, request: Request) -> Response:
        """Start a run; the same plan gives the same run. With `every` it is rated again and again."""
        await self.allow(request, "assessor")
        job = await self.start(await body_of(request), request.query_params.get("every", ""))
        return JSONResponse(job, 202, headers={"Location": f"/api/v1/runs/{job['id']}"})

    async def start(self, plan: dict[str, Any], every: str = "") -> dict[str, Any]:
        """Start the run of a plan, if that has no fault; `every` such as "7d", or "" for once."""
        jobs = self._jobs()
        seconds = period(every)
        facts = await run_in_threadpool(_checked_plan, plan)
        if facts["faults"]:
            raise Problem(422, "plan.invalid", "The plan has faults", faults=facts["faults"])
        return await run_in_threadpool(jobs.add, plan, seconds)

    def run(self, request: Request) -> Response:
        """How far a run is."""
        return JSONResponse(self._job(request))

    async def events(self, request: Request) -> Response:
        """The events of a run as they come; `Last-Event-ID` resumes behind one."""
        job = await run_in_threadpool(self._job, request)
        seen = request.headers.get("Last-Event-ID", "0")
        last = int(seen) if seen.isdigit() and len(seen) < 15 else 0
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        stream = self._stream(request, job["id"], last)
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)

    async def _stream(self, request: Request, job: str, last: int) -> AsyncIterator[str]:
        while not await request.is_disconnected():
            state = (await run_in_threadpool(self._jobs().job, job) or {}).get("state")
            found = await run_in_threadpool(self._jobs().events, job, last)
            for number, data in found:
                last = number
                yield f"id: {number}\ndata: {data}\n\n"
            if state in ("done", "stopped", "failed") and not found:
                yield f"event: end\ndata: {json.dumps({'state': state})}\n\n"
                return
            if not found:
                yield ": waiting\n\n"
                await asyncio.sleep(1)

    async def stop_run(self, request: Request) -> Response:
        """Stop a run; what was answered is kept."""
        await self.allow(request, "assessor")
        return JSONResponse(await self.stop(request.path_params["id"]), 202)

    async def stop(self, name: str) -> dict[str, Any]:
        """Stop the run of this id."""
        jobs = self._jobs()
        if await run_in_threadpool(jobs.job, name) is None:
            raise Problem(404, "catalogue.not-found", "There is no such run")
        await run_in_threadpool(jobs.stop, name)
        return await run_in_threadpool(jobs.job, name) or {}

    async def start_chat(self, request: Request) -> Response:
        """Begin a live chat with the service of a rating."""
        asked = await body_of(request)
        rating, profile = (text_of(asked.get(name, "")) for name in ("rating", "profile"))
        view = await self.begin_chat(request, rating, profile or "safe-language")
        address = f"/api/v1/chats/{view.chat.id}/turns"
        return JSONResponse(view.facts(), 201, headers={"Location": address})

    async def say(self, request: Request) -> Response:
        """Say something to the bot; without a text, what was said so far."""
        text = text_of((await body_of(request)).get("text", ""))
        view = await self.chat_turn(request, request.path_params["id"], text)
        return JSONResponse(view.facts())

    async def close_chat(self, request: Request) -> Response:
        """Rate what was said as a run of its own; with `probe_leaks` after asking for planted secrets."""
        probe = (await body_of(request)).get("probe_leaks", False)
        if not isinstance(probe, bool):
            raise Problem(422, "catalogue.refused", "probe_leaks must be true or false")
        if probe:
            job = await self.probe_chat(request, request.path_params["id"])
            return JSONResponse(job, 202, headers={"Location": f"/api/v1/runs/{job['id']}"})
        run = await self.end_chat(request, request.path_params["id"])
        ratings = await run_in_threadpool(self.store.ratings_of_run, run)
        return JSONResponse({"run": run, "ratings": ratings}, 201)

    async def begin_chat(self, request: Request, rating: str, profile: str, token: str = "") -> ChatView:
        """A new chat, for whoever may start runs."""
        name = await self._allow_chat(request, token)
        with _chat_problems():
            chat = await run_in_threadpool(self.chats.create, rating, profile)
        await run_in_threadpool(self.store.record, name, "chat", chat.id)
        return await run_in_threadpool(self.chats.view, chat.id)

    async def chat_turn(
        self, request: Request, chat: str, text: str, token: str = "", after: str = ""
    ) -> ChatView:
        """A chat after another turn; as it stands, if nothing is said. `after`: see `LiveChats.turn`."""
        await self._allow_chat(request, token)
        with _chat_problems():
            if text.strip():
                return await self.chats.turn(chat, text, after)
            return await run_in_threadpool(self.chats.view, chat)

    async def end_chat(self, request: Request, chat: str, token: str = "") -> str:
        """The run in which a chat was rated."""
        await self._allow_chat(request, token)
        with _chat_problems():
            return await run_in_threadpool(self.chats.end, chat)

    async def probe_chat(self, request: Request, chat: str, token: str = "") -> dict[str, Any]:
        """The job in which a bot is asked for planted secrets, and rated with what was said."""
        name = await self._allow_chat(request, token)
        with _chat_problems():
            plan = await run_in_threadpool(self.chats.probing_job, chat)
        await run_in_threadpool(self.store.record, name, "chat", chat)
        return await run_in_threadpool(self._jobs().add, plan)

    async def _allow_chat(self, request: Request, token: str) -> str:
        name = await self.allow(request, "assessor", token)
        if self.jobs is None:
            raise Problem(409, "catalogue.no-runs", "No chats are held here", do="Serve with --allow-runs")
        return name

    def openapi(self, request: Request) -> Response:
        """The description of this API."""
        return Response(openapi_text(), media_type="application/vnd.oai.openapi+json")

    def schema(self, request: Request) -> Response:
        """The JSON schema of a `rating.json`."""
        return JSONResponse(document_schema(), media_type="application/schema+json")

    def api_catalog(self, request: Request) -> Response:
        """What there is for programs (RFC 9727)."""
        base = self.options.address or str(request.base_url)
        own = {
            "anchor": f"{base}api/v1/",
            "service-desc": [{"href": f"{base}openapi.json", "type": "application/vnd.oai.openapi+json"}],
            "service-doc": [{"href": f"{base}about/", "type": "text/html"}],
            "status": [{"href": f"{base}healthz", "type": "application/json"}],
        }
        listed = self.store.list_ratings(RatingQuery(), self.site.today(), MOST_LINKS).rows
        rated = [{"href": f"{base}r/{row['id']}/api-catalog.json"} for row in listed]
        here = {"anchor": f"{base}.well-known/api-catalog", "api-catalog": rated}
        return JSONResponse({"linkset": [own, here]}, media_type="application/linkset+json")

    def health(self, request: Request) -> Response:
        """Whether the database answers."""
        self.store.run_hash("")
        return JSONResponse({"status": "ok"})

    def _found(self, request: Request) -> CatalogueRating:
        found = self.store.rating(request.path_params["id"])
        if found is None:
            raise Problem(404, "catalogue.not-found", "There is no such rating")
        return found

    def _jobs(self) -> JobQueue:
        if self.jobs is None:
            raise Problem(409, "catalogue.no-runs", "No runs are started here", do="Serve with --allow-runs")
        return self.jobs

    def _job(self, request: Request) -> dict[str, Any]:
        found = self._jobs().job(request.path_params["id"])
        if found is None:
            raise Problem(404, "catalogue.not-found", "There is no such run")
        return found

    def _holder(self, request: Request, token: str = "") -> tuple[str, Role]:
        scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
        shown = token or (sent if scheme.lower() == "bearer" else "")
        found = self.store.holder(shown.strip()) if shown else None
        if (
            found is None
            and self.options.user_header
            and (user := request.headers.get(self.options.user_header))
        ):
            found = (user[:200], self._role_of_groups(request))
        if found is None:
            what = "This token is not known here, or was revoked" if shown else "This needs a token"
            raise Problem(401, "catalogue.token", what, do="Authorization: Bearer TOKEN")
        return found

    def _role_of_groups(self, request: Request) -> Role:
        """The highest role of the groups that a reverse proxy names; everybody is a reader."""
        header = self.options.group_header
        named = {one.strip() for one in request.headers.get(header, "").split(",")} if header else set()
        roles = [role for group, role in self.options.groups.items() if group in named]
        return max(roles, key=ROLES.index, default="reader")

    async def allow(self, request: Request, role: Role, token: str = "") -> str:
        """The name of who asks, by its header or this token, if it has at least this role.

        A page of another origin never has.
        """
        origin = request.headers.get("Origin")
        if origin is not None and origin.partition("://")[2] != request.headers.get("Host"):
            raise Problem(403, "catalogue.origin", "Requests of other origins are not taken")
        name, own = await run_in_threadpool(self._holder, request, token)
        if ROLES.index(own) < ROLES.index(role):
            raise Problem(403, "catalogue.role", f"This needs the role {role}", got=own)
        return name


def _signed_document(body: dict[str, Any], data: bytes) -> tuple[dict[str, Any], str]:
    """The document of a request, and the id of the key that signed it: "" for one that came by itself.

    Raises:
        VerifyError: it is a bundle in which anything was changed.
    """
    from trustgauge.run.proof_bundle import SCHEMA, check_bundle

    if body.get("schema") != SCHEMA:
        return body, ""
    checked = check_bundle(data, None)
    return checked.document, checked.signature.key if checked.signature else ""


def _checked_plan(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The faults of a plan, or its hash and what it asks."""
    try:
        checked = network_plan(plan)
    except PlanError as error:
        return {
            "faults": [
                {"place": one.place, "what": one.what, "must": one.must, "do": one.do} for one in error.faults
            ]
        }
    except TrustgaugeError as error:
        return {"faults": [{"place": "", "what": error.what, "must": error.must, "do": error.do}]}
    return {"faults": [], "hash": checked.hash, "services": sorted(checked.services)}


@contextmanager
def _chat_problems() -> Iterator[None]:
    """What a chat can fail with, as answers."""
    try:
        yield
    except (LookupError, TrustgaugeError) as error:
        status, words = refusal(error)
        raise Problem(status, words["code"], words["title"]) from error
