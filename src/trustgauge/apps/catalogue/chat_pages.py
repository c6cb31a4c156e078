"""Live chat on a page: choose a chatbot that was rated here, talk, see what each turn scores; no script."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from trustgauge.apps.catalogue.api import Api
from trustgauge.apps.catalogue.forms import form_page, private_page, read_form
from trustgauge.apps.catalogue.live_chats import LONGEST, ChatView, profiles
from trustgauge.apps.catalogue.site import Site
from trustgauge.methods.trust.messages import RISKS
from trustgauge.methods.trust.profiles import title


class ChatPages:
    """Addresses of live chat; what was said is shown to whoever has a token."""

    def __init__(self, site: Site, api: Api) -> None:
        self.site, self.api = site, api

    def routes(self) -> list[Route]:
        return [
            Route("/chat/", self.index, methods=["GET"]),
            Route("/chat.json", self.index_data, methods=["GET"]),
            Route("/chat/", self.begin, methods=["POST"]),
            Route("/chat/{name}/", self.resume, methods=["GET"]),
            Route("/chat/{name}/", self.talk, methods=["POST"]),
        ]

    def index(self, request: Request) -> Response:
        """Which chatbots there are, and for whom they are read."""
        return private_page(self._page(""))

    def index_data(self, request: Request) -> Response:
        """The same as data, and whether chats are held here at all."""
        is_open = self.api.jobs is not None
        bots = self.api.chats.bots() if is_open else []
        return JSONResponse(
            {
                "open": is_open,
                "chatbots": [{"rating": rating, "name": words} for rating, words in bots],
                "profiles": [{"name": name, "title": words} for name, words in profiles()],
            }
        )

    def resume(self, request: Request) -> Response:
        """The form that asks who goes on; nothing of the talk is shown yet."""
        return private_page(self._page(request.path_params["name"]))

    async def begin(self, request: Request) -> Response:
        """Begin a chat."""
        form = await read_form(request)

        async def page() -> str:
            token = form.get("token", "")
            view = await self.api.begin_chat(request, form.get("rating", ""), form.get("profile", ""), token)
            return await run_in_threadpool(self._show, view, token, 1)

        return await form_page(page, lambda problem: self._page("", problem))

    async def talk(self, request: Request) -> Response:
        """Say something, or end and rate; without a text, show what was said."""
        name, form = request.path_params["name"], await read_form(request)

        async def page() -> str | Response:
            token, text = form.get("token", ""), form.get("text", "")
            if form.get("act") == "probe":
                job = await self.api.probe_chat(request, name, token)
                return RedirectResponse(f"../../runs/{job['id']}/", status_code=303)
            if form.get("act") == "end":
                run = await self.api.end_chat(request, name, token)
                return await run_in_threadpool(self._ended, run)
            view = await self.api.chat_turn(request, name, text, token, form.get("after", ""))
            return await run_in_threadpool(self._show, view, token)

        return await form_page(page, lambda problem: self._page(name, problem))

    def _page(self, name: str, problem: str = "") -> str:
        bots = [] if name or self.api.jobs is None else self.api.chats.bots()
        depth = 2 if name else 1
        content: dict[str, Any] = {"name": name, "problem": problem, "bots": bots, "profiles": profiles()}
        return self.site.render(
            "chat.html.j2", depth, title="Chat", open=self.api.jobs is not None, **content
        )

    def _show(self, view: ChatView, token: str, depth: int = 2) -> str:
        words = [RISKS.get(one, one) for one in view.so_far["possible"]] if view.so_far else []
        return self.site.render(
            "chat.html.j2",
            depth,
            title=f"Chat with {view.chat.service}",
            view=view,
            profile=title(view.chat.profile),
            words=" or ".join(words),
            token=token,
            longest=LONGEST,
        )

    def _ended(self, run: str) -> str:
        ratings = [one for one in map(self.site.store.rating, self.site.store.ratings_of_run(run)) if one]
        shown = [(one.row["id"], one.row["dimension"]) for one in ratings]
        return self.site.render("chat.html.j2", 2, title="Chat rated", ended=shown)
