"""`python -m chaos --seconds 60 --seed 7 [--cluster]`: break Parley for a while, and say whether it was broken.

Exit status 0: every invariant held and was checked; 1: not, or the world could not be made; its folder is kept then.
The seed decides the faults, whom they meet, and what people want and choose. It does not decide timing, which is the
machine's: a seed that failed once may need to be played again, or for longer.
"""

import argparse
import asyncio
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import structlog

from chaos.report import Report
from chaos.run import Plan, run
from chaos.world import Shape


def main() -> int:
    given = _arguments().parse_args()
    shape = Shape(nodes=3 if given.cluster else 1, replicas=2 if given.cluster else 1, postgres=given.postgres)
    plan = Plan(given.seconds, given.seed, given.sessions, given.at_once, given.gap, shape)
    folder = Path(tempfile.mkdtemp(prefix="parley-chaos-", dir=given.folder)).resolve()
    report: Report | None = None
    try:
        with (folder / "chaos.log").open("w") as log:
            structlog.configure(logger_factory=structlog.PrintLoggerFactory(log), processors=_plain())
            report = asyncio.run(_until_signal(plan, folder))
    finally:
        if (report and report.good) and not given.keep:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"kept       {folder}", file=sys.stderr)
    if report is None:
        print("a signal ended it: nothing is proved", file=sys.stderr)
        return 1
    for line in report.lines():
        print(line)
    print(f"\n{'nothing was broken' if report.good else 'BROKEN'}; once more: {_again(given)}")
    return 0 if report.good else 1


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60, help="how long faults are played")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--cluster", action="store_true", help="three nats-servers, two replicas of every service")
    parser.add_argument("--postgres", action="store_true", help="PostgreSQL instead of SQLite")
    parser.add_argument("--sessions", type=int, default=1000, help="at the most")
    parser.add_argument("--at-once", type=int, default=16, help="sessions at a time")
    parser.add_argument("--gap", type=float, default=1.2, help="seconds between two faults, on average")
    parser.add_argument("--folder", type=Path, default=None, help="where the run's folder is made")
    parser.add_argument("--keep", action="store_true", help="keep the folder also where nothing was broken")
    return parser


async def _until_signal(plan: Plan, folder: Path) -> Report | None:
    """None where a signal ended it."""
    work = asyncio.create_task(run(plan, folder))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, work.cancel)
    try:
        return await work
    except asyncio.CancelledError:
        return None


def _again(given: argparse.Namespace) -> str:
    flags = [f"--{name}" for name in ("cluster", "postgres") if getattr(given, name)]
    numbers = f"--sessions {given.sessions} --at-once {given.at_once} --gap {given.gap:g}"
    return " ".join(["python -m chaos", f"--seconds {given.seconds:g} --seed {given.seed}", numbers, *flags])


def _plain() -> list[structlog.typing.Processor]:
    return [structlog.processors.TimeStamper(fmt="iso"), structlog.processors.JSONRenderer()]


if __name__ == "__main__":
    sys.exit(main())
