"""What the fields of an execution plan's approval mean, in words."""

# ruff: noqa: E501  one line a field, however long

APPROVAL: dict[str, str] = {
    "preapproved": "steps whose calls the person allowed with whatever values their references get",
    "deferred": "nothing of the plan begins before a person starts it",
    "turn.planned.plan_version": "the execution plan whose steps these are, where the session's settings let it run without an approval; absent otherwise",
    "preapprove": "of a plan that acts: steps whose calls are allowed with whatever values their references get",
    "start": "of a plan that acts: false only approves it, and `retry` starts it",
    "require_plan_approval": "whether an execution plan waits for a person before it runs; without it each of its calls still asks by its own policy",
}
