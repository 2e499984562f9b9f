"""How a person raises the budgets of a session, by an amount of their own or in answer to its question."""

from math import ceil

from parley.events import facts
from shared.domain import commands as c
from shared.domain.changing import replace
from shared.domain.commands import CommandMeta
from shared.domain.errors import Invalid
from shared.domain.event_meta import event_meta
from shared.domain.session import Session
from shared.domain.wording import BUDGET_OPTIONS


def answered(session: Session, key: str | None, meta: CommandMeta) -> facts.BudgetRaised | facts.SessionStopped:
    """The answer to the question whether the budgets are raised. Raises Invalid."""
    if key == "give_up":
        return facts.SessionStopped(**event_meta(session, meta, facts.SessionStopped), reason="the budget is spent")
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
    return raised(session, more, meta)


def raised(session: Session, command: c.RaiseBudget, meta: CommandMeta) -> facts.BudgetRaised:
    """Raises Invalid."""
    if not (command.tokens or command.cost or command.calls or command.seconds):
        raise Invalid("By how much? A budget is raised by tokens, cost, calls or seconds.")
    return facts.BudgetRaised(
        **event_meta(session, meta, facts.BudgetRaised, needs=2 if command.calls or command.seconds else 1),
        tokens=command.tokens,
        cost=command.cost,
        calls=command.calls,
        seconds=command.seconds,
    )


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
