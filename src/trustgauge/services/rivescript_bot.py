"""RiveScript brains: five of our own whose behaviour is known, or any in a file or folder.

Brains are data here: programs inside them (objects) are not run. RiveScript draws its answers from
Python's global generator; it is seeded for each answer, and then given back as it was.
"""

from __future__ import annotations

import logging
import random
import re
import threading
import warnings
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module, resources
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

from pydantic import model_validator

from trustgauge.data.properties import PropertySource
from trustgauge.data.social_groups import GroupSource
from trustgauge.data.tables import files_below
from trustgauge.errors import PlanError, RejectedError, ServiceError
from trustgauge.plan import PlanPath
from trustgauge.plugins import library_version, need_library
from trustgauge.records import Message, Reply, Task, digest
from trustgauge.services import Concurrency, InProcessService, Seed, ServiceSpec, storable
from trustgauge.services.session_replay import so_far
from trustgauge.services.social_words import SocialWords, bare, social_words

Brain = Literal["favours", "affirms", "leaks", "clean", "abusive"]
OF_GROUP = ("favours", "affirms")  # brains whose bias is about a group; the others know none
SUFFIXES = (".rive", ".rs")
PUNCTUATION = re.compile(r"[.,!?;:。，！？；：]")
"""What is taken out of a message before it is matched; RiveScript itself knows the first six only."""
LONGEST = 20_000  # characters; wildcards take quadratic time and more
SILENT = ("NoMatchError", "NoReplyError")
_GLOBAL = threading.Lock()  # whoever holds it may use the global generator


class RiveScriptBot(ServiceSpec):
    """A RiveScript bot. It picks among its answers by `seed`, message and draw.

    Give a shipped `brain` (see data/brains/README.md), with the id of the `group` that its bias is
    about if it is about one, or a `file` or folder of .rive files. `groups` and `properties` are the
    tables that the questions are made of, if not the shipped ones. A message that no pattern matches is
    answered with nothing.

    Attributes:
        brain: a shipped brain.
        group: id of the group that its bias is about.
        file: a file or folder of .rive files, in place of a brain.
        groups, properties: the tables that the questions are made of, if not the shipped ones.
        seed: of the choice among its answers.
    """

    use: str = "rivescript"
    task: ClassVar[Task] = "chat"
    kind: ClassVar[str] = "pattern-based chatbot"
    provider: ClassVar[str] = "RiveScript"
    batch: ClassVar[int] = 64

    brain: Brain = "favours"
    group: str = "women"
    file: PlanPath | None = None
    groups: GroupSource | None = None
    properties: PropertySource | None = None
    seed: Seed = 0
    concurrency: Concurrency = 1

    @model_validator(mode="after")
    def _known_group(self) -> Self:
        if self.file is None and self.brain in OF_GROUP:
            social_words(self.groups, self.properties).must_know(self.group)
        return self

    @classmethod
    def named(cls, model: str) -> Self:
        """`rivescript/leaks`, `rivescript/affirms-old-people` (of a group), or `rivescript/./FILE`."""
        if model.startswith((".", "/", "~")):
            return cls(file=Path(model).expanduser().absolute())
        word, _, group = model.partition("-")
        for brain in get_args(Brain):
            if brain == word and (not group or brain in OF_GROUP):
                return cls(brain=brain, group=group) if group else cls(brain=brain)
        must = ", ".join(f"{one}, {one}-GROUP" if one in OF_GROUP else one for one in get_args(Brain))
        raise ValueError(f'no brain "{model}"; must be one of: {must}, or ./FILE')

    def identity(self) -> Mapping[str, Any]:
        known = {"use": self.use, "seed": self.seed, "version": self.version()}
        return known | {"content": digest("brain", self._code(missing_ok=True))}

    def check_requirements(self) -> None:
        """Raise MissingPartError without the library, PlanError without a brain."""
        need_library("rivescript", "pip install 'trustgauge[demo]'")
        self._code()

    def version(self) -> str:
        return library_version("rivescript")

    def open(self) -> LiveRiveScript:
        """The live bot.

        Raises:
            ServiceError: a file is no RiveScript.
        """
        self.check_requirements()
        return LiveRiveScript(self.seed, _interpreter(self._code()))

    def _code(self, *, missing_ok: bool = False) -> list[tuple[str, str]]:
        """Name and content of every file of the brain, in the order of their names.

        Raises:
            PlanError: there is none, or one cannot be read.
        """
        if self.file is None:
            shipped = resources.files("trustgauge.data").joinpath("brains", f"{self.brain}.rive")
            code = shipped.read_text(encoding="utf-8")
            if self.brain in OF_GROUP:
                code = fill_brain(code, social_words(self.groups, self.properties), self.group)
            return [(self.brain, code)]
        files = [self.file]
        if self.file.is_dir():
            files = [one for one in files_below(self.file, "file") if one.suffix.lower() in SUFFIXES]
        try:
            found = [(one.name, one.read_bytes().decode("utf-8-sig")) for one in files]
        except (OSError, UnicodeDecodeError) as error:
            if missing_ok:
                return []
            got = error.strerror or "" if isinstance(error, OSError) else "no UTF-8"
            raise PlanError.of("file", f'"{self.file}" cannot be read', "RiveScript", got) from None
        if not found and not missing_ok:
            must = "a file, or a folder of files that end in " + " or ".join(SUFFIXES)
            raise PlanError.of("file", f'"{self.file}" holds no brain', must)
        return found


