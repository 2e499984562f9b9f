"""Generates test tasks for the retail store with a running Parley: by the agent loop, without it, or a varied batch.

async with Parley(url, token=…) as parley:
    generator = TaskGenerator(parley, generate())
    results = await generator.generate_diverse(10)
    generator.save(results, Path("tasks.json"))
"""

import asyncio
import json
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from cli.tasks.candidate import CandidateOptions, TaskCandidate, TaskResult
from cli.tasks.task_files import write_atomically, write_json
from packs.retail.records import Data, fingerprint
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.scenarios import DEFAULT_KINDS, NoScenario, ScenarioDeck
from packs.retail.tasks.task import EarlierTasks, RetailTask
from parley.client.client import Parley
from parley.client.errors import ParleyError, RequestRefused

Progress = Callable[[int, int, TaskResult], None]  # number done, total number, newest result
Make = Callable[[int, int], Awaitable[TaskResult]]  # task index, attempt

ATTEMPTS = 5  # candidates for one task before giving up


class BatchState(BaseModel):
    """What the state file has. `told` are the batch's parameters, `lasted` counts the attempts for each task.

    `examples` has the error of the first candidate that was rejected for each reason.
    """

    name: str
    told: dict[str, Any]
    lasted: Counter[int]
    done: dict[int, Any]
    rejections: Counter[str]
    examples: dict[str, str]


class Batch:
    """`size` tasks. Refuses a state file that was written with other `parameters`, which are JSON."""

    def __init__(self, size: int, parameters: dict[str, Any], path: Path | None = None) -> None:
        self.size, self._path = size, path
        self.state = BatchState(
            name=secrets.token_hex(6), told=parameters, lasted=Counter(), done={}, rejections=Counter(), examples={}
        )
        if path is not None and path.exists():
            self.state = _read(path)
            if self.state.told != parameters:
                raise RequestRefused(
                    "other_batch",
                    f"{path} is of another batch that was not finished.",
                    "Give the same options again to finish it, or remove that file.",
                )

    @property
    def results(self) -> list[TaskResult]:
        """The accepted tasks so far, in order."""
        return [result for _, result in sorted(self.state.done.items()) if result["success"]]

    async def run(
        self, make: Make, *, attempts: int, concurrency: int = 1, progress: Progress | None = None
    ) -> list[TaskResult]:
        """Make all tasks. Raises ParleyError if Parley stays unavailable, and NoScenario; a new run then resumes."""
        done = self.state.done
        indexes = iter([index for index in range(self.size) if index not in done])

        async def work() -> None:
            for index in indexes:
                while index not in done:
                    await self._attempt(index, make, attempts)
                if progress:
                    progress(len(done), self.size, done[index])

        self._save()  # before any session, whose ids have the batch's name
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(max(1, concurrency)):
                    group.create_task(work())
        except* (ParleyError, NoScenario) as errors:
            raise errors.exceptions[0] from None
        return self.results

    async def _attempt(self, index: int, make: Make, attempts: int) -> None:
        state = self.state
        result = await make(index, state.lasted[index])
        state.lasted[index] += 1
        if not result["success"]:
            state.rejections[result["rejected"]] += 1
            state.examples.setdefault(result["rejected"], result["error"])
        if result["success"] or state.lasted[index] >= attempts:
            state.done[index] = result
        self._save()

    def _save(self) -> None:
        if self._path is not None:
            write_atomically(self._path, json.dumps(self.state.model_dump(), ensure_ascii=False))


def _read(path: Path) -> BatchState:
    try:
        return BatchState.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        raise RequestRefused("bad_state", f"{path} cannot be read: {error!r}.", "Remove it to begin anew.") from error


