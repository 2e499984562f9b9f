"""plan_store's requests: JSON over request/reply on `plan_store.<entity>.<verb>`, one `Verb` each.

An answer is the verb's answer model, or `{"error": {"code": …, "message": …}}`.
"""

from parley.protocol.pages import (
    JournalPage,
    LibraryEntry,
    LibraryPage,
    MemoryPage,
    MemoryRecord,
    Proposal,
    ProposalPage,
    SessionPage,
    SessionSummary,
)
from shared.store_api.base import PREFIX, Code, Failed, Message, Problem, StoreError, Verb
from shared.store_api.library import (
    ListLibrary,
    ListProposals,
    SimilarEntries,
)
from shared.store_api.memories import ListMemories, Memories, RecallMemories
from shared.store_api.messages import (
    UNFINISHED,
    CodeHistory,
    CodeRecord,
    CodeVersions,
    DeadPage,
    DeadRecord,
    DiffPlans,
    GetPlan,
    GetSession,
    Health,
    HealthReport,
    ListDead,
    ListPlans,
    ListSessions,
    LoadedSession,
    LoadPart,
    LoadSession,
    OfSession,
    ParkedRecord,
    PlanDiff,
    PlanHistory,
    PlanPage,
    PlanRecord,
    PlanTask,
    PlanTasks,
    PlanVersions,
    Purged,
    PurgeSession,
    ReadJournal,
    SessionPart,
    StepChange,
    TasksOfPlans,
    UsageReport,
    UsageRow,
    UsageTotals,
)

QUEUE = "plan_store"

SESSION_LOAD = Verb("session.load", LoadSession, LoadedSession)
SESSION_PART = Verb("session.part", LoadPart, SessionPart)
SESSION_GET = Verb("session.get", GetSession, SessionSummary)
SESSION_LIST = Verb("session.list", ListSessions, SessionPage)
SESSION_PURGE = Verb("session.purge", PurgeSession, Purged)
JOURNAL_READ = Verb("journal.read", ReadJournal, JournalPage)
PLAN_LIST = Verb("plan.list", ListPlans, PlanPage)
PLAN_GET = Verb("plan.get", GetPlan, PlanRecord)
PLAN_VERSIONS = Verb("plan.versions", PlanVersions, PlanHistory)
PLAN_TASKS = Verb("plan.tasks", TasksOfPlans, PlanTasks)
PLAN_DIFF = Verb("plan.diff", DiffPlans, PlanDiff)
CODE_VERSIONS = Verb("code.versions", CodeVersions, CodeHistory)
USAGE_TOTALS = Verb("usage.totals", UsageTotals, UsageReport)
MEMORY_RECALL = Verb("memory.recall", RecallMemories, Memories)
MEMORY_LIST = Verb("memory.list", ListMemories, MemoryPage)
LIBRARY_LIST = Verb("library.list", ListLibrary, LibraryPage)
LIBRARY_SIMILAR = Verb("library.similar", SimilarEntries, LibraryPage)
PROPOSAL_LIST = Verb("proposals.list", ListProposals, ProposalPage)
DEAD_LIST = Verb("dead.list", ListDead, DeadPage)
HEALTH = Verb("service.health", Health, HealthReport)

VERBS = tuple(verb for verb in tuple(globals().values()) if isinstance(verb, Verb))

__all__ = [
    "CODE_VERSIONS",
    "DEAD_LIST",
    "HEALTH",
    "JOURNAL_READ",
    "LIBRARY_LIST",
    "LIBRARY_SIMILAR",
    "MEMORY_LIST",
    "MEMORY_RECALL",
    "PLAN_DIFF",
    "PLAN_GET",
    "PLAN_LIST",
    "PLAN_TASKS",
    "PLAN_VERSIONS",
    "PREFIX",
    "PROPOSAL_LIST",
    "QUEUE",
    "SESSION_GET",
    "SESSION_LIST",
    "SESSION_LOAD",
    "SESSION_PART",
    "SESSION_PURGE",
    "UNFINISHED",
    "USAGE_TOTALS",
    "VERBS",
    "Code",
    "CodeHistory",
    "CodeRecord",
    "CodeVersions",
    "DeadPage",
    "DeadRecord",
    "DiffPlans",
    "Failed",
    "GetPlan",
    "GetSession",
    "Health",
    "HealthReport",
    "JournalPage",
    "LibraryEntry",
    "LibraryPage",
    "ListDead",
    "ListLibrary",
    "ListMemories",
    "ListPlans",
    "ListProposals",
    "ListSessions",
    "LoadPart",
    "LoadSession",
    "LoadedSession",
    "Memories",
    "MemoryPage",
    "MemoryRecord",
    "Message",
    "OfSession",
    "ParkedRecord",
    "PlanDiff",
    "PlanHistory",
    "PlanPage",
    "PlanRecord",
    "PlanTask",
    "PlanTasks",
    "PlanVersions",
    "Problem",
    "Proposal",
    "ProposalPage",
    "PurgeSession",
    "Purged",
    "ReadJournal",
    "RecallMemories",
    "SessionPage",
    "SessionPart",
    "SessionSummary",
    "SimilarEntries",
    "StepChange",
    "StoreError",
    "TasksOfPlans",
    "UsageReport",
    "UsageRow",
    "UsageTotals",
    "Verb",
]
