"""Doctor check: whether any session waits for a newer release of Parley."""

from cli.bus_client import connect_bus, query_store
from cli.command import Declined, Unreachable
from cli.doctor_check import DoctorCheck
from shared.settings import Settings
from shared.store import PlanStoreClient
from shared.store_api import HEALTH, Health

WAIT = 3  # seconds for plan_store's answer


async def check_upgrade(settings: Settings, broker: DoctorCheck) -> DoctorCheck:
    """Whether plan_store has sessions that it cannot fold. `broker` is the result of `check_nats`."""
    if broker.outcome != "ok" or "nats_url" not in settings.model_fields_set:
        return DoctorCheck("upgrade", "ok", "not looked at: Parley is not running")
    try:
        async with connect_bus(settings) as bus:
            report = await query_store(PlanStoreClient(bus, wait=WAIT), HEALTH, Health())
    except (Unreachable, Declined) as error:
        return DoctorCheck("upgrade", "warn", f"not looked at: {error}".splitlines()[0], "see plan_store")
    if not report.waiting_for_upgrade:
        return DoctorCheck("upgrade", "ok", "no session waits for a newer release")
    finding = f"{report.waiting_for_upgrade} sessions were continued by a newer release, and wait for it"
    return DoctorCheck("upgrade", "fail", finding, "upgrade all services; nothing is lost meanwhile")
