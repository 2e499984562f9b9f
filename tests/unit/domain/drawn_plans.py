"""Execution plans and tool registries for property tests, each derived from a number."""

from typing import Any

from parley.events import SessionEvent, facts
from parley.events.values import Effect, Step, ToolPolicy, ToolRule

REACHED: set[str] = set()  # situations that occurred in any schedule
TOOLS: dict[str, Effect] = {"look": "read", "pay": "write", "burn": "irreversible"}
POLICIES: list[Any] = [None, None, None, "always", "never", "deny"]


def draw_plan(number: int) -> tuple[Step, ...]:
    """One to five steps with tools, dependencies, literal arguments and references derived from the number."""
    steps: list[Step] = []
    for index in range(number % 5 + 1):
        draw = (number // 5) >> (3 * index)
        tool = ("look", "pay", "pay", "burn")[draw % 4]
        before = steps[draw % index].id or "" if index else ""
        if kind := {5: "time", 6: "person", 7: "condition", 8: "condition"}.get(draw % 13):
            wait_step = Step(text=f"step {index}", tool=f"wait_{kind}", id=f"s{index + 1}", effect="read")
            steps.append(wait_step.model_copy(update={"waits_for": kind, "after": (before,) if before else ()}))
            continue
        each = f"{{{{steps.{before}.output.list}}}}" if before and draw % 5 > 1 else None
        value = f"{{{{steps.{before}.output.made}}}}" if before and draw % 3 else draw % 3
        value = "{{item}}" if each and draw % 2 else value
        steps.append(
            Step(
                text=f"step {index}",
                tool=tool,
                arguments={"x": value},
                id=f"s{index + 1}",
                after=(before,) if before and draw % 2 else (),
                effect=TOOLS[tool],
                policy=POLICIES[draw % 6] if draw % 11 == 0 else None,
                fingerprint={0: None, 1: "before"}.get(draw % 97, "now"),
                for_each=each,
            )
        )
    return tuple(steps)


def draw_registry(number: int) -> dict[str, ToolRule]:
    """The executor's tool rules: as planned, with stronger effects, or under other policies."""
    effects = TOOLS if number % 5 else dict(zip(TOOLS, ("write", "irreversible", "irreversible"), strict=True))
    policy: ToolPolicy | None = POLICIES[number % 6] if number % 5 == 0 else None
    fingerprint = "later" if number % 17 == 0 else "now"
    return {name: ToolRule(effect=effect, policy=policy, fingerprint=fingerprint) for name, effect in effects.items()}


def starts_plan(event: SessionEvent) -> bool:
    """Whether the event starts a version of the plan: by the user's approval or by the settings."""
    by_setting = isinstance(event, facts.TurnPlanned) and event.plan_version is not None
    return by_setting or isinstance(event, facts.PlanApproved)


def record_reached(event: SessionEvent) -> None:
    """Adds the situations that the event shows to `REACHED`."""
    if isinstance(event, facts.TurnPlanned):
        REACHED.add("began by the settings")
        if any(spec.approval_reason for spec in event.actions):
            REACHED.add("asked after the settings' approval")
    if isinstance(event, facts.PlanApproved) and event.already_done:
        REACHED.add("carried over")
    for spec in event.actions if isinstance(event, facts.TurnChanged | facts.PlanApproved) else ():
        if "has changed since" in spec.decision_reason:
            REACHED.add("its tool has changed")
        if "done already" in (spec.approval_reason or ""):
            REACHED.add("asked in doubt")
        elif spec.approval_reason and isinstance(event, facts.TurnChanged):
            REACHED.add("asked by reference")
