"""Random schedules against execution plans: `python -m tests.support.schedules [--schedules 100000] [--seed 1]`

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

from tests.unit.domain.drawn_plans import REACHED
from tests.unit.domain.test_execution_machine import PlanSchedules

STEPS_PER_SCHEDULE = 60
BATCH_SIZE = 1000  # schedules that a worker process plays at a time


def play(seed: int) -> None:
    """Play one schedule. Raises where an invariant does not hold."""
    dice, plans = Random(seed), PlanSchedules()
    plans.begin(requires_approval=dice.random() < 0.75)
    for _ in range(STEPS_PER_SCHEDULE):
        plans.next_move(number=dice.randrange(10_000))
    plans.teardown()


def play_batch(seeds: tuple[int, ...]) -> tuple[list[str], set[str]]:
    """The tracebacks of the failed schedules, and the kinds of situation that the batch reached."""
    REACHED.clear()  # one set for the whole process
    violations: list[str] = []
    for seed in seeds:
        try:
            play(seed)
        except Exception:  # an exception in the domain is a violation, too
            violations.append(f"--only {seed}\n{traceback.format_exc(limit=-4)}")
    return violations, set(REACHED)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1, help="N: the schedules' own seeds count from N x 10,000,000")
    parser.add_argument("--only", type=int, help="the own seed of one schedule, as it was printed")
    args = parser.parse_args()
    first = args.seed * 10_000_000
    seeds = range(first, first + args.schedules) if args.only is None else (args.only,)
    began, violations, situations = time.monotonic(), list[str](), set[str]()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for wrong, reached in pool.map(play_batch, batched(seeds, BATCH_SIZE)):
            violations += wrong
            situations |= reached
            print(*wrong, sep="\n", end="", flush=True)
    seconds = time.monotonic() - began
    print(f"{len(seeds):,} schedules of {STEPS_PER_SCHEDULE} steps in {seconds:.0f} s: {len(violations)} violations.")
    print(f"Situations reached: {'; '.join(sorted(situations))}.")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
