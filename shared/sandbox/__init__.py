"""The sandbox: runs Python that a model wrote, in a real CPython, with nothing in its reach.

    outcome = await run({"program.py": "print(1 + 1)"})

`run` supervises (supervisor, watch, child, scratch); what is started (jail/) locks itself in before it reads the
program: an environment of its own, limits, another user if root, Landlock, seccomp. A layer that cannot be applied
means SandboxUnavailable, never a weaker run.
"""

from shared.sandbox.model import Limits, Outcome, SandboxUnavailable
from shared.sandbox.supervisor import available, run

__all__ = ["Limits", "Outcome", "SandboxUnavailable", "available", "run"]
