"""Attempts to escape the sandbox, for tests and for machines without pytest: `python -m tests.support.attacks`.

Each attack runs twice: in the sandbox, where it must not affect the host, and in plain Python, where it must succeed:
otherwise it would prove nothing. world.py checks the host for signs of harm.
"""

from tests.support.attacks import channels, files, greed, kernel, processes
from tests.support.attacks.model import Attack

ATTACKS: dict[str, Attack] = {
    **files.ATTACKS,
    **processes.ATTACKS,
    **channels.ATTACKS,
    **kernel.ATTACKS,
    **greed.ATTACKS,
}

__all__ = ["ATTACKS", "Attack"]
