"""How a user raises a session's budgets: by amounts of their own, or in answer to the session's question."""

from math import ceil

from parley.events import facts
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import Invalid
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import Session
from shared.domain.kernel.wording import BUDGET_OPTIONS
from shared.domain.rules.event_meta import event_meta


def answer_budget_question(
    session: Session, key: str | None, meta: CommandMeta
) -> facts.BudgetRaised | facts.SessionStopped:
    """Decides the answer to the question whether to raise the budgets. Raises Invalid for any other answer."""
    if key == "give_up":
        return facts.SessionStopped(**event_meta(session, meta, facts.SessionStopped), reason="the budget is spent")
    if key != "raise":
        labels = " or ".join(f"“{option.label}”" for option in BUDGET_OPTIONS)
        raise Invalid(f"Answer {labels}, or raise it by an amount of your own.")
    settings, spent = session.settings, session.spent
    more = c.RaiseBudget(
        tokens=_half_more(settings.token_budget, spent.tokens),
        cost=max(settings.cost_budget, spent.cost) * 1.5 - settings.cost_budget if settings.cost_budget else 0,
        calls=_half_more(settings.call_budget, spent.tool_calls),
        seconds=_half_more(settings.time_budget, ceil(spent.seconds)),
    )
    return raise_budget(session, more, meta)


def raise_budget(session: Session, command: c.RaiseBudget, meta: CommandMeta) -> facts.BudgetRaised:
    """Raises Invalid if no amount is above 0."""
    if not (command.tokens or command.cost or command.calls or command.seconds):
        raise Invalid("By how much? A budget is raised by tokens, cost, calls or seconds.")
    return facts.BudgetRaised(
        **event_meta(session, meta, facts.BudgetRaised),
        tokens=command.tokens,
        cost=command.cost,
        calls=command.calls,
        seconds=command.seconds,
    )


def budget_raised(session: Session, event: facts.BudgetRaised) -> Session:
    """The session with the limits that it has raised by the event's amounts."""
    settings = session.settings
    more = (
        ("token_budget", settings.token_budget, event.tokens),
        ("cost_budget", settings.cost_budget, event.cost),
        ("call_budget", settings.call_budget, event.calls),
        ("time_budget", settings.time_budget, event.seconds),
    )
    limits = {name: limit + by for name, limit, by in more if limit is not None}
    return replace(session, settings=settings.model_copy(update=limits))


def _half_more(limit: int | None, spent: int) -> int:
    """The amount that raises a limit to 1.5 times the larger of limit and spending; 0 without a limit."""
    return max(limit, spent) * 3 // 2 + 1 - limit if limit else 0
