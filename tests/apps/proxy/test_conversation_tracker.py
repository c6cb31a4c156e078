"""Conversations are told by their earlier messages."""

from __future__ import annotations

from trustgauge.apps.proxy.exchange_parser import ParsedExchange
from trustgauge.apps.proxy.recorder import ConversationTracker


class Talk:
    """A client that sends the whole past along, as clients do."""

    def __init__(self, known: ConversationTracker, who: str = "", prompt: str = "") -> None:
        self.known, self.who, self.prompt = known, who, prompt
        self.past: list[tuple[str, str]] = []

    def say(self, text: str, answer: str) -> tuple[str, int]:
        prompt = [("system", self.prompt)] if self.past and self.prompt else []
        placed = self.known.place(ParsedExchange((*prompt, *self.past), (text,), answer, user=self.who))
        self.past += [("user", text), ("assistant", answer)]
        return placed


def test_the_same_past_is_the_same_conversation() -> None:
    known = ConversationTracker("p")
    one, other = Talk(known), Talk(known)
    assert one.say("hello", "Hi.") == ("p1", 0)
    assert other.say("good day", "Hi.") == ("p2", 0)
    assert one.say("how are you?", "Well.") == ("p1", 1)
    assert other.say("how are you?", "Well.") == ("p2", 1)
    assert one.say("bye", "Bye.") == ("p1", 2)


def test_users_have_conversations_of_their_own() -> None:
    known = ConversationTracker()
    ann, bob = Talk(known, "ann"), Talk(known, "bob")
    assert ann.say("hello", "Hi.") == ("1", 0)
    assert bob.say("hello", "Hi.") == ("2", 0)
    assert ann.say("again", "Hi.") == ("1", 1)
    assert bob.say("again", "Hi.") == ("2", 1)


def test_two_that_begin_alike_stay_two() -> None:
    known = ConversationTracker()
    one, other = Talk(known), Talk(known)
    assert one.say("hello", "Hi.")[0] != other.say("hello", "Hi.")[0]
    assert one.say("first", "Yes.") == ("1", 1)
    assert other.say("second", "Yes.") == ("2", 1)
    assert one.say("on", "Yes.") == ("1", 2)


def test_one_that_begins_as_another_did_before_is_not_taken_for_it() -> None:
    known = ConversationTracker()
    one, other = Talk(known), Talk(known)
    assert one.say("hello", "Hi.") == ("1", 0)
    assert one.say("first", "Yes.") == ("1", 1)
    assert other.say("hello", "Hi.") == ("2", 0)
    assert other.say("second", "Yes.") == ("2", 1)
    assert one.say("on", "Yes.") == ("1", 2)


def test_an_answer_asked_for_again_belongs_to_its_conversation() -> None:
    known = ConversationTracker()
    one = Talk(known)
    one.say("hello", "Hi.")
    past = list(one.past)
    assert one.say("tell me more", "This.") == ("1", 1)
    one.past = past
    assert one.say("tell me more", "That.") == ("1", 2)
    assert one.say("and?", "So.") == ("1", 3)


def test_spaces_and_system_prompts_do_not_count() -> None:
    known = ConversationTracker()
    one = Talk(known, prompt="It is noon.")
    one.say("hello", " Hi.\n")
    one.past[1] = ("assistant", "Hi.")
    assert one.say("again", "Yes.") == ("1", 1)
    one.prompt = "It is one."
    assert one.say("again", "Yes.") == ("1", 2)


def test_a_past_that_nobody_saw_begins_a_conversation() -> None:
    known = ConversationTracker()
    one = Talk(known)
    one.past = [("user", "before"), ("assistant", "the proxy came")]
    assert one.say("hello", "Hi.") == ("1", 0)
    assert one.say("again", "Hi.") == ("1", 1)


def test_words_cannot_pass_for_the_end_of_a_message() -> None:
    known = ConversationTracker()
    one, other = Talk(known), Talk(known)
    one.say("a\0assistant\x001\0b", "c")
    other.past = [("user", "a"), ("assistant", "b"), ("user", ""), ("assistant", "c")]
    assert other.say("x", "y") == ("2", 0)


def test_what_was_long_not_seen_is_forgotten() -> None:
    known = ConversationTracker(most=2)
    talks = [Talk(known) for _ in range(3)]
    for number, talk in enumerate(talks):
        talk.say(f"hello {number}", "Hi.")
    assert talks[2].say("again", "Hi.") == ("3", 1)
    assert talks[0].say("again", "Hi.") == ("4", 0)
