"""The tables. `PROJECTED` can be made again from the log at any time; the others are kept by a rebuild."""

from sqlalchemy import JSON, BigInteger, Boolean, Column, Double, ForeignKey, Index, Integer, MetaData, Table

from services.plan_store.columns import Count, Utc, Words

NAMES = {"pk": "pk_%(table_name)s", "fk": "fk_%(table_name)s_%(column_0_name)s", "ix": "ix_%(column_0_N_label)s"}
METADATA = MetaData(naming_convention=NAMES)


def _session_id() -> Column[str]:
    return Column("session_id", Words, ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True)


sessions = Table(
    "sessions",
    METADATA,
    Column("id", Words, primary_key=True),
    Column("position", Count, nullable=False),  # stream sequence of the last message folded, readable or not
    Column("version", Count, nullable=False),  # 0: none of its messages was an event
    Column("snapshot_digest", Words, nullable=False),  # what is remembered elsewhere must have it too
    Column("owner", Words, nullable=False),
    Column("title", Words, nullable=False),
    Column("request", Words, nullable=False),
    Column("search_text", Words, nullable=False),  # what was said and planned, case folded
    Column("workflow", Words, nullable=False),
    Column("phase", Words, nullable=False),
    Column("state", Words, nullable=False),  # the name that clients know the phase by
    Column("paused", Boolean, nullable=False),
    Column("rest_reason", Words, nullable=False),  # the last one, also where it does not rest
    Column("unfinished", Boolean, nullable=False),  # a plan of steps that is not at its end
    Column("work_service", Words),
    Column("work_version", Count),
    Column("work_since", Utc),
    Column("phase_began_at", Utc, nullable=False),  # or what is in review came there
    Column("approval_expires_at", Utc),
    Column("wakes_at", Utc),
    Column("parent_id", Words),
    Column("created_at", Utc, nullable=False),
    Column("updated_at", Utc, nullable=False),
    Column("snapshot", JSON, nullable=False),  # the session, folded up to `position`
    Index(None, "owner", "updated_at"),
    Index(None, "owner", "id"),  # whose a plan is, without a look at the long rows of this table
    Index(None, "updated_at"),
    Index(None, "parent_id"),
    Index(None, "work_since"),
    Index(None, "approval_expires_at"),
    Index(None, "wakes_at"),
)

journal = Table(
    "journal",
    METADATA,
    _session_id(),
    Column("version", Count, primary_key=True, autoincrement=False),
    Column("position", Count, nullable=False),
    Column("type", Words, nullable=False),
    Column("actor", Words, nullable=False),
    Column("at", Utc, nullable=False),
    Column("begins_round", Boolean, nullable=False),
    Column("body", JSON, nullable=False),
    Index(None, "position"),
)

plans = Table(
    "plans",
    METADATA,
    _session_id(),
    Column("number", Count, primary_key=True, autoincrement=False),
    Column("version", Count, nullable=False),
    Column("kind", Words, nullable=False),
    Column("goal", Words, nullable=False),
    Column("steps", JSON, nullable=False),
    Column("notes", Words, nullable=False),
    Column("status", Words, nullable=False),
    Column("by", Words, nullable=False),
    Column("at", Utc, nullable=False),
    Column("hash", Words, nullable=False),
    Column("deleted", Boolean, nullable=False),
    Column("path", JSON),  # through flows, as it was planned; None: it is no path
    Index(
        "ix_plans_listed", "session_id", "number", "kind", "deleted", "status", "at"
    ),  # all that a list chooses and sorts by
)

code_versions = Table(
    "code_versions",
    METADATA,
    _session_id(),
    Column("number", Count, primary_key=True, autoincrement=False),
    Column("version", Count, nullable=False),
    Column("plan_version", Count, nullable=False),
    Column("code", Words, nullable=False),
    Column("explanation", Words, nullable=False),
    Column("status", Words, nullable=False),
    Column("by", Words, nullable=False),
    Column("at", Utc, nullable=False),
    Column("hash", Words, nullable=False),
    Column("checks", JSON, nullable=False),
    Column("tests", Words, nullable=False),
    Column("repairs", Count, nullable=False),
)

