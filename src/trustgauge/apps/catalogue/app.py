"""The web application of the catalogue: pages, files and the API over one store.

Processes keep nothing between requests but what they can read again, so several may serve one database.
Only requests for a host that this catalogue is known by are answered, nothing is open to pages of other
origins, and whatever changes the catalogue needs a token.
"""

from __future__ import annotations

import logging
import threading
import time
import tomllib
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from contextlib import asynccontextmanager
from datetime import date
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from anyio.to_thread import current_default_thread_limiter
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trustgauge.apps.catalogue import exports, feed
from trustgauge.apps.catalogue.api import Api
from trustgauge.apps.catalogue.api_requests import Problem, problem_of
from trustgauge.apps.catalogue.chat_pages import ChatPages
from trustgauge.apps.catalogue.forms import DATA_POLICY, page_response, read_form
from trustgauge.apps.catalogue.label_pages import LabelPages
from trustgauge.apps.catalogue.mcp import McpTools
from trustgauge.apps.catalogue.options import ServeOptions
from trustgauge.apps.catalogue.site import (
    CHAIN_PARAMETERS,
    LIST_PARAMETERS,
    PAIR_PARAMETERS,
    PERSONAL_PARAMETERS,
    NotFoundError,
    Site,
)
from trustgauge.apps.catalogue.store import CatalogueStore
from trustgauge.apps.catalogue.templates import own_file
from trustgauge.errors import TrustgaugeError

if TYPE_CHECKING:
    from trustgauge.apps.catalogue.jobs import JobQueue

HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",  # with none, browsers name no origin when a form is sent
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
THREADS = 8
LOG = logging.getLogger("trustgauge.catalogue")


def application(
    store: CatalogueStore,
    options: ServeOptions,
    *,
    today: Callable[[], date] | None = None,
    jobs: JobQueue | None = None,
) -> ASGIApp:
    """The application, to be run by any ASGI server."""
    site = Site(store, options.ratings, address=options.address, today=today, jobs=jobs)
    site.by_proxy = bool(options.user_header)
    api = Api(store, site, options, jobs)
    pages = Pages(site, store, options, api)
    app = Starlette(
        lifespan=_few_threads,
        routes=[*pages.routes(), *api.routes()],
        exception_handlers={
            Problem: _problem,
            NotFoundError: pages.not_found,
            404: pages.not_found,
            405: pages.not_allowed,
            TrustgaugeError: _refused,
            Exception: _failed,
        },
    )
    app.router.redirect_slashes = False  # to folders by addresses of our own, which are relative
    return Guard(app, options)


@asynccontextmanager
async def _few_threads(app: Starlette) -> AsyncIterator[None]:
    """Pages are made by Python alone: more threads than these only wait for each other."""
    current_default_thread_limiter().total_tokens = THREADS
    yield


