"""Where a session, its work and its actions stand."""

from collections.abc import Mapping

# By the name of the session's state.
STATES: Mapping[str, str] = {
    "greeting": "new",
    "text_plan_generation": "planning",
    "text_plan_approval": "plan to approve",
    "text_plan_feedback": "changes to the plan?",
    "code_generation": "writing code",
    "code_approval": "code to approve",
    "code_feedback": "changes to the code?",
    "question": "question for you",
    "action_approval": "approval needed",
    "offer": "offer for you",
    "replying": "answering you",
    "executing": "running",
    "verifying": "checking",
    "answering": "writing the answer",
    "waiting": "waiting",
    "escalated": "needs you",
    "completed": "done",
    "approved": "approved, not started",
    "answered": "ready",
    "unfinished": "not finished",
    "stopped": "stopped",
    "failed": "failed",
    "paused": "paused",
}

# What a waiting session wants, by its state; `input` and `approval` for states that are not known.
ASKS: Mapping[str, str] = {
    "action_approval": "approve a change",
    "text_plan_approval": "approve a plan",
    "code_approval": "approve code",
    "text_plan_feedback": "say what to change in the plan",
    "code_feedback": "say what to change in the code",
    "question": "answer a question",
    "offer": "take or keep an offer",
    "failed": "failed",
    "escalated": "take over",
    "unfinished": "finish the plan",
    "not_started": "start the plan",
    "input": "answer a question",
    "approval": "approve",
}

# What the service at work is doing, by workflow and phase.
PHASES: Mapping[str, str] = {
    "planning": "is drafting a plan",
    "coding": "is writing the code",
    "executing": "is running the actions",
    "verifying": "is checking the result",
    "answering": "is writing the answer",
    "working": "is working",
    "agentflow_planning": "is planning the next turn",
    "agentflow_executing": "is running this turn's actions",
    "execution_plan_executing": "is carrying out the plan",
    "flow_planning": "is planning the path",
    "flow_executing": "is following the path",
}

# What is being written, by the kind of draft.
DRAFTS: Mapping[str, str] = {
    "plan": "Drafting a plan",
    "agentflow_plan": "Planning the next turn",
    "flow_plan": "Planning the path",
    "code": "Writing the code",
    "tests": "Writing tests",
    "reply": "Replying to you",
    "answer": "Writing the answer",
    "verdict": "Checking the result",
    "node": "Working on this step",
}

# The line that is always in sight.
STATUS: Mapping[str, str] = {
    "approved": "Approved, not started",
    "busy": "Too many requests or open tabs, retrying…",
    "connecting": "Connecting…",
    "done": "Done",
    "escalated": "This needs you to take over",
    "failed": "Failed; the reason is shown above",
    "model_waits": "The model server asks us to wait {seconds} s",
    "offline": "Offline, reconnecting…",
    "paused": "Paused: no new step starts",
    "offer": "Your turn: take the new one, or go on with the old one",
    "ready": "Ready",
    "replying": "{service} is replying to you",
    "replying_holds": "{service} is replying to you; changes wait until then",
    "retry_now": "Retry now",
    "stopped": "Stopped",
    "waiting": "Waiting for a step",
    "waiting_until": "Waiting until {until}",
    "unfinished": "The plan is not finished",
    "unsent": "{count} waiting to be sent",
    "your_turn": "Your turn",
}

# By the status of a sub-goal.
WORK: Mapping[str, str] = {
    "completed": "done",
    "failed": "failed",
    "pending": "to do",
    "actions": "{done} of {planned} planned actions done",
    "items": "{done} of {count} done",
    "polls_changed": "checks every {every} s, last change at check {polls}",
    "polls": "checks every {every} s",
    "node": "step {number} of {count}",
    "own_store": "This session's own copy of the store",
    "shared_store": "Shared store",
    "sub_goals": "Goals",
    "sub_goals_done": "{done} of {count} goals done",
    "now": "now: {goal}",
    "output_given": "output given",
    "turn": "turn {number}",
    "turn_limit": "I ask you after {most} turns",
}

# By the status of a plan or of code.
REVIEW_STATES: Mapping[str, str] = {
    "draft": "draft",
    "pending_approval": "waiting for you",
    "approved": "approved",
    "executing": "running",
    "completed": "done",
    "failed": "failed",
    "cancelled": "discarded",
    "rejected": "declined",
    "checking": "being checked",
    "review": "waiting for you",
    "superseded": "replaced",
}

# By the status of an action.
ACTION_STATES: Mapping[str, str] = {
    "planned": "waiting",
    "approved": "allowed",
    "denied": "declined",
    "started": "running",
    "asked": "asks you",
    "waiting": "scheduled",
    "finished": "done",
    "failed": "failed",
    "skipped": "skipped",
    "uncertain": "uncertain",
}
