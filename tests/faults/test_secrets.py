"""A planted key never occurs in anything that is written or said, whoever throws it back at us."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.faults.running import error_of, files_of, rows, trustgauge, write_plan
from tests.servers import LocalServer, Request, Response

KEYS = {
    "plain": "sk-planted-4q9z1c7e2b",
    "with signs": "plan/ted+4q9z=1c7e&2b%",
    "with quotes": "plan'ted\"4q9z\\1c7e{2b}",
    "a password": "planted 4q9z 1c7e 2b!",
}
MARK = "4q9z"
"""A piece that all of the keys hold, and nothing else: no hexadecimal number, which hashes hold by chance."""


def spellings(key: str) -> tuple[str, ...]:
    """The key as a service may send it back."""
    return (key, quote(key, ""), json.dumps(key)[1:-1])


def traces(folder: Path) -> list[str]:
    """Files below a folder in which a piece of a key occurs, packed or not."""
    found = []
    for path in files_of(folder):
        data = path.read_bytes()
        if MARK.encode() in data or MARK.encode("utf-16-le") in data:
            found.append(str(path))
    for path in folder.rglob("store.sqlite"):
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            found += [f"{path}: a row" for line in db.iterdump() if MARK in line]
        db.close()
    return found


def echoing(key: str) -> Mapping[str, Callable[[Request], Response]]:
    """Services that give the key back in every way we know."""
    every = " ".join(spellings(key))

    def in_answers(request: Request) -> Response:
        return Response.json({"translatedText": f"He is a nurse {every} {request.head.decode('latin-1')}"})

    def in_errors(request: Request) -> Response:
        return Response(400, f"bad key {every} in {request.target}".encode(), (("x-key", "1"),))

    def refusing(request: Request) -> Response:
        return Response.json({"error": {"message": f"wrong key {every}", "headers": request.headers}}, 401)

    def failing(request: Request) -> Response:
        return Response(500, f"Trace:\n  key = {key!r}\n{every}".encode())

    def redirecting(request: Request) -> Response:
        return Response(302, b"", (("location", f"http://127.0.0.1:9/?key={quote(key, '')}"),))

    def garbling(request: Request) -> Response:
        return Response(200, f'{{"key": "{every}", "translatedText": '.encode())

    ways = (in_answers, in_errors, refusing, failing, redirecting, garbling)
    return {way.__name__.replace("_", "-"): way for way in ways}


def plan(urls: Mapping[str, str]) -> dict[str, Any]:
    """Round trips through each service; the key goes into the address, the headers and the body."""
    services = {
        name: {
            "use": "round-trip",
            "via": ["es"],
            "translator": {
                "use": "http",
                "url": f"{url}?key={{key}}",
                "key": "PLANTED_KEY",
                "headers": {"Authorization": "Bearer {key}", "X-Api-Key": "{key}"},
                "request": {"q": "{text}", "auth": "{key}"},
                "response": "translatedText",
                "timeout": 5.0,
            },
        }
        for name, url in urls.items()
    }
    experiment = {"method": "two-step", "services": list(services), "texts": 10, "draws": 1000}
    return {"name": "secrets", "services": services, "experiments": [experiment]}


@pytest.mark.parametrize("shape", ["with signs", "with quotes"])
def test_the_key_is_in_no_file_and_no_word_of_a_run(tmp_path: Path, shape: str) -> None:
    """Asked, checked, shown, exported, with -v and --progress json: the key is nowhere."""
    key = KEYS[shape]
    ways = echoing(key)
    secret = {"PLANTED_KEY": key, "OTHER_TOKEN": f"x{key}", "HTTP_PASSWORD": key}

    def answer(request: Request) -> Response:
        return ways[request.path[1:]](request)

    with LocalServer(answer) as server:
        write_plan(tmp_path, plan({name: f"{server.url}/{name}" for name in ways}))
        rated = trustgauge(tmp_path, "rate", "plan.toml", "-v", "--progress", "json", more=secret)
        checked = trustgauge(tmp_path, "check", "plan.toml", "-v", more=secret)
        assert len(server.requests) > 40
        assert all(key in request.headers["authorization"] for request in server.requests)
    error_of(rated, 3)
    said = rated.stdout + rated.stderr + checked.stdout + checked.stderr
    shown = trustgauge(tmp_path, "show", "--as", "json", "-v", more=secret)
    for done in (shown, trustgauge(tmp_path, "show", "--as", "evidence-csv", more=secret)):
        said += done.stdout + done.stderr
    assert MARK not in said
    assert traces(tmp_path) == []
    (kept,) = rows(tmp_path / "ratings", "SELECT count(*) FROM response WHERE output LIKE '%key removed%'")
    assert kept[0] >= 30, "the answers that held it are kept, without it"


PROGRAM = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "10" in asked["text"]:
        print(json.dumps({"id": asked["id"], "error": "no key " + os.environ["PLANTED_API_KEY"]}), flush=True)
    else:
        said = asked["text"] + " " + os.environ["PLANTED_API_KEY"]
        print(json.dumps({"id": asked["id"], "output": said}), flush=True)
    print("debug", dict(os.environ), file=sys.stderr, flush=True)
"""
FUNCTION = """
import os

def telling(text: str, source: str, target: str) -> str:
    return text + " " + os.environ["PLANTED_API_KEY"]

def raising(text: str, source: str, target: str) -> str:
    raise RuntimeError("the key is " + os.environ["PLANTED_API_KEY"])
"""


