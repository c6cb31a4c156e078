"""The Dask engine on a real cluster of two worker processes: killed, interrupted, limited, compared."""

from __future__ import annotations

import json
import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from tests.engine.shouting import asked, http, upper
from tests.engine.virtual import units
from tests.forks import ForkedCommand
from tests.run.plans import but_for_times, faithful, translator_plan
from tests.servers import LocalServer, Request, Response
from tests.store.rows import python
from trustgauge.apps.distributed.dask_engine import DaskEngine
from trustgauge.apps.distributed.worker import WorkBatch
from trustgauge.engine import RetryPolicy
from trustgauge.engine.local import BudgetLimits, EngineConfig, EngineOutcome, Job, run
from trustgauge.errors import PlanError
from trustgauge.plan import load_plan
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate
from trustgauge.services.http import Http
from trustgauge.store import GroupWriter
from trustgauge.store.folder import WORKER_LOGS
from trustgauge.store.sqlite import SqliteStore

psutil = pytest.importorskip("psutil")
pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL"),
]

Serve = Callable[..., LocalServer]
KEY = "sk-planted-5f3a9c7e1b"


def logged(folder: Path) -> dict[int, set[tuple[str, int]]]:
    """Process id of each worker -> text and draw of the answers in its log."""
    found: dict[int, set[tuple[str, int]]] = {}
    for path in (folder / WORKER_LOGS).glob("*.answers"):
        asked: set[tuple[str, int]] = found.setdefault(int(path.stem.split("-")[-2]), set())
        for line in path.read_bytes().splitlines(keepends=True)[1:]:
            if line.endswith(b"\n"):
                asked |= {(row[3], row[2]) for row in json.loads(line).get("answers", ())}
    return found


class Asking:
    """Runs jobs on Dask with a real store. `watch` is told every event."""

    def __init__(self, folder: Path, *, batch: int = 200, scheduler: str = "") -> None:
        self.folder, self.batch, self.scheduler = folder, batch, scheduler
        self.events: list[Any] = []
        self.watch: Callable[[dict[str, Any]], None] = self.events.append

    def __call__(self, *jobs: Job, limits: BudgetLimits | None = None) -> EngineOutcome:
        with SqliteStore(self.folder / "store.sqlite") as store, GroupWriter(store) as writer:
            site = EngineConfig(self.folder / WORKER_LOGS, writer.flush, 2, self.scheduler)
            engine = DaskEngine(site, batch=self.batch, retry=RetryPolicy(first=0.05))
            return run(jobs, writer.keep, limits, self.watch, engine=engine)

    def kept(self, service: Http) -> dict[str, str]:
        """Text -> output of the answers that the store holds."""
        with SqliteStore(self.folder / "store.sqlite", read_only=True) as store:
            frame = store.answers(service.fingerprint)
        assert set(frame["status"]) <= {"answered"}
        return dict(frame.select("text", "output").iter_rows())


class Killer:
    """Kills the worker that asks a service, or all, once it has answered enough.

    Notes what was acknowledged by those that it killed.
    """

    def __init__(self, folder: Path, prefix: str, after: int, *, every: bool = False) -> None:
        self.folder, self.prefix, self.after, self.every = folder, prefix, after, every
        self.acknowledged: set[str] = set()
        self.at = 0.0
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self.at:
            time.sleep(0.005)
            found = logged(self.folder)
            done = {pid: sum(text.startswith(self.prefix) for text, _ in found[pid]) for pid in found}
            chosen = [pid for pid in found if self.every or done[pid] >= self.after]
            if max(done.values(), default=0) >= self.after:
                for pid in chosen:
                    os.kill(pid, signal.SIGKILL)
                self.at = time.monotonic()
                time.sleep(0.05)
                found = logged(self.folder)
                self.acknowledged = {text for pid in chosen for text, _ in found[pid]}
                return

    def join(self) -> None:
        self._thread.join(30)


