"""The verb serve: the catalogue of ratings, as pages and as an API."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from trustgauge import plugins
from trustgauge.terminal.options import output_options
from trustgauge.terminal.output import say_or_emit, say_under_heads, working

if TYPE_CHECKING:
    from trustgauge.apps.catalogue.store import CatalogueStore, Role

ROLES = ("reader", "assessor", "admin")


@click.command("serve")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True)
@click.option(
    "--listen", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on."
)
@click.option(
    "--database",
    envvar="TRUSTGAUGE_CATALOGUE_DATABASE",
    metavar="URL",
    help="postgresql://USER@HOST/NAME or sqlite:///FILE.  [default: catalogue.sqlite in the ratings folder]",
)
@click.option("--address", default="", metavar="URL", help="Public address, for links, QR codes and feeds.")
@click.option("--host-name", "hosts", multiple=True, metavar="NAME", help="Also answer to this name.")
@click.option("--demo", is_flag=True, help="Rate the example services first: about two minutes, no network.")
@click.option(
    "--freeze",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write all pages as files.",
)
@click.option("--mcp", is_flag=True, help="Serve an assistant (MCP) over standard input and output.")
@click.option(
    "--signed-by",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.pub",
    help="Only let ratings be published that this key signed.",
)
@click.option("--allow-runs", is_flag=True, help="Let holders of a token start runs.")
@click.option("--engine", metavar="NAME", help="Engine of those runs: local, or dask for many machines.")
@click.option("--workers", type=click.IntRange(1), help="Number of its Dask worker processes.")
@click.option("--scheduler", metavar="ADDRESS", help="Address of a running Dask cluster.")
@click.option("--shared", metavar="DIR", help="Folder that all its workers can access.")
@click.option("--token", "token_for", metavar="NAME", help="Create a token, print it once and exit.")
@click.option(
    "--role", type=click.Choice(ROLES), default="assessor", show_default=True, help="Of that token."
)
@click.option("--revoke", metavar="NAME", help="Revoke a token and exit.")
@click.option(
    "--user-header",
    default="",
    metavar="HEADER",
    help="Trust a reverse proxy that names users in this header.",
)
@click.option(
    "--group-header", default="", metavar="HEADER", help="Header in which that proxy names the user's groups."
)
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="GROUP=ROLE",
    help="Role of the members of a group of that header: reader, assessor or admin.",
)
@output_options
def serve_verb(**options: Any) -> None:
    """Serve the ratings of a folder as a catalogue: pages, exports and an API.

    \b
    trustgauge serve
    trustgauge serve --demo
    trustgauge serve --freeze site
    trustgauge serve --database postgresql://catalogue@db/catalogue --token lab
    """
    try:
        import sqlalchemy  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as error:
        raise click.UsageError(f"serve needs {error.name}: pip install 'trustgauge[server]'") from None
    ratings: Path = options["ratings"]
    url = options["database"] or _default_database(ratings)
    from trustgauge.apps.catalogue.store import CatalogueStore

    store = CatalogueStore(url)
    try:
        _act(store, url, options)
    finally:
        store.close()


def _act(store: CatalogueStore, url: str, options: dict[str, Any]) -> None:
    if options["token_for"]:
        token = store.make_token(options["token_for"], options["role"])
        facts = {"name": options["token_for"], "role": options["role"], "token": token}
        lines = [("token", token), ("note", "shown this once; the catalogue keeps its hash")]
        say_or_emit(facts, lines, options)
        return
    if options["revoke"]:
        store.revoke_token(options["revoke"])
        say_under_heads([("revoked", options["revoke"])], options)
        return
    if options["demo"]:
        _demo(options)
    if options["freeze"]:
        from trustgauge.apps.catalogue.freeze import freeze
        from trustgauge.apps.catalogue.ingest import FolderReader

        with working(options) as show:
            show("Reading the ratings")
            FolderReader(store, options["ratings"], refuse=partial(_refuse, options)).take_in()
            address = _slashed(options["address"])
            count = freeze(store, options["ratings"], options["freeze"], address=address, show=show)
        say_under_heads([("wrote", f"{options['freeze']}: {count:,} files")], options)
        return
    if options["mcp"]:
        _answer_assistant(store, options)
        return
    _serve(store, url, options)


def _answer_assistant(store: CatalogueStore, options: dict[str, Any]) -> None:
    """The tools of the catalogue for the program that holds the other ends of the pipes."""
    from trustgauge.apps.catalogue.api import Api
    from trustgauge.apps.catalogue.ingest import FolderReader
    from trustgauge.apps.catalogue.mcp import McpTools, over_pipes
    from trustgauge.apps.catalogue.options import ServeOptions
    from trustgauge.apps.catalogue.site import Site

    served = ServeOptions(ratings=options["ratings"], address=_slashed(options["address"]))
    api = Api(store, Site(store, served.ratings, address=served.address), served, None)
    store.redraw_cards()
    look = FolderReader(store, served.ratings).take_in
    over_pipes(McpTools(api), sys.stdin.buffer, sys.stdout.buffer, look)


def _demo(options: dict[str, Any]) -> None:
    from trustgauge.apps.catalogue.demo import rate_demo

    for line in rate_demo(options["ratings"]):
        say_under_heads([("demo", line)], options, err=True)


def _serve(store: CatalogueStore, url: str, options: dict[str, Any]) -> None:
    from trustgauge.apps.catalogue.options import ServeOptions
    from trustgauge.apps.catalogue.server import CatalogueServer
    from trustgauge.run.signing_keys import key_id, public_key

    hosts = ("127.0.0.1", "localhost", "[::1]", *options["hosts"])
    if options["listen"] not in ("127.0.0.1", "0.0.0.0", "::"):
        hosts = (*hosts, options["listen"])
    served = ServeOptions(
        ratings=options["ratings"],
        hosts=hosts,
        address=_slashed(options["address"]),
        user_header=options["user_header"],
        group_header=options["group_header"],
        groups=_groups(options["groups"]),
        runs=_run_settings(options),
        keys=frozenset(key_id(public_key(one)) for one in options["signed_by"]),
    )

    def ready(address: str) -> None:
        runs = [("runs", f"{address}runs/")] if options["allow_runs"] else []
        say_under_heads([("page", address), *runs, ("stop", "Ctrl-C")], options, err=True)

    def announce(new: int) -> None:
        words = "1 new run is being read; its ratings appear then"
        if new > 1:
            words = f"{new:,} new runs are being read; ratings appear one run after the other"
        say_under_heads([("note", words)], options, err=True)

    server = CatalogueServer(
        *(store, url, served),
        allow_runs=options["allow_runs"],
        announce=announce,
        refuse=partial(_refuse, options),
    )
    server.run(options["listen"], options["port"], ready)


def _refuse(options: dict[str, Any], name: str, why: str) -> None:
    """Say which run folder does not appear in the catalogue, and why."""
    say_under_heads([("note", f"{name} is passed over: {why}")], options, err=True)


def _groups(given: tuple[str, ...]) -> dict[str, Role]:
    """The roles of groups, as the command names them."""
    found: dict[str, Role] = {}
    for one in given:
        group, _, role = one.rpartition("=")
        if not group or role not in ROLES:
            raise click.UsageError(f"--group {one!r}: must be GROUP=ROLE, with one of: {', '.join(ROLES)}")
        found[group] = cast("Role", role)
    return found


def _run_settings(options: dict[str, Any]) -> dict[str, Any]:
    """How runs are asked that are started here, as the command says it."""
    engine = options["engine"]
    if engine and engine not in plugins.names("engines"):
        raise click.UsageError(f"--engine {engine!r}: must be one of: {', '.join(plugins.names('engines'))}")
    names = ("engine", "workers", "scheduler", "shared")
    given = {name: options[name] for name in names if options[name] is not None}
    if given and not options["allow_runs"]:
        raise click.UsageError(f"--{next(iter(given))} goes with --allow-runs: runs cannot be started here")
    if given and not engine:
        raise click.UsageError(f"--{next(iter(given))} goes with --engine: the local engine ignores it")
    return given


def _slashed(address: str) -> str:
    return f"{address.rstrip('/')}/" if address else ""


def _default_database(ratings: Path) -> str:
    from trustgauge.apps.catalogue.store import default_database

    ratings.mkdir(parents=True, exist_ok=True)
    return default_database(ratings)
