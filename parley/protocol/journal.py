"""The journal of a session in words: the entries that each event adds. Protocol 2 sends them with the event.

An entry depends on its event alone, and is complete. Later events may replace fields of an entry by its `key`.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field, JsonValue, TypeAdapter

from parley.events.facts import Intent
from parley.events.values import Artefact, Check, Decision, Effect, Line, Recalled, Step, is_empty, is_none
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
    """What every entry has."""

    key: Line = Field(description="what later updates name the entry by")
    version: int = Field(description="version of the event that added it")
    at: AwareDatetime = Field(description="when that event was decided, with its time zone")
    by: str = Field(description="the actor of the event, or the author of what it brings; empty: nobody")


class SaidEntry(JournalEntry):
    """A message of a user."""

    kind: Literal["said"] = "said"
    text: str = Field(description="the message")
    intent: Intent = Field(
        description="`request` begins a round; `feedback` asks for another version of what is in review; `remark` "
        "is about what is in review or at rest; `guidance` was sent during work"
    )
    label: str = Field(description="how Parley understood the message, in words; empty where that is obvious")
    knowledge: tuple[str, ...] = Field(description="names of the texts and files that came with the message")


class ReplyEntry(JournalEntry):
    """What a service says to the person: a reply, or the words with a draft."""

    kind: Literal["reply"] = "reply"
    text: str = Field(description="the reply as Markdown")


class PlanEntry(JournalEntry):
    """A version of the plan."""

    kind: Literal["plan"] = "plan"
    number: int = Field(description="counts the session's plans: 1, 2, 3 …")
    title: str = Field(description="“Plan” or “Path” with the number")
    summary: str = Field(description="the number of steps, in words")
    goal: str = Field(description="what the plan is for, in a sentence")
    steps: tuple[Step, ...] = Field(description="what to do, in order")
    notes: str = Field("", exclude_if=is_empty, description="anything the steps do not say")
    reason: str = Field("", exclude_if=is_empty, description="the person's words that led to this version, if any did")
    path: PlannedPathView | None = Field(
        description="the path through nodes of flows; none: the plan does not walk a flow"
    )


class CodeEntry(JournalEntry):
    """A version of the code."""

    kind: Literal["code"] = "code"
    number: int = Field(description="counts the session's programs: 1, 2, 3 …")
    title: str = Field(description="“Code” with the number")
    summary: str = Field(description="the number of lines, in words")
    code: str = Field(description="the whole program")
    explanation: str = Field("", exclude_if=is_empty, description="what the generator says about it")
    checks: tuple[Check, ...] | None = Field(description="the checks of the program; null until they have run")
    tests: str = Field("", exclude_if=is_empty, description="the tests that were written from the plan, if any")


class QuestionEntry(JournalEntry):
    """A question to the user, with its answer once there is one."""

    kind: Literal["question"] = "question"
    question_id: str = Field(description="the question's id, which an answer names")
    text: str = Field(description="the question")
    options: tuple[str, ...] = Field(description="the answers to choose from; empty: any text")
    answer: str | None = Field(description="the user's answer in words; null until there is one")
    answered_by: str = Field("", exclude_if=is_empty, description="who answered, once somebody did")


class SubGoalLine(View):
    """The verdict on one of a turn's sub-goals."""

    sub_goal: str = Field(description="the sub-goal")
    word: str = Field(description="the verdict in one word or two")
    tone: Tone = Field(description="tone of the verdict")
    text: str = Field(description="the reasons for the verdict")


class VerdictLine(View):
    """The verdict on a turn."""

    status: str = Field(description="how the turn went, as the event says it: `success`, `partial`, `failure` …")
    word: str = Field(description="the status in words")
    tone: Tone = Field(description="tone of the status")
    text: str = Field(description="the reasons for the status")
    source: str = Field(description="who judged, in words")
    next: str = Field(description="what happens next, in words")
    execution_analysis: str = Field("", exclude_if=is_empty, description="the verifier's analysis of the execution")
    memory_analysis: str = Field("", exclude_if=is_empty, description="the verifier's analysis of the memory")
    sub_goals: tuple[SubGoalLine, ...] = Field(
        (), exclude_if=is_empty, description="one line for each sub-goal, if the turn had several"
    )


class TurnEntry(JournalEntry):
    """A turn. Its actions are separate entries."""

    kind: Literal["turn"] = "turn"
    number: int = Field(description="counts the session's turns: 1, 2, 3 …")
    sub_goal: str = Field(
        description="what the turn is for; empty for the turn of an approved plan, which has a goal of its own"
    )
    sub_goals: tuple[str, ...] = Field((), exclude_if=is_empty, description="the planned sub-goals, in order, if any")
    selected_tool: str = Field("", description="the tool that the planner chose first")
    required_skills: tuple[str, ...] = Field((), description="the skills that the sub-goal needs")
    reasoning: str = Field("", description="why the planner chose it")
    final: bool = Field(False, description="true: the request is fulfilled when these actions succeed")
    recalled: tuple[Recalled, ...] = Field((), description="the outcomes of earlier sessions in the planner's prompt")
    path: PlannedPathView | None = Field(
        None, description="the path through nodes of flows; none: the plan does not walk a flow"
    )
    plan: str | None = Field(None, description="the key of the entry of the plan that it executes; null: none")
    verdict: VerdictLine | None = Field(None, description="the verdict; null until there is one")