turns = Table(
    "turns",
    METADATA,
    _session_id(),
    Column("turn", Count, primary_key=True, autoincrement=False),
    Column("version", Count, nullable=False),
    Column("sub_goal", Words, nullable=False),
    Column("by", Words, nullable=False),
    Column("at", Utc, nullable=False),
    Column("selected_tool", Words, nullable=False),
    Column("required_skills", JSON, nullable=False),
    Column("reasoning", Words, nullable=False),
    Column("sub_goals", JSON, nullable=False),  # the way to the end as it was seen then
    Column("final", Boolean, nullable=False),
    Column("recalled", JSON, nullable=False),  # what the planner was told of earlier sessions
    Column("path", JSON),  # through flows, as it was planned; None: its actions are no nodes
    Column("verdict_status", Words),  # None: not judged
    Column("next_action", Words),
    Column("execution_analysis", Words),
    Column("memory_analysis", Words),
    Column("verdict_reasoning", Words),
    Column("verdict_rule", Words),
    Column("verified_at", Utc),
)

actions = Table(
    "actions",
    METADATA,
    _session_id(),
    Column("turn", Count, primary_key=True, autoincrement=False),
    Column("id", Words, primary_key=True),
    Column("ordinal", Count, nullable=False),  # 1, 2, 3 within its turn, counting the superseded
    Column("tool", Words, nullable=False),
    Column("arguments", JSON, nullable=False),
    Column("description", Words, nullable=False),
    Column("effect", Words, nullable=False),
    Column("depends_on", JSON, nullable=False),
    Column("approval_reason", Words),
    Column("policy", Words),  # the tool's own, if it had one
    Column("repairs", JSON, nullable=False),  # what was put right in its arguments
    Column("decision", Words, nullable=False),
    Column("decision_reason", Words, nullable=False),
    Column("hash", Words, nullable=False),
    Column("status", Words, nullable=False),
    Column("result", JSON),
    Column("artefact", JSON),  # where the whole result is, where `result` is its beginning
    Column("error", Words, nullable=False),
    Column("duration_seconds", Double),
    Column("tokens", Count, nullable=False),  # of the model calls made for it
    Column("started_at", Utc),
    Column("ended_at", Utc),
)

answers = Table(
    "answers",
    METADATA,
    _session_id(),
    Column("version", Count, primary_key=True, autoincrement=False),
    Column("text", Words, nullable=False),
    Column("confidence", Double, nullable=False),
    Column("evidence", JSON, nullable=False),
    Column("at", Utc, nullable=False),
)

usage = Table(
    "usage",
    METADATA,
    _session_id(),
    Column("version", Count, primary_key=True, autoincrement=False),  # of the event that accounts for the call
    Column("ordinal", Count, primary_key=True, autoincrement=False),  # among that event's calls: 1, 2, 3
    Column("model", Words, nullable=False),
    Column("role", Words, nullable=False),
    Column("prompt_tokens", Count, nullable=False),
    Column("cached_tokens", Count, nullable=False),
    Column("completion_tokens", Count, nullable=False),
    Column("cost", Double, nullable=False),
    Column("latency", Double, nullable=False),
    Column("attempt", Count, nullable=False),
    Column("outcome", Words, nullable=False),
    Column("estimated", Boolean, nullable=False),
    Column("action_id", Words, nullable=False),  # what the call was made for, "" if for no action
    Column("at", Utc, nullable=False),
)

shares = Table(
    "shares",
    METADATA,
    _session_id(),
    Column("user", Words, primary_key=True),
    Column("role", Words),
    Index(None, "user"),
)

