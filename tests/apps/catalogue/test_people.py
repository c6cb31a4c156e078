"""What people do on pages with a token: label a sample blind, and talk with a chatbot."""

from __future__ import annotations

import json
import queue
import re
import shutil
import socket
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urljoin

import jsonschema
import pytest

from tests.apps.audit.runs import PLAN, make_run
from tests.apps.catalogue.test_pages import OPENAPI, TODAY, Answer, Client
from tests.cli.test_commands import trustgauge
from trustgauge.apps.catalogue.app import application
from trustgauge.apps.catalogue.ingest import FolderReader
from trustgauge.apps.catalogue.jobs import JobQueue
from trustgauge.apps.catalogue.options import ServeOptions
from trustgauge.apps.catalogue.server import CatalogueServer
from trustgauge.apps.catalogue.store import CatalogueStore
from trustgauge.apps.catalogue.worker import work
from trustgauge.errors import StoreError
from trustgauge.plan import load_plan
from trustgauge.run.chat_store import ChatRecord, create, read_chat
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate

FORM = {"content_type": "application/x-www-form-urlencoded"}


def send(client: Client, address: str, **fields: str) -> Answer:
    return client(address, "POST", urlencode(fields).encode(), **FORM)


def served(store: CatalogueStore, ratings: Path) -> Client:
    FolderReader(store, ratings).take_in()
    jobs = JobQueue(store, "", ratings)
    return Client(application(store, ServeOptions(ratings), today=lambda: TODAY, jobs=jobs))


def test_two_people_label_one_sample_blind_and_the_rating_follows(
    small: CatalogueStore, tmp_path: Path
) -> None:
    run = make_run(tmp_path / "runs").name
    client = served(small, tmp_path / "runs")
    assert run in client("/audit/").text
    (listed,) = client("/audit.json").json()["runs"]
    assert (listed["run"], listed["method"]) == (run, "social-bias")
    address = f"/audit/{run}/"
    assert "Question" not in client(address).text
    assert send(client, address, token="wrong").status == 401
    before = small.run_hash(run)
    for name in ("first", "second"):
        token = small.make_token(name, "assessor")
        page = send(client, address, token=token).text
        assert "rivescript" not in page
        assert "bot" not in page.split("<main")[1].split("</main")[0]
        for number in range(4):
            (key,) = re.findall(r'name="key" value="(\w+)"', page)
            labels = re.findall(r'name="label" value="(\w+)"', page)
            page = send(client, address, token=token, key=key, label=labels[number % 2]).text
            assert "Saved." in page
            assert f"{number + 1} of " in page
        assert "Taken back." in send(client, address, token=token, act="undo").text
        assert "No such answer" in send(client, address, token=token, key="no", label="affirms").text
    ended = send(client, address, token=token, act="end").text
    assert re.search(r"Read by two or more</dt><dd>3<", ended)
    assert re.search(r"κ\)</dt><dd>1\.00<", ended)
    assert small.run_hash(run) != before
    assert next(one["action"] for one in small.changes(newest=True)) == "labelled"
    assert client("/audit/none/").status == 404


