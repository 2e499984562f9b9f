"""Nodes and tool registries for random schedules, each derived from a number."""

from parley.events.values import ActionSpec, Effect, ToolPolicy, ToolRule


def one_of[T](items: list[T], number: int) -> T:
    return items[number % len(items)]


def registry(number: int) -> dict[str, ToolRule]:
    """The executor's tool rules: none, or with more or less than planned."""
    effect: Effect = one_of(["read", "write", "irreversible"], number)
    policy: ToolPolicy | None = one_of([None, None, None, "always", "never", "deny"], number // 3)
    names = ("orders", "note", *(f"flow.node{n}" for n in range(5)))
    return dict.fromkeys(names, ToolRule(effect=effect, policy=policy, quiet=number % 5 > 0)) if number % 4 else {}


def nodes(number: int) -> tuple[ActionSpec, ...]:
    """One to three nodes; some of them write or need approval first."""
    return tuple(
        ActionSpec(
            id="0",
            tool=f"flow.node{(number + n) % 5}",
            arguments={"n": number // 3 + n},
            effect=one_of(["read", "read", "write"], number + n),
            approval_reason=one_of([None, None, None, "look first"], number // 3 + n),
        )
        for n in range(number % 3 + 1)
    )
