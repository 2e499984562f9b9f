"""`repair` fixes the arguments that a model wrote for a tool by the tool's JSON schema, and reports each change."""

from shared.repair.repairer import NOT_GIVEN as NOT_GIVEN
from shared.repair.repairer import Fix as Fix
from shared.repair.repairer import RepairResult as RepairResult
from shared.repair.repairer import repair as repair
