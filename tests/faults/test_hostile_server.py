"""Services that misbehave on the wire: every way ends in the right error, and whole runs in words."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.hostile import (
    GARBLED,
    HUGE,
    ODD,
    REJECTED,
    UNREACHED,
    WAYS,
    HostileServer,
    said,
    told,
)
from tests.faults.running import ended, error_of, last, measured, rating, rows, started, write_plan
from trustgauge.errors import BusyError, GarbledError, RejectedError, ServiceError, UnavailableError
from trustgauge.records import Message, Reply
from trustgauge.services.http import Http

BUSY = ("/429-for-a-century",)
SHORT, PATIENT = 1.0, 20.0  # seconds that a call may take; only ways that never answer need a short wait
SLOWEST = 10.0  # seconds until a call with a short limit has ended, on a busy machine
MOST_MEMORY = 500_000  # kilobytes, of which the program itself has 160,000


@pytest.fixture(scope="module")
def server() -> Iterator[HostileServer]:
    with HostileServer() as running:
        yield running


def ask(server: HostileServer, path: str, timeout: float = PATIENT) -> Reply:
    """One call to one way."""

    async def once() -> Reply:
        about = Http(
            url=server.url(path), source="en", target="es", response="translatedText", timeout=timeout
        )
        live = about.open()
        try:
            (reply,) = await live.ask([Message("She is a nurse.")])
            return reply
        finally:
            await live.close()

    return asyncio.run(once())


def expected(path: str) -> type[ServiceError]:
    if path in BUSY:
        return BusyError
    kinds = ((UNREACHED, UnavailableError), (REJECTED, RejectedError), (GARBLED, GarbledError))
    return next(kind for ways, kind in kinds if path in ways)


@pytest.mark.parametrize("path", [*UNREACHED, *REJECTED, *GARBLED])
def test_each_way_has_its_error(server: HostileServer, path: str) -> None:
    began = time.monotonic()
    with pytest.raises(ServiceError) as caught:
        ask(server, path, SHORT if path in UNREACHED else PATIENT)
    assert type(caught.value) is expected(path)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500
    assert path not in UNREACHED or time.monotonic() - began < SLOWEST
    assert server.asked[path] >= 1
    assert server.sent.get(path, 0) < HUGE / 2, "an endless answer was read on"


@pytest.mark.parametrize("path", ODD)
def test_odd_answers_are_read(server: HostileServer, path: str) -> None:
    output = ask(server, path).output
    assert isinstance(output, str)
    output.encode()
    assert output


def test_of_two_keys_the_last_counts_and_half_characters_are_replaced(server: HostileServer) -> None:
    assert ask(server, "/duplicated-keys").output == "He is a second."
    assert ask(server, "/lone-surrogate").output == "half \ufffd and \ufffd"
    assert ask(server, "/utf-16").output == "He is é."


def test_a_wait_of_centuries_is_told_as_it_was_asked(server: HostileServer) -> None:
    for path, least in (("/503-forever", 1e9), ("/429-for-a-century", 1e9)):
        with pytest.raises((BusyError, UnavailableError)) as caught:
            ask(server, path)
        assert isinstance(caught.value, BusyError | UnavailableError)
        assert caught.value.retry_after is not None
        assert least < caught.value.retry_after < math.inf


def plan(server: HostileServer, paths: tuple[str, ...], **more: object) -> dict[str, object]:
    """Round trips, one through each way."""
    services = {
        path[1:].replace(".", "-"): {
            "use": "round-trip",
            "via": ["es"],
            "translator": {
                "use": "http",
                "url": server.url(path),
                "request": {"q": "{text}"},
                "response": "translatedText",
                "timeout": 1.0,
                "concurrency": 4,
                **more,
            },
        }
        for path in paths
    }
    experiment = {"method": "two-step", "services": list(services), "texts": 10, "draws": 1000}
    return {"name": "hostile", "services": services, "experiments": [experiment]}


CHOSEN = (
    *("/reset-in-the-body", "/slow-body", "/truncated", "/500", "/503-forever", "/429-for-a-century", "/301"),
    *("/418", "/http-0.9", "/huge", "/header-bomb", "/gzip-bomb", "/latin-1-as-utf-8", "/deep-lists", "/nan"),
    *("/broken-gzip", "/fine", "/markup", "/nul-bytes", "/control-characters", "/a-hint-first"),
)
READ = tuple(path for path in CHOSEN if path in ODD)


@pytest.mark.slow
def test_a_run_of_hostile_services_ends_in_words(server: HostileServer, tmp_path: Path) -> None:
    """All at once: those that answer are rated, the others are named, memory stays bounded."""
    write_plan(tmp_path, plan(server, CHOSEN))
    process = started(tmp_path, "rate", "plan.toml", "--progress", "none")
    done = ended(process)
    err = error_of(done, 3)
    assert err.count("exit 3: ") == 1
    lost = [path for path in CHOSEN if path not in ODD]
    for path in lost:
        assert f"{path[1:].replace('.', '-')} es: " in err
    assert not any(code in done.stdout for code in ("\x1b", "\0", "\x07"))
    document = rating(tmp_path / "ratings")
    states = {one["service"]["key"]: one["coverage"] for one in document["ratings"]}
    for path in READ:  # what came holds no person, so nothing in it was understood
        assert (states[path[1:]]["unread"], states[path[1:]]["failed"]) == (30, 0), path
    for path in lost:
        coverage = states[path[1:].replace(".", "-")]
        assert (coverage["answered"], coverage["unread"]) == (0, 0), path
    assert server.asked["/huge"] <= 60, "a service that gives nothing usable is given up"
    kept = rows(tmp_path / "ratings", "SELECT count(*) FROM response WHERE length(output) > 100000")
    assert kept == [(0,)]


def test_memory_is_bounded_by_what_is_under_way(tmp_path: Path) -> None:
    """Eight calls at once of 100 MB each, packed and not, cost a fraction of that."""
    ways = ("/huge", "/gzip-bomb")
    with HostileServer({path: WAYS[path] for path in ways}) as server:
        write_plan(tmp_path, plan(server, ways, timeout=20.0))
        done, peak = measured(tmp_path, "rate", "plan.toml", "--progress", "none")
        assert done.returncode == 3, last(done)
        assert sum(server.asked.values()) > 20
    assert 50_000 < peak < MOST_MEMORY


def test_a_service_that_refuses_in_its_own_words_keeps_them_out_of_the_terminal(tmp_path: Path) -> None:
    rude = b'{"error": "\x1b]0;owned\x07\x1b[2J no \xe2\x80\xae money"}'
    with HostileServer({"/rude": said(rude, status="403 No")}) as server:
        write_plan(tmp_path, plan(server, ("/rude",)))
        done = ended(started(tmp_path, "rate", "plan.toml", "--progress", "none"))
    err = error_of(done, 3)
    assert server.asked["/rude"] <= 5, "a refusal is not asked again"
    for character in ("\x1b", "\x07", "\u202e"):
        assert character not in err + done.stdout


def test_the_key_goes_to_no_other_address(tmp_path: Path) -> None:
    """A redirect is not followed, so neither the key nor the text reaches its aim."""
    key = "sk-planted-0123456789abcdef"
    with HostileServer({"/": said(told("fine"))}) as thief:
        away = said(b"", f"location: {thief.url('/')}?next", status="307 Moved")
        with HostileServer({"/moved": away}) as server:
            secret = {"headers": {"Authorization": "Bearer {key}"}, "key": "PLANTED_KEY"}
            write_plan(tmp_path, plan(server, ("/moved",), **secret))
            process = started(tmp_path, "rate", "plan.toml", "--progress", "none", more={"PLANTED_KEY": key})
            error_of(ended(process), 3)
            assert key.encode() in server.heads["/moved"]
        assert not thief.asked
