"""A person in one session: looks at its state, follows a script, and now and then does something else.

They reconnect, send unconfirmed messages again, retry what failed, and leave only when the session has ended.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable

from chaos.line import AGAIN, Line
from chaos.recorder import Json
from chaos.scripts import Script
from parley.client import Parley as Remote
from parley.client import ParleyDown, Refused, Session
from parley.protocol.server import Snapshot

LOOK_AGAIN = 10.0  # seconds after which a person looks although nothing new was shown
CALM = 0.05
RETRIES = 8
FORKS = 0.1  # the share of sessions
TUNNELS = 0.1  # the share of waits in which the connection is lost
WORKING = ("planning", "coding", "executing", "verifying", "answering")


class Person:
    """`urls`: the gateways. Every command has an id of its own."""

    def __init__(self, script: Script, urls: list[str]) -> None:
        self.script = script
        self.fork: Person | None = None  # who went on in a fork of the session
        gateways = random.Random(f"{script.seed}/{script.n}/gateways")
        self.line = Line(urls, script.session_id, gateways, begun=script.forked)
        self.ending = ""  # where the session stood when they left
        self.why = ""  # the reason of a failure
        self.acknowledged: list[tuple[str, int]] = []  # commands that REST confirmed, with the version that it named
        self.declined: Counter[str] = Counter()
        self._urls = urls
        self._said = 0
        self._did: Counter[str] = Counter()

    async def live(self) -> None:
        """To the end of the session."""
        await self.line.open()
        try:
            await self._say(self.script.message)
            while not self.ending:
                shown = await self._look()
                message = self._wants(shown)
                if message:
                    said = await self._say(message)
                    self.ending = "completed" if said and message["type"] == "complete" else ""  # nobody looks again
                elif not self.ending:
                    await self._wait(shown.version or 0)
        finally:
            await self.line.close()
        # The fork of a plan that acted does all of it once more, on purpose: what is there twice would prove nothing.
        acts = self.script.message["workflow"] == "execution_plan"
        if self.script.draw("fork") < FORKS and not self.script.forked and not acts:
            await self._go_on_in_a_fork()

    def gave_up(self, why: str) -> None:
        """Note an unexpected error: of the person in the fork, if there is one."""
        if self.fork:
            self.fork.gave_up(why)
        elif not self.ending:
            self.why = why

    async def _go_on_in_a_fork(self) -> None:
        fork = await self._remotely("fork", lambda session: session.fork(id="fork"))  # the same one, however often
        self.fork = Person(self.script.in_a_fork(fork.id), self._urls)
        await self.fork.live()

    # --- seeing and saying

    async def _look(self) -> Snapshot:
        """The session's state, from any gateway that answers."""
        return await self._remotely(f"look {self._said}", Session.snapshot)

    async def _remotely[T](self, about: str, ask: Callable[[Session], Awaitable[T]]) -> T:
        """The answer over HTTP of any gateway that is up. Raises Refused."""
        while True:
            try:
                async with Remote(self.script.pick(about, self._urls), patience=5) as remote:
                    return await ask(remote.session(self.script.session_id))
            except ParleyDown:
                await asyncio.sleep(0.5)
            except Refused as refused:
                if refused.code != AGAIN:
                    raise
                await asyncio.sleep(0.5)

    async def _wait(self, version: int) -> None:
        """Until there is something newer than this version, or for a while; now and then the connection is lost."""
        if self.script.draw(f"tunnel {version}") < TUNNELS:
            self.line.drop()
        try:
            async with asyncio.timeout(LOOK_AGAIN):
                while self.line.version <= version:
                    self.line.moved.clear()
                    await self.line.moved.wait()
        except TimeoutError:
            return
        await asyncio.sleep(CALM)

    async def _say(self, message: Json) -> bool:
        """Whether it was accepted."""
        self._said += 1
        command = {**message, "id": f"c{self._said}"}
        try:
            if self._said > 1 and self.script.draw(f"how {self._said}") < 0.3:
                await self._by_rest(command)
            else:
                await self.line.tell(command)
        except Refused as refused:
            self.declined[refused.code] += 1
            await asyncio.sleep(CALM)  # it has moved on: look again
            return False
        return True

    async def _by_rest(self, command: Json) -> None:
        """The same over HTTP: its answer is an acknowledgement."""
        version = await self._remotely(f"gateway {self._said}", lambda session: session.send(**command))
        self.acknowledged.append((command["id"], version))

    # --- wanting

    def _wants(self, shown: Snapshot) -> Json | None:
        """What to say now; None: wait, or leave, where `ending` says so."""
        if shown.paused:
            return {"type": "unpause"}
        if shown.phase in WORKING:
            return self._meanwhile(shown)
        if shown.phase == "failed":
            return self._after_failure(shown)
        if shown.phase == "resting":
            return self._at_rest(shown)
        if shown.phase == "escalated":
            return self._taken_over()
        return self._asked(shown)

    def _meanwhile(self, shown: Snapshot) -> Json | None:
        """Rarely, a word, a pause or a stop while work goes on; once each."""
        drawn = self.script.draw(f"meanwhile {shown.phase}")
        for kind, limit in (("stop", 0.02), ("pause", 0.05), ("user_message", 0.08)):
            if drawn < limit:
                if self._did[f"{kind} {shown.phase}"]:
                    return None
                self._did[f"{kind} {shown.phase}"] += 1
                return {"type": kind} | ({"content": "Please be brief."} if kind == "user_message" else {})
        return None

    def _asked(self, shown: Snapshot) -> Json | None:
        if shown.question:
            return self._answer(shown)
        if shown.feedback_request:
            return {"type": "feedback", "content": self.script.pick("feedback", FEEDBACK)}
        if shown.approval_request:
            action = shown.approval_request.actions[0]
            denied = self.script.draw(f"deny {action.action_id}") < 0.1
            bound = {"action_id": action.action_id, "hash": action.hash}
            return {"type": "approval", "approved": not denied, **bound}
        if shown.review:
            return self._reviewed(shown)
        return None

    def _answer(self, shown: Snapshot) -> Json:
        """The answer. Never "again" about an uncertain action: it might still be running in a paused executor."""
        asked = shown.question
        assert asked
        options = asked.options
        if asked.about == "uncertain":
            options = (options[0], options[-1])
        about = f"question {self._did['question']}"
        self._did["question"] += 1
        text = self.script.pick(about, options) if options else "yes" if asked.form else "Whatever you think is best."
        return {"type": "answer", "content": text, "question_id": asked.question_id}

    def _reviewed(self, shown: Snapshot) -> Json:
        review = shown.review
        assert review
        bound = {"version": review.version, "hash": review.hash}
        kind = "code" if review.type == "code_review" else "plan"
        drawn = self.script.draw(f"{kind} {review.number}") if review.number <= 3 else 1.0
        if drawn < 0.15:
            return {"type": "feedback", "content": self.script.pick("feedback", FEEDBACK)}
        if drawn < 0.25 and kind == "plan" and getattr(review, "kind", "") == "text":
            content = f"{shown.plan.text if shown.plan else ''}\n9. Say goodbye"
            return {"type": "edit", "target": "plan", "version": review.version, "content": content}
        if drawn < 0.25 and kind == "code" and shown.code:
            content = f"{shown.code.code}\n# looked at\n"
            return {"type": "edit", "target": "code", "version": review.version, "content": content}
        if drawn < 0.32:
            return {"type": "replan", "version": review.version}
        if drawn < 0.36:
            return {"type": "approval", "approved": False, "version": review.version}
        return {"type": "approval", "approved": True, **bound}

    def _unfinished(self, shown: Snapshot) -> Json:
        """A plan of which a step came to nothing: try it again, leave it out, or be content with the rest."""
        self._did["unfinished"] += 1
        step = next((a for a in shown.turn.actions if a.status in ("failed", "denied")), None) if shown.turn else None
        drawn = self.script.draw(f"unfinished {self._did['unfinished']}")
        if drawn < 0.6 and self._did["unfinished"] <= RETRIES:
            return {"type": "retry"}
        if drawn < 0.8 and step and "skip" in shown.can and self._did["unfinished"] <= RETRIES:
            return {"type": "skip", "action_id": step.action_id, "with_dependents": True}
        return {"type": "complete"}

    def _after_failure(self, shown: Snapshot) -> Json | None:
        self._did["retry"] += 1
        retryable = shown.failure is not None and shown.failure.retryable
        if retryable and self._did["retry"] <= RETRIES:
            return {"type": "retry"}
        self.ending, self.why = "failed", shown.failure.reason if shown.failure else ""
        return None

    def _at_rest(self, shown: Snapshot) -> Json | None:
        if shown.reason == "stopped" and not self._did["again"]:
            self._did["again"] += 1
            if "retry" in shown.can and self.script.draw("again") < 0.7:
                return {"type": "retry"}
        if shown.reason == "answered" and "retry" in shown.can:
            return self._unfinished(shown)
        if "run" in shown.can and not self._did["run"]:
            self._did["run"] += 1
            return {"type": "run"}
        if "judge" in shown.can and not self._did["judge"]:
            self._did["judge"] += 1
            return {"type": "judge", "accepted": True}
        if shown.reason == "answered" and self.script.draw("complete") < 0.5:
            return {"type": "complete"}
        self.ending = shown.reason
        return None

    def _taken_over(self) -> Json:
        self._did["hand_back"] += 1
        if self._did["hand_back"] <= 2:
            return {"type": "hand_back", "content": "Please go on as you think best."}
        return {"type": "stop"}


FEEDBACK = ("Add support for floating point numbers", "Make it shorter", "Use clearer names", "Add a help text")
