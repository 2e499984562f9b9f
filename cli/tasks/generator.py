"""Test tasks for the retail store, made by a running Parley: one, one without the loop, or a varied batch.

async with Parley(url, token=…) as parley:
    generator = TaskGenerator(parley, generate())
    results = await generator.generate_diverse(10)
    generator.save(results, Path("tasks.json"))
"""

import json
import secrets
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cli.tasks.batch import Batch, Progress, write
from cli.tasks.stages import Candidate, Options, Result
from packs.retail.data import Data, fingerprint
from packs.retail.tasks.briefs import DEALT, Brief, Deck, Kind
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.task import Task, same_calls, same_words
from parley.client.client import Parley
from parley.client.errors import Refused

ATTEMPTS = 5  # candidates for one task before it is given up


class TaskGenerator:
    """`data` must be what that Parley's store began with.

    `rejections` counts why candidates were not taken, `examples` has what was wrong with the first of each.
    """

    def __init__(self, parley: Parley, data: Data, seed: int = 0, *, kinds: Sequence[Kind] = DEALT) -> None:
        self._parley, self._seed, self._kinds = parley, seed, tuple(kinds)
        self.shop = Shop(data)
        self.rejections: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self._fingerprint = fingerprint(data)
        self._checked = False
        self._decks: dict[str | None, Deck] = {}
        self._dealt: Counter[str | None] = Counter()
        self._words: set[str] = set()
        self._calls: set[str] = set()

    async def generate_task(
        self, custom_user: str | None = None, *, include_metadata: bool = True, max_turns: int = 5
    ) -> Result:
        """One task by the loop: drafted, carried out, validated, and solved by an independent run."""
        options = Options(include_metadata=include_metadata, max_turns=max_turns)
        return await self._one(custom_user, options)

    async def generate_direct(self, custom_user: str | None = None) -> Result:
        """One task as it was drafted, validated and with its form corrected: one model call where all goes well."""
        return await self._one(custom_user, Options(agentflow=False))

    async def generate_diverse(  # noqa: PLR0913
        self,
        num_tasks: int,
        *,
        use_agentflow: bool = True,
        progress_callback: Progress | None = None,
        concurrency: int = 4,
        max_turns: int = 5,
        include_metadata: bool = True,
        state: Path | None = None,
    ) -> list[Result]:
        """Tasks of all kinds, for different customers; those that cannot be had within ATTEMPTS are missing.

        With `state`, a file that this writes, the same call goes on where an earlier one was cut off.
        """
        await self.check_world()
        options = Options(agentflow=use_agentflow, include_metadata=include_metadata, max_turns=max_turns)
        deck = Deck(self.shop.data, self._seed, kinds=self._kinds, size=num_tasks)
        told = {"seed": self._seed, "kinds": self._kinds, "tasks": num_tasks, "world": self._fingerprint}
        batch = Batch(num_tasks, {**told, "options": vars(options)}, state)
        for result in batch.results:
            self._taken(result)

        async def candidate(index: int, attempt: int) -> Result:
            brief = deck[attempt * num_tasks + index]
            return await self._candidate(brief, f"{batch.name}-{index}-{attempt}", options)

        try:
            return await batch.run(candidate, attempts=ATTEMPTS, concurrency=concurrency, progress=progress_callback)
        finally:
            self.rejections += batch.rejections
            self.examples = batch.examples | self.examples

    async def compare(self, custom_user: str | None = None, *, max_turns: int = 5) -> dict[str, Any]:
        """The same brief made into a task directly and by the loop."""
        await self.check_world()
        brief, name = self._next(custom_user), secrets.token_hex(6)
        direct = await Candidate(self._parley, self.shop, brief, f"{name}-d", Options(agentflow=False)).result()
        looped = await Candidate(self._parley, self.shop, brief, f"{name}-l", Options(max_turns=max_turns)).result()
        return {"brief": brief.as_json()["scenario"], "user_id": brief.user_id, "direct": direct, "agentflow": looped}

    def save(self, tasks: Sequence[Result], path: Path) -> None:
        """The results as one JSON file, all of it or nothing."""
        write(path, json.dumps(list(tasks), indent=1, ensure_ascii=False) + "\n")

    async def check_world(self) -> None:
        """Raises Refused where that Parley's store is not about this data."""
        if self._checked:
            return
        world = (await self._parley.tools(limit=1)).world
        if world != self._fingerprint:
            raise Refused(
                "other_data",
                f"The store of {self._parley.url} began with other data ({world[:12] or 'none'}) than was given here "
                f"({self._fingerprint[:12]}).",
                "Name its folder with --data, as PARLEY_RETAIL_DATA_DIR does there.",
            )
        self._checked = True

    async def _one(self, user_id: str | None, options: Options) -> Result:
        await self.check_world()
        name = secrets.token_hex(6)
        for attempt in range(ATTEMPTS):
            result = await self._candidate(self._next(user_id), f"{name}-{attempt}", options)
            if result["success"]:
                break
            self.rejections[result["rejected"]] += 1
            self.examples.setdefault(result["rejected"], result["error"])
        return result

    def _next(self, user_id: str | None) -> Brief:
        deck = self._decks.get(user_id)
        if deck is None:
            deck = self._decks[user_id] = Deck(
                self.shop.data, self._seed, kinds=self._kinds, size=1000, user_id=user_id
            )
        self._dealt[user_id] += 1
        return deck[self._dealt[user_id] - 1]

    async def _candidate(self, brief: Brief, name: str, options: Options) -> Result:
        result = await Candidate(self._parley, self.shop, brief, name, options).result()
        if result["success"] and (same := self._taken(result)):
            return {"success": False, "error": same, "rejected": "duplicate", "spent": result["spent"]}
        return result

    def _taken(self, result: Result) -> str:
        """Remember the task; or why it is like one before it."""
        task = Task.model_validate(result["task"])
        words, calls = same_words(task.q), same_calls(task.agt)
        if words in self._words or (task.agt and calls in self._calls):
            return "a task before it has the same words, or the same calls"
        self._words.add(words)
        self._calls.add(calls)
        return ""
