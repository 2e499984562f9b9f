"""Attempts to get out of the sandbox, for tests and for machines without pytest: `python -m tests.support.attacks`.

Each is made twice: in the sandbox, where the host must not notice anything, and by a plain Python, where it must: an
attack that would do no harm anyway shows nothing. Signs of harm are looked for on the host (world.py).
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
