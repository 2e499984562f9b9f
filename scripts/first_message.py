"""Lists the files that a first message runs through, from its frame at the gateway to its plan on the screen.

    python scripts/first_message.py           print them, by folder
    python scripts/first_message.py --write   write them into docs/architecture.md

A gateway, a plan store and a planner run in this process, with a real nats-server and the rehearsal model over HTTP. A
file counts if one of its functions begins to run meanwhile: what only importing or starting runs does not.
"""

import asyncio
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import CodeType

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [] if str(ROOT) in sys.path else [str(ROOT)]

from pydantic import SecretStr  # noqa: E402  needs the path above

from services.gateway.app import build  # noqa: E402
from services.plan_store.app import PlanStore  # noqa: E402
from services.planner import app as planner  # noqa: E402
from shared.bus import Bus  # noqa: E402
from shared.bus.provision import provision  # noqa: E402
from shared.logging import configure_logging  # noqa: E402
from shared.settings import Settings  # noqa: E402
from shared.store import PlanStoreClient  # noqa: E402
from tests.support.gateway import Client, client, serving  # noqa: E402
from tests.support.nats import NatsServer  # noqa: E402
from tests.support.rehearsal_server import rehearsal_server  # noqa: E402

GUIDE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- files of a first message -->\n", "<!-- end -->"
PRODUCT = ("services", "shared", "parley", "packs", "flows", "sql")
REQUEST = "Help me create a simple calculator"


@contextmanager
def files_run() -> Iterator[set[str]]:
    """The product's files in which a function begins to run until the block ends."""
    names: set[str] = set()

    def begins(code: CodeType, offset: int) -> object:
        folder, _, _ = code.co_filename.removeprefix(f"{ROOT}/").partition("/")
        if folder in PRODUCT and not code.co_name.startswith("<"):
            names.add(code.co_filename.removeprefix(f"{ROOT}/"))
        return sys.monitoring.DISABLE

    tool, event = int(sys.monitoring.PROFILER_ID), sys.monitoring.events.PY_START
    sys.monitoring.use_tool_id(tool, "first message")
    sys.monitoring.register_callback(tool, event, begins)
    sys.monitoring.set_events(tool, event)
    sys.monitoring.restart_events()
    try:
        yield names
    finally:
        sys.monitoring.set_events(tool, sys.monitoring.events.NO_EVENTS)
        sys.monitoring.free_tool_id(tool)


@asynccontextmanager
async def parley(home: Path) -> AsyncIterator[str]:
    """The address of a gateway, with a plan store and a planner behind it."""
    with NatsServer(home) as nats:
        base = Settings(parley_home=home, nats_url=nats.url, parley_auth="none", openai_api_key=SecretStr("k"))
        await provision(base)
        async with rehearsal_server(base) as model:
            services = PlanStore(model.settings), planner.build(model.settings)
            bus = Bus(model.settings, "gateway")
            gateway = build(model.settings, bus, PlanStoreClient(bus), bus.log)
            for service in services:
                await service.start()
            async with serving(gateway) as address:
                yield address
            for service in services:
                await service.stop()


async def walk() -> list[str]:
    """The files, in order of their names."""
    with tempfile.TemporaryDirectory() as home:
        async with parley(Path(home)) as address:
            for warm in (True, False):  # the first person's message also loads what later ones find loaded
                async with client(address, "/ws?view=2") as user:
                    if warm:
                        await _plan(user)
                        continue
                    with files_run() as names:
                        await _plan(user)
    return sorted(names)


async def _plan(user: Client) -> None:
    await user.send("user_message", content=REQUEST)
    while not (await user.until("event"))["changed"].get("plan"):
        pass


def as_text(files: list[str]) -> str:
    """The files by folder, one line for each folder."""
    folders: dict[str, list[str]] = {}
    for name in files:
        folder, _, file = name.rpartition("/")
        folders.setdefault(folder, []).append(file.removesuffix(".py"))
    lines = [f"- `{folder}/`: {', '.join(f'`{file}`' for file in names)}" for folder, names in folders.items()]
    return f"{len(files)} files:\n\n" + "\n".join(lines) + "\n"


def listed() -> set[str]:
    """The files that the guide lists."""
    lines = GUIDE.read_text("utf-8").split(BEGIN)[1].split(END)[0].splitlines()
    folders = (re.findall(r"`([^`]+)`", line) for line in lines if line.startswith("- "))
    return {f"{folder}{name}.py" for folder, *names in folders for name in names}


def main() -> int:
    configure_logging("first_message", "ERROR")
    text = as_text(asyncio.run(walk()))
    if "--write" in sys.argv[1:]:
        guide = GUIDE.read_text("utf-8")
        before, rest = guide.split(BEGIN)
        GUIDE.write_text(before + BEGIN + text + END + rest.split(END, 1)[1], "utf-8")
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
