"""The run that is audited: made once, and copied for each test that labels."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.apps.audit.runs import make_run


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("audited"))


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / made.name))