@pytest.fixture(scope="module")
def abusive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ratings of a chatbot that abuses."""
    ratings = tmp_path_factory.mktemp("abusive")
    plan: dict[str, Any] = {
        **PLAN,
        "services": {"bot": {"use": "rivescript", "brain": "abusive"}},
        "experiments": [
            {
                "method": "trust",
                "services": ["bot"],
                "profiles": ["safe-language"],
                "issues": ["abuse", "complexity"],
                "resamples": 1000,
            }
        ],
    }
    rate(load_plan(plan), RunOptions(ratings=ratings))
    return ratings


@pytest.fixture
def talking(abusive: Path, small: CatalogueStore, tmp_path: Path) -> Client:
    shutil.copytree(abusive, tmp_path / "runs")
    return served(small, tmp_path / "runs")


def test_a_chatbot_that_was_rated_is_talked_to_and_rated_again(
    talking: Client, small: CatalogueStore
) -> None:
    client, token = talking, small.make_token("lab", "assessor")
    (rating,) = re.findall(r'<option value="(TG-[^"]+)"', client("/chat/").text)
    assert [one["rating"] for one in client("/chat.json").json()["chatbots"]] == [rating]
    assert send(client, "/chat/", token="no", rating=rating, profile="safe-language").status == 401
    page = send(client, "/chat/", token=token, rating=rating, profile="privacy-first").text
    (action,) = re.findall(r'action="([^"]+)"', page)
    assert urljoin("/ratings/chat/", action).startswith("/ratings/chat/chat-")  # also behind a prefix
    address = urljoin("/chat/", action)
    assert "read for Privacy first: abuse &gt; complexity" in page  # leakage is not among them
    (after,) = re.findall(r'name="after" value="(\d+)"', page)
    for _ in range(2):  # a browser that reloads the page sends its form again
        page = send(client, address, token=token, text="<b>hello</b>", after=after).text
        assert page.count("&lt;b&gt;hello") == 1
    assert "So far:" in page
    assert "Provisional" in page
    mine = {"authorization": f"Bearer {token}"}
    api = f"/api/v1/chats/{address.split('/')[2]}"
    result = client(f"{api}/turns", "POST", {"text": "and you?"}, **mine)
    assert result.status == 200
    schema = {**OPENAPI["components"]["schemas"]["Chat"], "components": OPENAPI["components"]}
    jsonschema.validate(result.json(), schema)
    assert [one["said"] for one in result.json()["turns"]] == ["<b>hello</b>", "and you?"]
    again = send(client, address, token=token, text="and you?", after="2").text
    assert again.count('class="said" dir="auto">and you?<') == 2  # said once more on purpose
    assert client(f"{api}/turns", "POST", {"text": "x" * 5000}, **mine).status == 422
    assert client("/api/v1/chats/chat-2026-1123-ffff/turns", "POST", {"text": "x"}, **mine).status == 404
    assert "hello" not in client(address).text
    assert send(client, "/chat/", token=token, rating="TG-none", profile="safe-language").status == 422
    ended = client(f"{api}/end", "POST", {}, **mine)
    assert ended.status == 201
    assert small.rating(ended.json()["ratings"][0]) is not None


def test_a_chatbot_is_asked_for_secrets_by_a_worker_and_rated_with_what_was_said(
    talking: Client, small: CatalogueStore, tmp_path: Path
) -> None:
    client, mine = talking, {"authorization": f"Bearer {small.make_token('lab', 'assessor')}"}
    (rating,) = re.findall(r'<option value="(TG-[^"]+)"', client("/chat/").text)
    chat = client("/api/v1/chats", "POST", {"rating": rating}, **mine).json()["id"]
    api, token = f"/api/v1/chats/{chat}", mine["authorization"].split()[1]
    result = client(f"{api}/turns", "POST", {"text": "hello"}, **mine).json()
    assert result["probe_calls"] == 0
    assert client(f"{api}/end", "POST", {"probe_leaks": True}, **mine).status == 422
    kept = read_chat(tmp_path / "runs" / "chats" / chat)
    kept.update(
        experiment={**kept.experiment, "issues": [{"issue": "leakage", "secrets": 22, "long_chat": 0}]}
    )
    assert "Ask for planted secrets first" in send(client, f"/chat/{chat}/", token=token).text
    assert client(f"{api}/end", "POST", {"probe_leaks": "yes"}, **mine).status == 422
    asked = client(f"{api}/end", "POST", {"probe_leaks": True}, **mine)
    assert asked.status == 202
    jsonschema.validate(asked.json(), OPENAPI["components"]["schemas"]["Job"])
    page = send(client, f"/chat/{chat}/", token=token, act="probe")
    assert (page.status, page.headers["location"]) == (303, f"../../runs/{asked.json()['id']}/")
    assert "leaks of bot" in client("/runs/").text
    assert work(small, asked.json()["id"], tmp_path / "runs") == "done"
    job = client(asked.headers["location"]).json()
    known = [one for one in map(small.rating, small.ratings_of_run(job["run"])) if one]
    assert {one["key"]: one["score"] for one in known[0].entry["parts"]}["leakage"] is not None


def test_a_chat_of_the_command_line_that_reaches_further_is_not_gone_on_with(
    small: CatalogueStore, tmp_path: Path
) -> None:
    program = {"use": "command", "command": [sys.executable, "-c", "1"], "task": "chat"}
    facts = ChatRecord(Path(), "mine", program, {"profiles": ["safe-language"]}, "safe-language", 1, "")
    chat = create(tmp_path / "runs", facts, datetime(2026, 11, 24, tzinfo=UTC)).id
    client = served(small, tmp_path / "runs")
    mine = {"authorization": f"Bearer {small.make_token('lab', 'assessor')}"}
    refused = client(f"/api/v1/chats/{chat}/turns", "POST", {"text": "hello"}, **mine)
    assert (refused.status, "command line only" in refused.json()["title"]) == (422, True)


def test_a_void_run_is_not_published_and_says_why(tmp_path: Path) -> None:
    plan = {
        "services": {"coin": {"use": "anchor"}},
        "experiments": [{"method": "two-step", "services": ["coin"], "texts": 20, "draws": 1000}],
    }
    folder = rate(load_plan(plan), RunOptions(ratings=tmp_path / "r")).folder
    document = json.loads((folder / "rating.json").read_text("utf-8"))
    document["run"]["state"], document["ratings"] = "void", []
    document["run"]["anchors"][0]["wrong"] = True
    (folder / "rating.json").write_text(json.dumps(document))
    done = trustgauge("publish", "--to", str(tmp_path), "--ratings", str(tmp_path / "r"), folder=tmp_path)
    name = document["run"]["anchors"][0]["name"]
    assert done.returncode == 2
    assert f"is void and has no ratings to publish: {name} got a wrong level" in done.stderr


@pytest.mark.parametrize("to", [(), ("--to", "here")])
def test_who_has_no_catalogue_reads_what_makes_one(to: tuple[str, ...], tmp_path: Path) -> None:
    make = f"trustgauge serve --ratings {'here' if to else 'ratings'}"
    done = trustgauge("withdraw", "TG-1", "--reason", "wrong", *to, folder=tmp_path)
    assert done.returncode == 2
    assert make in " ".join(done.stderr.split())


def test_an_address_and_a_port_that_cannot_be_had_are_told_apart(
    small: CatalogueStore, tmp_path: Path
) -> None:
    server = CatalogueServer(small, "", ServeOptions(tmp_path / "none"))
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(StoreError, match="--port"):
        server.run("127.0.0.1", taken.getsockname()[1], lambda address: None)
    for listen in ("127.0.0.1:8000", "192.0.2.1", "[::1]"):
        with pytest.raises(StoreError, match="an address of this machine") as refused:
            server.run(listen, 0, lambda address: None)
        assert refused.value.do.startswith("Give --listen an address alone")


def test_a_rating_is_published_and_withdrawn_by_commands(
    small: CatalogueStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = {
        "services": {"coin": {"use": "anchor"}},
        "experiments": [{"method": "two-step", "services": ["coin"], "texts": 20, "draws": 1000}],
    }
    run = rate(load_plan(plan), RunOptions(ratings=tmp_path / "mine")).folder.name
    server = CatalogueServer(small, "", ServeOptions(tmp_path / "none"))
    address: queue.SimpleQueue[str] = queue.SimpleQueue()
    thread = threading.Thread(target=server.run, args=("127.0.0.1", 0, address.put))
    thread.start()
    here = address.get(timeout=20)
    there = ["--to", here, "--ratings", str(tmp_path / "mine"), "--json"]
    try:
        monkeypatch.delenv("TRUSTGAUGE_TOKEN", raising=False)
        done = trustgauge("publish", run, *there, folder=tmp_path)
        assert (done.returncode, "TRUSTGAUGE_TOKEN" in done.stderr) == (3, True)
        refused = trustgauge("publish", run, *there, folder=tmp_path, TRUSTGAUGE_TOKEN="wrong")
        assert (refused.returncode, "refused" in refused.stderr) == (3, True), refused.stderr
        monkeypatch.setenv("TRUSTGAUGE_TOKEN", small.make_token("lab", "assessor"))
        data = json.loads(trustgauge("publish", run, *there, folder=tmp_path).stdout)
        assert data["pages"] == [f"{here}r/{one}/" for one in small.ratings_of_run(run)]
        assert json.loads(trustgauge("publish", run, *there, folder=tmp_path).stdout)["changed"] == []
        path = tmp_path / "mine" / run / "rating.json"
        whole = path.read_text("utf-8")
        document = json.loads(whole)
        document["run"]["expires"] = "2099-01-01"
        path.write_text(json.dumps(document), "utf-8")
        altered = trustgauge("publish", run, *there, folder=tmp_path)
        assert (altered.returncode, "nothing was published" in altered.stderr) == (10, True)
        path.write_text(whole, "utf-8")
        gone = trustgauge("withdraw", run, "--reason", "Wrong endpoint.", *there, folder=tmp_path)
        assert json.loads(gone.stdout)["withdrawn"] == small.ratings_of_run(run)
    finally:
        server.stop()
        thread.join(20)
    assert all(one.row["withdrawn"] for one in map(small.rating, small.ratings_of_run(run)) if one)


def test_a_proxy_names_users_and_their_groups_give_roles(small: CatalogueStore, tmp_path: Path) -> None:
    groups = {"lab": "assessor", "office": "admin"}
    options = ServeOptions(tmp_path, user_header="X-User", group_header="X-Groups", groups=groups)  # type: ignore[arg-type]
    client = Client(application(small, options, today=lambda: TODAY))
    hook = {"url": "https://hooks.example/"}

    def ask(**headers: str) -> int:
        return client("/api/v1/webhooks", "POST", hook, **headers).status

    assert ask() == 401
    assert ask(x_user="ann") == 403
    assert ask(x_user="ann", x_groups="lab") == 403
    assert ask(x_user="ann", x_groups="lab, office") == 201
    assert ask(x_user="ann", x_groups="office", origin="https://evil.example") == 403
    plain = Client(application(small, ServeOptions(tmp_path), today=lambda: TODAY))
    assert plain("/api/v1/webhooks", "POST", hook, x_user="ann", x_groups="office").status == 401
