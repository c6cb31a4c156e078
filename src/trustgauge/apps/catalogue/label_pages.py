"""Labelling of a blind sample on a page: one key, or one button, an answer; no script is needed.

Who labels is the holder of a token, so two people are two labellers of the same sample. Neither the service
nor the program's reading is shown. A label is on disk before the next answer is shown; the rating is derived
again once a labeller ends (methods 0.10 (4)).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from trustgauge.apps.catalogue.api import Api
from trustgauge.apps.catalogue.api_requests import Problem
from trustgauge.apps.catalogue.forms import form_page, private_page, read_form
from trustgauge.apps.catalogue.ingest import take_in_folder
from trustgauge.apps.catalogue.queries import RatingQuery
from trustgauge.apps.catalogue.site import MOST_CHOICES, NotFoundError, Site
from trustgauge.rating.audit import FEWEST
from trustgauge.run.audit import Audit, auditable_ratings
from trustgauge.run.audit_log import read_log, resolve
from trustgauge.run.audit_sample import AuditSample
from trustgauge.run.labelling import Labelling
from trustgauge.run.verify import rerate

METHODS = ("social-bias", "trust", "two-step")
"""Whose readers people can check."""
KEPT = 8
"""Samples that are kept in memory; one takes seconds to draw."""


class LabelPages:
    """Addresses on which people label.

    Args:
        site: renders the pages.
        api: knows who may.
    """

    def __init__(self, site: Site, api: Api) -> None:
        self.site, self.api, self.store = site, api, site.store
        self._samples: OrderedDict[tuple[Any, ...], tuple[Audit, AuditSample]] = OrderedDict()
        self._lock = threading.Lock()

    def routes(self) -> list[Route]:
        return [
            Route("/audit/", self.index, methods=["GET"]),
            Route("/audit.json", self.index_data, methods=["GET"]),
            Route("/audit/{run}/", self.begin, methods=["GET"]),
            Route("/audit/{run}/", self.work, methods=["POST"]),
        ]

    def index(self, request: Request) -> Response:
        """The runs whose answers people can label here."""
        runs = [
            (one["run"], one["tested"], f"{one['method']}, {one['dimension']}".rstrip(", "))
            for one in self._runs()
        ]
        return private_page(self.site.render("label.html.j2", 1, title="Label answers", runs=runs))

    def index_data(self, request: Request) -> Response:
        """The same list as data."""
        return JSONResponse({"runs": self._runs()})

    def _runs(self) -> list[dict[str, str]]:
        """Runs whose answers people can label here, each once: by the first of its ratings that is found."""
        runs: dict[str, dict[str, str]] = {}
        for method in METHODS:
            query = RatingQuery(method=method, earlier="1")
            for row in self.store.list_ratings(query, self.site.today(), MOST_CHOICES).rows:
                if row["run"] not in runs and _has_plan(self.store.run_folder(row["run"])):
                    runs[row["run"]] = {name: row[name] for name in ("run", "tested", "method", "dimension")}
        return list(runs.values())

    def begin(self, request: Request) -> Response:
        """The form that asks who labels; nothing of the answers is shown yet."""
        run = request.path_params["run"]
        parts = auditable_ratings(self._folder(run))
        return private_page(self._page(run, parts=len(parts)))

    async def work(self, request: Request) -> Response:
        """Keep a label, take the last one back, or end; show what comes next."""
        run, form = request.path_params["run"], await read_form(request)
        folder = await run_in_threadpool(self._folder, run)

        async def page() -> str:
            by = await self.api.allow(request, "assessor", form.get("token", ""))
            return await run_in_threadpool(self._work, run, folder, form, by)

        return await form_page(page, lambda problem: self._page(run, problem=problem))

    def _folder(self, run: str) -> Path:
        folder = self.store.run_folder(run)
        if not _has_plan(folder):
            raise NotFoundError("no such run")
        return Path(folder)

    def _page(self, run: str, **content: Any) -> str:
        return self.site.render("label.html.j2", 2, title="Label answers", run=run, script=True, **content)

    def _work(self, run: str, folder: Path, form: dict[str, str], by: str) -> str:
        parts = auditable_ratings(folder)
        part = form.get("part", "1")
        place = int(part) - 1 if part.isdigit() and len(part) < 5 else 0
        if not 0 <= place < len(parts):
            raise Problem(422, "catalogue.refused", "Nothing of this run can be labelled")
        with self._lock:  # lines of one file
            audit, sample = self._sample(folder, *parts[place])
            labelling = Labelling(audit, sample, by, disputed=form.get("disputed") == "1")
            said = _act(labelling, form)
            if form.get("act") == "end":
                rerate(folder)
                take_in_folder(self.store, folder)
                self.store.record(by, "labelled", run)
        item = None if form.get("act") == "end" else labelling.next
        given = audit.labels
        agreed = resolve(given, None, len(sample.items)) if given else None
        return self._page(
            run,
            token=form.get("token", ""),
            part=place + 1,
            disputed=form.get("disputed", ""),
            by=by,
            done=labelling.done,
            total=len(labelling.items),
            item=item,
            choices=labelling.choices(item) if item else [],
            said=said,
            ended=form.get("act") == "end",
            agreed=agreed,
            kappa="" if agreed is None or agreed.kappa is None else f"{agreed.kappa:.2f}",
            ratings=self.store.ratings_of_run(run),
            fewest=FEWEST,
        )

    def _sample(self, folder: Path, experiment: int, service: str) -> tuple[Audit, AuditSample]:
        """The sample of a rating: what was drawn before, or one of the usual size."""
        sizes = read_log(folder).sizes.get((experiment, service), ())
        key = (folder, experiment, service, sizes, (folder / "rating.json").stat().st_mtime_ns)
        found = self._samples.get(key)
        if found is None:
            audit = Audit(folder, service, experiment=experiment)
            found = audit, audit.sample() if sizes else audit.draw(audit.default_size())
            if sizes:  # else the key is another one by now
                self._samples[key] = found
                while len(self._samples) > KEPT:
                    self._samples.popitem(last=False)
        return found


def _has_plan(folder: str) -> bool:
    """Whether a run lies on this machine with all that a sample is drawn by."""
    return bool(folder) and (Path(folder) / "plan.toml").is_file()


def _act(labelling: Labelling, form: dict[str, str]) -> str:
    """Do what the form asks for, and say what was done."""
    if form.get("act") == "undo":
        return "Taken back." if labelling.undo() else "There is nothing to take back."
    if label := form.get("label", ""):
        return "Saved." if labelling.label(form.get("key", ""), label) else "No such answer or label."
    return ""