def test_programs_and_functions_that_read_the_environment_out(tmp_path: Path) -> None:
    """They run here and see all keys: what they say of them is blotted out before it is kept."""
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "spies.py").write_text(FUNCTION)
    translator = {"use": "command", "command": [sys.executable, "program.py"], "deterministic": True}
    functions = {name: {"use": "function", "function": f"spies:{name}"} for name in ("telling", "raising")}
    inner = {"program": translator, **functions}
    services = {name: {"use": "round-trip", "via": ["es"], "translator": one} for name, one in inner.items()}
    experiment = {"method": "two-step", "services": list(services), "texts": 10, "draws": 1000}
    write_plan(tmp_path, {"services": services, "experiments": [experiment]})
    done = trustgauge(
        tmp_path, "rate", "plan.toml", "-v", "--progress", "json", more={"PLANTED_API_KEY": KEYS["plain"]}
    )
    error_of(done, 3)
    assert MARK not in done.stdout + done.stderr
    assert traces(tmp_path / "ratings") == []
    (kept,) = rows(tmp_path / "ratings", "SELECT count(*) FROM response WHERE output LIKE '%****%'")
    assert kept[0] >= 60


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("OPENAI_BASE_URL", "http://me:planted-4q9z@127.0.0.1:9/v1", 2),
        ("OPENAI_BASE_URL", "not an address planted-4q9z", 2),
        ("OPENAI_API_KEY", "planted\n4q9z", 3),
        ("HTTP_PROXY", "http://me:planted-4q9z@127.0.0.1:9", 3),
    ],
)
def test_secrets_in_addresses_of_the_environment(tmp_path: Path, name: str, value: str, code: int) -> None:
    """A password in an address is refused or not told; nor is a key that cannot be sent."""
    more = {"OPENAI_API_KEY": "sk-other-0123456789", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", name: value}
    if name == "HTTP_PROXY":
        more |= {"NO_PROXY": "", "no_proxy": "", "OPENAI_BASE_URL": "http://example.invalid/v1"}
    settings = ("openai/m", "--method", "two-step", "--texts", "10")
    done = trustgauge(tmp_path, "check", *settings, "-v", more=more)
    assert done.returncode in (2, 3), done.stderr
    assert MARK not in done.stdout + done.stderr
    assert traces(tmp_path) == []


@pytest.mark.parametrize(
    "line",
    [
        'url = "http://me:planted-4q9z@127.0.0.1:9/"',
        'url = "http://127.0.0.1:9/"\nheaders = { Authorization = "Bearer planted-4q9z" }',
        'url = "http://127.0.0.1:9/"\nkey = ["planted-4q9z"]',
        'url = "http://127.0.0.1:9/"\ntoken = "planted-4q9z"',
        'url = "http://127.0.0.1:9/?api_key=planted-4q9z"',
        'url = "http://127.0.0.1:9/"\nrequest = { q = "{text}", api_key = "planted-4q9z" }',
        f'url = "http://127.0.0.1:9/bot9876543210:{"planted-4q9z" * 3}/send"',
    ],
)
def test_a_secret_that_stands_in_a_plan_is_refused_and_not_told(tmp_path: Path, line: str) -> None:
    text = f'[services.a]\nuse = "http"\n{line}\n[[experiments]]\nmethod = "two-step"\nservices = ["a"]\n'
    (tmp_path / "plan.toml").write_text(text)
    done = trustgauge(tmp_path, "rate", "plan.toml", "-v")
    assert done.returncode == 2
    assert MARK not in done.stdout + done.stderr
    assert not (tmp_path / "ratings").exists()


def test_the_search_itself_finds_what_is_planted(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(f"<p>{KEYS['plain']}</p>")
    with sqlite3.connect(tmp_path / "store.sqlite") as db:
        db.execute("CREATE TABLE response (output TEXT)")
        db.execute("INSERT INTO response VALUES (?)", (KEYS["a password"],))
    db.close()
    assert len(traces(tmp_path)) >= 2
