"""What is public, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import trustgauge

MODULES = 60  # of ours that `rate` imports for a two-step plan
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


def test_rating_imports_a_bounded_number_of_our_modules(tmp_path: Path) -> None:
    """Every module between a command and its label is one more to read: lower this number when it falls."""
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'name = "imports"\nseed = 1\n[services.coin]\nuse = "anchor"\nbehaviour = "coin"\n'
        '[[experiments]]\nmethod = "two-step"\nservices = ["coin"]\nattribute = "gender"\ntexts = 10\n'
    )
    arguments = ["rate", str(plan), "--ratings", str(tmp_path / "ratings"), "--progress", "none", "-q"]
    code = f"from trustgauge.cli.main import main\ntry:\n    main({arguments})\nexcept SystemExit:\n    pass"
    modules = {name for name in imported_by(code) if name.startswith("trustgauge")}
    assert "trustgauge.run.render" in modules, "it rated"
    assert len(modules) <= MODULES, len(modules)
