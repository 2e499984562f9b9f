"""How precise is the recall of earlier sessions? Sixty stored sessions are queried with other users' requests.

A recalled session is relevant if its request is of the same kind as the query.
"""

import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from bench.request_costs import PAGE, CountedPlay, Request, Variant, prompt_tokens
from parley.events.values import Recalled
from services.plan_store.database import ProjectionDatabase
from services.plan_store.projection import Projector
from services.plan_store.recall import recall
from services.planner.agentflow_prompt import build_prompt
from services.planner.recall import MAX_BY_WORDS, MAX_FIELD, MAX_RECALLED, rank
from shared.domain import commands as c
from shared.store_api import MemoryRecord, RecallMemories
from shared.testing import InMemoryLog
from tests.support.retail_play import PlayResult
from tests.support.stories import Conversation

SESSION_COUNT = 60
OWNER = "ann"


@dataclass
class RecallResult:
    """`without_match`: queries that recalled nothing. `chance_precision`: that of three sessions drawn at random."""

    queries: int = 0
    recalled: int = 0
    same_kind: int = 0
    without_match: int = 0
    chance_precision: float = 0.0
    tokens_without: int = 0
    tokens_with: int = 0


def earlier_requests(requests: Sequence[Request]) -> list[Request]:
    """Sixty requests; the first ones are repeated with other digits."""
    other = [
        {**request, "q": re.sub(r"\d", lambda digit: str((int(digit[0]) + 3) % 10), request["q"])}
        for request in requests
    ]
    return [*requests, *other][:SESSION_COUNT]


async def measure_recall(
    requests: Sequence[Request], answers: Sequence[PlayResult], queries: Sequence[Request]
) -> RecallResult:
    """Recall sessions, as a planner does, for each query whose kind occurs among the earlier sessions."""
    sessions = earlier_requests(requests)
    kinds = Counter(request["kind"] for request in sessions)
    answerable = [request for request in queries if request["kind"] in kinds]
    result = RecallResult(len(answerable))
    with tempfile.TemporaryDirectory() as home:
        database = ProjectionDatabase(f"sqlite+aiosqlite:///{home}/memories.sqlite")  # not the configured database
        await database.migrate()
        try:
            kind_of = await _store_sessions(database, sessions, answers)
            for query in answerable:
                records = await _recall(database, query["q"])
                result.recalled += len(records)
                result.same_kind += sum(kind_of[request.session_id] == query["kind"] for request in records)
                result.without_match += not records
                result.chance_precision += kinds[query["kind"]] / len(sessions) / len(answerable)
                if len(records) == MAX_RECALLED:
                    result.tokens_without += _first_prompt_tokens(query, ())
                    result.tokens_with += _first_prompt_tokens(query, records)
        finally:
            await database.close()
    return result


async def _store_sessions(
    database: ProjectionDatabase, sessions: Sequence[Request], answers: Sequence[PlayResult]
) -> dict[str, str]:
    """Store the sessions with the rehearsal model's answers. Returns the kind of each session by its id."""
    log = InMemoryLog()
    projector = Projector(log, database)
    kinds = {}
    for number, (request, played) in enumerate(zip(sessions, cycle(answers), strict=False)):
        story = Conversation(log, f"earlier{number}", OWNER)
        await story.commit(c.Say(text=request["q"], workflow="agentflow"))
        nothing = c.PlanTurn(sub_goal="answer", actions=(), reasoning="it is known")
        await story.commit(nothing, c.GiveAnswer(text=played.answer, confidence=played.confidence))
        await projector.load(story.id)
        kinds[story.id] = request["kind"]
    return kinds


async def _recall(database: ProjectionDatabase, words: str) -> list[MemoryRecord]:
    page = await recall(database, RecallMemories(user=OWNER, query=words, exclude=None, limit=MAX_BY_WORDS))
    return rank(words, page.items, None)[:MAX_RECALLED]


def _first_prompt_tokens(request: Request, records: Sequence[MemoryRecord]) -> int:
    def cut(record: MemoryRecord) -> dict[str, Any]:
        return {name: getattr(record, name)[:MAX_FIELD] for name in ("request", "outcome", "lesson")}

    recalled = tuple(Recalled(session_id=record.session_id, **cut(record)) for record in records)
    return prompt_tokens(build_prompt(CountedPlay(request, Variant()).session, PAGE, recalled))
