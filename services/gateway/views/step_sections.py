"""The view's section of an execution plan's steps: how they go, and what their calls affect. Pure."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from pydantic import JsonValue

from parley.events.values import Step
from parley.protocol import screen as v
from parley.protocol.journal import ActionState
from parley.protocol.words import WORK
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action
from shared.domain.plan.approval import is_preapprovable
from shared.domain.steps.for_each import items_of
from shared.domain.steps.plan_steps import GATHER, action_id
from shared.domain.steps.references import references
from shared.domain.steps.skipping import dependents_of
from shared.journal.phrases import ACTION_TONES, polling_text, state_label
from shared.plan_checks.calls import polled_call
from shared.plan_checks.steps import same_changes

FILE_ARGUMENTS = ("file", "file_name", "filename", "path")
MAX_RESOURCES = 20  # that are named


def step_sections(session: Session) -> dict[str, v.StepSection]:
    """Steps by id, each with its action in the current version, or else in an earlier one."""
    plan = session.plan
    if plan is None or not plan.task:
        return {}
    actions = step_actions(session)
    duplicates = same_changes(plan.steps)
    return {
        step.id: v.StepSection(
            action_id=name,
            **_step_state(session, actions.get(name)),
            touches=affected_resources(step),
            same_as=duplicates.get(step.id, ""),
            preapprovable=is_preapprovable(step),
            preapproved=step.id in plan.preapproved,
            used_by=tuple(user.id or "" for user in dependents_of(session, step)),
        )
        for step in plan.steps
        if step.id and (name := action_id(plan, step))
    }


def step_actions(session: Session) -> dict[str, Action]:
    """The actions of steps by id; the current version's action replaces one of an earlier version."""
    turn = session.turn
    now = turn.actions if turn and turn.rules.by_step else ()
    return {action.spec.id: action for action in (*session.begun_steps, *now)}


def _step_state(session: Session, action: Action | None) -> dict[str, Any]:
    status = action.status if action else "planned"
    state: ActionState = "started" if status == "running" else status
    word = state_label(state)
    if action and action.spec.tool == GATHER and (items := items_of(session, action)):
        done = sum(item is not None and item.status == "finished" for item in items)
        word = WORK["items"].format(done=done, count=len(items))
        under_way = any(item is not None and item.is_under_way for item in items)
        state = "started" if state == "planned" and under_way else state
    seconds, until = (action.seconds, action.until) if action else (0.0, None)
    is_given = action is not None and action.given
    if is_given:
        word = WORK["output_given"]
    elif action and action.poll and state == "waiting":
        word = polling_text(action.poll.every, action.poll.polls)
    return {
        "status": state,
        "word": word,
        "tone": ACTION_TONES[state],
        "seconds": seconds,
        "until": until if state == "waiting" else None,
        "problem": action.explanation if action and action.status in ("failed", "denied", "uncertain") else "",
        "poll": poll_view(action) if action else None,
        "given": is_given,
    }


def poll_view(action: Action) -> v.PollView | None:
    if (poll := action.poll) is None:
        return None
    return v.PollView(
        every=poll.every,
        until=action.until,
        polls=poll.polls,
        value=poll.value,
        error=poll.error,
        next_poll=poll.next_poll,
    )


def affected_resources(step: Step) -> tuple[v.AffectedResource, ...]:
    """The servers of URLs, the files and the tables in the step's arguments, each once.

    For a polling step, those of the call that it repeats. Only literal arguments count: values from other steps are
    unknown before the plan runs.
    """
    step = polled_call(step) or step
    arguments = {name: value for name, value in (step.arguments or {}).items() if not references(value)}
    file_arguments = (*FILE_ARGUMENTS, *(("name",) if (step.tool or "").endswith("_file") else ()))
    resources = [v.AffectedResource(kind="host", name=host) for value in arguments.values() for host in _hosts(value)]
    for name, value in arguments.items():
        if name in file_arguments and isinstance(value, str) and "://" not in value:
            resources.append(v.AffectedResource(kind="file", name=value))
        if name == "tables" and isinstance(value, list):
            resources += [v.AffectedResource(kind="table", name=table) for table in value if isinstance(table, str)]
    return tuple(dict.fromkeys(resources))[:MAX_RESOURCES]


def _hosts(value: JsonValue) -> Iterator[str]:
    match value:
        case str() if value.startswith(("http://", "https://")):
            try:
                host = urlsplit(value).netloc.rpartition("@")[2]
            except ValueError:
                return  # the check of the call reports the invalid URL
            if host:
                yield host
        case list():
            for item in value:
                yield from _hosts(item)
