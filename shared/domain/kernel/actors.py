"""The actors of events: who appended them. A worker's actor is its service's name."""

from parley.events import facts

Authored = (
    facts.PlanDrafted
    | facts.PlanEdited
    | facts.CodeDrafted
    | facts.CodeEdited
    | facts.TurnPlanned
    | facts.TurnRequested
)
USER_PREFIX = "user:"
KEEPER = "keeper"  # plan_store's scheduler: fails abandoned work, begins scheduled sessions, wakes and polls steps
OPERATOR = f"{USER_PREFIX}local"  # the only user of a Parley without accounts, and `parley publish`
TEMPLATE_PREFIX = "template/"


def author_of(event: Authored) -> str:
    """Who made what the event brings. An offer that a user takes is its service's."""
    match event:
        case facts.PlanDrafted(offer=int()) | facts.TurnPlanned(offer=int()):
            return "planner"
        case facts.CodeDrafted(offer=int()):
            return "generator"
        case _:
            return event.actor