def check_kill(asking: Asking, servers: dict[str, LocalServer], *, every: bool = False) -> None:
    slow = http(servers["slow"], rate=100.0, concurrency=4)
    fast = http(servers["fast"], concurrency=8)
    killer = Killer(asking.folder, "slow", 100, every=every)
    outcome = asking(Job("slow", slow, units(250, "slow")), Job("fast", fast, units(700, "fast")))
    killer.join()
    assert killer.at, "the run ended before a worker could be killed"
    assert outcome.stopped is None
    assert not outcome.refused
    assert [outcome.tallies[part].done for part in ("slow", "fast")] == [250, 700]
    for name, service, count in (("slow", slow, 250), ("fast", fast, 700)):
        wanted = {f"{name} {number}" for number in range(count)}
        calls = asked(servers[name])
        assert set(calls) == wanted
        assert asking.kept(service) == {text: text.upper() for text in wanted}
        twice = {text for text, times in calls.items() if times > 1}
        assert max(calls.values()) <= 2
        assert not twice & killer.acknowledged, "an acknowledged answer was asked for again"
        assert len(twice) <= 8 * 10  # what was in flight or not yet committed
    assert len(killer.acknowledged) >= 100
    assert any(event["event"] == "lost" for event in asking.events)
    assert not (asking.folder / WORKER_LOGS).exists()
    check_rate([request.at for request in servers["slow"].requests], 100.0)
    after = [request.at for request in servers["slow"].requests if request.at > killer.at + 0.02]
    assert after, "nothing was asked after the kill"


def check_rate(times: list[float], rate_: float) -> None:
    """No second, by the server's own clock, had more calls than declared, but for what was on its way.

    A busy machine may let calls arrive late and together: as many as are asked at once, so that four at a
    rate of a hundred keep to this however late they come.
    """
    for number, start in enumerate(times):
        within = sum(1 for at in times[number:] if at < start + 1.0)
        assert within <= rate_ * 1.05 + 1


def test_a_killed_worker_loses_nothing_that_was_acknowledged(tmp_path: Path, serve: Serve) -> None:
    check_kill(Asking(tmp_path), {"slow": serve(upper, 0.01), "fast": serve(upper, 0.02)})


@contextmanager
def cluster() -> Iterator[str]:
    """A Dask cluster as somebody else may run it, with Dask's own settings; gives its address."""
    import dask
    from distributed import LocalCluster

    # Forked from a process that has imported Dask; elsewhere workers are processes from the start on.
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        ) as running,
    ):
        yield str(running.scheduler_address)


def test_runs_that_a_catalogue_starts_are_asked_by_the_cluster_it_names(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    from distributed import Client

    from trustgauge.apps.catalogue.jobs import JobQueue
    from trustgauge.apps.catalogue.store import CatalogueStore
    from trustgauge.apps.catalogue.worker import work

    catalogue = CatalogueStore(f"sqlite:///{tmp_path / 'catalogue.sqlite'}")
    queue, runs = JobQueue(catalogue, "", tmp_path / "runs"), tmp_path / "runs"
    coin = {"use": "anchor", "behaviour": "coin"}
    plan = {
        "services": {"coin": coin},
        "experiments": [{"method": "two-step", "services": ["coin"], "texts": 20}],
    }
    job = queue.add(plan)["id"]
    with cluster() as address:
        assert work(catalogue, job, runs, {"engine": "dask", "scheduler": address}) == "done"
        with Client(address) as client:
            assert client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.transition_log))
    assert catalogue.rating((queue.job(job) or {})["run"]) is not None
    catalogue.close()


def test_a_cluster_that_runs_already_loses_nothing_either(tmp_path: Path, serve: Serve) -> None:
    # Here Dask itself hands a lost batch to another worker: it must not be begun a second time.
    with cluster() as address:
        asking = Asking(tmp_path, scheduler=address)
        check_kill(asking, {"slow": serve(upper, 0.01), "fast": serve(upper, 0.02)}, every=True)