class Pages:
    """Addresses of the pages and of the files of a rating."""

    def __init__(self, site: Site, store: CatalogueStore, options: ServeOptions, api: Api) -> None:
        self.site, self.store, self.options, self.api = site, store, options, api
        self.cache = PageCache(store, site.today)

    def routes(self) -> list[Route]:
        """All pages. Each is a folder, and the address without its last slash leads there."""
        site = self.site
        fixed: dict[str, tuple[Callable[[Mapping[str, str]], str], tuple[str, ...]]] = {
            "/": (site.index, LIST_PARAMETERS),
            "/compare/": (site.compare, PAIR_PARAMETERS),
            "/personal/": (site.personal, PERSONAL_PARAMETERS),
            "/compose/": (site.compose, CHAIN_PARAMETERS),
            "/methods/": (lambda _: site.methods(), ()),
            "/about/": (lambda _: site.about(), ()),
            "/runs/": (lambda _: site.runs(), ()),
        }
        routes = [Route(path, self._page(*page), methods=["GET"]) for path, page in fixed.items()]
        routes += [
            Route("/s/{name}/", self._named(site.service), methods=["GET"]),
            Route("/r/{name}/", self.rating, methods=["GET"]),
            Route("/methods/{name}/", self._named(site.method), methods=["GET"]),
            Route("/runs/", self.start_run, methods=["POST"]),
            Route("/runs/{name}/", self._named(site.run), methods=["GET"]),
            Route("/runs/{name}/stop", self.stop_run, methods=["POST"]),
            Route("/r/{name}/{file}", self.file, methods=["GET"]),
            Route("/run.js", self.script, methods=["GET"]),
            Route("/keys.js", self.script, methods=["GET"]),
            *LabelPages(site, self.api).routes(),
            *ChatPages(site, self.api).routes(),
            *McpTools(self.api).routes(),
            Route(
                "/favicon.ico", lambda _: Response(status_code=204), methods=["GET"]
            ),  # browsers ask for it
            Route("/feed.atom", self.atom, methods=["GET"]),
        ]
        api = self.api
        routes += [  # every page has its data at the same address
            Route("/index.json", api.ratings, methods=["GET"]),
            Route("/s/{slug}.json", api.service, methods=["GET"]),
            Route("/r/{id}.json", api.rating, methods=["GET"]),
            Route("/compare.json", api.compare, methods=["GET"]),
            Route("/personal.json", api.personal, methods=["GET"]),
            Route("/compose.json", api.compose, methods=["GET"]),
            Route("/methods.json", lambda _: JSONResponse(site.methods_facts()), methods=["GET"]),
            Route("/methods/{name}.json", self._method_data, methods=["GET"]),
            Route("/about.json", lambda _: JSONResponse(site.about_facts()), methods=["GET"]),
            Route("/runs.json", self.runs_data, methods=["GET"]),
            Route("/runs/{id}.json", api.run, methods=["GET"]),
        ]
        named = ("s", "r", "methods", "runs", "audit", "chat")
        folders = (*fixed, "/audit/", "/chat/", *(f"/{one}/{{name}}/" for one in named))
        for path in folders[1:]:  # without the first page
            routes.append(Route(path.rstrip("/"), self._to_folder, methods=["GET"]))
        return routes

    def _page(
        self, render: Callable[[Mapping[str, str]], str], parameters: tuple[str, ...]
    ) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            query = request.query_params
            given = {name: value for name in parameters if (value := query.get(name))}
            if request.url.path == "/runs/":
                return page_response(render(given))
            return page_response(self.cache.page((request.url.path, *given.items()), lambda: render(given)))

        return answer

    def _named(self, render: Callable[[str], str]) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            name = request.path_params["name"]
            if request.url.path.startswith("/runs/"):
                return page_response(render(name))
            return page_response(self.cache.page((request.url.path,), lambda: render(name)))

        return answer

    def rating(self, request: Request) -> Response:
        """One rating; the badge to be copied leads to where this catalogue was reached.

        The id of a run with several ratings leads to the list of them.
        """
        name, base = request.path_params["name"], self.options.address or str(request.base_url)
        key = (request.url.path, base)
        try:
            return page_response(self.cache.page(key, lambda: self.site.rating(name, base)))
        except NotFoundError:
            if not self.store.ratings_of_run(name):
                raise
            return RedirectResponse(f"../../?{urlencode({'q': name, 'earlier': 1})}", status_code=307)

    def _to_folder(self, request: Request) -> Response:
        """Relative, so that it holds behind any proxy."""
        last = request.url.path.rsplit("/", 1)[1]
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"{last}/{query}", status_code=308)

    def file(self, request: Request) -> Response:
        """An export of a rating."""
        name, file = request.path_params["name"], request.path_params["file"]
        export = exports.export_of(file)
        found = self.store.rating(name) if export else None
        if export is None or found is None:
            raise NotFoundError("no such file")
        tag = f'"{found.row["hash"]}"' if export == "json" else ""
        if tag and tag in request.headers.get("If-None-Match", ""):
            return Response(status_code=304, headers={"ETag": tag})
        rows = None
        if found.row["has_evidence"] and export in ("html", *exports.OF_EVIDENCE):
            rows = exports.evidence_rows(
                self.store.evidence(found.row["run"]), str(found.entry["service"]["key"])
            )
        data = exports.export(export, found, rows, self.site.today(), self.site.rating_address(name))
        kind = exports.media_type(export)
        if export == "html":
            return page_response(data.decode())
        headers = {"Content-Security-Policy": DATA_POLICY} | ({"ETag": tag} if tag else {})
        return Response(data, media_type=kind, headers=headers)

    async def start_run(self, request: Request) -> Response:
        """Start the run of a form: a plan as TOML, and a token."""
        form = await read_form(request)
        text = form.get("plan", "")
        try:
            await self.api.allow(request, "assessor", form.get("token", ""))
            job = await self.api.start(tomllib.loads(text), form.get("every", ""))
        except tomllib.TOMLDecodeError as error:
            problem, status = f"The plan is no TOML: {error}.", 422
        except Problem as error:
            faults = "; ".join(f"{one['place']}: {one['what']}" for one in error.more.get("faults", ()))
            problem, status = f"{error.title}. {faults}".strip(), error.status
        else:
            return RedirectResponse(f"{job['id']}/", status_code=303)
        return page_response(await run_in_threadpool(self.site.runs, problem, text), status)

    async def stop_run(self, request: Request) -> Response:
        """Stop a run, by the form of its page."""
        form = await read_form(request)
        await self.api.allow(request, "assessor", form.get("token", ""))
        await self.api.stop(request.path_params["name"])
        return RedirectResponse("./", status_code=303)

    def script(self, request: Request) -> Response:
        """The script of the page of a run, or of pages that are worked by keys."""
        return Response(own_file(request.url.path[1:]), media_type="text/javascript; charset=utf-8")

    def _method_data(self, request: Request) -> Response:
        return JSONResponse(self.site.method_facts(request.path_params["name"]))

    def runs_data(self, request: Request) -> Response:
        """The runs that were started here."""
        if self.site.jobs is None:
            raise NotFoundError("runs cannot be started here")
        return JSONResponse({"runs": self.site.jobs.jobs()})

    def atom(self, request: Request) -> Response:
        """Changes as an Atom feed."""
        base = self.options.address or str(request.base_url)
        return Response(feed.atom(self.store, base), media_type="application/atom+xml")

    async def not_found(self, request: Request, error: Exception) -> Response:
        return await self._none(request, 404, "Not found", "There is no such page in this catalogue.")

    async def not_allowed(self, request: Request, error: Exception) -> Response:
        return await self._none(request, 405, "Not allowed", "This address cannot be asked that way.")

    async def _none(self, request: Request, status: int, title: str, words: str) -> Response:
        if request.url.path.startswith("/api/") or request.method != "GET":
            return problem_response(status, f"catalogue.{title.lower().replace(' ', '-')}", title, words)
        depth = request.url.path.count("/") - 1
        return page_response(await run_in_threadpool(self.site.missing, title, words, depth), status)


