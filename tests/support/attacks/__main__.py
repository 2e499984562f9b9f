"""Runs every attack in the sandbox and without it, prints a table, and exits with 1 if one got through the sandbox.

python -m tests.support.attacks [part of a name ...]
"""

import asyncio
import os
import platform
import sys

from shared.sandbox import available
from tests.support.attacks import ATTACKS, Attack
from tests.support.attacks.runner import can_inspect_processes, end, run_sandboxed, run_unsandboxed
from tests.support.attacks.world import World


def _run_attack(attack: Attack) -> tuple[str, str]:
    """The harm that the attack did in the sandbox ("" for none), and without it ("-" for none)."""
    with World() as world:
        outcome, signs = asyncio.run(run_sandboxed(attack, world))
        wrong = sorted(signs)
        if outcome.ended not in attack.ends or (outcome.ended == "exited" and outcome.exit_code):
            wrong.append(f"it ended by {outcome.ended} ({outcome.exit_code}): {outcome.stderr[-300:]}")
    with World() as world:
        harm = run_unsandboxed(attack, world)
        end(world.survivors())
    return "; ".join(wrong), "; ".join(sorted(harm)) or "-"


def main(names: list[str]) -> int:
    reason = available()
    print(f"user {os.geteuid()}, Linux {platform.release()}, Python {platform.python_version()}, {platform.machine()}")
    if reason:
        print(reason)
        return 2
    chosen = {name: attack for name, attack in ATTACKS.items() if not names or any(part in name for part in names)}
    through = harmful = 0
    print(f"\n{'attack':42} {'in the sandbox':16} without it")
    for name, attack in chosen.items():
        if attack.looks and not can_inspect_processes():
            print(f"{name:42} {'not bounded':16} root without CAP_SYS_PTRACE sees no deleted files of the program")
            continue
        wrong, harm = _run_attack(attack)
        through += bool(wrong)
        harmful += harm != "-"
        print(
            f"{name:42} {'GOT THROUGH' if wrong else 'held':16} {harm}{f'  <<< {wrong}' if wrong else ''}", flush=True
        )
    print(f"\n{len(chosen)} attacks: {through} got through the sandbox; {harmful} do harm here without it")
    return 1 if through or not harmful else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