def pages(ports: set[int]) -> Iterator[str]:
    """Pages of Dask that somebody serves there: any web page could ask for them, too."""
    for port in ports:
        for path in ("health", "info/main/workers.html", "json/identity.json", "metrics"):
            url = f"http://127.0.0.1:{port}/{path}"
            with suppress(OSError, HTTPException), urllib.request.urlopen(url, timeout=2):
                yield url


def test_budget_sockets_and_secrets(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PLANTED_KEY", KEY)

    def closed_to_strangers(request: Request) -> Response:
        if request.headers["authorization"] != f"Bearer {KEY}":
            return Response(401, b"who are you?")
        return upper(request)

    servers = [serve(closed_to_strangers, 0.002), serve(closed_to_strangers, 0.002)]
    more = {"key": "PLANTED_KEY", "headers": {"Authorization": "Bearer {key}"}}
    services = [http(one, **more) for one in servers]
    jobs = [Job(f"{n}", one, units(600, f"p{n}")) for n, one in enumerate(services)]
    listening: set[tuple[str, int]] = set()
    shown: list[str] = []
    asking = Asking(tmp_path, batch=100)

    def watch(event: Any) -> None:
        asking.events.append(event)
        if not listening and event["event"] == "answer":
            me = psutil.Process()
            every = [
                one for process in (me, *me.children(recursive=True)) for one in process.net_connections()
            ]
            listening.update(tuple(one.laddr) for one in every if one.status == psutil.CONN_LISTEN)
            shown.extend(pages({port for _, port in listening} - {server.port for server in servers}))

    asking.watch = watch
    outcome = asking(*jobs, limits=BudgetLimits(calls=700))
    assert outcome.stopped == "limit reached: calls 700"
    assert sum(len(server.requests) for server in servers) == outcome.calls == 700
    assert all(server.requests for server in servers)
    assert sum(len(asking.kept(service)) for service in services) == 700
    assert {host for host, _ in listening} == {"127.0.0.1"}
    assert shown == []
    batch = WorkBatch("run", "name", "lane", tmp_path, tuple(jobs), BudgetLimits(), RetryPolicy())
    result = [pickle.dumps(batch), json.dumps(asking.events).encode(), "".join(capfd.readouterr()).encode()]
    result += [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(KEY.encode() in one for one in result)


def two_services(url: str, other: str, **run: object) -> Any:
    """Two translators behind servers of their own, and a rule that runs where it is asked."""
    plan = translator_plan(url, texts=40, via=("es", "tr"))
    there = translator_plan(other, via=("fr",), service={"rate": 300.0, "deterministic": True})
    plan["services"]["other"] = there["services"]["mine"]
    plan["services"]["rule"] = {"use": "anchor", "behaviour": "all", "value": "She"}
    plan["experiments"][0]["services"] = ["mine", "other", "rule"]
    return {**plan, "run": run}


def test_ratings_are_those_of_the_local_engine(tmp_path: Path, serve: Serve) -> None:
    servers = [serve(faithful), serve(faithful)]
    urls = [server.url for server in servers]
    local = rate(load_plan(two_services(*urls)), RunOptions(ratings=tmp_path / "local"))
    before = [len(server.requests) for server in servers]
    logs = tmp_path / "shared"
    plan = load_plan(two_services(*urls, engine="dask", workers=2, shared=str(logs)))
    events: list[Any] = []
    shared = rate(plan, RunOptions(ratings=tmp_path / "dask", watch=events.append))
    assert but_for_times(shared.document) == but_for_times(local.document)
    assert [rating["state"] for rating in shared.document["ratings"]] == ["rated"] * 3
    assert [len(server.requests) for server in servers] == [2 * count for count in before]
    assert shared.folder.name == local.folder.name  # the same hash
    assert [event["event"] for event in events].count("part-done") == 4
    assert logs.is_dir()
    assert not list(logs.iterdir())
    again = rate(plan, RunOptions(ratings=tmp_path / "dask"))
    assert again.asked.calls == 0
    assert [len(server.requests) for server in servers] == [2 * count for count in before]


def command(plan: Path, ratings: Path, engine: str) -> list[str]:
    options = ["--ratings", str(ratings), "--quiet", "--engine", engine]
    options += ["--workers", "2"] if engine == "dask" else []
    return [sys.executable, "-m", "trustgauge", "rate", str(plan), *options]


@contextmanager
def started(plan: Path, ratings: Path) -> Iterator[ForkedCommand]:
    """A run on Dask as a process of its own."""
    process = ForkedCommand(command(plan, ratings, "dask")[3:], plan.parent, os.environ)
    with closing(process):
        yield process


def wait_for(true: Callable[[], bool]) -> None:
    """Waits until something is true."""
    end = time.monotonic() + 40
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def begun(server: LocalServer, ratings: Path, enough: int) -> list[int]:
    """Waits until the workers have acknowledged enough; who they are."""
    end = time.monotonic() + 40
    while time.monotonic() < end:
        time.sleep(0.01)
        found = [logged(folder) for folder in ratings.glob("TG-*")]
        if found and sum(len(asked) for asked in found[0].values()) >= enough:
            return list(found[0])
    raise AssertionError(f"only {len(server.requests)} calls were made")


def test_a_killed_run_resumes_with_what_its_workers_left(tmp_path: Path, serve: Serve) -> None:
    server, plan, ratings = serve(faithful, 0.02), tmp_path / "plan.toml", tmp_path / "ratings"
    plan.write_text(tomli_w.dumps(translator_plan(server.url, texts=200, service={"concurrency": 4})))
    with started(plan, ratings) as process:
        workers = begun(server, ratings, 100)
        process.kill()
        process.communicate()
    end = time.monotonic() + 40
    assert still(server, 4.0)
    while any(psutil.pid_exists(pid) and alive(pid) for pid in workers):
        assert time.monotonic() < end, "workers outlived their run"
        time.sleep(0.05)
    (folder,) = ratings.glob("TG-*")
    safe = set().union(*logged(folder).values())
    seen = sent(server)
    subprocess.run(command(plan, ratings, "local"), check=True, capture_output=True, timeout=60)
    again = sent(server)
    assert len(safe) >= 100
    assert {one: again[one] for one in safe} == {one: seen[one] for one in safe}
    assert len(again) > len(safe)
    assert json.loads((folder / "rating.json").read_text("utf-8"))["run"]["state"] == "complete"
    assert not (folder / WORKER_LOGS).exists()


def sent(server: LocalServer) -> Counter[tuple[str, int]]:
    """How often each text and draw was sent on its first way."""
    found = (request.json() for request in server.requests)
    return Counter((one["q"], one["draw"]) for one in found if one["target"] != "en")


def alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_ctrl_c_in_the_terminal_keeps_everything(tmp_path: Path, serve: Serve) -> None:
    server, plan, ratings = serve(faithful, 0.02), tmp_path / "plan.toml", tmp_path / "ratings"
    plan.write_text(tomli_w.dumps(translator_plan(server.url, texts=1000, service={"concurrency": 4})))
    with subprocess.Popen(
        command(plan, ratings, "dask"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # as in a terminal
    ) as process:
        try:
            begun(server, ratings, 50)
            os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to the workers too
            _, err = process.communicate(timeout=40)
        finally:
            process.kill()
    assert process.returncode == 130, err
    assert err.splitlines()[-1].startswith("exit 130: interrupted; all received answers are saved")
    assert "Traceback" not in err
    (folder,) = ratings.glob("TG-*")
    assert not (folder / WORKER_LOGS).exists()
    with SqliteStore(folder / "store.sqlite", read_only=True) as store:
        mark = load_plan(plan).services["mine"].parts()["es"].fingerprint  # type: ignore[attr-defined]
        kept = store.answers(mark)
    ways_back = sum(request.json()["target"] == "en" for request in server.requests)
    assert 50 <= len(kept) == ways_back  # every round trip that was finished


@contextmanager
def processes() -> Iterator[tuple[subprocess.Popen[bytes], subprocess.Popen[bytes], str]]:
    """A scheduler and a worker, each a process of somebody else's, and the address of the scheduler."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    host, port = address.removeprefix("tcp://").split(":")
    commands = (
        ("dask_scheduler", "--host", host, "--port", port, "--no-dashboard"),
        ("dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"),
    )
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with ExitStack() as running:
        found = []
        for module, *options in commands:
            words = [sys.executable, "-m", f"distributed.cli.{module}", *options]
            found.append(running.enter_context(subprocess.Popen(words, **quiet)))  # type: ignore[call-overload]
            running.callback(found[-1].kill)
        yield found[0], found[1], address


def still(server: LocalServer, seconds: float) -> bool:
    """Whether, within that time, nothing more is asked for a while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        count = len(server.requests)
        time.sleep(0.4)
        if len(server.requests) == count:
            return True
    return False


def test_deaths_of_the_run_and_of_the_scheduler_end_the_asking(tmp_path: Path, serve: Serve) -> None:
    server, plan, ratings = serve(faithful, 0.02), tmp_path / "plan.toml", tmp_path / "ratings"
    with processes() as (scheduler, worker, address):
        options = {"engine": "dask", "scheduler": address, "shared": str(tmp_path / "logs")}
        document = translator_plan(server.url, texts=400, service={"concurrency": 2}, run=options)
        plan.write_text(tomli_w.dumps(document))
        with started(plan, ratings) as process:
            wait_for(lambda: len(server.requests) >= 20)
            process.kill()
        assert still(server, 4.0), "a worker went on for a run that was killed"
        before = len(server.requests)
        with started(plan, ratings) as process:
            wait_for(lambda: len(server.requests) >= before + 20)
            scheduler.kill()
            assert still(server, 4.0), "a worker went on without its scheduler"
            assert worker.wait(10) is not None
            _, err = process.communicate(timeout=40)
    assert process.returncode == 4, err
    assert "Traceback" not in err
    gone = f"the Dask scheduler {address} does not answer any more"
    why = f"incomplete: {gone}: start it again, then run the same command to continue"
    assert err.splitlines()[-1] == f"exit 4: {why}; all received answers are saved"
    assert max(sent(server).values()) <= 2
    assert (
        sum(times > 1 for times in sent(server).values()) <= 2
    )  # what was under way when the run was killed


WITHOUT = """
import sys
from pathlib import Path
sys.modules["distributed"] = None  # as where it is not installed
from trustgauge.errors import PlanError
from trustgauge.apps.distributed.dask_engine import DaskEngine
from trustgauge.engine.local import BudgetLimits, EngineConfig, Job
from trustgauge.records import Message
from trustgauge.services.http import Http

engine = DaskEngine.at(EngineConfig(Path(sys.argv[1]), lambda: None))
engine.start(lambda *answers: None, BudgetLimits(), None)
try:
    engine.run([Job("a", Http(url="http://127.0.0.1:9/", task="chat"), [(Message("hello"),)])])
except PlanError as error:
    print(error)
"""


def test_without_dask_it_says_what_to_install(tmp_path: Path) -> None:
    with python(WITHOUT, str(tmp_path)) as child:
        out, err = child.communicate(timeout=30)
    assert out.startswith("run.engine: Dask is not installed."), err
    assert "trustgauge[dask]" in out


def test_without_a_scheduler_it_says_so_and_sends_nothing(tmp_path: Path, serve: Serve) -> None:
    server = serve(upper)
    asking = Asking(tmp_path, scheduler="tcp://127.0.0.1:9")
    with pytest.raises(PlanError, match="no Dask scheduler answers") as caught:
        asking(Job("a", http(server), units(5)))
    assert caught.value.faults[0].place == "run.scheduler"
    assert not server.requests
