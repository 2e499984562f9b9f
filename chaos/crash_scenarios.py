"""The scenarios of the crash tests: users' requests, and users who do not follow the usual script."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple

from chaos.reconnecting_client import Json
from chaos.simulated_user import SimulatedUser
from chaos.user_scripts import Kind, UserScript
from packs.retail.generate import generate
from parley.protocol.server import Snapshot
from shared.services import SERVICES


class CrashScenario(NamedTuple):
    """What a user requests in a session. `is_deterministic`: the session always produces the same events.

    `services`: the services to crash. `talk`: what the user asks for instead, before the first approval.
    """

    name: str
    kind: Kind
    content: str
    settings: Mapping[str, Any] = MappingProxyType({})
    is_deterministic: bool = True
    user_type: type[SimulatedUser] = SimulatedUser
    services: Sequence[str] = tuple(SERVICES)
    talk: str = ""


def scenarios() -> tuple[CrashScenario, ...]:
    """A plan, code and its run; an approved write with an idempotency key, also after a message and an offer; a
    question; a write without a key, also with a stop while it runs; an approval that times out."""
    data: Any = generate()
    orders = [order for order in data["orders"].values() if order["status"] == "pending"]
    order, other = next(pair for pair in combinations(orders, 2) if pair[0]["user_id"] == pair[1]["user_id"])
    email = data["users"][order["user_id"]]["email"]
    cancel = f"Please cancel order {order['order_id']}, it is no longer needed. I am {email}."
    talk = f"Please cancel order {other['order_id']} instead."
    note = 'Call trial.note with {"text": "NOTE"}'
    own: Json = {"world": "own"}
    return (
        CrashScenario("conversation", "conversation", "Help me create a simple calculator"),
        CrashScenario("retail", "retail", cancel, own),
        CrashScenario("talk", "retail", cancel, own, user_type=TalkingUser, services=("planner", "gateway"), talk=talk),
        CrashScenario("flow", "flow", "How many orders are pending?", {"confirm": "path"}),
        CrashScenario("notes", "notes", note, is_deterministic=False),
        CrashScenario("stopped", "notes", note, is_deterministic=False, user_type=StoppingUser, services=("executor",)),
        CrashScenario(
            "forgotten", "retail", cancel, own | {"approval_timeout": 1}, user_type=AbsentUser, services=("plan_store",)
        ),
    )


class SteadyScript(UserScript):
    """Always makes the default choice: approve and go on."""

    def draw(self, about: str) -> float:
        return 0.99


class AbsentUser(SimulatedUser):
    """Makes a request and never answers a question."""

    def _when_asked(self, snapshot: Snapshot) -> Json | None:
        return None


class TalkingUser(SimulatedUser):
    """Asks about the first call to approve, asks for something else, and takes the offer."""

    def _asks(self, about: str) -> Json | None:
        messages = ({"type": "user_message", "content": words} for words in ("Why?", self.script.subject))
        return next((message for message in messages if self._at_most(1, message["content"], message)), None)

    def _about_offer(self) -> Json:
        return {"type": "take_offer"}


class StoppingUser(SimulatedUser):
    """Stops the session while a write runs, and stays until its outcome is known."""

    def _while_working(self, snapshot: Snapshot) -> Json | None:
        return {"type": "stop"} if _is_changing(snapshot) else None

    def _when_resting(self, snapshot: Snapshot) -> Json | None:
        return None if _is_changing(snapshot) else super()._when_resting(snapshot)


def _is_changing(snapshot: Snapshot) -> bool:
    actions = snapshot.turn.actions if snapshot.turn else ()
    return any(action.status == "started" and action.effect != "read" for action in actions)
