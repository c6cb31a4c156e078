"""Separates the dialogs in the log of a channel in which many people talk at once.

The rule is a plain one, in the spirit of the Ubuntu Dialogue Corpus (Lowe et al. 2015), and errs on the side
of leaving out:

1. A message that begins with the nick of another speaker of the log and a colon or comma is addressed.
2. A dialog is two speakers; it is opened by an addressed message, and ends when neither of the two has said a
   word in it for `silence` minutes.
3. If the one addressed had asked something of nobody in particular in the last `answer_within` minutes, that
   opens the dialog: who asked is the user, who answers the bot. Else who addressed first is the user. A
   question that several answer stands in the dialog with each of them.
4. A message that addresses nobody belongs to the one dialog in which its speaker is; to none if there are
   several.
5. Dialogs in which one of the two never speaks are left out, and so is all that belongs to none.

In general such rules miss or mix part of the messages of a busy channel (Kummerfeld et al. 2019 tell how
many), so ratings of logs are about what the rule keeps.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

LINE = re.compile(r"\[(\d{1,2}):(\d{2})(?::\d{2})?\]\s*<[@+%&~ ]?([^>\s]+)>\s?(.*)")
ADDRESS = re.compile(r"\s*@?([^\s:,]+)[:,]\s*")
FORMAT = re.compile(r"\x03(?:\d{1,2}(?:,\d{1,2})?)?|[\x02\x0f\x11\x16\x1d\x1e\x1f]")  # colours and the like
DAY = 24 * 60


class LogLine(NamedTuple):
    """What somebody said, and when, in minutes since the day began on which the log does."""

    minute: int
    nick: str
    text: str


@dataclass(slots=True)
class Thread:
    """A dialog of two: who asked first, when the last word fell, and what was said by whom."""

    user: str
    last: int
    said: list[tuple[str, str]] = field(default_factory=list)

    @property
    def mutual(self) -> bool:
        return len({who for who, _ in self.said}) > 1


def lines_of(text: str) -> Iterator[LogLine]:
    """What was said in a log; lines of other form (who came, who left) are none.

    A clock that goes back tells that a day has passed.
    """
    minute = days = 0
    for written in text.splitlines():
        found = LINE.match(written.strip())
        if found is None:
            continue
        hours, minutes, nick, said = found.groups()
        now = int(hours) * 60 + int(minutes)
        if now < minute:
            days += 1
        minute = now
        yield LogLine(days * DAY + now, nick.casefold(), FORMAT.sub("", said).strip())


def threads(lines: Sequence[LogLine], *, answer_within: int, silence: int) -> list[Thread]:
    """The dialogs of a log in the order in which they were opened, by the rule of this module.

    Args:
        lines: in the order of the log.
        answer_within: minutes in which a question to nobody in particular finds its first answer.
        silence: minutes without a word that end a dialog.
    """
    nicks = {line.nick for line in lines}
    asked: dict[str, list[LogLine]] = defaultdict(list)
    with_whom: dict[str, dict[str, Thread]] = defaultdict(dict)
    opened: list[Thread] = []
    for line in lines:
        now, nick, _ = line
        partners = with_whom[nick]
        for other in [one for one, thread in partners.items() if now - thread.last > silence]:
            del partners[other], with_whom[other][nick]
        to, text = _addressed(line, nicks)
        if to:
            thread = partners.get(to)
            if thread is None:
                thread = _opened(line, [one for one in asked[to] if now - one.minute <= answer_within])
                partners[to] = with_whom[to][nick] = thread
                opened.append(thread)
        else:
            recent = [one for one in asked[nick] if now - one.minute <= answer_within]
            asked[nick] = [*recent, line]
            thread = next(iter(partners.values())) if len(partners) == 1 else None
        if thread is not None:
            thread.said.append((nick, text))
            thread.last = now
    return [thread for thread in opened if thread.mutual]


def _addressed(line: LogLine, nicks: set[str]) -> tuple[str, str]:
    """Whom a message addresses, "" for nobody, and its text without the address."""
    found = ADDRESS.match(line.text)
    if found is None:
        return "", line.text
    to = found.group(1).casefold()
    return (to, line.text[found.end() :]) if to in nicks and to != line.nick else ("", line.text)


def _opened(line: LogLine, questions: list[LogLine]) -> Thread:
    """A new dialog: begun by the questions that the message answers, or by the message itself."""
    user = questions[0].nick if questions else line.nick
    return Thread(user, line.minute, [(one.nick, one.text) for one in questions])
