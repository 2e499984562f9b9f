"""The journal of a session in words: what each event adds to it. Protocol 2 sends these with the event itself.

An entry is pure of its event. A later event may replace fields of an entry by its `key`. Texts that can be large stay
in the events: `version`, `spec_in`, `result_in` and the like name the event that has them.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field, JsonValue, TypeAdapter

from parley.events.facts import Intent
from parley.events.values import Artefact, Check, Line, Recalled, is_empty
from parley.protocol.views import PlannedPathView, View

Tone = Literal["good", "bad", "work", "wait", "plain"]
ActionState = Literal[
    "planned",
    "approved",
    "denied",
    "started",
    "asked",
    "waiting",
    "finished",
    "failed",
    "skipped",
    "uncertain",
    "dropped",
]


class JournalEntry(View):
    """`by` is the actor of the event; "" where nobody did it."""

    key: Line
    version: int
    at: AwareDatetime
    by: str


class SaidEntry(JournalEntry):
    """What a person said. `label` tells what it was taken as, "" where that goes without saying."""

    kind: Literal["said"] = "said"
    text: str
    intent: Intent
    label: str
    knowledge: tuple[str, ...]


class ReplyEntry(JournalEntry):
    """What a service answered to a remark, as Markdown."""

    kind: Literal["reply"] = "reply"
    text: str


class PlanEntry(JournalEntry):
    """A version of the plan; its steps are in the event."""

    kind: Literal["plan"] = "plan"
    number: int
    title: str
    summary: str
    goal: str
    path: PlannedPathView | None


class CodeEntry(JournalEntry):
    """A version of the code; the program is in the event, the checks follow later."""

    kind: Literal["code"] = "code"
    number: int
    title: str
    summary: str
    checks: tuple[Check, ...] | None


class QuestionEntry(JournalEntry):
    """A question to a person, and its answer once there is one."""

    kind: Literal["question"] = "question"
    question_id: str
    text: str
    options: tuple[str, ...]
    answer: str | None


class SubGoalLine(View):
    """What was said of one sub-goal of a turn that worked on several."""

    sub_goal: str
    word: str
    tone: Tone
    text: str


class VerdictLine(View):
    """What was said of a turn; the verifier's notes are in the event of this `version`."""

    version: int
    status: str
    word: str
    tone: Tone
    text: str
    source: str
    next: str
    sub_goals: tuple[SubGoalLine, ...] = Field((), exclude_if=is_empty)


class TurnEntry(JournalEntry):
    """A turn; its actions are entries of their own. `plan` is the key of the plan that it carries out, if it does."""

    kind: Literal["turn"] = "turn"
    number: int
    sub_goal: str
    selected_tool: str = ""
    required_skills: tuple[str, ...] = ()
    reasoning: str = ""
    final: bool = False
    recalled: tuple[Recalled, ...] = ()
    path: PlannedPathView | None = None
    plan: str | None = None
    verdict: VerdictLine | None = None


class ActionEntry(JournalEntry):
    """One call of a turn. `place` orders the calls of a turn. `dropped`: it is not shown any more.

    Its arguments are in the event of version `spec_in`, its result in that of `result_in`, if it has one.
    """

    kind: Literal["action"] = "action"
    action_id: str
    turn: int
    tool: str
    place: int
    spec_in: int
    state: ActionState
    word: str
    tone: Tone
    gist: str
    error: str
    result_in: int | None
    seconds: float
    decided_by: str
    artefact: Artefact | None
    sub_goal: str = Field("", exclude_if=is_empty)


class PathChangeEntry(JournalEntry):
    """The rest of a turn became another one, and why."""

    kind: Literal["path_change"] = "path_change"
    turn: int
    text: str


class AnswerEntry(JournalEntry):
    """The answer to a request, as Markdown; `evidence` are the ids of the actions that support it.

    `tone` is "good" where the answer is sure enough to be shown as a success.
    """

    kind: Literal["answer"] = "answer"
    text: str
    confidence: float
    confidence_text: str
    tone: Tone
    evidence: tuple[str, ...]


class FailureEntry(JournalEntry):
    """A stage failed; what the model said instead is in the event."""

    kind: Literal["failure"] = "failure"
    title: str
    reason: str
    retryable: bool


class NoteEntry(JournalEntry):
    """One line: what somebody did, to be read after their name; where `by` is "", a sentence of its own."""

    kind: Literal["note"] = "note"
    tone: Tone
    text: str


class TokensEntry(JournalEntry):
    """Tokens of the model calls that were made for one action. They add up."""

    kind: Literal["tokens"] = "tokens"
    action_id: str
    tokens: int


class EntryUpdate(View):
    """Fields of the entry with this key that are now different; nothing where there is no such entry."""

    key: Line
    kind: Literal["update"] = "update"
    set: dict[str, JsonValue]


_Entry = (
    SaidEntry
    | ReplyEntry
    | PlanEntry
    | CodeEntry
    | QuestionEntry
    | TurnEntry
    | ActionEntry
    | PathChangeEntry
    | AnswerEntry
    | FailureEntry
    | NoteEntry
    | TokensEntry
)
AnyEntry = Annotated[_Entry, Field(discriminator="kind")]
EntryOrUpdate = Annotated[_Entry | EntryUpdate, Field(discriminator="kind")]

type Kept = dict[str, dict[str, Any]]  # entries as JSON by key, in the order in which they came
_ENTRY: TypeAdapter[AnyEntry] = TypeAdapter(AnyEntry)


def keep(kept: Kept, told: Iterable[EntryOrUpdate]) -> None:
    """Put what an event adds into the journal: new entries at its end, updates into the entries that they are about."""
    for entry in told:
        if not isinstance(entry, EntryUpdate):
            kept[entry.key] = entry.model_dump(mode="json")
        elif entry.key in kept:
            kept[entry.key] |= entry.set


def read(kept: dict[str, Any]) -> AnyEntry:
    """A kept entry as it is now."""
    return _ENTRY.validate_python(kept)
