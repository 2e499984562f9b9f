"""Sixty earlier sessions in a plan store, asked with other people's words: is what is recalled of the same kind?"""

import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from bench.plays import PAGE, CountedPlay, How, Request, prompt_tokens
from parley.events.values import Recalled
from services.plan_store.database import Database
from services.plan_store.projection import Projector
from services.plan_store.recall import recall
from services.planner.agentflow_prompt import brief
from services.planner.recall import CUT, FOUND, TOLD, rank
from shared.domain import commands as c
from shared.store_api import MemoryRecord, RecallMemories
from shared.testing import InMemoryLog
from tests.support.retail_play import Played
from tests.support.stories import Conversation

SESSIONS = 60
OWNER = "ann"


@dataclass
class Found:
    """`silent`: queries that nothing was told for; `chance`: the precision of three drawn at random."""

    queries: int = 0
    told: int = 0
    fitting: int = 0
    silent: int = 0
    chance: float = 0.0
    tokens_without: int = 0
    tokens_with: int = 0


def earlier(requests: Sequence[Request]) -> list[Request]:
    """Sixty of these: the first ones come a second time, with other numbers."""
    other = [{**one, "q": re.sub(r"\d", lambda digit: str((int(digit[0]) + 3) % 10), one["q"])} for one in requests]
    return [*requests, *other][:SESSIONS]


async def measured(requests: Sequence[Request], answers: Sequence[Played], queries: Sequence[Request]) -> Found:
    """Each query, whose kind is among those of the earlier sessions, as a planner asks."""
    sessions = earlier(requests)
    kinds = Counter(one["kind"] for one in sessions)
    asked = [one for one in queries if one["kind"] in kinds]
    found = Found(len(asked))
    with tempfile.TemporaryDirectory() as home:
        database = Database(f"sqlite+aiosqlite:///{home}/memories.sqlite")  # whatever database is configured
        await database.migrate()
        try:
            kind_of = await _remember(database, sessions, answers)
            for query in asked:
                told = await _told(database, query["q"])
                found.told += len(told)
                found.fitting += sum(kind_of[one.session_id] == query["kind"] for one in told)
                found.silent += not told
                found.chance += kinds[query["kind"]] / len(sessions) / len(asked)
                if len(told) == TOLD:
                    found.tokens_without += _first_prompt(query, ())
                    found.tokens_with += _first_prompt(query, told)
        finally:
            await database.close()
    return found


async def _remember(database: Database, sessions: Sequence[Request], answers: Sequence[Played]) -> dict[str, str]:
    """The kind of each session by its id; the answers are those that the rehearsal model gave."""
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


async def _told(database: Database, words: str) -> list[MemoryRecord]:
    found = await recall(database, RecallMemories(user=OWNER, query=words, exclude=None, limit=FOUND))
    return rank(words, found.items, None)[:TOLD]


def _first_prompt(request: Request, told: Sequence[MemoryRecord]) -> int:
    def cut(one: MemoryRecord) -> dict[str, Any]:
        return {name: getattr(one, name)[:CUT] for name in ("request", "outcome", "lesson")}

    recalled = tuple(Recalled(session_id=one.session_id, **cut(one)) for one in told)
    return prompt_tokens(brief(CountedPlay(request, How()).session, PAGE, recalled))
