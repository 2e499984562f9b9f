"""How a person raises the budgets of a session, by an amount of their own or in answer to its question."""

from math import ceil

from parley.events import facts
from shared.domain import commands as c
from shared.domain.changing import replace
from shared.domain.commands import By
from shared.domain.errors import Invalid
from shared.domain.session import Session
from shared.domain.stamp import stamp
from shared.domain.wording import BUDGET_OPTIONS


def answered(session: Session, key: str | None, by: By) -> facts.BudgetRaised | facts.SessionStopped:
    """The answer to the question whether the budgets are raised. Raises Invalid."""
    if key == "give_up":
        return facts.SessionStopped(**stamp(session, by, "session.stopped"), reason="the budget is spent")
    if key != "raise":
        labels = " or ".join(f"“{option.label}”" for option in BUDGET_OPTIONS)
        raise Invalid(f"Answer {labels}, or raise it by an amount of your own.")
    had, spent = session.settings, session.spent
    more = c.RaiseBudget(
        tokens=_half_more(had.token_budget, spent.tokens),
        cost=max(had.cost_budget, spent.cost) * 1.5 - had.cost_budget if had.cost_budget else 0,
        calls=_half_more(had.call_budget, spent.tool_calls),
        seconds=_half_more(had.time_budget, ceil(spent.seconds)),
    )
    return raised(session, more, by)


def raised(session: Session, command: c.RaiseBudget, by: By) -> facts.BudgetRaised:
    """Raises Invalid."""
    if not (command.tokens or command.cost or command.calls or command.seconds):
        raise Invalid("By how much? A budget is raised by tokens, cost, calls or seconds.")
    needs = {"needs": 2} if command.calls or command.seconds else {}
    return facts.BudgetRaised(**stamp(session, by, "budget.raised"), **needs, **dict(command))


def with_budgets(session: Session, event: facts.BudgetRaised) -> Session:
    """The session with the limits raised that it has."""
    had = session.settings
    more = (
        ("token_budget", had.token_budget, event.tokens),
        ("cost_budget", had.cost_budget, event.cost),
        ("call_budget", had.call_budget, event.calls),
        ("time_budget", had.time_budget, event.seconds),
    )
    limits = {name: limit + by for name, limit, by in more if limit is not None}
    return replace(session, settings=had.model_copy(update=limits))


def _half_more(limit: int | None, spent: int) -> int:
    """By how much a limit is raised to be half more than what is spent; nothing where there is no limit."""
    return max(limit, spent) * 3 // 2 + 1 - limit if limit else 0
