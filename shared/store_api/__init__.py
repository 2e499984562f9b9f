"""plan_store's requests: JSON over request and reply on `plan_store.<entity>.<verb>`, one `Verb` each.

A reply is the verb's reply model, or `{"error": {"code": …, "message": …}}`.
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
from shared.store_api.across_sessions import (
    DeadPage,
    DeadRecord,
    DeleteTemplate,
    DismissDead,
    DismissedDead,
    ForgetMemory,
    Forgotten,
    ListDead,
    ListLibrary,
    ListMemories,
    ListProposals,
    ListTemplates,
    Memories,
    ParkedRecord,
    RecallMemories,
    SaveTemplate,
    ScheduleTemplate,
    SimilarEntries,
    SimilarPage,
    TemplateDeletedReply,
    TemplateRecord,
    TemplateRecords,
    TemplateRequest,
)
from shared.store_api.base import PREFIX, Code, ErrorBody, ErrorReply, StoreError, StoreMessage, Verb
from shared.store_api.messages import (
    OFFER,
    UNFINISHED,
    CodeHistory,
    CodeRecord,
    CodeVersions,
    DiffPlans,
    GetPlan,
    GetSession,
    GetUsage,
    Health,
    HealthReport,
    ListPlans,
    ListPlanTasks,
    ListSessions,
    LoadedSession,
    LoadPart,
    LoadSession,
    PlanDiff,
    PlanHistory,
    PlanOrigin,
    PlanPage,
    PlanRecord,
    PlanTask,
    PlanTasks,
    PlanVersions,
    Purged,
    PurgeSession,
    ReadJournal,
    SessionPart,
    SessionRequest,
    StepChange,
    UsageReport,
    UsageRow,
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
PLAN_TASKS = Verb("plan.tasks", ListPlanTasks, PlanTasks)
PLAN_DIFF = Verb("plan.diff", DiffPlans, PlanDiff)
CODE_VERSIONS = Verb("code.versions", CodeVersions, CodeHistory)
USAGE_TOTALS = Verb("usage.totals", GetUsage, UsageReport)
MEMORY_RECALL = Verb("memory.recall", RecallMemories, Memories)
MEMORY_LIST = Verb("memory.list", ListMemories, MemoryPage)
MEMORY_FORGET = Verb("memory.forget", ForgetMemory, Forgotten)
LIBRARY_LIST = Verb("library.list", ListLibrary, LibraryPage)
LIBRARY_SIMILAR = Verb("library.similar", SimilarEntries, SimilarPage)
PROPOSAL_LIST = Verb("proposals.list", ListProposals, ProposalPage)
TEMPLATE_SAVE = Verb("template.save", SaveTemplate, TemplateRecord)
TEMPLATE_SCHEDULE = Verb("template.schedule", ScheduleTemplate, TemplateRecord)
TEMPLATE_GET = Verb("template.get", TemplateRequest, TemplateRecord)
TEMPLATE_LIST = Verb("template.list", ListTemplates, TemplateRecords)
TEMPLATE_DELETE = Verb("template.delete", DeleteTemplate, TemplateDeletedReply)
DEAD_LIST = Verb("dead.list", ListDead, DeadPage)
DEAD_DISMISS = Verb("dead.dismiss", DismissDead, DismissedDead)
HEALTH = Verb("service.health", Health, HealthReport)

VERBS = tuple(verb for verb in tuple(globals().values()) if isinstance(verb, Verb))

__all__ = [
    "CODE_VERSIONS",
    "DEAD_DISMISS",
    "DEAD_LIST",
    "HEALTH",
    "JOURNAL_READ",
    "LIBRARY_LIST",
    "LIBRARY_SIMILAR",
    "MEMORY_FORGET",
    "MEMORY_LIST",
    "MEMORY_RECALL",
    "OFFER",
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
    "TEMPLATE_DELETE",
    "TEMPLATE_GET",
    "TEMPLATE_LIST",
    "TEMPLATE_SAVE",
    "TEMPLATE_SCHEDULE",
    "UNFINISHED",
    "USAGE_TOTALS",
    "VERBS",
    "Code",
    "CodeHistory",
    "CodeRecord",
    "CodeVersions",
    "DeadPage",
    "DeadRecord",
    "DeleteTemplate",
    "DiffPlans",
    "DismissDead",
    "DismissedDead",
    "ErrorBody",
    "ErrorReply",
    "ForgetMemory",
    "Forgotten",
    "GetPlan",
    "GetSession",
    "GetUsage",
    "Health",
    "HealthReport",
    "JournalPage",
    "LibraryEntry",
    "LibraryPage",
    "ListDead",
    "ListLibrary",
    "ListMemories",
    "ListPlanTasks",
    "ListPlans",
    "ListProposals",
    "ListSessions",
    "ListTemplates",
    "LoadPart",
    "LoadSession",
    "LoadedSession",
    "Memories",
    "MemoryPage",
    "MemoryRecord",
    "ParkedRecord",
    "PlanDiff",
    "PlanHistory",
    "PlanOrigin",
    "PlanPage",
    "PlanRecord",
    "PlanTask",
    "PlanTasks",
    "PlanVersions",
    "Proposal",
    "ProposalPage",
    "PurgeSession",
    "Purged",
    "ReadJournal",
    "RecallMemories",
    "SaveTemplate",
    "ScheduleTemplate",
    "SessionPage",
    "SessionPart",
    "SessionRequest",
    "SessionSummary",
    "SimilarEntries",
    "SimilarPage",
    "StepChange",
    "StoreError",
    "StoreMessage",
    "TemplateDeletedReply",
    "TemplateRecord",
    "TemplateRecords",
    "TemplateRequest",
    "UsageReport",
    "UsageRow",
    "Verb",
]
