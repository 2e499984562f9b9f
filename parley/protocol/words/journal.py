"""What happened, in words: actions, verdicts, answers, and the small notes between them."""

from collections.abc import Mapping

JOURNAL: Mapping[str, str] = {
    # how an action stands, in a line
    "allowed": "allowed",
    "allowed_by": "allowed by {who}",
    "approval_needed": "Needs your approval: {reason}",
    "declined": "declined",
    "declined_by": "declined by {who}",
    "declined_in_time": "not run: no decision in time",
    "left_open": "left open: unknown whether it took effect",
    "set_by_person": "Set by hand: {names}",
    "started": "started; the outcome will appear here",
    "stopped_by_person": "Stopped by hand",
    "stored": "the full result is {name}, {size} bytes",
    "waits": "waits for its turn",
    "poll_failed": "the last check failed: {error}",
    "poll_met": "the condition is met, checked {times}: {seen}",
    "polled": "checked {times}: {seen}",
    "polls_until": "checks every {every} s, until {until} at the latest",
    "waits_until": "waits until {until}",
    "woken": "the time came",
    # what was made
    "answer_follows": "The answer follows.",
    "answered_from": "Source: {tools}",
    "answered": "answered: {text}",
    "asked": "{by} asked",
    "code": "Code {number}",
    "edited": "edited {what}",
    "confidence": "Confidence {percent}%",
    "failed_while": "Failed while {stage}",
    "path": "Path {number}",
    "plan": "Plan {number}",
    "recalled": "Remembered from {count} earlier requests",
    "recalled_one": "Remembered from 1 earlier request",
    "recall_off": "Don't use earlier sessions from the next request on",
    "source": "Source:",
    "turn": "turn {number}",
    "wrote": "wrote {what}",
    # what people said
    "feedback": "asked for changes",
    "guidance": "while it worked",
    "sending": "sending…",
    "with": "with {names}",
    "you": "You",
    # why a turn was planned so
    "output_given": "output given instead: {output}",
    "final_turn": "meant to be the last turn",
    "skills": "skills: {names}",
    "tool": "tool: {name}",
    "why": "Why this",
    # results
    "beginning": "This is only the beginning; the full result is {size}.",
    "cut": "output cut",
    "exit_code": "exit code {code}",
    "no_arguments": "no arguments",
    "no_output": "No output",
    "result": "Result",
    "stderr": "Standard error",
    "stdout": "Standard output",
}


# Short lines with a name before them: "You approved plan 3". Under an event's type: what is said about every event of
# that type, with its fields filled in.
NOTES: Mapping[str, str] = {
    "offer.kept": "kept what was there",
    "plan.cancelled": "discarded the plan",
    "plan.deleted": "deleted the plan",
    "policy.set": "set approval for {tool} to {policy}",
    "session.completed": "marked this as done",
    "session.forked": "forked this session",
    "session.paused": "paused",
    "session.renamed": "renamed this to “{title}”",
    "session.resumed": "resumed",
    "session.retried": "retried",
    "answer_accepted": "said that this answer is correct",
    "answer_not_accepted": "said that this answer is not correct",
    "answer_saved": "saved this answer to the library",
    "approval_expired": "No decision in time",
    "question_expired": "No answer in time",
    "budget_raised": "raised the limit",
    "budget_raised_calls": "raised the limit by {calls} calls",
    "budget_raised_cost": "raised the limit by ${cost}",
    "budget_raised_seconds": "raised the limit by {seconds} seconds of work",
    "budget_raised_tokens": "raised the limit by {tokens} tokens",
    "code_approved": "approved code {number}",
    "code_declined": "declined code {number}",
    "code_replanned": "asked for different code",
    "plan_approved": "approved plan {number}",
    "plan_approved_later": "approved plan {number}, to be started later",
    "plan_begun_by_setting": "began the plan: the session's settings ask for no approval of it",
    "preapproved": ", allowing whatever values {steps} get",
    "plan_declined": "declined plan {number}",
    "plan_replanned": "asked for a different plan",
    "offered_plan": "offers another plan: {goal}",
    "offered_code": "offers another program",
    "offered_nothing": "offers to leave out what waits",
    "offered_turn": "offers this instead: {goal}",
    "disputes": "found a failed test wrong and left the program as it was: {reason}",
    "dropped": "left out what you had put in: {steps}",
    "offer_taken": "took the offer",
    "offer_taken_as_said": "took the offer, as you said",
    "shared": "shared this with {user} ({role})",
    "stopped": "stopped",
    "stopped_because": "stopped: {reason}",
    "unshared": "stopped sharing this with {user}",
    "workflow": "switched to {workflow}",
}

# Why an action ended without an outcome of its own.
ENDED: Mapping[str, str] = {
    "dependency_failed": "an action it depends on did not finish",
    "stopped": "not started when it was stopped",
    "cancelled": "left out: the plan was discarded",
    "superseded": "left out: something else took its place",
    "superseded_by_message": "left out: you said something else",
    "superseded_by_plan": "left out: the turn was planned again",
}

# The reasons for an approval as the log keeps them, and as they are shown.
REASONS: Mapping[str, str] = {
    "you asked to be asked about every call": "you asked to approve every call",
    "it changes something": "changes data",
    "it changes something and cannot be undone": "changes data and cannot be undone",
}


VERDICTS: Mapping[str, str] = {
    # by status
    "success": "success",
    "partial": "partly done",
    "failure": "failed",
    "not_shown": "not shown by this run",
    "bad_input": "right answer to bad input",
    "missing_here": "the program is right, something is missing here",
    # by next action
    "continue": "continues",
    "retry": "tries again",
    "escalate": "needs a person",
    "complete": "request done",
    "ended": "ends here",
    # by who judged, and how
    "by_model": "checked by a model",
    "by_rule": "checked by rule",
    "notes": "Notes of the check",
}
