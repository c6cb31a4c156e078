"""Fuzzes readers by coverage, for as long as you like: `python -m tests.fuzz --seconds 300`.

    python -m tests.fuzz --list                        every reader
    python -m tests.fuzz table.csv order --seconds 60  two of them, a minute each
    python -m tests.fuzz -o FOLDER                     what breaks one is kept there

It needs atheris (`pip install atheris`), which leads each reader into its corners; the tests draw at random.
Each reader has a process of its own. What it finds becomes a named test.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

TIME_OUT = 25  # seconds for one input
MOST = 8_192  # bytes of an input
Try = Callable[[bytes], None]


def targets(folder: Path) -> dict[str, tuple[bytes, Try]]:
    """Every reader by name, with a whole example; files are written below the folder."""
    from tests.fuzz.answers import ANSWERS
    from tests.fuzz.mutations import raises_only
    from tests.fuzz.readers import CASES, TOLD, Case
    from tests.fuzz.texts import LINES

    def of_file(case: Case) -> Try:
        path = case.place(folder)

        def attempt(data: bytes) -> None:
            path.write_bytes(data)
            with raises_only(*TOLD, size=len(data)):
                case.read(path)

        return attempt

    def of_answer(read: Callable[[bytes], object], errors: tuple[type[Exception], ...]) -> Try:
        def attempt(data: bytes) -> None:
            with raises_only(*errors, size=len(data)):
                read(data)

        return attempt

    def of_line(read: Callable[[str], object], errors: tuple[type[Exception], ...]) -> Try:
        return of_answer(lambda data: read(data.decode("utf-8", "surrogateescape")), errors)

    found = {case.name: (case.data, of_file(case)) for case in CASES}
    found |= {line.name: (line.usual.encode(), of_line(line.read, line.errors)) for line in LINES}
    return found | {one.name: (one.whole, of_answer(one.read, one.errors)) for one in ANSWERS}


def fuzz(name: str, seconds: int, kept: Path) -> None:
    """Fuzz one reader in this process, which ends with it."""
    import atheris

    with atheris.instrument_imports(include=["trustgauge"]):
        from tests.fuzz.mutations import SPLINTERS

        with tempfile.TemporaryDirectory() as place:
            whole, attempt = targets(Path(place))[name]
            corpus, words = Path(place) / "corpus", Path(place) / "words"
            corpus.mkdir()
            (corpus / "whole").write_bytes(whole)
            escaped = ("".join(f"\\x{byte:02x}" for byte in one) for one in SPLINTERS if len(one) <= 64)
            words.write_text("".join(f'"{one}"\n' for one in escaped))
            attempt(whole)
            limits = [
                f"-max_total_time={seconds}",
                f"-timeout={TIME_OUT}",
                f"-max_len={max(MOST, 2 * len(whole))}",
            ]
            places = [f"-artifact_prefix={kept}/", f"-dict={words}", str(corpus)]
            atheris.Setup([sys.argv[0], *limits, "-rss_limit_mb=4096", "-verbosity=1", *places], attempt)
            atheris.Fuzz()


def main() -> int:
    """Fuzz the readers that are named, or all, one after the other; 1 if one of them broke."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("names", nargs="*", metavar="READER")
    options.add_argument("--seconds", type=int, default=300, help="for each (300)")
    options.add_argument(
        "-o", "--output", type=Path, default=Path("fuzzed"), help="folder for what breaks one"
    )
    options.add_argument("--list", action="store_true", help="names of all readers")
    options.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.here:  # before anything is imported that is to be watched
        fuzz(given.names[0], given.seconds, given.output)
        return 0
    with tempfile.TemporaryDirectory() as place:
        known = list(targets(Path(place)))
    if given.list:
        print("\n".join(known))
        return 0
    if unknown := set(given.names) - set(known):
        options.error(f"no reader {', '.join(sorted(unknown))}; --list tells them")
    if find_spec("atheris") is None:
        options.error("atheris is not installed: pip install atheris")
    return sum(broken(name, given.seconds, given.output) for name in given.names or known) and 1


def broken(name: str, seconds: int, output: Path) -> bool:
    """Fuzz one reader in a process of its own; whether it broke. Its last words are shown and kept."""
    kept = output / name.replace("/", "_").replace(" ", "_")
    kept.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "tests.fuzz", "--here", name, "--seconds", str(seconds), "-o", str(kept)]
    with (kept / "log.txt").open("wb") as log:
        code = subprocess.run(command, stdout=log, stderr=log, check=False).returncode
    lines = (kept / "log.txt").read_text("utf-8", "replace").splitlines()
    runs = next((line for line in reversed(lines) if line.startswith("Done ") or "stat::" in line), "")
    print(f"{'broken' if code else 'ok':7} {name}  {runs}", flush=True)
    return code != 0


if __name__ == "__main__":
    sys.exit(main())
