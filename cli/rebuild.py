"""`parley rebuild`: runs plan_store's program that rebuilds the database from the log."""

import subprocess
import sys

from cli.entitlements import environment_for
from cli.home import use_running_nats
from shared.settings import Settings

MODULE = "services.plan_store.rebuild"


def rebuild(settings: Settings, *, module: str = MODULE, force: bool = False) -> int:
    """Run the program with its output passed through. Returns its exit code."""
    settings = use_running_nats(settings)
    environment = environment_for(
        "plan_store",
        NATS_URL=settings.nats_url,
        DATABASE_URL=settings.sql_url,
        PARLEY_HOME=str(settings.parley_home.resolve()),
    )
    command = [sys.executable, "-m", module, *(["--force"] if force else [])]
    process = subprocess.run(command, env=environment, check=False)  # noqa: S603
    return process.returncode if process.returncode >= 0 else 128 - process.returncode
