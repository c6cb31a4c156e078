"""Every citation of the specification leads somewhere: "two-step 1.4", "methods 0.5 (c)"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
SPECIFICATION = {
    "methods": "docs/methods/common.md",
    "two-step": "docs/methods/two-step.md",
    "causal": "docs/methods/causal.md",
    "social-bias": "docs/methods/social-bias.md",
    "trust": "docs/methods/trust.md",
    "reference case": "docs/methods/reference-cases.md",
    "architecture": "docs/architecture.md",
}
SEARCHED = ("src", "tests", "benchmarks", "docs", "plans")
SUFFIXES = {".py", ".md", ".toml", ".sql", ".html", ".cjs", ".css", ".js"}
SKIPPED = {"node_modules", "__pycache__", ".build"}

# The end of a line, perhaps of a comment or of a string that goes on in the next line.
_BREAK = r"""[^\S\n]*["']?[^\S\n]*\n[^\S\n]*(?:\#|--|//|\*|>|[frb]?["'])?[^\S\n]*"""
_GAP = rf"(?:{_BREAK}|[^\S\n]+)"
_JOIN = rf"(?:,|{_GAP}(?:and|or|to)){_GAP}"
_PAGE = re.compile(
    rf"(?<![\w/-])(?:(?P<dotted>methods|two-step|causal|social[- ]bias|trust){_GAP}(?=\d\.\d)"
    rf"|(?P<whole>architecture|reference{_GAP}cases?){_GAP}(?=\d))",
    re.IGNORECASE,
)
_NUMBERS = {
    "dotted": re.compile(r"\d\.\d{1,2}[a-z]?(?!\w|\.\d)"),
    "whole": re.compile(r"\d{1,2}(?!\w|\.\d)"),
}
_NEXT = re.compile(_JOIN)
_BRACKETS = re.compile(rf"{_GAP}\((?:\w\)(?:{_JOIN}\()?)*\w\)")
_STEPS = re.compile(rf"(?:,?{_GAP})steps?{_GAP}\d(?:{_JOIN}\d(?!\.?\d))*")
_HEADING = re.compile(r"^##+ (\d+(?:\.\d+[a-z]?)?) ", re.MULTILINE)
_ABSENT = re.compile(
    r"(?<![\w/.-])(?:shared/|(?:methods|interface|design|scale|parts|naming|style)\.md\b"
    r"|interface \d|design \d+(?:\.\d)?\b(?! *%))"
)
_PAGE_PATH = re.compile(r"(?<![\w/])docs/(?:methods/[\w-]+|architecture)\.md")
_ANY_PATH = re.compile(r"`((?:src|tests|benchmarks|docs|plans)/[\w./-]+)`")


class Citation(NamedTuple):
    """A section that is cited, and the labels within it, if any: "c", "4", "step 6"."""

    page: str
    number: str
    labels: tuple[str, ...]
    line: int


def citations(text: str) -> Iterator[Citation]:
    """All citations of a text, those that are listed after the first too."""
    for found in _PAGE.finditer(text):
        name = re.sub(r"\W*\n\W*", " ", found["dotted"] or found["whole"]).lower()
        page = "reference case" if name.startswith("reference") else name
        number = _NUMBERS["dotted" if found["dotted"] else "whole"].match(text, found.end())
        chapter = number and number[0][0]
        while number is not None:
            labels, end = labels_after(text, number.end())
            yield Citation(page, number[0], labels, text.count("\n", 0, number.start()) + 1)
            join = _NEXT.match(text, end)
            number = join and number.re.match(text, join.end())
            if number and found["dotted"] and number[0][0] != chapter:
                break  # another number of the sentence


def labels_after(text: str, start: int) -> tuple[tuple[str, ...], int]:
    """Labels that follow a number, "(c)" or "steps 2 and 3", and where they end."""
    if brackets := _BRACKETS.match(text, start):
        return tuple(re.findall(r"\((\w)\)", brackets[0])), brackets.end()
    if steps := _STEPS.match(text, start):
        return tuple(f"step {number}" for number in re.findall(r"\d", steps[0])), steps.end()
    return (), start


def sections(page: str) -> dict[str, str]:
    """Number of each section of a page -> its text."""
    parts = _HEADING.split(page)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def has_label(section: str, label: str) -> bool:
    """Whether a section labels one of its parts so: "**(c)**", "**(4) Order" or "**Step 6"."""
    start = re.escape(label.capitalize() if label.startswith("step") else f"({label})")
    return re.search(rf"\*\*{start}(?!\w)", section) is not None


def files() -> list[Path]:
    found = [path for folder in SEARCHED for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    found += ROOT.glob("*.md")
    return sorted(path for path in found if not SKIPPED & set(path.parts) and path != Path(__file__))


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in files()}


@pytest.fixture(scope="module")
def specification() -> dict[str, dict[str, str]]:
    return {name: sections((ROOT / path).read_text("utf-8")) for name, path in SPECIFICATION.items()}


def fault(one: Citation, specification: dict[str, dict[str, str]]) -> str:
    """Why a citation leads nowhere; empty if it does lead somewhere."""
    section = specification.get(one.page, {}).get(one.number)
    if section is None:
        return f'no heading for "{one.page} {one.number}"'
    missing = [label for label in one.labels if not has_label(section, label)]
    return f'"{one.page} {one.number}" has no {", ".join(missing)}' if missing else ""


def test_every_citation_leads_to_a_heading(
    texts: dict[str, str], specification: dict[str, dict[str, str]]
) -> None:
    found = [(name, one) for name, text in texts.items() for one in citations(text)]
    assert len(found) > 500, "the finder sees next to nothing"
    lost = [f"{name}:{one.line}: {why}" for name, one in found if (why := fault(one, specification))]
    assert not lost, "\n".join(lost)


def test_cited_pages_exist(texts: dict[str, str]) -> None:
    lost = [
        f"{name}: {path}"
        for name, text in texts.items()
        for path in _PAGE_PATH.findall(text)
        if not (ROOT / path).exists()
    ]
    assert not lost, "\n".join(lost)


@pytest.mark.parametrize("page", SPECIFICATION.values())
def test_files_named_by_the_specification_exist(page: str) -> None:
    named = _ANY_PATH.findall((ROOT / page).read_text("utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_nothing_cites_what_is_not_in_the_repository(texts: dict[str, str]) -> None:
    lost = [
        f"{name}:{text.count(chr(10), 0, found.start()) + 1}: {found[0]}"
        for name, text in texts.items()
        for found in _ABSENT.finditer(text)
    ]
    assert not lost, "\n".join(lost)


@pytest.mark.parametrize("name", SPECIFICATION)
def test_sections_are_numbered_in_order_and_once(name: str) -> None:
    numbers = _HEADING.findall((ROOT / SPECIFICATION[name]).read_text("utf-8"))
    keys = [[int(part) for part in re.findall(r"\d+", number)] for number in numbers]
    assert numbers
    assert keys == sorted(keys)
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("as in two-step 1.4.", [("two-step", "1.4", ())]),
        ("Causal 2.8a says", [("causal", "2.8a", ())]),
        ("(methods 0.5 (c), trust 4.1)", [("methods", "0.5", ("c",)), ("trust", "4.1", ())]),
        ("causal 2.5, 2.7 and 2.9", [("causal", "2.5", ()), ("causal", "2.7", ()), ("causal", "2.9", ())]),
        ("two-step 1.6 to 1.8", [("two-step", "1.6", ()), ("two-step", "1.8", ())]),
        ("two-step 1.7 steps 5 and 6", [("two-step", "1.7", ("step 5", "step 6"))]),
        ("social-bias 3.6, step 6", [("social-bias", "3.6", ("step 6",))]),
        ("two-step 1.5 (1) to (4)", [("two-step", "1.5", ("1", "4"))]),
        ("methods 0.3 (4), 0.6", [("methods", "0.3", ("4",)), ("methods", "0.6", ())]),
        ("of trust\n    # 4.1", [("trust", "4.1", ())]),
        ('"see methods "\n    f"0.4"', [("methods", "0.4", ())]),
        ("social bias 3.6", [("social bias", "3.6", ())]),  # the page is called social-bias
        ("reference cases 1 to 5", [("reference case", "1", ()), ("reference case", "5", ())]),
        ("architecture 3, social-bias 3.6", [("architecture", "3", ()), ("social-bias", "3.6", ())]),
        ("methods 0.1, with 2.5 seconds", [("methods", "0.1", ())]),
        ("methods 0.1, 2.5 seconds", [("methods", "0.1", ())]),
        ("two-step 16, trust of 0.4, plans/trust 4.1, methods 0.123", []),
    ],
)
def test_the_finder(text: str, expected: list[tuple[str, str, tuple[str, ...]]]) -> None:
    assert [(one.page, one.number, one.labels) for one in citations(text)] == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("two-step 1.1 (b), step 2", ""),
        ("two-step 1.1 step 2", ""),
        ("two-step 1.2", 'no heading for "two-step 1.2"'),
        ("two-step 1.1 (c)", '"two-step 1.1" has no c'),
        ("two-step 1.1 steps 2 and 3", '"two-step 1.1" has no step 3'),
        ("social bias 1.1", 'no heading for "social bias 1.1"'),
    ],
)
def test_the_follower(text: str, why: str) -> None:
    page = (
        "# 1 Page\n\n## 1.1 Rates\n\n- **(b) Bounds.**\n- **Step 2**: rates.\n\n## 1.3 More\n\n**Step 3**\n"
    )
    (one,) = citations(text)
    assert fault(one, {"two-step": sections(page)}) == why


@pytest.mark.parametrize("text", ["as in methods.md", "see interface 5", "`shared/data`", "(design 6)"])
def test_the_guard_sees_what_is_not_in_the_repository(text: str) -> None:
    assert _ABSENT.search(text)


@pytest.mark.parametrize("text", ["docs/methods/common.md", "our design.", "shared by all", "data/shared/x"])
def test_the_guard_lets_everything_else_pass(text: str) -> None:
    assert not _ABSENT.search(text)
