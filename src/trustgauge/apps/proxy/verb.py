"""The verb that listens: proxy."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trustgauge import plugins
from trustgauge.errors import PlanError
from trustgauge.terminal.options import load_environment, output_options, service_plan
from trustgauge.terminal.output import emit_json, say, show_result

if TYPE_CHECKING:
    from trustgauge.apps.proxy.app import ProxyConfig, ProxyResult
    from trustgauge.apps.proxy.listener import ListenerConfig
    from trustgauge.apps.proxy.recorder import TrafficCounts
    from trustgauge.apps.proxy.upstream import Upstream


@click.command("proxy")
@click.argument("service", metavar="SERVICE")
@click.option("--port", type=click.IntRange(0, 65535), default=8001, show_default=True)
@click.option("--url", default="", help="Base URL of the service, if not the usual one.")
@click.option(
    "--profile", "profiles", multiple=True, help="User profile to rate for; repeatable. Default: all four."
)
@click.option("--redact", is_flag=True, help="Store scores only, no texts.")
@click.option(
    "--every", type=click.FloatRange(0), default=30.0, show_default=True, help="Seconds between ratings."
)
@click.option("--listen", default="127.0.0.1", show_default=True, help="Local address to listen on.")
@click.option(
    "--allow-host", "names", multiple=True, metavar="NAME", help="Host name that clients may use; repeatable."
)
@click.option(
    "--allow-origin",
    "origins",
    multiple=True,
    metavar="ORIGIN",
    help="Origin of a web page that may use the proxy, such as http://localhost:3000; repeatable.",
)
@click.option(
    "--secret-header",
    "secret",
    multiple=True,
    metavar="NAME",
    help="Additional header that holds a secret; repeatable.",
)
@click.option(
    "--limit-connections",
    type=click.IntRange(1),
    default=400,
    show_default=True,
    help="Simultaneous connections; further ones get 503.",
)
@click.option(
    "--limit-megabytes",
    type=click.IntRange(1),
    default=128,
    show_default=True,
    help="Memory for requests and answers in flight; above it clients get 503.",
)
@click.option(
    "--transcript",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Transcript file; an existing one is continued.",
)
@output_options
def proxy_verb(service: str, **options: Any) -> None:
    """Forward requests to an OpenAI-compatible service and rate its answers.

    \b
    trustgauge proxy openai/gpt-4o-mini
    trustgauge proxy ollama/llama3.2 --port 8002 --profile safe-language
    trustgauge proxy openai/my-bot --url http://127.0.0.1:9000/v1

    Point clients at http://127.0.0.1:8001/v1 (OPENAI_BASE_URL). Traffic is passed on unchanged,
    and keys are not stored. The rating so far is at /trustgauge/rating; Ctrl-C ends and rates the traffic.
    Listening beyond this machine requires a token in TRUSTGAUGE_PROXY_TOKEN.
    """
    from trustgauge.apps.proxy.app import ProxyConfig, serve
    from trustgauge.apps.proxy.limits import TrafficLimits, affordable_connections
    from trustgauge.apps.proxy.rating_worker import RatingTarget, check_transcript

    upstream = upstream_of(service, options["url"])
    subject = RatingTarget(service, {"profiles": list(options["profiles"])} if options["profiles"] else {})
    subject.check()
    listening = _listening(options)
    limits = TrafficLimits(
        affordable_connections(options["limit_connections"]), options["limit_megabytes"] * 1_000_000
    )
    with tempfile.TemporaryDirectory(prefix="trustgauge-") as hidden:
        transcript = _place(service, options, Path(hidden))
        check_transcript(transcript, subject)
        serving = ProxyConfig(
            upstream,
            subject,
            transcript,
            listening,
            limits,
            every=options["every"],
            ready=lambda port: _ready(port, serving, options),
        )
        served = serve(serving)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that `hidden` goes in any case
        _end(served, transcript, options)


def upstream_of(service: str, url: str) -> Upstream:
    """The service that is meant, by its name on the command line.

    Raises:
        PlanError: there is none of that name, or it speaks another protocol.
    """
    from pydantic import ValidationError

    from trustgauge.apps.proxy.upstream import Upstream
    from trustgauge.plan_faults import faults_of
    from trustgauge.services.chat import OpenAi
    from trustgauge.services.transport import web_address

    settings = dict(service_plan(service, {"method": "trust"})["services"][service])
    try:
        settings |= {"url": web_address(url)} if url else {}
        described = plugins.load("services", settings["use"], "SERVICE").model_validate(settings)
        load_environment([described])
        if isinstance(described, OpenAi):
            return Upstream(described.name_in_errors(), web_address(described.base()))
    except ValidationError as error:
        raise PlanError(tuple(faults_of(error, OpenAi, f"services.{service}"))) from None
    except ValueError as error:
        raise PlanError.of("--url", "no usable address", must=str(error).removeprefix("must be ")) from None
    must = "a service that speaks OpenAI's protocol: openai/..., ollama/..., ..."
    raise PlanError.of("SERVICE", "the proxy cannot forward to this service", must, service)


def _place(service: str, options: dict[str, Any], hidden: Path) -> Path:
    """Where the transcript is: as given, beside the ratings, or, if no text may stay, where it vanishes."""
    if options["transcript"] and options["redact"]:
        raise PlanError.of("--transcript", "keeps texts, and --redact keeps none", must="one of the two")
    if options["transcript"]:
        return Path(options["transcript"])
    plain = "".join(one if one.isalnum() or one in "-." else "-" for one in service).strip("-.")
    name = f"{plain or 'service'}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.jsonl"
    return hidden / name if options["redact"] else Path(options["ratings"]) / "proxy" / name


def _listening(options: dict[str, Any]) -> ListenerConfig:
    """Where to listen, and for whom.

    Raises:
        PlanError: it must not be listened so.
    """
    from trustgauge.apps.proxy.listener import TOKEN_VARIABLE, ListenerConfig

    listening = ListenerConfig(
        options["listen"],
        options["port"],
        options["names"],
        options["origins"],
        os.environ.get(TOKEN_VARIABLE, ""),
        options["secret"],
    )
    listening.check()
    return listening


def _ready(port: int, serving: ProxyConfig, options: dict[str, Any]) -> None:
    """Say where it listens, and for whom, on stderr."""
    from trustgauge.reports import terminal
    from trustgauge.services.transport import address

    host = f"[{options['listen']}]" if ":" in options["listen"] else options["listen"]
    ours = f"http://{host}:{port}"
    lines = [
        terminal.line("proxy", f"{ours}/v1 passes everything on to {address(serving.upstream.url)}"),
        terminal.line("clients", f"OPENAI_BASE_URL={ours}/v1; keys are passed on and not stored"),
        terminal.line("rating", f"{ours}/trustgauge/rating"),
        terminal.line("texts", "not stored (--redact)" if options["redact"] else str(serving.transcript)),
        *_guards(serving, options),
        terminal.line("stop", "Ctrl-C; what passed is then rated"),
    ]
    say(lines, options, err=True)


def _guards(serving: ProxyConfig, options: dict[str, Any]) -> list[Any]:
    """Lines on who can do what: the token, and what somebody should know who is not alone here."""
    from trustgauge.apps.proxy.listener import TOKEN_VARIABLE
    from trustgauge.apps.proxy.wire import TOKEN
    from trustgauge.reports import terminal

    lines = []
    if serving.listening.token:
        lines.append(terminal.line("token", f"every request must bring it in {TOKEN} ({TOKEN_VARIABLE})"))
    notes = []
    if not serving.listening.only_here:
        notes.append(
            "keys and texts travel openly to the proxy: put TLS before it, or use a network of your own"
        )
    if os.name == "posix" and serving.transcript.stat().st_mode & 0o077:
        notes.append(f"others can read the texts of before: chmod 600 {serving.transcript}")
    if serving.limits.connections < options["limit_connections"]:
        most = f"{serving.limits.connections:,} connections at once"
        notes.append(f"{most}, as this process may not open more files (ulimit -n)")
    return lines + [terminal.line("note", note, "warn") for note in notes]


def _end(served: ProxyResult, transcript: Path, options: dict[str, Any]) -> None:
    """Rate all that passed, and say where the rating lies."""
    from trustgauge.apps.proxy.rating_worker import rate_at_end
    from trustgauge.reports import terminal

    lines = [terminal.line("passed", _passed(served.counts))]
    notes = [*_mixed(served), *_missed(served.counts), *_refused(served.counts)]
    lines += [terminal.line("note", one, "warn") for one in notes]
    if served.error:
        lines.append(terminal.line("note", served.error, "warn"))
    say(lines, options, err=True)
    if not served.spoken:
        if options["as_json"]:
            emit_json({"exchanges": served.counts.facts(), "ratings": []})
        say([terminal.line("rating", "none: no answer passed that could be read")], options, err=True)
        return
    document, folder = rate_at_end(transcript, served.subject, options["ratings"], redact=options["redact"])
    show_result(document, folder, options)


def _passed(counts: TrafficCounts) -> str:
    """How many exchanges were read, and of which models."""
    from trustgauge.reports.sanitize import count_with_noun

    models = ", ".join(f"{name or 'no name'} × {count:,}" for name, count in counts.models.most_common(5))
    return f"{count_with_noun(counts.read, 'exchange', 'exchanges')} read" + (
        f" ({models})" if models else ""
    )


def _mixed(served: ProxyResult) -> list[str]:
    """That clients asked for several models, which the name of the one service does not say."""
    from trustgauge.reports.sanitize import name

    models = [one for one in served.counts.models if one]
    if len(models) < 2:
        return []
    return [f"answers of {len(models):,} models are rated as one service, {name(served.subject.name)}"]


def _missed(counts: TrafficCounts) -> list[str]:
    """A line for each reason why something that passed is not in the rating."""
    from trustgauge.reports.sanitize import count_with_noun

    lines = []
    for why, count in counts.missed.most_common():
        said = f"{count:,} not in the rating: {_words('missed')[why]}"
        if why == "failed":
            said += f" ({', '.join(f'{status} × {n:,}' for status, n in counts.statuses.most_common(5))})"
        lines.append(said)
    for kind, count in counts.faults.items():
        ended = count_with_noun(count, "connection", "connections")
        lines.append(f"{ended} ended by a fault of the proxy ({kind}); please report it")
    return lines


def _refused(counts: TrafficCounts) -> list[str]:
    """A line for each reason why something did not pass."""
    return [
        f"{count:,} did not pass: {_words('refused')[why]}" for why, count in counts.refused.most_common()
    ]


def _words(table: str) -> Mapping[str, str]:
    from trustgauge.reports.components import read_messages

    return read_messages("trustgauge.apps.proxy").table(table)
