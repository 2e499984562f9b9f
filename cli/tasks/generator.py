"""Generates test tasks for the retail store with a running Parley: by the agent loop, without it, or a varied batch.

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

from cli.tasks.batch import Batch, Progress, write_atomically
from cli.tasks.candidate import CandidateOptions, TaskCandidate, TaskResult
from packs.retail.data import Data, fingerprint
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.scenarios import DEFAULT_KINDS, Scenario, ScenarioDeck, ScenarioKind
from packs.retail.tasks.task import RetailTask, same_calls, same_words
from parley.client.client import Parley
from parley.client.errors import RequestRefused

ATTEMPTS = 5  # candidates for one task before giving up


class TaskGenerator:
    """`data` must be the data that the Parley's store was created from.

    `rejections` counts rejected candidates by reason; `examples` has the error of the first of each.
    """

    def __init__(
        self, parley: Parley, data: Data, seed: int = 0, *, kinds: Sequence[ScenarioKind] = DEFAULT_KINDS
    ) -> None:
        self._parley, self._seed, self._kinds = parley, seed, tuple(kinds)
        self.shop = Shop(data)
        self.rejections: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self._fingerprint = fingerprint(data)
        self._checked = False
        self._decks: dict[str | None, ScenarioDeck] = {}
        self._dealt: Counter[str | None] = Counter()
        self._words: set[str] = set()
        self._calls: set[str] = set()

    async def generate_task(
        self, custom_user: str | None = None, *, include_metadata: bool = True, max_turns: int = 5
    ) -> TaskResult:
        """One task by the loop: drafted, executed, validated, and solved again by an independent run."""
        options = CandidateOptions(include_metadata=include_metadata, max_turns=max_turns)
        return await self._first_accepted(custom_user, options)

    async def generate_direct(self, custom_user: str | None = None) -> TaskResult:
        """One task as drafted, with its form corrected and validated: usually one model call."""
        return await self._first_accepted(custom_user, CandidateOptions(agentflow=False))

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
    ) -> list[TaskResult]:
        """Tasks of all kinds, for different customers. A task without an accepted candidate in ATTEMPTS is left out.

        With `state`, a file that this method writes, the same call resumes an interrupted one.
        """
        await self.check_world()
        options = CandidateOptions(agentflow=use_agentflow, include_metadata=include_metadata, max_turns=max_turns)
        deck = ScenarioDeck(self.shop.data, self._seed, kinds=self._kinds, size=num_tasks)
        parameters = {"seed": self._seed, "kinds": self._kinds, "tasks": num_tasks, "world": self._fingerprint}
        batch = Batch(num_tasks, {**parameters, "options": options.state()}, state)
        for result in batch.results:
            self._duplicate_reason(result)

        async def candidate(index: int, attempt: int) -> TaskResult:
            brief = deck[attempt * num_tasks + index]
            return await self._candidate(brief, f"{batch.name}-{index}-{attempt}", options)

        try:
            return await batch.run(candidate, attempts=ATTEMPTS, concurrency=concurrency, progress=progress_callback)
        finally:
            self.rejections += batch.rejections
            self.examples = batch.examples | self.examples

    async def compare(self, custom_user: str | None = None, *, max_turns: int = 5) -> dict[str, Any]:
        """Make a task of the same brief directly and by the loop."""
        await self.check_world()
        brief, name = self._next(custom_user), secrets.token_hex(6)
        direct = await TaskCandidate(
            self._parley, self.shop, brief, f"{name}-d", CandidateOptions(agentflow=False)
        ).result()
        by_loop = await TaskCandidate(
            self._parley, self.shop, brief, f"{name}-l", CandidateOptions(max_turns=max_turns)
        ).result()
        return {"brief": brief.as_json()["scenario"], "user_id": brief.user_id, "direct": direct, "agentflow": by_loop}

    def save(self, tasks: Sequence[TaskResult], path: Path) -> None:
        """Write the results to a JSON file, atomically."""
        write_atomically(path, json.dumps(list(tasks), indent=1, ensure_ascii=False) + "\n")

    async def check_world(self) -> None:
        """Raises Refused if the Parley's store was created from other data."""
        if self._checked:
            return
        world = (await self._parley.tools(limit=1)).world
        if world != self._fingerprint:
            raise RequestRefused(
                "other_data",
                f"The store of {self._parley.url} began with other data ({world[:12] or 'none'}) than was given here "
                f"({self._fingerprint[:12]}).",
                "Name its folder with --data, as PARLEY_RETAIL_DATA_DIR does there.",
            )
        self._checked = True

    async def _first_accepted(self, user_id: str | None, options: CandidateOptions) -> TaskResult:
        await self.check_world()
        name = secrets.token_hex(6)
        for attempt in range(ATTEMPTS):
            result = await self._candidate(self._next(user_id), f"{name}-{attempt}", options)
            if result["success"]:
                break
            self.rejections[result["rejected"]] += 1
            self.examples.setdefault(result["rejected"], result["error"])
        return result

    def _next(self, user_id: str | None) -> Scenario:
        deck = self._decks.get(user_id)
        if deck is None:
            deck = self._decks[user_id] = ScenarioDeck(
                self.shop.data, self._seed, kinds=self._kinds, size=1000, user_id=user_id
            )
        self._dealt[user_id] += 1
        return deck[self._dealt[user_id] - 1]

    async def _candidate(self, scenario: Scenario, name: str, options: CandidateOptions) -> TaskResult:
        result = await TaskCandidate(self._parley, self.shop, scenario, name, options).result()
        if result["success"] and (duplicate := self._duplicate_reason(result)):
            return {"success": False, "error": duplicate, "rejected": "duplicate", "spent": result["spent"]}
        return result

    def _duplicate_reason(self, result: TaskResult) -> str:
        """Why the task duplicates an earlier one; "" if it does not, and then remember it."""
        task = RetailTask.model_validate(result["task"])
        words, calls = same_words(task.q), same_calls(task.agt)
        if words in self._words or (task.agt and calls in self._calls):
            return "a task before it has the same words, or the same calls"
        self._words.add(words)
        self._calls.add(calls)
        return ""
