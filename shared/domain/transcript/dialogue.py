"""What is said in a session: the person's words, questions, offers, and the entries of the transcript."""

from dataclasses import dataclass

from pydantic import JsonValue

from parley.events.facts import QuestionKind
from parley.events.offers import OfferedCode, OfferedDraft
from parley.events.values import EntryKind, FurtherQuestion, Knowledge, Option, Service, Speaker
from shared.domain.kernel.fast_replace import replace


@dataclass(frozen=True)
class UnreadMessage:
    """What the person said in a message or an answer, by the event of this version."""

    version: int
    text: str


@dataclass(frozen=True)
class Words:
    """The person's words. `unread`: those that no draft or reply has taken in. reply: the reply to the last message.

    `request_version` is that of the event that brought the request, 0 in a fork.
    """

    request: str = ""
    request_version: int = 0
    knowledge: tuple[Knowledge, ...] = ()
    unread: tuple[UnreadMessage, ...] = ()
    reply: str = ""


def question_id(first: str, place: int) -> str:
    """The id of the question at this place among those that were asked together, by the id of the first one."""
    return f"{first}.{place}" if place else first


@dataclass(frozen=True)
class OpenQuestion:
    action_id: str  # of the first one, if several were asked together
    about: QuestionKind
    text: str
    options: tuple[Option, ...] = ()
    form: dict[str, JsonValue] | None = None
    asked_version: int = 0  # version of the event that asked; 0 for a question that no event asked
    several: bool = False
    further: tuple[FurtherQuestion, ...] = ()
    place: int = 0  # among the questions that were asked together

    @property
    def id(self) -> str:
        """What an answer names, so that an answer to an earlier one of several questions does not count for this."""
        return question_id(self.action_id, self.place)

    @property
    def following(self) -> "tuple[OpenQuestion, ...]":
        """The questions that are open after this one."""
        after = map(self.after, range(1, len(self.further) + 1))
        return tuple(question for question in after if question)

    def option_of(self, text: str) -> Option | None:
        """The option with this label, however it is capitalized or ends; None for any other answer."""
        return next((option for option in self.options if _spelt(option.label) == _spelt(text)), None)

    def after(self, answers: int) -> "OpenQuestion | None":
        """The question that is open after so many answers, if one is."""
        if len(self.further) < answers:
            return None
        asked, rest = self.further[answers - 1], self.further[answers:]
        return replace(
            self,
            text=asked.text,
            options=asked.options,
            several=asked.several,
            further=rest,
            place=self.place + answers,
        )


@dataclass(frozen=True)
class Offer:
    """A draft beside what waits or runs. `version` is that of the event that offered it."""

    version: int
    draft: OfferedDraft

    @property
    def by(self) -> Service:
        """The service that makes such drafts: only it takes the offer when the person agrees in words."""
        return "generator" if isinstance(self.draft, OfferedCode) else "planner"


@dataclass(frozen=True)
class TranscriptEntry:
    """An entry of the transcript: what the event of this version says, in words.

    What planner and generator said is the JSON object of their reply, without the bodies of plans and programs.
    """

    version: int
    by: Speaker
    kind: EntryKind
    text: str

    @property
    def size(self) -> int:
        """Bytes of UTF-8."""
        return len(self.text.encode())

    @property
    def is_reply(self) -> bool:
        """Planner or generator said it, to the person."""
        return self.by in ("planner", "generator")


def _spelt(label: str) -> str:
    return label.strip().rstrip(".!").casefold()
