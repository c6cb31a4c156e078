"""How English is cut into words, phrases of several, and frames: phrases that are put together of parts.

All of them stand in one automaton of words, whose states are made as texts lead to them: so a text is read
word by word, however many there are. Where several fit, the first frame wins, and of phrases the longest.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

TAIL = r"(?![\w'-])"
JOINED = ("'", "-", "_")
"""What stands at once behind a word that is part of a longer one, as `TAIL` has it."""
HALTS = r"-,.!?:~…。—\s"
"""Characters of the stops that may stand within a frame."""
ENDING = r".!?…。,;:、\n"
"""Stops that end a part."""
PART_ENDS = rf"(?=[^\w{ENDING}]*(?:[{ENDING}]|$))"
SIGN = re.compile(rf"[\w{ENDING}]")
LETTER = re.compile(r"\w")
SPACES = re.compile(" +")
Tree = dict[str, "Tree"]
"""Step of a phrase -> what may follow it; "" ends one. A step is a word, and what but spaces is before it."""


class PhraseFrame(NamedTuple):
    """Phrases of one mark that are put together of parts.

    Attributes:
        mark: of all of them.
        parts: lists of phrases, of which each gives one; a part but the first that has "" may be missing.
        ends: whether they stand only where a part of the answer ends.
        halts: whether stops may stand behind the first part.
    """

    mark: str
    parts: Sequence[Sequence[str]]
    ends: bool = False
    halts: bool = False

    @classmethod
    def of(cls, entry: Mapping[str, Any], named: Mapping[str, Sequence[str]], mark: str) -> PhraseFrame:
        """The frame of an entry of the list of frames, whose parts are lists of phrases or names of lists."""
        parts = [named[part] if isinstance(part, str) else part for part in entry["parts"]]
        return cls(mark, parts, entry.get("ends", False), entry.get("halts", False))

    def expression(self, gap: str) -> str:
        """A regular expression of the phrases; `gap`: what stands between two parts."""
        made = trie_pattern(self.parts[0])
        if self.halts:
            made += f"[{HALTS}]{'+' if gap else '*'}"
        for place, part in enumerate(self.parts[1:]):
            before = "" if self.halts and place == 0 else gap
            phrases = [one for one in part if one]
            made += f"(?:{before}{trie_pattern(phrases)})" + ("?" if len(phrases) < len(part) else "")
        return made + (PART_ENDS if self.ends else "")


END: Tree = {}
MOST_STATES = 20_000  # that are kept, of one or two kilobytes each
MANY_BRANCHES = 30
"""Characters that a pattern may go on with, from which on groups of them are told apart first."""
_Thread = tuple[int, int, Tree]
"""A way to read some words: number of a frame, of its part, and the tree of what may follow in it."""


class _State:
    """What can be said of some words that begin a phrase.

    Attributes:
        threads: ways to go on, of which the first is preferred.
        steps: those by which any goes on.
        behind: step -> the state behind it, if a text has led there.
        whole: number of the first frame that the words are; -1 if they are none.
        at_end: number of one before it that they are where a part of the answer ends; -1 if they are none.
        halting: numbers of frames before it whose first part they are, and stops may follow.
        leads: whether they are the first part of any frame.
    """

    __slots__ = ("at_end", "behind", "halting", "leads", "steps", "threads", "whole")

    def __init__(self, threads: list[_Thread]) -> None:
        self.threads = threads
        self.steps: Container[str] = ()
        self.behind: dict[str, _State] = {}
        self.whole = self.at_end = -1
        self.halting: list[int] = []
        self.leads = False


class PhraseCutter:
    """Cuts English texts into words, phrases and frames."""

    def __init__(self, words: re.Pattern[str], phrases: Iterable[str], frames: Sequence[PhraseFrame]) -> None:
        """`words`: a pattern with one group, for a word, a mask or a stop; `phrases`: of several words."""
        self._words = words
        self._frames = [*frames, PhraseFrame("", [list(phrases)])]
        trees: dict[int, Tree] = {}  # many frames share their lists
        self._trees = [[self._tree(part, trees) for part in frame.parts] for frame in self._frames]
        self._start = _State([(number, 0, first) for number, (first, *_) in enumerate(self._trees)])
        self._start.steps = {step for _, _, tree in self._start.threads for step in tree}
        self._kept = 0
        self._patterns = {
            number: re.compile(frame.expression(" +") + TAIL)
            for number, frame in enumerate(frames)
            if frame.halts
        }

    def _tree(self, phrases: Sequence[str], known: dict[int, Tree]) -> Tree:
        if id(phrases) not in known:
            tree = known[id(phrases)] = {}
            for phrase in phrases:
                node = tree
                for step in self._steps(phrase):
                    node = node.setdefault(step, {})
                node[""] = END
        return known[id(phrases)]

    def _steps(self, phrase: str) -> list[str]:
        pieces = self._words.split(phrase)
        return pieces[1:2] + [_step(*pieces[at - 1 : at + 1]) for at in range(3, len(pieces), 2)]

    def mark_of_frame(self, token: str) -> str:
        """The mark of the first frame that a token is; "" if it is none."""
        steps = self._steps(token)
        for number, _, tree in self._start.threads if steps else ():
            if steps[0].partition("-")[0] in tree:
                frame, halting = self._frames[number], self._patterns.get(number)
                if halting.fullmatch(token) if halting else _fits(self._trees[number], steps):
                    return frame.mark
        return ""

    def split(self, text: str) -> list[str]:
        """The text in pieces, of which every second one is a token."""
        pieces = self._words.split(text)
        first = self._start.steps
        tokens: list[str] = []
        ends: list[int] = []  # of the pieces in the text, once they are needed
        cut = behind = 0
        for start in range(1, len(pieces) - 2, 2):
            if pieces[start] not in first or start < behind:
                continue
            state = self._start.behind.get(pieces[start]) or self._behind(self._start, pieces[start])
            second = pieces[start + 2]
            # Of most words that may begin a phrase nothing fits the next: to look here takes half the time.
            if second in state.steps or pieces[start + 1] != " " or state.halting or "-" in second:
                behind = self._end(pieces, start, text, ends)
                if behind > start + 1:
                    tokens += pieces[cut:start]
                    tokens.append("".join(pieces[start:behind]))
                    cut = behind
        return tokens + pieces[cut:]

    def _end(self, pieces: Sequence[str], start: int, text: str, ends: list[int]) -> int:
        """The piece behind the word, the phrase or the frame that begins with a piece."""
        state, step = self._start, pieces[start]
        accepted = halted = (len(self._frames), start + 1)
        led = False
        for at in range(start, len(pieces), 2):
            if step not in state.steps:
                break
            state, gap = state.behind.get(step) or self._behind(state, step), pieces[at + 1]
            if not gap.startswith(JOINED):
                led |= state.leads
                if state.at_end >= 0 and _ends_part(pieces, at + 1):
                    accepted = (state.at_end, at + 1)
                elif state.whole >= 0:
                    accepted = (state.whole, at + 1)
            if led and state.halting:
                halted = min(halted, self._halting(state, pieces, start, text, ends))
            if at + 2 < len(pieces):
                step = pieces[at + 2] if gap == " " else _step(gap, pieces[at + 2])
        if led and "-" in step and step.partition("-")[0] in state.steps:  # "no problem-here it is"
            state = self._behind(state, step.partition("-")[0])
            halted = min(halted, self._halting(state, pieces, start, text, ends))
        return min(accepted, halted)[1]

    def _halting(
        self, state: _State, pieces: Sequence[str], start: int, text: str, ends: list[int]
    ) -> tuple[int, int]:
        """The first frame that halts and begins at a piece, and the piece behind it."""
        if not ends:
            ends.extend(accumulate(map(len, pieces)))
        for number in state.halting:
            match = self._patterns[number].match(text, ends[start - 1])
            if match:
                return number, bisect_left(ends, match.end()) + 1
        return len(self._frames), start + 1

    def _behind(self, state: _State, step: str) -> _State:
        """The state behind another; it is kept while few are, for a hostile text may lead to any number."""
        made = self._state((frame, part, tree[step]) for frame, part, tree in state.threads if step in tree)
        if self._kept < MOST_STATES:
            state.behind[step] = made
            self._kept += 1
        return made

    def _state(self, reached: Iterable[_Thread]) -> _State:
        state = _State([])
        for frame, part, tree in reached:
            state.threads.append((frame, part, tree))
            if "" in tree and self._go_on(state, frame, part):
                break  # what is preferred is whole
        trees = [tree for _, _, tree in state.threads]
        state.steps = trees[0] if len(trees) == 1 else {step for tree in trees for step in tree}
        return state

    def _go_on(self, state: _State, frame: int, part: int) -> bool:
        """Add the ways to go on behind a part that is whole; whether nothing need follow."""
        trees = self._trees[frame]
        state.leads |= part == 0 and self._frames[frame].mark != ""
        if part == 0 and self._frames[frame].halts:
            state.halting.append(frame)
            return False
        for following in range(part + 1, len(trees)):
            state.threads.append((frame, following, trees[following]))
            if "" not in trees[following]:
                return False
        if not self._frames[frame].ends:
            state.whole = frame
        elif state.at_end < 0:
            state.at_end = frame
        return state.whole == frame


def _step(gap: str, word: str) -> str:
    """What follows in a phrase: a word, and what is not spaces before it."""
    return word if gap == " " else f"{SPACES.sub(' ', gap)}\0{word}".removeprefix(" \0")


def _fits(trees: Sequence[Tree], steps: Sequence[str]) -> bool:
    """Whether steps are a phrase of each tree, one after the other."""
    if not trees:
        return not steps
    tree: Tree | None = trees[0]
    for place, step in enumerate((*steps, "")):
        if tree is None:
            return False
        if "" in tree and _fits(trees[1:], steps[place:]):
            return True
        tree = tree.get(step)
    return False


def _ends_part(pieces: Sequence[str], place: int) -> bool:
    """Whether nothing but signs stands from a piece on to the next stop."""
    signs = (SIGN.search(pieces[at]) for at in range(place, len(pieces)))
    sign = next(filter(None, signs), None)
    return sign is None or not LETTER.match(sign[0])


def trie_pattern(phrases: Iterable[str]) -> str:
    """A regular expression for the longest of `phrases` at a place, in time linear in its length.

    >>> trie_pattern(["no", "not", "not at all"])
    'no(?:t(?: +at +all)?)?'
    """
    tree: Tree = {}
    for phrase in phrases:
        node = tree
        for character in phrase:
            node = node.setdefault(character, {})
        node[""] = {}
    return _branch(tree)


def _branch(tree: Tree) -> str:
    branches = {
        one: (" +" if one == " " else re.escape(one)) + _branch(below) for one, below in tree.items() if one
    }
    if not branches:
        return ""
    ends = "" in tree
    if len(branches) == 1 and not ends:
        return next(iter(branches.values()))
    return f"(?:{_either(dict(sorted(branches.items())))})" + ("?" if ends else "")


def _either(branches: Mapping[str, str]) -> str:
    """One of patterns, by the character that each begins with; many in groups, or all were tried in turn."""
    if len(branches) <= MANY_BRANCHES:
        return "|".join(branches.values())
    size = math.isqrt(len(branches))
    every = list(branches.items())
    groups = [dict(every[at : at + size]) for at in range(0, len(every), size)]
    return "|".join(f"(?=[{re.escape(''.join(one))}])(?:{'|'.join(one.values())})" for one in groups)
