"""Labels, badges and charts are the same bytes in every process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.reports import golden

pictures = cache(golden.pictures)
FILES = sorted(path.name for path in golden.FOLDER.glob("*.svg"))


@pytest.mark.parametrize("file", FILES)
def test_picture_is_the_golden_one(file: str) -> None:
    assert (golden.FOLDER / file).read_text("utf-8") == pictures()[file]


def test_no_golden_file_is_left_over() -> None:
    assert set(FILES) == set(pictures())


@pytest.mark.parametrize("seed", ["1", "4242"])
def test_pictures_do_not_depend_on_the_hash_seed(seed: str) -> None:
    root = Path(__file__).parent.parent.parent
    path = os.pathsep.join([str(root / "src"), str(root)])
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-m", "tests.reports.golden"],
        cwd=root,
        env=environment,
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout) == pictures()


@pytest.mark.parametrize("file", FILES)
def test_picture_is_well_formed_says_what_it_shows_and_refers_to_nothing(file: str) -> None:
    root = ElementTree.fromstring(pictures()[file])
    assert root.get("role") == "img"
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text
    assert "href" not in pictures()[file]
    assert "url(" not in pictures()[file]
    assert "style=" not in pictures()[file]
    assert " id=" not in pictures()[file]


@pytest.mark.parametrize("file", FILES)
def test_every_text_fixes_its_length_and_can_be_read(file: str) -> None:
    root = ElementTree.fromstring(pictures()[file])
    inherited = float(root.get("font-size", "0"))
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        assert len(text.text or "") == 1 or text.get("textLength")
        assert float(text.get("font-size", inherited)) >= 11
