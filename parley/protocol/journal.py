"""The journal of a session in words: the entries that each event adds. Protocol 2 sends them with the event.

An entry depends on its event alone. Later events may replace fields of an entry by its `key`. Texts that can be large
stay in the events: `version`, `spec_in` and `result_in` name the event that has them.
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
    """An entry. `by` is the event's actor; "" if there is none."""

    key: Line = Field(description="what later updates name the entry by")
    version: int = Field(description="counts the accepted events of the session: 1, 2, 3 …")
    at: AwareDatetime = Field(description="when it was decided, with its time zone")
    by: str = Field(description="who made it")


class SaidEntry(JournalEntry):
    """A message of a user. `label`: how Parley understood it, "" where that is obvious."""

    kind: Literal["said"] = Field(
        "said", description="the entry's key: a later entry with the same key replaces fields"
    )
    text: str = Field(description="the words")
    intent: Intent = Field(
        description="`request` begins a round; `feedback` asks for another version of what is in review; `remark` "
        "is about what is in review or at rest; `guidance` was sent during work"
    )
    label: str = Field(description="the option in words, as people see and send it")
    knowledge: tuple[str, ...] = Field(description="what the planner is given beside the request")


class ReplyEntry(JournalEntry):
    """What a service says to the person, as Markdown: a reply, or the words with a draft."""

    kind: Literal["reply"] = Field(
        "reply", description="the entry's key: a later entry with the same key replaces fields"
    )
    text: str = Field(description="the words")


class PlanEntry(JournalEntry):
    """A version of the plan. Its steps are in the event."""

    kind: Literal["plan"] = Field(
        "plan", description="the entry's key: a later entry with the same key replaces fields"
    )
    number: int = Field(description="a number for people: 1, 2, 3 …")
    title: str = Field(description="the entry's heading")
    summary: str = Field(description="how large it is, in words")
    goal: str = Field(description="what the plan is for, in a sentence")
    path: PlannedPathView | None = Field(
        description="the path through nodes of flows; none: the plan does not walk a flow"
    )


class CodeEntry(JournalEntry):
    """A version of the code. The program is in the event; the checks follow later."""

    kind: Literal["code"] = Field(
        "code", description="the entry's key: a later entry with the same key replaces fields"
    )
    number: int = Field(description="a number for people: 1, 2, 3 …")
    title: str = Field(description="the entry's heading")
    summary: str = Field(description="how large it is, in words")
    checks: tuple[Check, ...] | None = Field(description="checks, with their results")


class QuestionEntry(JournalEntry):
    """A question to the user, with its answer once there is one."""

    kind: Literal["question"] = Field(
        "question", description="the entry's key: a later entry with the same key replaces fields"
    )
    question_id: str = Field(description="the question meant; none: the open one")
    text: str = Field(description="the words")
    options: tuple[str, ...] = Field(description="the answers to choose from; empty: any text")
    answer: str | None = Field(description="the answer of this round")


class SubGoalLine(View):
    """The verdict on one of a turn's sub-goals."""

    sub_goal: str = Field(description="what the turn is for")
    word: str = Field(description="the state or status in words")
    tone: Tone = Field(description="its tone")
    text: str = Field(description="the words")


class VerdictLine(View):
    """The verdict on a turn. The verifier's notes are in the event of this `version`."""

    version: int = Field(description="counts the accepted events of the session: 1, 2, 3 …")
    status: str = Field(description="how the turn went")
    word: str = Field(description="the state or status in words")
    tone: Tone = Field(description="its tone")
    text: str = Field(description="the words")
    source: str = Field(description="who judged, in words")
    next: str = Field(description="what can come next, at rest")
    sub_goals: tuple[SubGoalLine, ...] = Field(
        (), exclude_if=is_empty, description="the sub-goals that remain, in order"
    )


class TurnEntry(JournalEntry):
    """A turn. Its actions are separate entries. `plan`: the key of the plan that it executes, if any."""

    kind: Literal["turn"] = Field(
        "turn", description="the entry's key: a later entry with the same key replaces fields"
    )
    number: int = Field(description="a number for people: 1, 2, 3 …")
    sub_goal: str = Field(description="what the turn is for")
    selected_tool: str = Field("", description="the tool that the planner chose first")
    required_skills: tuple[str, ...] = Field((), description="the skills that the sub-goal needs")
    reasoning: str = Field("", description="why, in words")
    final: bool = Field(False, description="true: the request is fulfilled when these actions succeed")
    recalled: tuple[Recalled, ...] = Field((), description="the outcomes of earlier sessions in the planner's prompt")
    path: PlannedPathView | None = Field(
        None, description="the path through nodes of flows; none: the plan does not walk a flow"
    )
    plan: str | None = Field(None, description="the plan as Markdown")
    verdict: VerdictLine | None = Field(None, description="the verifier's, once there is one")


