"""Makes every attack in the sandbox and without it, prints a table, and exits 1 if one got through.

python -m tests.support.attacks [part of a name ...]
"""

import asyncio
import os
import platform
import sys

from shared.sandbox import available
from tests.support.attacks import ATTACKS, Attack
from tests.support.attacks.made import end, in_the_sandbox, may_look, without
from tests.support.attacks.world import World


def _made(attack: Attack) -> tuple[str, str]:
    """What came of it in the sandbox ("" for nothing), and without."""
    with World() as world:
        outcome, seen = asyncio.run(in_the_sandbox(attack, world))
        wrong = sorted(seen)
        if outcome.ended not in attack.ends or (outcome.ended == "exited" and outcome.exit_code):
            wrong.append(f"it ended by {outcome.ended} ({outcome.exit_code}): {outcome.stderr[-300:]}")
    with World() as world:
        harm = without(attack, world)
        end(world.survivors())
    return "; ".join(wrong), "; ".join(sorted(harm)) or "-"


def main(wanted: list[str]) -> int:
    reason = available()
    print(f"user {os.geteuid()}, Linux {platform.release()}, Python {platform.python_version()}, {platform.machine()}")
    if reason:
        print(reason)
        return 2
    chosen = {name: attack for name, attack in ATTACKS.items() if not wanted or any(part in name for part in wanted)}
    through = shown = 0
    print(f"\n{'attack':42} {'in the sandbox':16} without it")
    for name, attack in chosen.items():
        if attack.looks and not may_look():
            print(f"{name:42} {'not bounded':16} root without CAP_SYS_PTRACE sees no deleted files of the program")
            continue
        wrong, harm = _made(attack)
        through += bool(wrong)
        shown += harm != "-"
        print(
            f"{name:42} {'GOT THROUGH' if wrong else 'held':16} {harm}{f'  <<< {wrong}' if wrong else ''}", flush=True
        )
    print(f"\n{len(chosen)} attacks: {through} got through the sandbox; {shown} do harm here without it")
    return 1 if through or not shown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
