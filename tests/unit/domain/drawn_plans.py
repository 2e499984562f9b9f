"""Plans that act, and what an executor knows of their tools, each drawn from a number."""

from typing import Any

from parley.events import SessionEvent, facts
from parley.events.values import Effect, Step, ToolPolicy, ToolRule

TOOLS: dict[str, Effect] = {"look": "read", "pay": "write", "burn": "irreversible"}
SAYS: list[Any] = [None, None, None, "always", "never", "deny"]


def plan(number: int) -> tuple[Step, ...]:
    """One to five steps: tools, dependencies, literal arguments and references drawn from the number."""
    steps: list[Step] = []
    for index in range(number % 5 + 1):
        draw = (number // 5) >> (3 * index)
        tool = ("look", "pay", "pay", "burn")[draw % 4]
        before = steps[draw % index].id or "" if index else ""
        if kind := {5: "time", 6: "person", 7: "condition", 8: "condition"}.get(draw % 13):
            waits = Step(text=f"step {index}", tool=f"wait_{kind}", id=f"s{index + 1}", effect="read")
            steps.append(waits.model_copy(update={"waits_for": kind, "after": (before,) if before else ()}))
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
                policy=SAYS[draw % 6] if draw % 11 == 0 else None,
                fingerprint={0: None, 1: "before"}.get(draw % 97, "now"),
                for_each=each,
            )
        )
    return tuple(steps)


def registry(number: int) -> dict[str, ToolRule]:
    """What the executor knows of the tools: as they were planned, or more, or under other policies."""
    effects = TOOLS if number % 5 else dict(zip(TOOLS, ("write", "irreversible", "irreversible"), strict=True))
    policy: ToolPolicy | None = SAYS[number % 6] if number % 5 == 0 else None
    fingerprint = "later" if number % 17 == 0 else "now"
    return {name: ToolRule(effect=one, policy=policy, fingerprint=fingerprint) for name, one in effects.items()}


def begins_plan(event: SessionEvent) -> bool:
    """Whether a person, or the session's settings, let a version of the plan run."""
    by_setting = isinstance(event, facts.TurnPlanned) and event.plan_version is not None
    return by_setting or isinstance(event, facts.PlanApproved)
