"""The verbs publish and withdraw: a rating goes into a catalogue, or is marked as withdrawn there."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import click

from trustgauge.errors import (
    CatalogueError,
    KeyMissingError,
    PlanError,
    RefusedError,
    UnavailableError,
)
from trustgauge.records import json_or_none
from trustgauge.terminal.options import output_options
from trustgauge.terminal.output import say_or_emit

if TYPE_CHECKING:
    from trustgauge.apps.catalogue.store import CatalogueStore

TOKEN = "TRUSTGAUGE_TOKEN"  # the name of a variable
WAIT = 60
"""Seconds that a catalogue may take."""
LARGEST = 1_000_000  # bytes of an answer that are read
MAKE = "trustgauge serve --ratings {folder}"
"""What makes the catalogue of a folder of ratings, and shows it."""


def _named(context: click.Context, option: click.Parameter, to: str | None) -> str:
    """The catalogue; somebody who has none reads how to make one."""
    if to:
        return to
    make = MAKE.format(folder="ratings")
    raise click.UsageError(
        "Name the catalogue: --to URL, or --to DIR for the ratings folder of one on this machine. "
        f"If there is none yet, `{make}` makes one of the ratings in that folder and serves it."
    )


_TO = click.option(
    "--to",
    envvar="TRUSTGAUGE_CATALOGUE",
    callback=_named,
    metavar="URL or DIR",
    help="Catalogue: its address, or the ratings folder of one on this machine.",
)


@click.command("publish")
@click.argument("name", metavar="ID", default="latest")
@_TO
@output_options
def publish_verb(name: str, to: str, **options: Any) -> None:
    """Publish a rating in a catalogue.

    \b
    trustgauge publish latest --to https://ratings.example/
    trustgauge publish TG-2026-1123-0b9f --to /srv/ratings

    The token comes from TRUSTGAUGE_TOKEN (`trustgauge serve --token NAME` makes one). A signed rating
    (`trustgauge sign`) is sent with its signature, which is checked before it is sent and again by the
    catalogue. A rating that does not follow from its answers is not published (exit 10). Publishing the
    same rating again changes nothing.
    """
    from trustgauge.catalogue import find_folder, read
    from trustgauge.run.verify import check_rating

    folder = find_folder(name, options["ratings"])
    run = read(folder)["run"]
    if run["state"] == "void":
        wrong = ", ".join(one["name"] for one in run["anchors"] if one["wrong"])
        what = f"{run['id']} is void and has no ratings to publish: {wrong} got a wrong level"
        raise CatalogueError(what, do="Our instrument is at fault: please report it")
    check_rating(folder, datetime.now(UTC).date(), "nothing was published")
    if _is_address(to):
        reply = _send(to, "api/v1/ratings", _bundle(folder))
    else:
        from trustgauge.apps.catalogue.ingest import take_in_folder

        store = _store(Path(to))
        try:
            reply = {"run": folder.name, "changed": take_in_folder(store, folder)}
        finally:
            store.close()
    signed = [("signed", f"by {reply['signed_by']}")] if reply.get("signed_by") else []
    lines = [("publish", f"{reply['run']}: {_new(reply['changed'])}"), *signed]
    where = [f"{_base(to)}r/{one}/" for one in reply["changed"]] if _is_address(to) else []
    say_or_emit({**reply, "pages": where}, [*lines, *(("page", one) for one in where)], options)


@click.command("withdraw")
@click.argument("name", metavar="ID")
@click.option("--reason", required=True, metavar="TEXT", help="Reason, shown on the rating's page.")
@_TO
@output_options
def withdraw_verb(name: str, reason: str, to: str, **options: Any) -> None:
    """Mark a rating as withdrawn in a catalogue. Its page stays, with the reason.

    \b
    trustgauge withdraw TG-2026-1123-0b9f.1 --reason "Wrong endpoint." --to https://ratings.example/

    ID is one rating; the id of a run withdraws all its ratings. The token comes from TRUSTGAUGE_TOKEN.
    """
    if _is_address(to):
        names = [name] if "." in name else _ratings_of(to, name)
        note = json.dumps({"kind": "withdrawal", "text": reason}).encode()
        for one in names:
            _send(to, f"api/v1/ratings/{quote(one, safe='')}/notes", note)
    else:
        store = _store(Path(to))
        try:
            names = [name] if store.rating(name) else store.ratings_of_run(name)
            for one in names:
                store.say(one, "withdrawal", reason, "whoever keeps the catalogue")
        finally:
            store.close()
    if not names:
        raise CatalogueError("there is no such rating in this catalogue", got=name)
    facts = {"withdrawn": names, "reason": reason}
    say_or_emit(facts, [("withdraw", one) for one in names], options)


def _new(changed: Sequence[str]) -> str:
    """How many ratings are new, and why there are none."""
    from trustgauge.reports.sanitize import count_with_noun

    if not changed:
        return "no new ratings: they were published before"
    return f"{count_with_noun(len(changed), 'rating is', 'ratings are')} new or changed"


def _is_address(to: str) -> bool:
    return to.startswith(("http://", "https://"))


def _base(to: str) -> str:
    return f"{to.rstrip('/')}/"


def _store(folder: Path) -> CatalogueStore:
    try:
        from trustgauge.apps.catalogue.store import DATABASE, CatalogueStore, default_database
    except ModuleNotFoundError as error:
        raise click.UsageError(f"this needs {error.name}: pip install 'trustgauge[server]'") from None
    if not (folder / DATABASE).is_file():
        raise CatalogueError(
            "there is no catalogue",
            must=f"a folder with {DATABASE}",
            got=str(folder),
            do=f"Make one with `{MAKE.format(folder=folder)}`",
        )
    return CatalogueStore(default_database(folder))


def _bundle(folder: Path) -> bytes:
    """The rating as it is sent: alone, or with its signature once that holds."""
    from trustgauge.run.proof_bundle import bundle_text, check_signature, read_envelope

    text = (folder / "rating.json").read_text("utf-8")
    signed = read_envelope(folder)
    if signed is None:
        return text.encode()
    check_signature(signed, text.encode(), json.loads(text), None)
    return bundle_text(text, signed, []).encode()


def _ratings_of(to: str, run: str) -> list[str]:
    """The ratings of a run, as the catalogue lists them; a run with one rating has its id."""
    found: list[str] = []
    after = f"api/v1/ratings?earlier=1&limit=200&q={quote(run)}"
    while after:
        reply = _send(to, after)
        found += [one["id"] for one in reply["ratings"] if one["run"] == run]
        after = (reply.get("next") or "").lstrip("/")
    return found


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """A token goes where it was sent, or nowhere."""


def _send(to: str, path: str, body: bytes | None = None) -> dict[str, Any]:
    """What a catalogue answers; without a body it is only read.

    Raises:
        KeyMissingError, RefusedError, UnavailableError, CatalogueError: by what it answers.
    """
    headers = {"Content-Type": "application/json", "User-Agent": "trustgauge", "Accept": "application/json"}
    if body is not None:
        token = os.environ.get(TOKEN, "")
        if not token:
            do = f"Set {TOKEN}; `trustgauge serve --token NAME` makes one"
            raise KeyMissingError(f"publishing needs a token in {TOKEN}", do=do)
        headers["Authorization"] = f"Bearer {token}"
    _check_safe(to)
    request = Request(f"{_base(to)}{path}", body, headers, method="GET" if body is None else "POST")
    try:
        with build_opener(_NoRedirects).open(request, timeout=WAIT) as answer:
            return _read(answer.read(LARGEST))
    except HTTPError as error:
        problem = _read(error.read(LARGEST))
        what = str(problem.get("title") or f"it answered {error.code}")[:300]
        more = {key: str(problem[key])[:300] for key in ("must", "got", "do") if problem.get(key)}
        if error.code in (401, 403):
            raise RefusedError(f"the catalogue refused: {what}", **more) from None
        if error.code in (404, 409, 413, 422):
            raise CatalogueError(f"the catalogue refused: {what}", **more) from None
        raise UnavailableError(f"the catalogue cannot do this now: {what}") from None
    except (URLError, OSError) as error:
        said = getattr(error, "reason", None) or type(error).__name__
        raise UnavailableError(f"the catalogue does not answer: {to}: {said}") from None


def _check_safe(to: str) -> None:
    """A token is not sent in the clear to another machine."""
    parts = urlsplit(to)
    if parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        must = "https://, or an address of this machine"
        raise PlanError.of("--to", "a token would be sent unencrypted", must=must, got=to)


def _read(data: bytes) -> dict[str, Any]:
    record = json_or_none(data)
    return record if isinstance(record, dict) else {}
