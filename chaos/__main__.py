"""Injects faults into a running Parley and checks its invariants: `python -m chaos --seconds 60 --seed 7 [--cluster]`

Exit status 0: every invariant was checked and holds. Otherwise, or if the deployment did not start, exit status 1; the
run's folder is then kept. The seed decides the faults, their targets, and the users' requests and choices. It does not
decide timing: a failure may take several runs of its seed, or longer ones, to occur again.
"""

import argparse
import asyncio
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import structlog

from chaos.deployment import DeploymentShape
from chaos.report import ChaosReport
from chaos.run import RunConfig, run


def main() -> int:
    args = _arguments().parse_args()
    shape = DeploymentShape(nodes=3 if args.cluster else 1, replicas=2 if args.cluster else 1, postgres=args.postgres)
    config = RunConfig(args.seconds, args.seed, args.sessions, args.at_once, args.gap, shape)
    folder = Path(tempfile.mkdtemp(prefix="parley-chaos-", dir=args.folder)).resolve()
    report: ChaosReport | None = None
    try:
        with (folder / "chaos.log").open("w") as log:
            structlog.configure(
                logger_factory=structlog.PrintLoggerFactory(log),
                processors=[structlog.processors.TimeStamper(fmt="iso"), structlog.processors.JSONRenderer()],
            )
            report = asyncio.run(_until_signal(config, folder))
            if report:
                (folder / "report.txt").write_text("\n".join(report.lines()))
    finally:
        if (report and report.passed) and not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"kept       {folder}", file=sys.stderr)
    if report is None:
        print("ended by a signal: nothing was checked", file=sys.stderr)
        return 1
    for line in report.lines():
        print(line)
    print(f"\n{'all invariants hold' if report.passed else 'VIOLATED'}; to repeat: {_command_line(args)}")
    return 0 if report.passed else 1


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60, help="how long faults are injected")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--cluster", action="store_true", help="three nats-servers, two replicas of every service")
    parser.add_argument("--postgres", action="store_true", help="PostgreSQL instead of SQLite")
    parser.add_argument("--sessions", type=int, default=1000, help="at most")
    parser.add_argument("--at-once", type=int, default=16, help="sessions at a time")
    parser.add_argument("--gap", type=float, default=1.2, help="seconds between two faults, on average")
    parser.add_argument("--folder", type=Path, default=None, help="parent of the run's folder")
    parser.add_argument("--keep", action="store_true", help="keep the folder even if all invariants hold")
    return parser


async def _until_signal(config: RunConfig, folder: Path) -> ChaosReport | None:
    """Run until the end. None if a signal ended it."""
    work = asyncio.create_task(run(config, folder))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, work.cancel)
    try:
        return await work
    except asyncio.CancelledError:
        return None


def _command_line(args: argparse.Namespace) -> str:
    flags = [f"--{name}" for name in ("cluster", "postgres") if getattr(args, name)]
    numbers = f"--sessions {args.sessions} --at-once {args.at_once} --gap {args.gap:g}"
    return " ".join(["python -m chaos", f"--seconds {args.seconds:g} --seed {args.seed}", numbers, *flags])


if __name__ == "__main__":
    sys.exit(main())
