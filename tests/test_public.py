"""What is public, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys

import trustgauge

HEAVY = ("polars", "scipy", "numpy", "pydantic", "rich", "jinja2", "pyreqwest")


def imported_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(' '.join(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_public_names_are_pinned_and_can_be_imported() -> None:
    expected = [
        *("Interval", "Message", "Part", "Plan", "Rating", "Reason", "Reply", "Scale", "TrustgaugeError"),
        *("load_plan", "open_rating", "rate"),
    ]
    assert trustgauge.__all__ == expected == sorted(expected)
    assert all(getattr(trustgauge, name) is not None for name in expected)


def test_public_names_are_seen_without_importing_them() -> None:
    assert set(trustgauge.__all__) <= set(dir(trustgauge))
    code = "import trustgauge\nassert 'rate' in dir(trustgauge)"
    assert imported_by(code).isdisjoint(HEAVY)


def test_importing_trustgauge_loads_nothing_heavy() -> None:
    assert imported_by("import trustgauge").isdisjoint(HEAVY)


def test_help_loads_nothing_heavy() -> None:
    code = "from trustgauge.cli.main import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass"
    assert imported_by(code).isdisjoint(HEAVY)


def test_rating_never_loads_the_statistics_package_of_scipy() -> None:
    code = "import trustgauge.methods.two_step.method, trustgauge.run.run"
    assert "scipy.stats" not in imported_by(code)