# What each request came to, for later sessions; `outcome` is empty until it has come to something. `position` is that
# of the message that began it: a whole number, so that SQLite's full-text index can name the row by it for good.
memories = Table(
    "memories",
    METADATA,
    Column(
        "position", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, nullable=False, autoincrement=False
    ),
    Column("session_id", Words, ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("version", Count, nullable=False),  # of the event that began it
    Column("owner", Words, nullable=False),
    Column("request", Words, nullable=False),
    Column("outcome", Words, nullable=False),
    Column("lesson", Words, nullable=False),  # the last verdict on it that was no good news
    Column("search_words", Words, nullable=False),  # of all three, as the full-text index has them
    Column("at", Utc, nullable=False),
    Index(None, "session_id", "position"),
    Index(None, "owner", "at"),
)

# Accepted answers, one a request: `turn` counts its session's turns (of a program: minus the plan's version).
library = Table(
    "library",
    METADATA,
    _session_id(),
    Column("turn", Count, primary_key=True, autoincrement=False),
    Column("version", Count, nullable=False),
    Column("position", Count, nullable=False),  # of the judgement, as `version` is: the order of the list
    Column("request", Words, nullable=False),
    Column("flows", JSON, nullable=False),
    Column("path", JSON, nullable=False),  # the nodes that ran, in order
    Column("question", Words, nullable=False),
    Column("sql", Words, nullable=False),
    Column("tables", JSON, nullable=False),
    Column("answer", Words, nullable=False),
    Column("saved", Boolean, nullable=False),
    Column("search_text", Words, nullable=False),  # request, question and SQL, case folded
    Column("search_words", Words, nullable=False),  # of request and question, as entries are compared
    Column("at", Utc, nullable=False),
    Column("workflow", Words, nullable=False, server_default="flow"),
    Column("steps", JSON, nullable=False, server_default="[]"),  # of the plan, or the calls that were made
    Index(None, "position"),
)

# Nodes that planners miss in flows, for a person to review.
proposals = Table(
    "proposals",
    METADATA,
    _session_id(),
    Column("flow", Words, primary_key=True),
    Column("name", Words, primary_key=True),
    Column("version", Count, nullable=False),
    Column("description", Words, nullable=False),
    Column("reason", Words, nullable=False),
    Column("request", Words, nullable=False),
    Column("at", Utc, nullable=False),
)

# Messages on a session's subjects that are not its events. Their session may not exist, so there is no foreign key.
parked_messages = Table(
    "parked_messages",
    METADATA,
    Column("position", Count, primary_key=True, autoincrement=False),
    Column("session_id", Words, nullable=False),
    Column("subject", Words, nullable=False),
    Column("reason", Words, nullable=False),
    Column("preview", Words, nullable=False),
    Column("at", Utc, nullable=False),
    Index(None, "session_id"),
)

# Sessions that a newer release has continued, which one that reads this format and these rules takes up at `position`.
waiting_for_upgrade = Table(
    "waiting_for_upgrade",
    METADATA,
    Column("session_id", Words, primary_key=True),
    Column("position", Count, nullable=False),
    Column("needs", Count, nullable=False),
    Column("rules", Count, nullable=False),
    Column("at", Utc, nullable=False),
)

PROJECTED = tuple(METADATA.sorted_tables)  # all of the above, what is referred to first

# Deliveries that a consumer gave up, from the broker's advisories.
dead_letters = Table(
    "dead_letters",
    METADATA,
    Column("stream", Words, primary_key=True),
    Column("consumer", Words, primary_key=True),
    Column("stream_seq", Count, primary_key=True, autoincrement=False),
    Column("reason", Words, nullable=False),
    Column("session_id", Words, nullable=False),
    Column("subject", Words, nullable=False),
    Column("at", Utc, nullable=False),
    Index(None, "session_id"),
)

# Sessions that were purged: their ids are never used again.
tombstones = Table(
    "tombstones",
    METADATA,
    Column("session_id", Words, primary_key=True),
    Column("owner", Words, nullable=False),
    Column("at", Utc, nullable=False),
    Column("log_purged", Boolean, nullable=False),  # known to be
)

# Of parked messages (with no consumer) and dead letters: those that a person has put away.
put_away = Table(
    "put_away",
    METADATA,
    Column("stream", Words, primary_key=True),
    Column("consumer", Words, primary_key=True),
    Column("stream_seq", Count, primary_key=True, autoincrement=False),
    Column("by", Words, nullable=False),
    Column("at", Utc, nullable=False),
)

# Memories that their owner has deleted: the request began with this version.
forgotten = Table(
    "forgotten",
    METADATA,
    Column("session_id", Words, primary_key=True),
    Column("version", Count, primary_key=True, autoincrement=False),
    Column("at", Utc, nullable=False),
)
