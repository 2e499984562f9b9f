"""A batch of candidates, several at a time: rejected ones replaced, everything noted in a file to go on from."""

import asyncio
import json
import os
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from cli.tasks.stages import Result
from parley.client.errors import ParleyError, Refused

Progress = Callable[[int, int, Result], None]  # how many are done, of how many, and the newest
Make = Callable[[int, int], Awaitable[Result]]  # number of the task, attempt


class Batch:
    """`size` tasks; `told` says what they are to be, and a state file of something else is refused."""

    def __init__(self, size: int, told: dict[str, Any], state: Path | None) -> None:
        self._size, self._path = size, state
        self._told = json.loads(json.dumps(told))
        self._lasted: dict[int, int] = {}  # attempts that were made
        self._done: dict[int, Result] = {}
        self.rejections: Counter[str] = Counter()
        self.examples: dict[str, str] = {}  # of each reason, what was wrong with the first such candidate
        self.name = secrets.token_hex(6)
        self._load()

    @property
    def results(self) -> list[Result]:
        """The tasks so far, in order."""
        return [self._done[index] for index in sorted(self._done) if self._done[index]["success"]]

    async def run(
        self, make: Make, *, attempts: int, concurrency: int, progress: Progress | None = None
    ) -> list[Result]:
        """To the end. Raises ParleyError where Parley is away for long; then the same again goes on."""
        waiting = iter([index for index in range(self._size) if index not in self._done])

        async def work() -> None:
            for index in waiting:
                await self._slot(index, make, attempts)
                if progress:
                    progress(len(self._done), self._size, self._done[index])

        self._save()
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(max(1, concurrency)):
                    group.create_task(work())
        except* ParleyError as troubles:
            raise _first(troubles) from None
        return self.results

    async def _slot(self, index: int, make: Make, attempts: int) -> None:
        while True:
            attempt = self._lasted.get(index, 0)
            result = await make(index, attempt)
            self._lasted[index] = attempt + 1
            if not result["success"]:
                self.rejections[result["rejected"]] += 1
                self.examples.setdefault(result["rejected"], result["error"])
            if result["success"] or attempt + 1 >= attempts:
                self._done[index] = result
            self._save()
            if index in self._done:
                return

    def _load(self) -> None:
        if self._path is None or not self._path.exists():
            return
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            if found["told"] != self._told:
                raise Refused(
                    "other_batch",
                    f"{self._path} is of another batch that was not finished.",
                    "Give the same options again to finish it, or remove that file.",
                )
            self.name = found["name"]
            self._lasted = {int(index): lasted for index, lasted in found["lasted"].items()}
            self._done = {int(index): result for index, result in found["done"].items()}
            self.rejections = Counter(found["rejections"])
            self.examples = dict(found["examples"])
        except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
            raise Refused(
                "bad_state", f"{self._path} cannot be read: {error!r}.", "Remove it to begin anew."
            ) from error

    def _save(self) -> None:
        """Noted before anything depends on it: sessions are found again by the batch's name."""
        if self._path is None:
            return
        lasted = {str(index): count for index, count in self._lasted.items()}
        done = {str(index): result for index, result in self._done.items()}
        told = {"name": self.name, "told": self._told, "lasted": lasted, "done": done}
        told |= {"rejections": self.rejections, "examples": self.examples}
        write(self._path, json.dumps(told, ensure_ascii=False))


def write(path: Path, text: str) -> None:
    """Replace the file in one step: whoever reads it finds the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


def _first(troubles: BaseExceptionGroup[ParleyError]) -> ParleyError:
    found = troubles.exceptions[0]
    return found if isinstance(found, ParleyError) else _first(found)