class TaskGenerator:
    """`data` must be the data that the Parley's store was created from.

    `rejections` counts rejected candidates by reason; `examples` has the error of the first of each.
    """

    def __init__(self, parley: Parley, data: Data, seed: int = 0, *, kinds: Sequence[str] = DEFAULT_KINDS) -> None:
        self._parley, self._seed, self._kinds = parley, seed, list(kinds)
        self.shop = Shop(data)
        self.rejections: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self._fingerprint = fingerprint(data)
        self._checked = False
        self._numbers = count()
        self._earlier = EarlierTasks()

    async def generate_task(
        self, custom_user: str | None = None, *, include_metadata: bool = True, max_turns: int = 5
    ) -> TaskResult:
        """One task by the loop: drafted, executed, validated, and solved again by an independent run."""
        return await self._single(custom_user, CandidateOptions(True, include_metadata, max_turns))

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
        custom_user: str | None = None,
    ) -> list[TaskResult]:
        """Tasks of all kinds, for different customers. A task without an accepted candidate in ATTEMPTS is left out.

        With `state`, a file that this method writes, the same call resumes an interrupted one.
        """
        options = CandidateOptions(use_agentflow, include_metadata, max_turns)
        parameters = {"seed": self._seed, "kinds": self._kinds, "tasks": num_tasks, "world": self._fingerprint}
        parameters |= {"options": options._asdict()} | ({"user": custom_user} if custom_user else {})
        batch, deck = Batch(num_tasks, parameters, state), self._deck(custom_user, num_tasks)
        return await self._run(batch, deck, options, concurrency, progress_callback)

    async def compare(self, custom_user: str | None = None, *, max_turns: int = 5) -> dict[str, Any]:
        """Make a task of the same brief directly and by the loop."""
        await self.check_world()
        brief, name = self._next_deck(custom_user)[0], secrets.token_hex(6)

        async def result_of(suffix: str, options: CandidateOptions) -> TaskResult:
            return await TaskCandidate(self._parley, self.shop, brief, f"{name}-{suffix}", options).result()

        direct = await result_of("d", CandidateOptions(agentflow=False))
        by_loop = await result_of("l", CandidateOptions(max_turns=max_turns))
        return {"brief": brief.as_json()["scenario"], "user_id": brief.user_id, "direct": direct, "agentflow": by_loop}

    def save(self, tasks: Sequence[TaskResult], path: Path) -> None:
        """Write the results to a JSON file, atomically."""
        write_json(path, list(tasks))

    async def check_world(self) -> None:
        """Raises RequestRefused if the Parley's store was created from other data."""
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

    async def _single(self, user_id: str | None, options: CandidateOptions) -> TaskResult:
        """A batch of one. The result of its last candidate, if none was accepted."""
        batch = Batch(1, {})
        await self._run(batch, self._next_deck(user_id), options)
        result: TaskResult = batch.state.done[0]
        return result

    async def _run(
        self,
        batch: Batch,
        deck: ScenarioDeck,
        options: CandidateOptions,
        concurrency: int = 1,
        progress: Progress | None = None,
    ) -> list[TaskResult]:
        await self.check_world()
        for result in batch.results:
            self._is_repeated(result)

        async def make(index: int, attempt: int) -> TaskResult:
            """A replaced candidate gets the next scenario of its kind."""
            name, scenario = f"{batch.state.name}-{index}-{attempt}", deck[attempt * batch.size + index]
            result = await TaskCandidate(self._parley, self.shop, scenario, name, options).result()
            if result["success"] and self._is_repeated(result):
                why = "a task before it has the same words, or the same calls"
                return {"success": False, "error": why, "rejected": "duplicate", "spent": result["spent"]}
            return result

        try:
            return await batch.run(make, attempts=ATTEMPTS, concurrency=concurrency, progress=progress)
        finally:
            self.rejections += batch.state.rejections
            self.examples = batch.state.examples | self.examples

    def _deck(self, user_id: str | None, size: int, seed: str = "") -> ScenarioDeck:
        return ScenarioDeck(self.shop.data, f"{self._seed}{seed}", kinds=self._kinds, size=size, user_id=user_id)

    def _next_deck(self, user_id: str | None) -> ScenarioDeck:
        """Another deck at each call, for tasks that are made one by one."""
        return self._deck(user_id, 1, f" {next(self._numbers)}")

    def _is_repeated(self, result: TaskResult) -> bool:
        """Whether an earlier task has the same words or calls. If none has, remember this one."""
        task = RetailTask.model_validate(result["task"])
        if self._earlier.repeated(task):
            return True
        self._earlier.add(task, 0)
        return False
