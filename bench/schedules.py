"""No call of an execution plan runs that nobody let run: `python -m bench.schedules [--schedules 100000] [--seed 1]`

Plays the schedules of tests/unit/domain/test_execution_machine.py, each drawn from a seed of its own, and checks its
law after every event. Prints the seed and the trace of each violation; exit status 1 where there is one. `--only SEED`
plays one schedule again.
"""

import argparse
import os
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from itertools import batched
from random import Random

from tests.unit.domain.test_execution_machine import REACHED, Plans

STEPS = 60  # of a schedule
BATCH = 1000


def play(seed: int) -> None:
    """One schedule; raises where the law is broken."""
    dice, plans = Random(seed), Plans()
    plans.begin(asks=dice.random() < 0.75)
    for _ in range(STEPS):
        plans.happens(number=dice.randrange(10_000))
    plans.teardown()


def violations(seeds: tuple[int, ...]) -> tuple[list[str], set[str]]:
    """What was wrong in these schedules, and what has happened in them."""
    REACHED.clear()
    found: list[str] = []
    for seed in seeds:
        try:
            play(seed)
        except Exception:  # a domain that breaks is a finding, too
            found.append(f"--only {seed}\n{traceback.format_exc(limit=-4)}")
    return found, set(REACHED)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--schedules", type=int, default=100_000)
    options.add_argument("--seed", type=int, default=1, help="another seed plays other schedules")
    options.add_argument("--only", type=int, help="the seed of one schedule")
    asked = options.parse_args()
    first = asked.seed * 10_000_000
    seeds = range(first, first + asked.schedules) if asked.only is None else (asked.only,)
    began, found, happened = time.monotonic(), list[str](), set[str]()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for wrong, reached in pool.map(violations, batched(seeds, BATCH)):
            found += wrong
            happened |= reached
            print(*wrong, sep="\n", end="", flush=True)
    print(f"{len(seeds):,} schedules of {STEPS} steps in {time.monotonic() - began:.0f} s: {len(found)} violations.")
    print(f"What happened in them: {'; '.join(sorted(happened))}.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
