"""The scenarios of the crash tests: users' requests, and users who do not follow the usual script."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from chaos.simulated_user import SimulatedUser
from chaos.socket_recorder import Json
from chaos.user_scripts import Kind, UserScript
from packs.retail.generate import generate
from parley.protocol.server import Snapshot
from shared.services import SERVICES


class CrashScenario(NamedTuple):
    """What a user requests in a session. `is_deterministic`: the session always produces the same events.

    `services`: the services to crash.
    """

    name: str
    kind: Kind
    content: str
    settings: Mapping[str, Any] = MappingProxyType({})
    is_deterministic: bool = True
    user_type: type[SimulatedUser] = SimulatedUser
    services: Sequence[str] = tuple(SERVICES)


def scenarios() -> tuple[CrashScenario, ...]:
    """A plan, code and its run; an approved write with an idempotency key; a question; a write without a key, also with
    a stop while it runs; an approval that times out."""
    data: Any = generate()
    order = next(order for order in data["orders"].values() if order["status"] == "pending")
    email = data["users"][order["user_id"]]["email"]
    cancel = f"Please cancel order {order['order_id']}, it is no longer needed. I am {email}."
    note = 'Call trial.note with {"text": "NOTE"}'
    own: Json = {"world": "own"}
    return (
        CrashScenario("conversation", "conversation", "Help me create a simple calculator"),
        CrashScenario("retail", "retail", cancel, own),
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


class StoppingUser(SimulatedUser):
    """Stops the session while a write runs, and stays until its outcome is known."""

    def _while_working(self, snapshot: Snapshot) -> Json | None:
        return {"type": "stop"} if _is_changing(snapshot) else None

    def _when_resting(self, snapshot: Snapshot) -> Json | None:
        return None if _is_changing(snapshot) else super()._when_resting(snapshot)


def _is_changing(snapshot: Snapshot) -> bool:
    actions = snapshot.turn.actions if snapshot.turn else ()
    return any(action.status == "started" and action.effect != "read" for action in actions)
