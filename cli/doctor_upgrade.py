"""Does any session wait for a newer release of Parley?"""

from cli.checks import Check
from cli.command import Declined, Unreachable
from cli.running import bus, query
from shared.settings import Settings
from shared.store import Store
from shared.store_api import HEALTH, Health

WAIT = 3  # seconds for plan_store's answer


async def check_upgrade(settings: Settings, broker: Check) -> Check:
    """What plan_store says of sessions that it had to leave. `broker` is what was found out about NATS."""
    if broker.outcome != "ok" or "nats_url" not in settings.model_fields_set:
        return Check("upgrade", "ok", "not looked at: Parley is not running")
    try:
        async with bus(settings) as found:
            report = await query(Store(found, wait=WAIT), HEALTH, Health())
    except (Unreachable, Declined) as error:
        return Check("upgrade", "warn", f"not looked at: {error}".splitlines()[0], "see plan_store")
    if not report.waiting_for_upgrade:
        return Check("upgrade", "ok", "no session waits for a newer release")
    told = f"{report.waiting_for_upgrade} sessions were continued by a newer release, and wait for it"
    return Check("upgrade", "fail", told, "upgrade all services; nothing is lost meanwhile")
