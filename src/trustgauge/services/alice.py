"""ALICE and other AIML brains, run by python-aiml.

Brains are data here: what AIML offers beside patterns and answers is off. A brain starts no program
(`system`), learns nothing while it talks (`learn`) and does not see the clock (`date`), so that an
answer can be had again.
"""

from __future__ import annotations

import random
import threading
import warnings
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

from pydantic import Field

from trustgauge.errors import PlanError, RejectedError, ServiceError
from trustgauge.plan import PlanPath
from trustgauge.plugins import library_version, need_library
from trustgauge.records import Message, Reply, Task
from trustgauge.services import Concurrency, InProcessService, Seed, ServiceSpec, storable
from trustgauge.services.hf_base import content_of
from trustgauge.services.session_replay import so_far

Brain = Literal["alice", "standard"]
SILENT = ("system", "learn", "date")
"""Elements of AIML that answer nothing here."""


class Alice(ServiceSpec):
    """An AIML bot. It picks among its answers by `seed`, message and draw.

    Give one of the brains that come with python-aiml (`brain`), or a `folder` of .aiml files.
    `bot` holds what the bot says of itself where its brain asks for it: name, age, master, ...

    Attributes:
        brain: a brain that comes with python-aiml.
        folder: folder of .aiml files, in its place.
        bot: what the bot says of itself: name, age, master.
        seed: of the choice among its answers.
    """

    use: str = "alice"
    task: ClassVar[Task] = "chat"
    kind: ClassVar[str] = "pattern-based chatbot"
    provider: ClassVar[str] = "python-aiml"
    batch: ClassVar[int] = 64

    brain: Brain = "alice"
    folder: PlanPath | None = None
    bot: dict[str, str] = Field(default_factory=lambda: {"name": "Alice"})
    seed: Seed = 0
    concurrency: Concurrency = 1

    @classmethod
    def named(cls, model: str) -> Self:
        """`alice/alice`, `alice/standard`, or `alice/./FOLDER`."""
        if model.startswith((".", "/", "~")):
            return cls(folder=Path(model).expanduser().absolute())
        for brain in get_args(Brain):
            if brain == model:
                return cls(brain=brain)
        raise ValueError(f'no brain "{model}"; must be one of: {", ".join(get_args(Brain))}, or ./FOLDER')

    def identity(self) -> Mapping[str, Any]:
        known = {"use": self.use, "bot": self.bot, "seed": self.seed, "version": self.version()}
        return known | ({"content": content_of(self.folder)} if self.folder else {"brain": self.brain})

    def check_requirements(self) -> None:
        """Raise MissingPartError without the library, PlanError for a folder without a brain."""
        need_library("aiml", "pip install 'trustgauge[demo]'", "python-aiml")
        if self.folder is not None and not any(self.folder.glob("*.aiml")):
            what = f'"{self.folder}" holds no brain'
            raise PlanError.of("folder", what, "a folder of .aiml files")

    def version(self) -> str:
        return library_version("python-aiml")

    def open(self) -> LiveAlice:
        """The live bot. The first one of a brain takes some seconds to read it; it is then shared.

        Raises:
            ServiceError: a file is no AIML.
        """
        self.check_requirements()
        folder = self.folder or Path(str(import_module("aiml").__file__)).parent / "botdata" / self.brain
        return LiveAlice(self, _patterns(folder, content_of(folder)))


class LiveAlice(InProcessService):
    """A bot that answers every message in a session of its own."""

    def __init__(self, about: Alice, patterns: Any) -> None:
        self._seed, self._lock = about.seed, threading.Lock()
        self._kernel = _kernel()
        # The many patterns are shared; the name of the bot, which is matched too, is not.
        self._kernel._brain._root = patterns._root
        for name, value in about.bot.items():
            self._kernel.setBotPredicate(name, value)
        self._kernel._elementProcessors["random"] = self._one_of
        for element in SILENT:
            self._kernel._elementProcessors[element] = _nothing
        self._chance = random.Random()

    def reply(self, message: Message) -> Reply:
        return Reply(self._answer(message))

    def _answer(self, message: Message) -> str:
        # A brain keeps nothing of one conversation for another, so it need not know who else talks.
        with self._lock:
            try:
                for earlier in so_far(message):
                    self._said(earlier)
                return self._said(message)
            except (RecursionError, LookupError, AssertionError, TypeError, ValueError) as error:
                got = type(error).__name__
                raise RejectedError("the bot's patterns cannot read this message", got=got) from error
            finally:
                self._kernel._deleteSession("")

    def _said(self, message: Message) -> str:
        self._chance.seed(f"{self._seed}\0{message.key}\0{message.draw}")
        return str(self._kernel.respond(storable(message.text), ""))

    def _one_of(self, element: Any, session: str) -> str:
        """As the kernel's own, with a generator that belongs to this answer."""
        items = [one for one in element[2:] if one[0] == "li"]
        return str(self._kernel._processElement(self._chance.choice(items), session)) if items else ""


def _nothing(element: Any, session: str) -> str:
    return ""


def _kernel() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the library's own source, when it is first compiled
        kernel = import_module("aiml.Kernel").Kernel()
    kernel.verbose(False)
    return kernel


@lru_cache(maxsize=4)
def _patterns(folder: Path, content: str) -> Any:
    """The patterns of all files of a folder, read in the order of their names.

    The kernel reads them in the order of the disk, where the last of two equal patterns counts.
    """
    parsing = import_module("aiml.AimlParser")
    patterns = _kernel()._brain
    for file in sorted(folder.glob("*.aiml")):
        parser = parsing.create_parser()
        handler = parser.getContentHandler()
        handler.setEncoding(None)
        try:
            with file.open("rb") as opened:
                parser.parse(opened)
        except Exception as error:  # no XML, no AIML, no such encoding: the parser raises what it likes
            got = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
            raise ServiceError(f'"{file.name}" is not AIML', got=got) from error
        for key, template in handler.categories.items():
            patterns.add(key, template)
    return patterns
