"""`repair`: a tool's arguments as a model wrote them, put right against the tool's JSON schema, every change told."""

from shared.repair.work import Fix as Fix
from shared.repair.work import Repaired as Repaired
from shared.repair.work import repair as repair
