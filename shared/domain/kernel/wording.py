"""The sentences that people see for the log's codes. No code compares them."""

from collections.abc import Mapping, Sequence

from parley.events.values import EndReason, Option
from shared.domain.kernel.commands import Ask

CUT_OFF = "Stopped by the person."
CUT_OFF_BEFORE = "Stopped by the person before it was run."
LEFT_BEFORE = "The executor was ended before it ran this."
BUDGET_SPENT = "The budget is spent. Raise it, or stop here?"
TRIED_BEFORE = "it cannot be undone, and has been tried before"
SKIPPED = "skipped by the person"
SKIPPED_WITH = "skipped with the step whose output it uses"
OUTPUT_GIVEN = "the person gave its output instead"
OUT_OF_BUDGET = "The session's budget is spent: the model was not asked."
UNANSWERED = "nobody answered in time"
NOT_BEGUN: Mapping[EndReason, str] = {
    "dependency_failed": "an action it depends on did not finish",
    "stopped": "it had not begun when the session was stopped",
    "cancelled": "the plan was given up",
    "superseded": "something else took its place",
}
UNCERTAIN_OPTIONS = (
    Option(key="happened", label="It happened"),
    Option(key="again", label="It did not happen: run it again"),
    Option(key="leave", label="Leave it"),
)
BUDGET_OPTIONS = (
    Option(key="raise", label="Raise the budget by half"),
    Option(key="give_up", label="Stop here"),
)

TURN_OPTIONS = (
    Option(key="go_on", label="Go on"),
    Option(key="answer", label="Answer with what there is"),
)


def turns_taken(taken: int, left: Sequence[str]) -> str:
    """The question after as many turns as may be taken without a word of the person. `left`: the sub-goals left."""
    turns = f"{taken} turns" if taken != 1 else "one turn"
    still = f" Still open: {'; '.join(left)}." if left else ""
    return f"That was {turns} since you last said something.{still} Shall I go on?"


def gave_up(polls: int, *, last_error: str) -> str:
    """Why a polling step has failed."""
    times = f"{polls:,} checks" if polls != 1 else "one check"
    why = f"the last one failed: {last_error}" if last_error else "the condition was not met"
    return f"gave up after {times}: {why}"[:2_000]


NOT_ANSWERED = "Your message could not be answered: {reason}. Nothing else has changed; send it again to try again."


def in_words(asked: Ask) -> str:
    """The questions with their options, as Markdown."""
    own = (asked.text, list(asked.options))
    further = ((question.text, [option.label for option in question.options]) for question in asked.further)
    return "\n\n".join("\n".join((text, *(f"- {label}" for label in labels))) for text, labels in (own, *further))
