"""Apertium on this machine: real machine translation without network.

One process per sentence costs up to half a second; a pipeline that lives on does thousands of
sentences a second. So the programs of the direction's mode file are run directly, each with
null flush, and every text goes through in its own frame, ended by a mark that no text can hold.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

from trustgauge.data import package_table
from trustgauge.errors import MissingPartError, PlanError
from trustgauge.records import Message, Reply
from trustgauge.services import Access, Concurrency, Seconds, TranslatorSpec
from trustgauge.services.languages import short
from trustgauge.services.process_pipeline import Pipeline, pieces_of, tidy

INSTALL = "apt-get install --no-install-recommends"

_PACKAGE_OF = {
    pair: package
    for package, pairs in package_table(__package__, "apertium_packages.toml").items()
    for pair in pairs.split()
}
_PACKAGE_OF_PROGRAM = {"lsx-proc": "apertium-separable", "lrx-proc": "apertium-lex-tools", "cg-proc": "cg3"}

_MODE = re.compile(r"([a-z]{2,3}(?:_\w+)?)-([a-z]{2,3}(?:_\w+)?)")
_FLUSHING = re.compile(r"(?:lt|lrx|lsx|rtx|cg|hfst)-proc|apertium-[\w-]+")


class Apertium(TranslatorSpec):
    """Apertium's programs and language pairs, as installed here.

    `data` is the folder of the language pairs. A target may name a variant (`ca_valencia`).

    Attributes:
        data: folder of the language pairs.
    """

    use: str = "apertium"
    batch: ClassVar[int] = 200
    deterministic: ClassVar[bool] = True
    provider: ClassVar[str] = "Apertium"
    kind: ClassVar[str] = "rule-based machine translator"

    concurrency: Concurrency = 1  # one pipeline a direction; more calls would only wait for it
    timeout: Seconds = 60.0
    data: Path = Path("/usr/share/apertium")

    @classmethod
    def named(cls, model: str) -> Self:
        """The direction written `en-es` (also `eng-spa`)."""
        found = _MODE.fullmatch(model)
        if not found:
            raise ValueError(f'"{model}" is no direction; must be SOURCE-TARGET, such as en-es')
        return cls(source=found[1], target=found[2])

    def identity(self) -> Mapping[str, Any]:
        """The direction, and the content of the programs' versions and of the pair's files."""
        mode = self._mode()
        return {
            "use": self.use,
            "source": canonical_code(self.source),
            "target": canonical_code(self.target),
            "data": _content(mode, mode.stat().st_mtime_ns) if mode else "absent",
            "programs": [_says("apertium", "-V"), _says("lt-proc", "--version")],
        }

    def languages(self) -> Sequence[tuple[str, str]]:
        """The installed directions, by two-letter code where there is one; variants left out."""
        pairs = {(canonical_code(source), canonical_code(target)) for source, target, _ in self._modes()}
        return sorted(pair for pair in pairs if "_" not in pair[0] + pair[1])

    def access(self) -> tuple[Access, ...]:
        if self.data == type(self).model_fields["data"].default:
            return ()
        return (Access("runs", "the programs that Apertium modes name", str(self.data)),)

    def version(self) -> str:
        """The pair's package and version, where the system's package manager knows them."""
        mode = self._mode()
        return _package_version(mode) if mode else ""

    def check_requirements(self) -> None:
        """Raise MissingPartError naming what to install, PlanError if no direction is given."""
        if not self.target:
            raise PlanError.of("target", "no target language", must="a language code, such as es")
        mode = self._mode()
        if mode is None:
            raise self._no_pair()
        for stage in _stages(mode):
            if shutil.which(stage[0]) is None:
                package = _PACKAGE_OF_PROGRAM.get(
                    stage[0], stage[0] if "anaphora" in stage[0] else "apertium"
                )
                raise MissingPartError(
                    f'Apertium\'s program "{stage[0]}" is not installed', do=f"Run `{INSTALL} {package}`"
                )

    def open(self) -> LiveApertium:
        self.check_requirements()
        mode = self._mode()
        if mode is None:  # removed this moment
            raise self._no_pair()
        return LiveApertium(_stages(mode), self.timeout)

    def _modes(self) -> Iterator[tuple[str, str, Path]]:
        folder = self.data / "modes"
        if folder.is_dir():
            yield from _directions(folder, folder.stat().st_mtime_ns)

    def _mode(self) -> Path | None:
        wanted = (canonical_code(self.source), canonical_code(self.target))
        for source, target, path in self._modes():
            if (canonical_code(source), canonical_code(target)) == wanted:
                return path
        return None

    def _no_pair(self) -> MissingPartError:
        source, target = canonical_code(self.source), canonical_code(self.target)
        installed = [f"{one}-{two}" for one, two in self.languages()]
        package = _PACKAGE_OF.get(f"{source}>{target}")
        if not installed:
            packages = "apertium " + (package or "and a language pair, such as apertium-eng-spa")
            return MissingPartError("Apertium is not installed", do=f"Run `{INSTALL} {packages}`")
        near = [pair for pair in installed if pair.startswith(f"{source}-")]
        near += [pair for pair in installed if pair.endswith(f"-{target}")]
        near += get_close_matches(f"{source}-{target}", installed, n=3, cutoff=0.3)
        do = f"Run `{INSTALL} {package}`" if package else "Choose an installed direction"
        return MissingPartError(
            f"Apertium has no direction {source}-{target} here",
            must=f"one of: {', '.join(dict.fromkeys(near or installed))}",
            do=do,
        )


def canonical_code(code: str) -> str:
    """A language code in two letters where ISO 639-1 has them; a variant is kept (`ca_valencia`)."""
    language, mark, variant = code.partition("_")
    return short(language.lower()) + mark + variant


class LiveApertium:
    """A pipeline of one direction, started when first asked and again after it died."""

    def __init__(self, stages: Sequence[Sequence[str]], timeout: float) -> None:
        self._stages, self._timeout = stages, timeout
        self._turn = asyncio.Lock()
        self._pipeline: Pipeline | None = None
        self._given_up: list[Pipeline] = []

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        texts = [pieces_of(message.text) for message in messages]
        flat = [piece for pieces in texts for piece, _ in pieces]
        if not flat:
            return [Reply("") for _ in messages]
        async with self._turn:
            if self._pipeline is not None and not self._pipeline.alive:
                self._pipeline.close()
                self._pipeline = None
            if self._pipeline is None:
                self._pipeline = Pipeline("Apertium", self._stages)
            pipeline = self._pipeline
            try:
                answers = iter(await asyncio.to_thread(pipeline.translate, flat, self._timeout))
            except asyncio.CancelledError:
                pipeline.kill()  # so that its thread ends soon
                self._pipeline = None
                self._given_up.append(pipeline)
                raise
        return [
            Reply(tidy("".join(next(answers) + gap for _, gap in pieces)) if pieces else "")
            for pieces in texts
        ]

    async def close(self) -> None:
        """End the pipeline. Asking again starts a new one."""
        async with self._turn:
            pipelines = [*self._given_up, *([self._pipeline] if self._pipeline else [])]
            self._given_up, self._pipeline = [], None
            for pipeline in pipelines:
                await asyncio.to_thread(pipeline.close)


def _stages(mode: Path) -> list[list[str]]:
    """The commands of a mode file: null flush for each, no marks on unknown words ($1), no trace ($2)."""
    stages = []
    try:
        commands = [shlex.split(one) for one in mode.read_text("utf-8").replace("\n", " ").split("|")]
    except (OSError, ValueError) as error:
        what = f"Apertium's mode file {mode} cannot be read"
        do = "Install its language pair again"
        raise MissingPartError(
            what, must="commands with | between them", got=str(error)[:80], do=do
        ) from None
    for command in commands:
        words = [word.replace("$1", "-n").replace("$2", "") for word in command]
        words = [word for word in words if word]
        if words:
            flush = ["-z"] if _FLUSHING.fullmatch(Path(words[0]).name) else []
            stages.append([words[0], *flush, *words[1:]])
    return stages


@lru_cache(maxsize=8)
def _directions(folder: Path, _modified: int) -> tuple[tuple[str, str, Path], ...]:
    """Source, target and mode file of every direction in a folder of modes."""
    found = ((_MODE.fullmatch(path.stem), path) for path in sorted(folder.glob("*.mode")))
    return tuple((name[1], name[2], path) for name, path in found if name)


@lru_cache(maxsize=64)
def _content(mode: Path, _modified: int) -> str:
    """A hash of the mode file and of every file that it names."""
    found = hashlib.blake2b(mode.read_bytes(), digest_size=16)
    for stage in _stages(mode):
        for word in stage[1:]:
            path = Path(word)
            with suppress(OSError, ValueError):  # of a word that is no path
                if path.is_file():
                    found.update(b"\0" + path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def _package_version(mode: Path) -> str:
    folders = {Path(word).parent.name for stage in _stages(mode) for word in stage[1:] if "/" in word}
    for folder in sorted(folders):
        version = _says("dpkg-query", "-W", "-f", "${Version}", folder)
        if version:
            return f"{folder} {version}"
    return _says("apertium", "-V")


@lru_cache(maxsize=64)
def _says(*command: str) -> str:
    """What a program prints about itself; '' if it is absent or fails."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace").strip()