def problem_response(status: int, code: str, title: str, detail: str = "", **more: Any) -> JSONResponse:
    """An error as RFC 9457 wants it, with our code."""
    content = {
        "type": "about:blank",
        "status": status,
        "title": title,
        "code": code,
        "detail": detail,
        **more,
    }
    return JSONResponse(
        {key: value for key, value in content.items() if value not in ("", None)},
        status,
        media_type="application/problem+json",
    )


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return problem_response(error.status, error.code, error.title, error.detail, **error.more)


async def _refused(request: Request, error: Exception) -> Response:
    """An error of ours: what was asked for cannot be made."""
    assert isinstance(error, TrustgaugeError)
    return await _problem(request, problem_of(error))


async def _failed(request: Request, error: Exception) -> Response:
    LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem_response(500, "internal", "An error of the catalogue", "It was written to the log.")


class PageCache:
    """Pages by what they are made from, for as long as the catalogue does not change and the day is the same.

    The key of a page is its path and those parameters of its address that it understands: others would let
    the same page be rendered again for every new value.

    Everything that changes a page writes the audit log, so its last number is the version of all pages. A
    cache is of one process, and holds what can be made again at any time.
    """

    MOST = 32_000_000  # characters

    def __init__(self, store: CatalogueStore, today: Callable[[], date]) -> None:
        self.store, self.today = store, today
        self._version: tuple[int, date] = (-1, date.min)
        self._pages: OrderedDict[Hashable, str] = OrderedDict()
        self._size, self._lock = 0, threading.Lock()

    def page(self, key: Hashable, render: Callable[[], str]) -> str:
        """The page of a key, rendered if it is not known."""
        version = (self.store.last_change(), self.today())
        with self._lock:
            if version != self._version:
                self._version, self._size = version, 0
                self._pages.clear()
            if (known := self._pages.get(key)) is not None:
                self._pages.move_to_end(key)
                return known
        made = render()
        with self._lock:
            if version == self._version and key not in self._pages:
                self._pages[key] = made
                self._size += len(made)
                while self._size > self.MOST:
                    self._size -= len(self._pages.popitem(last=False)[1])
        return made


class RateLimiter:
    """So many requests a minute for each client, in bursts of a sixth of that at most; in this process."""

    MOST = 10_000  # clients that are remembered

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_second, self.burst, self.clock = per_minute / 60, max(1.0, per_minute / 6), clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> float:
        """0 if the client may go on, else the seconds it has to wait."""
        now = self.clock()
        left, before = self._left.pop(client, (self.burst, now))
        left = min(self.burst, left + (now - before) * self.per_second)
        allowed = left >= 1
        self._left[client] = (left - 1 if allowed else left, now)
        if len(self._left) > self.MOST:
            self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self.per_second


class Guard:
    """What stands before every request: Host header, rate limits, size of bodies, security headers."""

    LARGEST = 25_000_000

    def __init__(self, app: ASGIApp, options: ServeOptions) -> None:
        self.app, self.hosts = app, options.known_hosts
        self.reads = RateLimiter(options.reads_per_minute)
        self.writes = RateLimiter(options.writes_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(
                        (name.lower().encode(), value.encode())
                        for name, value in {**HEADERS, "Content-Security-Policy": DATA_POLICY}.items()
                        if name.lower().encode() not in known
                    ),
                ]
            await send(message)

        if refusal is not None:
            await refusal(scope, receive, guarded)
            return
        size = 0

        async def measured() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self.LARGEST:
                raise Problem(413, "catalogue.too-large", "The request is too large")
            return message

        await self.app(scope, measured, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        host = headers.get("host", "").lower()
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
        if name not in self.hosts:
            do = "Reach the catalogue by the name it is served under, or name this one with --host-name"
            return problem_response(421, "catalogue.host", "This catalogue is not known by that name", do=do)
        limiter = self.reads if scope["method"] in ("GET", "HEAD") else self.writes
        client = (scope.get("client") or ("",))[0]
        if wait := limiter.take(client):
            response = problem_response(429, "catalogue.too-many", "Too many requests from one address")
            response.headers["Retry-After"] = str(int(wait) + 1)
            return response
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self.LARGEST:
            return problem_response(413, "catalogue.too-large", "The request is too large")
        return None