class ActionEntry(JournalEntry):
    """One call of a turn."""

    kind: Literal["action"] = "action"
    action_id: str = Field(description="the action's id")
    turn: int = Field(description="number of its turn")
    tool: str = Field(description="name of the tool")
    place: int = Field(description="orders the turn's calls: larger is later")
    description: str = Field("", exclude_if=is_empty, description="what it is for")
    sub_goal: str = Field("", exclude_if=is_empty, description="the sub-goal that it serves, if the turn has several")
    arguments: dict[str, JsonValue] = Field(
        default_factory=dict, exclude_if=is_empty, description="the tool's arguments"
    )
    effect: Effect = Field(description="what the tool does to the world")
    depends_on: tuple[str, ...] = Field((), exclude_if=is_empty, description="ids of actions that must succeed first")
    approval: str | None = Field(None, exclude_if=is_none, description="why it needs an approval, if it does")
    repairs: tuple[str, ...] = Field(
        (), exclude_if=is_empty, description="corrections of the arguments that the model wrote"
    )
    ruling: Decision = Field("proceed", description="the domain's decision; only `skip` and `deny` prevent the call")
    why: str = Field("", exclude_if=is_empty, description="the reason of the ruling, if it needs one")
    state: ActionState = Field(description="how far the call is; a `dropped` one is no longer shown")
    word: str = Field(description="the state in words")
    tone: Tone = Field(description="tone of the state")
    gist: str = Field(description="what it waits for, or what came of it, in one line")
    error: str = Field(description="why it failed, was declined or was skipped; empty where there is nothing to say")
    result: JsonValue = Field(None, exclude_if=is_none, description="the result; the tool defines its shape")
    size: int | None = Field(
        None, exclude_if=is_none, description="bytes of the whole result, where `result` is only its beginning"
    )
    artefact: Artefact | None = Field(description="where the whole result is kept; `result` is then its beginning")
    given: bool = Field(False, exclude_if=is_empty, description="true: a person gave the result of a skipped call")
    seconds: float = Field(description="its duration in seconds")
    decided_by: str = Field(description="who approved or declined it; empty where it needed no approval")
    approved_by: str = Field("", exclude_if=is_empty, description="who approved it, by itself or with its plan")
    approved_at: AwareDatetime | None = Field(None, exclude_if=is_none, description="when it was approved, if it was")
    started_at: AwareDatetime | None = Field(None, exclude_if=is_none, description="when its last attempt began")
    finished_at: AwareDatetime | None = Field(
        None, exclude_if=is_none, description="when its outcome, or what was given instead, was recorded"
    )


class PathChangeEntry(JournalEntry):
    """A change of a turn's remaining actions, and why."""

    kind: Literal["path_change"] = "path_change"
    turn: int = Field(description="number of the turn")
    text: str = Field(description="why, to be read after the actor's name; may be empty")


class AnswerEntry(JournalEntry):
    """The answer to a request."""

    kind: Literal["answer"] = "answer"
    text: str = Field(description="the answer as Markdown")
    confidence: float = Field(description="how sure the answer is, 0 to 1")
    confidence_text: str = Field(description="the confidence in words; empty for 0")
    tone: Tone = Field(description="`good`: sure enough to show it as a success")
    evidence: tuple[str, ...] = Field(description="ids of the actions that support it")


class FailureEntry(JournalEntry):
    """A failed stage."""

    kind: Literal["failure"] = "failure"
    title: str = Field(description="what failed, in words")
    reason: str = Field(description="why it failed")
    retryable: bool = Field(description="whether `retry` can help")
    raw: str = Field("", exclude_if=is_empty, description="the model's raw reply, at most 20,000 characters")


class NoteEntry(JournalEntry):
    """One line about what an actor did."""

    kind: Literal["note"] = "note"
    tone: Tone = Field(description="tone of the line")
    text: str = Field(description="the line, to be read after the actor's name; a complete sentence if `by` is empty")


class DecisionEntry(JournalEntry):
    """A decision of a person about a plan, the code, an action or an answer, or that nobody decided in time."""

    kind: Literal["decision"] = "decision"
    decision: Literal["approved", "declined", "expired", "skipped", "discarded"] = Field(
        description="what was decided; `expired`: nobody decided in time"
    )
    about: Literal["plan", "code", "action", "answer"] = Field(description="what the decision is about")
    number: int = Field(0, exclude_if=is_empty, description="number of the plan or code, as people see it")
    of_version: int | None = Field(None, exclude_if=is_none, description="version of that plan or code")
    hash: str = Field("", exclude_if=is_empty, description="hash of the content that was approved")
    action_id: str = Field("", exclude_if=is_empty, description="id of the action that the decision is about")
    reason: str = Field("", exclude_if=is_empty, description="why, or what an approval of a plan allows in advance")
    saved: bool = Field(False, exclude_if=is_empty, description="true: the answer is in the person's library")
    tone: Tone = Field("plain", description="tone of the line")
    text: str = Field(
        "",
        exclude_if=is_empty,
        description="the line, to be read after the actor's name; an action's entry says its own",
    )


class TokensEntry(JournalEntry):
    """Tokens of a model call for one action. Several entries for an action add up."""

    kind: Literal["tokens"] = "tokens"
    action_id: str = Field(description="the action's id")
    tokens: int = Field(description="tokens of the prompt and of the reply")


class EntryUpdate(View):
    """New values of fields of the entry with this key. Ignored if there is no such entry."""

    key: Line = Field(description="the entry's key")
    kind: Literal["update"] = "update"
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
    | DecisionEntry
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
