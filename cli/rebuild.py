"""`parley rebuild`: the database made again from the log, by plan_store's own program."""

import subprocess
import sys

from cli.entitlements import environment_for
from cli.home import attached
from shared.settings import Settings

MODULE = "services.plan_store.rebuild"


def rebuild(settings: Settings, *, module: str = MODULE) -> int:
    """Run it with its output passed through; its exit code."""
    settings = attached(settings)
    environment = environment_for(
        "plan_store",
        NATS_URL=settings.nats_url,
        DATABASE_URL=settings.sql_url,
        PARLEY_HOME=str(settings.parley_home.resolve()),
    )
    done = subprocess.run([sys.executable, "-m", module], env=environment, check=False)  # noqa: S603
    return done.returncode if done.returncode >= 0 else 128 - done.returncode
