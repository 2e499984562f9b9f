"""A session's usage totals, and whether they have reached the budgets of its settings."""

from dataclasses import dataclass

from parley.events.values import SessionSettings


@dataclass(frozen=True)
class UsageTotals:
    """Totals of a session. `calls` counts model calls; `cost` is in US dollars.

    `tool_calls` counts started tool calls and the polls of polling steps. `seconds` is the wall-clock time during which
    a service was due.
    """

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    tool_calls: int = 0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def is_over_model_budget(self, limits: SessionSettings) -> bool:
        """The token or cost budget is used up: no model may be called."""
        return _reached(self.tokens, limits.token_budget) or _reached(self.cost, limits.cost_budget)

    def is_over_work_budget(self, limits: SessionSettings) -> bool:
        """The tool call or time budget is used up: started actions end, and no other action starts."""
        return _reached(self.tool_calls, limits.call_budget) or _reached(self.seconds, limits.time_budget)


def _reached(spent: float, limit: float | None) -> bool:
    return limit is not None and spent >= limit
