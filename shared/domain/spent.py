"""What a session has spent, and whether that is all that its settings allow."""

from dataclasses import dataclass

from parley.events.values import SessionSettings


@dataclass(frozen=True)
class Spent:
    """Totals of a session: of its model calls, with their cost in US dollars, and of its work.

    `tool_calls` are those that were started, and the looks of steps that poll. `seconds` is the wall clock while a
    service was at work, or its work waited to be taken up.
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

    def over_model_budget(self, limits: SessionSettings) -> bool:
        """Tokens or money are used up: no model is asked."""
        return _reached(self.tokens, limits.token_budget) or _reached(self.cost, limits.cost_budget)

    def over_work_budget(self, limits: SessionSettings) -> bool:
        """Calls of tools or time are used up: what has begun ends, and nothing else begins."""
        return _reached(self.tool_calls, limits.call_budget) or _reached(self.seconds, limits.time_budget)


def _reached(spent: float, limit: float | None) -> bool:
    return limit is not None and spent >= limit
