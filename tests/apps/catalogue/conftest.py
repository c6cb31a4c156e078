"""A catalogue in both databases: SQLite, and PostgreSQL where its programs are installed."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trustgauge.apps.catalogue.store import CatalogueStore


def postgresql_programs() -> Path | None:
    """The folder of initdb and postgres, as Debian and others install them; None if there is none."""
    known = [Path(one).parent for one in [shutil.which("initdb")] if one]
    known += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((one for one in known if (one / "initdb").exists() and (one / "postgres").exists()), None)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a running server, which listens on a socket file only."""
    programs = postgresql_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed: neither initdb nor /usr/lib/postgresql (bin/setup test)")
    user = None
    if os.getuid() == 0:  # the server refuses to run as root
        names = {one.pw_name for one in pwd.getpwall()}
        user = "postgres" if "postgres" in names else "nobody"
    folder = Path(tempfile.mkdtemp(prefix="tg-pg-", dir="/tmp"))
    if user:
        shutil.chown(folder, user)
    data = folder / "data"
    name = user or pwd.getpwuid(os.getuid()).pw_name
    run: dict[str, Any] = {"check": True, "user": user, "cwd": folder, "capture_output": True}
    command: list[Any] = [
        programs / "initdb",
        "-D",
        data,
        "-A",
        "trust",
        "-U",
        name,
        "-N",
        "-E",
        "UTF8",
        "--locale=C.UTF-8",
    ]
    subprocess.run(command, **run)
    settings = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off -c shared_buffers=16MB"
    control: list[Any] = [programs / "pg_ctl", "-D", data, "-w"]
    subprocess.run([*control, "-l", folder / "log", "-o", settings, "start"], **run)
    try:
        yield f"postgresql://{name}@/postgres?host={folder}"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], **run)
        shutil.rmtree(folder, ignore_errors=True)


def empty(url: str) -> str:
    """The same server with an empty database of that name."""
    from sqlalchemy import create_engine

    engine = create_engine(
        url.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE")
        connection.exec_driver_sql("CREATE SCHEMA public")
    engine.dispose()
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'catalogue.sqlite'}"
    return empty(request.getfixturevalue("postgresql"))


@pytest.fixture
def store(url: str) -> Iterator[CatalogueStore]:
    opened = CatalogueStore(url)
    yield opened
    opened.close()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[CatalogueStore]:
    """A catalogue in SQLite only, for what does not depend on the database."""
    opened = CatalogueStore(f"sqlite:///{tmp_path / 'catalogue.sqlite'}")
    yield opened
    opened.close()