class LiveRiveScript(InProcessService):
    """A bot that answers every conversation as a user of its own.

    What its brain keeps of a user is rebuilt from the conversation; what it keeps for all users (`<bot>`
    and `<env>` variables) lasts as long as the bot does, so that a brain may tell one user of another.
    """

    def __init__(self, seed: int, interpreter: Any) -> None:
        self._seed, self._interpreter = seed, interpreter
        self._heard: dict[tuple[str, int], set[str]] = {}  # session and draw -> its talks

    def reply(self, message: Message) -> Reply:
        return Reply(self._answer(message))

    def _answer(self, message: Message) -> str:
        with _GLOBAL:
            before = random.getstate()
            try:
                self._recall(message)
                said = self._said(message, message.talk)
                self._note(message)
                return said
            finally:
                self._interpreter.clear_uservars()
                random.setstate(before)

    def _recall(self, message: Message) -> None:
        """Hear the conversation so far. What was heard before changes nothing for all users again."""
        bot = self._interpreter
        known = message.talk in self._heard.get((message.session, message.draw), ())
        kept = dict(bot._var), dict(bot._global)
        try:
            for earlier in so_far(message):
                self._said(earlier, message.talk)
        finally:
            if known:
                bot._var, bot._global = kept

    def _note(self, message: Message) -> None:
        """Remember that the conversation was heard, until its session ends."""
        if message.turn + 1 < len(message.script):
            self._heard.setdefault((message.session, message.draw), set()).add(message.talk)
        else:
            self._heard.pop((message.session, message.draw), None)

    def _said(self, message: Message, talk: str) -> str:
        if len(message.text) > LONGEST:
            raise RejectedError("the text is too long for a pattern-based bot", must=f"at most {LONGEST:,}")
        random.seed(f"{self._seed}\0{message.key}\0{message.draw}")
        try:
            user = f"{message.user or 'user'} {talk}".rstrip() if message.session else "user"
            return storable(self._interpreter.reply(user, storable(message.text), errors_as_replies=False))
        except Exception as error:  # the library raises bare exceptions, and those of what a brain holds
            if type(error).__name__ in SILENT:
                return ""
            raise RejectedError("the bot failed on this message", got=type(error).__name__) from error


def fill_brain(brain: str, words: SocialWords, group: str) -> str:
    """One of our brains with the names of a group and what is good and bad in its patterns.

    Written into the patterns, since the interpreter compiles a pattern with an array of its own again
    for every message.
    """
    good, bad = words.predicates("positive"), words.predicates("negative")
    lists = {
        "group": words.names_of(group),
        "good": good["en"],
        "bad": bad["en"],
        "badly": [*bad["en"], *map(bare, bad["en"])],  # "do they have ...", "are they ..."
        "zhgood": good["zh"],
        "zhbad": bad["zh"],
    }
    for name, entries in lists.items():
        # The longest first, as the first that fits is taken.
        plain = sorted({_plain(entry) for entry in entries}, key=lambda one: (-len(one), one))
        brain = brain.replace(f"(@{name})", f"({'|'.join(filter(None, plain))})")
    return brain


@lru_cache(maxsize=1 << 14)
def _plain(entry: str) -> str:
    """As the interpreter sees a message: lower case, without punctuation and signs of its own."""
    return re.sub(r"[\\^$*+?()\[\]{}|<>@#_=]", " ", PUNCTUATION.sub("", entry.lower())).strip()


def _interpreter(code: list[tuple[str, str]]) -> Any:
    """RiveScript with a brain, without a way to run programs or to print."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the library's own source, when it is first compiled
        library, storage = import_module("rivescript"), import_module("rivescript.sessions")
        found = library.RiveScript(utf8=True, session_manager=storage.MemorySessionStorage(warn=_warn))
        found.unicode_punctuation = PUNCTUATION
        found._warn, found._say = _warn, _quiet
        found.set_handler("python", None)
        for name, text in code:
            try:
                found._parse(name, text.splitlines())
            except Exception as error:  # the library raises bare exceptions
                got = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
                raise ServiceError(f'"{name}" is not RiveScript', got=got) from error
        found._debug = False
        found.sort_replies()
        _shorten_patterns(found)
    return found


class _Pattern(str):
    """A pattern that is quick to represent.

    The interpreter writes every pattern that it tries into a debugging line, shown or not. With lists of
    names in the patterns that took longer than matching.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "a pattern"


class _Compiled:
    """A compiled pattern that is quick to look up.

    The interpreter matches by `re.match`, which looks every pattern up in a cache first. The hash of a
    compiled pattern runs over all of it: with lists of names that, too, took longer than matching.
    """

    __class__ = re.Pattern  # type: ignore[assignment]  # `re.match` uses what it finds to be one as it is

    def __init__(self, compiled: re.Pattern[str]) -> None:
        self.match, self.pattern = compiled.match, _Pattern(compiled.pattern)


def _shorten_patterns(interpreter: Any) -> None:
    for replies in interpreter._sorted["topics"].values():
        for reply in replies:
            reply[0] = _Pattern(reply[0])
    compiled = interpreter._regexc["trigger"]
    for trigger, pattern in compiled.items():
        compiled[trigger] = _Compiled(pattern)


def _quiet(message: str) -> None:
    """The interpreter would print."""


def _warn(message: str, *place: object) -> None:
    logging.getLogger(__name__).warning("a RiveScript brain: %s", message)
