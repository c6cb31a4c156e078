"""The audit tells three ends apart: nothing is known, something is known, and nothing could be looked up."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from supply.audit import CLEAN, FOUND, UNREACHED, Audited, locked_versions, rounds, told, verdict
from supply.locks import LOCKS, ROOT, read_lock

from tests.servers import LocalServer, Request, Response

PIP_AUDIT = """#!{python}
import json, pathlib, sys
lines = pathlib.Path(sys.argv[-1]).read_text().split()
packages = [line.split("==") for line in lines]
assert len({{name for name, _ in packages}}) == len(packages), "pip-audit takes a package once"
print(json.dumps({{"dependencies": [{entry} for name, version in packages], "fixes": []}}))
"""
CLEAN_ENTRY = '{"name": name, "version": version, "vulns": []}'
FOUND_ENTRY = (
    '{"name": name, "version": version, '
    '"vulns": [{"id": "PYSEC-1", "fix_versions": ["9.9"]}] if name == "numpy" else []}'
)
SKIPPED_ENTRY = '{"name": name, "skip_reason": f"Dependency not found: {name} ({version})"}'
NPM_CLEAN: dict[str, Any] = {"auditReportVersion": 2, "vulnerabilities": {}}
NPM_FOUND: dict[str, Any] = {
    "auditReportVersion": 2,
    "vulnerabilities": {
        "bson": {"severity": "high", "range": "<9", "via": [{"title": "Prototype pollution"}]},
        "mongodb": {"severity": "high", "range": "*", "via": ["bson"]},
    },
}
NPM_REFUSED: dict[str, Any] = {"message": "405 Method Not Allowed", "error": {"summary": ""}}
Programs = Callable[..., Path]


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    """A folder with a pip-audit and an npm that answer as told."""

    def put(name: str, text: str) -> None:
        path = tmp_path / name
        path.write_text(text.replace("{python}", sys.executable))
        path.chmod(0o755)

    def make(entry: str = "", npm: dict[str, Any] | None = None) -> Path:
        if entry:
            put("pip-audit", PIP_AUDIT.format(python=sys.executable, entry=entry))
        if npm is not None:
            put("npm", f"#!{sys.executable}\nprint({json.dumps(npm)!r})\n")
        return tmp_path

    return make


def audited(path: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "supply.audit"],
        cwd=ROOT,
        env={"PATH": path, "HOME": os.environ.get("HOME", "/"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("entry", "npm", "code", "words"),
    [
        (CLEAN_ENTRY, NPM_CLEAN, CLEAN, ["packages looked up, no known vulnerability"]),
        (FOUND_ENTRY, NPM_CLEAN, FOUND, ["found    numpy ", ": PYSEC-1, gone in 9.9"]),
        (CLEAN_ENTRY, NPM_FOUND, FOUND, ["bson <9: high: Prototype", "mongodb *: high: through bson"]),
        (SKIPPED_ENTRY, NPM_CLEAN, UNREACHED, ["could not be looked up", "Got Dependency not found: "]),
        (CLEAN_ENTRY, NPM_REFUSED, UNREACHED, ["nothing is known of them. Got 405 Method Not Allowed"]),
        (SKIPPED_ENTRY, NPM_FOUND, FOUND, ["could not be looked up", "Prototype pollution"]),
        ("", None, UNREACHED, ["pip-audit is not installed", "npm is not installed"]),
    ],
    ids=("clean", "found", "found by npm", "skipped", "refused", "found and skipped", "no programs"),
)
def test_three_ends(
    programs: Programs, entry: str, npm: dict[str, Any] | None, code: int, words: list[str]
) -> None:
    done = audited(str(programs(entry, npm)))
    assert (done.returncode, [one for one in words if one not in done.stdout]) == (code, []), done.stderr
    assert ("not audited" in done.stderr) == (code == UNREACHED)


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not here")
def test_the_real_npm_against_a_registry_that_has_no_data(
    programs: Programs, serve: Callable[..., LocalServer]
) -> None:
    """This is what a mirror of packages answers, and npm then ends with 1, as if it had found something."""

    def refuse(request: Request) -> Response:
        return Response(405, b"", ())

    npm = Path(shutil.which("npm") or "").parent
    path = f"{programs(CLEAN_ENTRY)}:{npm}:/usr/bin:/bin"
    done = audited(path, npm_config_registry=serve(refuse).url)
    assert done.returncode == UNREACHED, done.stdout + done.stderr
    assert "npm " in done.stdout
    assert "405" in done.stdout


def test_every_locked_version_is_looked_up_and_torch_too() -> None:
    wanted = locked_versions()
    assert {(each.name, str(each.version)) for each in read_lock(LOCKS / "test.txt")} < set(wanted)
    assert "torch" in dict(wanted)
    parts = list(rounds(wanted))
    assert sorted(each for part in parts for each in part) == wanted
    assert all(len(dict(part)) == len(part) for part in parts)


def test_a_gap_is_never_clean_and_a_finding_is_never_hidden_by_a_gap() -> None:
    clean, gap = Audited("Python", 3, 3), Audited("npm", 3, 1, (), "no route")
    found = Audited("npm", 3, 3, ("x: CVE",))
    assert [verdict([clean, clean]), verdict([clean, gap])] == [CLEAN, UNREACHED]
    assert verdict([found, gap]) == FOUND
    (line,) = told(gap)
    assert (
        line == "npm      2 of 3 packages could not be looked up, so nothing is known of them. Got no route"
    )
