"""The sandbox: runs Python that a model wrote in CPython, isolated from the system.

    outcome = await run({"program.py": "print(1 + 1)"})

`run` supervises (supervisor, child_watcher, child, scratch). The child (jail/) isolates itself before it reads the
program: its own environment, resource limits, another user if root, Landlock, seccomp. If a layer cannot be applied,
`run` raises SandboxUnavailable: it never weakens the isolation.
"""

from shared.sandbox.model import Limits, RunResult, SandboxUnavailable
from shared.sandbox.scratch import remove_abandoned
from shared.sandbox.supervisor import available, run

__all__ = ["Limits", "RunResult", "SandboxUnavailable", "available", "remove_abandoned", "run"]
