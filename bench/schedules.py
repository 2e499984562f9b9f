"""Random schedules against execution plans: `python -m bench.schedules [--schedules 100000] [--seed 1]`

Each schedule has its own seed and drives the state machine of tests/unit/domain/test_execution_machine.py, which checks
its invariants after every event: that no call runs unless a person or a policy allowed it, above all. Prints the seed
and the traceback of each violation; the exit status is 1 if there is any. `--only SEED` plays one schedule again.
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
BATCH = 1000  # schedules that a worker process plays at a time


def play(seed: int) -> None:
    """Play one schedule. Raises where an invariant does not hold."""
    dice, plans = Random(seed), Plans()
    plans.begin(asks=dice.random() < 0.75)
    for _ in range(STEPS):
        plans.happens(number=dice.randrange(10_000))
    plans.teardown()


def play_batch(seeds: tuple[int, ...]) -> tuple[list[str], set[str]]:
    """The tracebacks of the schedules that failed, and the kinds of situation that all of them came to."""
    REACHED.clear()  # one set for the whole process
    found: list[str] = []
    for seed in seeds:
        try:
            play(seed)
        except Exception:  # a crash of the domain is a violation, too
            found.append(f"--only {seed}\n{traceback.format_exc(limit=-4)}")
    return found, set(REACHED)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1, help="N: the schedules' own seeds count from N x 10,000,000")
    parser.add_argument("--only", type=int, help="the own seed of one schedule, as it was printed")
    args = parser.parse_args()
    first = args.seed * 10_000_000
    seeds = range(first, first + args.schedules) if args.only is None else (args.only,)
    began, found, happened = time.monotonic(), list[str](), set[str]()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for wrong, reached in pool.map(play_batch, batched(seeds, BATCH)):
            found += wrong
            happened |= reached
            print(*wrong, sep="\n", end="", flush=True)
    print(f"{len(seeds):,} schedules of {STEPS} steps in {time.monotonic() - began:.0f} s: {len(found)} violations.")
    print(f"Situations reached: {'; '.join(sorted(happened))}.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
