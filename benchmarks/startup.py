"""What starting costs: the command's help and the import of the package, against an empty Python.

    python -m benchmarks.startup [--rounds 15]

Each is a process of its own, and all take turns. Wall seconds, the best of the rounds. `import trustgauge`
must load neither Polars nor SciPy nor NumPy; a process looks and says which of them it found.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time

from benchmarks.results import Found, Row, Target, as_json, figure, verdict

HEAVY = ("numpy", "polars", "scipy", "pydantic", "pyreqwest", "jinja2")
WAYS = {
    "nothing": ("-c", "pass"),
    "import": ("-c", "import trustgauge"),
    "help": ("-m", "trustgauge", "--help"),
}
LOOK = f"import sys, trustgauge; print(*(name for name in {HEAVY!r} if name in sys.modules))"


def seconds(way: str) -> float:
    """Wall seconds of a whole process. Raises CalledProcessError."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *WAYS[way]], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def loaded() -> tuple[str, ...]:
    """Which heavy libraries `import trustgauge` loads."""
    done = subprocess.run([sys.executable, "-c", LOOK], check=True, capture_output=True, text=True)
    return tuple(done.stdout.split())


def measure(rounds: int) -> Found:
    """All ways in turns."""
    best = dict.fromkeys(WAYS, float("inf"))
    for _ in range(rounds):
        for way in WAYS:
            best[way] = min(best[way], seconds(way))
    heavy = loaded()
    empty = "an empty Python process"
    return Found(
        (
            Row(
                what="`trustgauge --help`",
                unit="s",
                ours=best["help"],
                against=empty,
                other=best["nothing"],
                target=Target(
                    0.2,
                    "most of it are imports of the command line; next, defer what help does not show",
                ),
            ),
            Row(
                what="`import trustgauge`",
                unit="s",
                ours=best["import"],
                against=empty,
                other=best["nothing"],
            ),
            Row(
                what=f"heavy libraries that `import trustgauge` loads, of {', '.join(HEAVY)}",
                unit="libraries",
                ours=float(len(heavy)),
                target=Target(
                    0, f"it loads {', '.join(heavy) or 'none'}; next, import them where they are used"
                ),
            ),
        )
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    found = measure(options.rounds)
    for row in found.rows:
        print(f"{row.what}: {figure(row.ours)} {row.unit}; {row.against} {figure(row.other)} {verdict(row)}")
    if options.json:
        print(json.dumps(as_json(found)))


if __name__ == "__main__":
    main()
