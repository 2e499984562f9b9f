"""Doctor checks of what runs: whether NATS stores events, and what plan_store reports of the log and its database."""

from cli.bus_client import connect_bus, query_store
from cli.command import Declined, Unreachable
from cli.doctor_check import DoctorCheck
from cli.doctor_upgrade import WAIT
from shared.log import LogUnavailable
from shared.settings import Settings
from shared.store import PlanStoreClient
from shared.store_api import HEALTH, Health
from shared.unavailable import database_advice


async def check_store(settings: Settings, broker: DoctorCheck) -> list[DoctorCheck]:
    """One check of NATS' storage, and one for each problem. `broker` is the result of `check_nats`."""
    if broker.outcome != "ok" or "nats_url" not in settings.model_fields_set:
        return []
    storage = DoctorCheck("storage", "ok", "NATS stores events")
    try:
        async with connect_bus(settings) as bus:
            try:
                await bus.log.check_writable()
            except LogUnavailable as error:
                advice = "make room, then restart nats-server (parley up restarts its own)"
                storage = DoctorCheck("storage", "fail", str(error), advice)
            report = await query_store(PlanStoreClient(bus, wait=WAIT), HEALTH, Health())
    except (Unreachable, Declined) as error:
        advice = database_advice(str(error)) or "start it, or see its log"
        return [storage, DoctorCheck("plan_store", "fail", str(error).splitlines()[0], advice)]
    return [storage, *(_check(name, problem) for name, problem in report.problems.items())]


def _check(name: str, problem: str) -> DoctorCheck:
    finding, _, advice = problem.partition(": ")
    return DoctorCheck(name, "fail", finding, advice)
