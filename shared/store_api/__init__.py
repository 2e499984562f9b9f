"""plan_store's requests: JSON over request and reply on `plan_store.<entity>.<verb>`, one `Verb` each.

A reply is the verb's reply model, or `{"error": {"code": …, "message": …}}`.
"""
# ruff: noqa: F403, F405  callers find each model here, whatever module it is in

from parley.protocol.pages import *
from shared.store_api.across_sessions import *
from shared.store_api.base import *
from shared.store_api.messages import *

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