class ActionEntry(JournalEntry):
    """One call of a turn. `place` orders a turn's calls. A `dropped` one is no longer shown.

    Its arguments are in the event of version `spec_in`, its result, if any, in that of `result_in`.
    """

    kind: Literal["action"] = Field(
        "action", description="the entry's key: a later entry with the same key replaces fields"
    )
    action_id: str = Field(description="the action's id")
    turn: int = Field(description="counts the session's turns")
    tool: str = Field(description="name of the tool")
    place: int = Field(description="orders the actions of a turn")
    spec_in: int = Field(description="version of the event that has its arguments")
    state: ActionState = Field(description="where the session stands, in one word: see [states](#states)")
    word: str = Field(description="the state or status in words")
    tone: Tone = Field(description="its tone")
    gist: str = Field(description="its status or outcome in one line")
    error: str = Field(description="the error; empty where there is none")
    result_in: int | None = Field(description="version of the event that has its result; null while there is none")
    seconds: float = Field(description="its duration in seconds")
    decided_by: str = Field(description="who approved or declined it; empty where it needed no approval")
    artefact: Artefact | None = Field(description="where the whole result is kept; `result` is then its beginning")
    sub_goal: str = Field("", exclude_if=is_empty, description="what the turn is for")


class PathChangeEntry(JournalEntry):
    """A change of a turn's remaining actions, and why."""

    kind: Literal["path_change"] = Field(
        "path_change", description="the entry's key: a later entry with the same key replaces fields"
    )
    turn: int = Field(description="counts the session's turns")
    text: str = Field(description="the words")


class AnswerEntry(JournalEntry):
    """The answer to a request, as Markdown. `evidence`: ids of the actions that support it.

    `tone` is "good" if the confidence is high enough to show it as a success.
    """

    kind: Literal["answer"] = Field(
        "answer", description="the entry's key: a later entry with the same key replaces fields"
    )
    text: str = Field(description="the words")
    confidence: float = Field(description="0 to 1")
    confidence_text: str = Field(description="the same in words")
    tone: Tone = Field(description="its tone")
    evidence: tuple[str, ...] = Field(description="ids of the actions that support it")


class FailureEntry(JournalEntry):
    """A failed stage. The model's invalid reply is in the event."""

    kind: Literal["failure"] = Field(
        "failure", description="the entry's key: a later entry with the same key replaces fields"
    )
    title: str = Field(description="the entry's heading")
    reason: str = Field(description="why, in words")
    retryable: bool = Field(description="whether `retry` can help")


class NoteEntry(JournalEntry):
    """One line about what an actor did, to be read after their name; a complete sentence if `by` is ""."""

    kind: Literal["note"] = Field(
        "note", description="the entry's key: a later entry with the same key replaces fields"
    )
    tone: Tone = Field(description="its tone")
    text: str = Field(description="the words")


class TokensEntry(JournalEntry):
    """Tokens of model calls for one action. Several entries for an action add up."""

    kind: Literal["tokens"] = Field(
        "tokens", description="the entry's key: a later entry with the same key replaces fields"
    )
    action_id: str = Field(description="the action's id")
    tokens: int = Field(description="the number of tokens to add")


class EntryUpdate(View):
    """New values of fields of the entry with this key. Ignored if there is no such entry."""

    key: Line = Field(description="what later updates name the entry by")
    kind: Literal["update"] = Field(
        "update", description="the entry's key: a later entry with the same key replaces fields"
    )
    set: dict[str, JsonValue] = Field(description="the fields with their new values")


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

type EntriesByKey = dict[str, dict[str, Any]]  # entries as JSON, in order of arrival
_ENTRIES: TypeAdapter[AnyEntry] = TypeAdapter(AnyEntry)


def apply_entries(journal: EntriesByKey, changes: Iterable[EntryOrUpdate]) -> None:
    """Apply an event's entries and updates to the journal: new entries go to its end."""
    for entry in changes:
        if not isinstance(entry, EntryUpdate):
            journal[entry.key] = entry.model_dump(mode="json")
        elif entry.key in journal:
            journal[entry.key] |= entry.set


def read_entry(data: dict[str, Any]) -> AnyEntry:
    """An entry from its JSON data."""
    return _ENTRIES.validate_python(data)
