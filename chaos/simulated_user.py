"""A simulated user of one session, who reacts to its state by a script with some random deviations.

The user reconnects, resends unconfirmed messages, retries failed sessions, and leaves only when the session has ended.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable

from chaos.evidence import AcknowledgedCommand, UserOutcome
from chaos.reconnecting_client import RETRYABLE_CODE, Json, ReconnectingClient
from chaos.user_scripts import UserScript
from parley.client import Parley as Remote
from parley.client import ParleyUnavailable, RemoteSession, RequestRefused
from parley.protocol.server import Snapshot

POLL_TIMEOUT = 10.0  # seconds after which the user reloads the state without a new event
SETTLE_SECONDS = 0.05
MAX_RETRIES = 8
MAX_OFFERS = 4  # decided by the script; later ones are kept
OFFER_DECISIONS = ("take_offer", "keep_offer")
MESSAGES = ("Why these steps?", "Please be brief.")  # the model answers the first, and plans again after the second
FORK_SHARE = 0.1  # of sessions
DISCONNECT_SHARE = 0.1  # of waits
WORKING = ("planning", "coding", "executing", "verifying", "answering")


class SimulatedUser:
    """`urls`: the gateways. Every command gets its own id."""

    def __init__(self, script: UserScript, urls: list[str]) -> None:
        self.script = script
        self.fork: SimulatedUser | None = None  # the user of the session's fork
        gateways = random.Random(f"{script.seed}/{script.number}/gateways")
        self.client = ReconnectingClient(urls, script.session_id, gateways, is_begun=script.is_fork)
        self.ending = ""  # the session's state when the user left
        self.failure_reason = ""
        self.acknowledged: list[AcknowledgedCommand] = []  # over REST
        self.refusals: Counter[str] = Counter()
        self._urls = urls
        self._sent_count = 0
        self._counts: Counter[str] = Counter()

    @property
    def outcome(self) -> UserOutcome:
        """How the session has ended so far."""
        return UserOutcome(self.script.session_id, self.script.message["workflow"], self.ending, self.failure_reason)

    async def run(self) -> None:
        """Follow the script to the end of the session."""
        async with self.client:
            await self._send(self.script.message)
            while not self.ending:
                snapshot = await self._snapshot()
                message = self._next_message(snapshot)
                if message and message["type"] in OFFER_DECISIONS:
                    message["version"] = await self._offer_version()
                if message:
                    was_accepted = await self._send(message)
                    self.ending = "completed" if was_accepted and message["type"] == "complete" else ""
                elif not self.ending:
                    await self._wait_for_event(snapshot.version or 0)
        # The fork of a plan that acted repeats all its writes on purpose, so duplicates would prove nothing.
        acts = self.script.message["workflow"] == "execution_plan"
        if self.script.draw("fork") < FORK_SHARE and not self.script.is_fork and not acts:
            await self._run_fork()

    def record_error(self, reason: str) -> None:
        """Record an unexpected error, for the user of the fork if there is one."""
        if self.fork:
            self.fork.record_error(reason)
        elif not self.ending:
            self.failure_reason = reason

    async def _run_fork(self) -> None:
        fork = await self._request(
            "fork", lambda session: session.fork(id="fork")
        )  # a fixed id makes retries idempotent
        self.fork = SimulatedUser(self.script.for_fork(fork.id), self._urls)
        await self.fork.run()

    # --- requests

    async def _snapshot(self) -> Snapshot:
        """The session's state, from any gateway."""
        return await self._request(f"look {self._sent_count}", RemoteSession.snapshot)

    async def _offer_version(self) -> int:
        """The version of the open offer; 1 if it is gone, so that the decision is refused."""
        screen = await self._request(f"offer {self._sent_count}", RemoteSession.screen)
        return screen.view.offer.version if screen.view.offer else 1

    async def _request[T](self, about: str, ask: Callable[[RemoteSession], Awaitable[T]]) -> T:
        """Retry an HTTP request until some gateway answers it. Raises RequestRefused."""
        while True:
            try:
                async with Remote(self.script.pick(about, self._urls), timeout=5) as remote:
                    return await ask(remote.session(self.script.session_id))
            except ParleyUnavailable:
                await asyncio.sleep(0.5)
            except RequestRefused as refused:
                if refused.code != RETRYABLE_CODE:
                    raise
                await asyncio.sleep(0.5)

    async def _wait_for_event(self, version: int) -> None:
        """Wait for a newer version, or a timeout. Sometimes drop the connection before."""
        if self.script.draw(f"tunnel {version}") < DISCONNECT_SHARE:
            self.client.drop()
        if await self.client.wait_until(lambda: self.client.version > version, POLL_TIMEOUT):
            await asyncio.sleep(SETTLE_SECONDS)

    async def _send(self, message: Json) -> bool:
        """Send a command over WebSocket or REST. Returns whether it was accepted."""
        self._sent_count += 1
        command = {**message, "id": f"c{self._sent_count}"}
        try:
            if self._sent_count > 1 and self.script.draw(f"how {self._sent_count}") < 0.3:
                await self._send_by_rest(command)
            else:
                await self.client.send(command)
        except RequestRefused as refused:
            self.refusals[refused.code] += 1
            await asyncio.sleep(SETTLE_SECONDS)  # the session has moved on: reload its state
            return False
        return True

    async def _send_by_rest(self, command: Json) -> None:
        """Send a command over HTTP, whose response is an acknowledgement."""
        version = await self._request(f"gateway {self._sent_count}", lambda session: session.send(**command))
        self.acknowledged.append(AcknowledgedCommand(self.script.session_id, command["id"], version))

    # --- decisions

    def _next_message(self, snapshot: Snapshot) -> Json | None:
        """The next message; None: wait, or leave if `ending` is set."""
        if snapshot.paused:
            return {"type": "unpause"}
        if "take_offer" in snapshot.can:
            return self._about_offer()
        if snapshot.phase in WORKING:
            return self._while_working(snapshot)
        if snapshot.phase == "failed":
            return self._after_failure(snapshot)
        if snapshot.phase == "resting":
            return self._when_resting(snapshot)
        if snapshot.phase == "escalated":
            return self._when_escalated()
        return self._when_asked(snapshot)

    def _while_working(self, snapshot: Snapshot) -> Json | None:
        """Sometimes a message while calls are made, rarely in other phases; rarely a pause or a stop. Once each in a
        phase, but for half of the users two messages, one right after the other.
        """
        drawn, talks = self.script.draw(f"meanwhile {snapshot.phase}"), 0.4 if snapshot.phase == "executing" else 0.08
        for kind, limit in (("stop", 0.02), ("pause", 0.05), ("user_message", talks)):
            if drawn < limit:
                times = 2 if kind == "user_message" and self.script.draw("twice") < 0.5 else 1
                return self._at_most(times, f"{kind} {snapshot.phase}", {"type": kind})
        return None

    def _at_most(self, times: int, about: str, message: Json) -> Json | None:
        """The message, with words if it needs them; None if it was sent so often."""
        if self._counts[about] >= times:
            return None
        self._counts[about] += 1
        words = {"content": self.script.pick(f"{about} {self._counts[about]}", MESSAGES)}
        return (words if message["type"] == "user_message" else {}) | message

    def _asks(self, about: str) -> Json | None:
        """Sometimes a message about what waits, once for each."""
        asks = self.script.draw(f"ask {about}") < 0.15
        return self._at_most(1, f"ask {about}", {"type": "user_message"}) if asks else None

    def _about_offer(self) -> Json:
        """Take the offer, keep what is there, or say something first."""
        number = self._counts["offer"]
        if number < MAX_OFFERS and (message := self._asks(f"offer {number}")):
            return message
        self._counts["offer"] += 1
        takes = number < MAX_OFFERS and self.script.draw(f"offer {number}") < 0.5
        return {"type": "take_offer" if takes else "keep_offer"}

    def _when_asked(self, snapshot: Snapshot) -> Json | None:
        if snapshot.question:
            return self._answer(snapshot)
        if snapshot.feedback_request:
            return {"type": "feedback", "content": self.script.pick("feedback", FEEDBACK)}
        if snapshot.approval_request:
            action = snapshot.approval_request.actions[0]
            drawn = self.script.draw(f"deny {action.action_id}")
            bound = {"action_id": action.action_id, "hash": action.hash}
            words = {"reason": self.script.pick("deny", MESSAGES)} if drawn < 0.05 else {}
            return self._asks(action.action_id) or {"type": "approval", "approved": drawn >= 0.1, **words, **bound}
        if snapshot.review:
            return self._asks(f"version {snapshot.review.number}") or self._review(snapshot)
        return None

    def _answer(self, snapshot: Snapshot) -> Json:
        """Answer a question. Never retry an uncertain action: it may still be running in a paused executor."""
        question = snapshot.question
        assert question
        options = question.options
        if question.about == "uncertain":
            options = (options[0], options[-1])
        about = f"question {self._counts['question']}"
        self._counts["question"] += 1
        text = (
            self.script.pick(about, options) if options else "yes" if question.form else "Whatever you think is best."
        )
        return {"type": "answer", "content": text, "question_id": question.question_id}

    def _review(self, snapshot: Snapshot) -> Json:
        review = snapshot.review
        assert review
        bound = {"version": review.version, "hash": review.hash}
        kind = "code" if review.type == "code_review" else "plan"
        drawn = self.script.draw(f"{kind} {review.number}") if review.number <= 3 else 1.0
        if drawn < 0.15:
            return {"type": "feedback", "content": self.script.pick("feedback", FEEDBACK)}
        if drawn < 0.25 and kind == "plan" and getattr(review, "kind", "") == "text":
            content = f"{snapshot.plan.text if snapshot.plan else ''}\n9. Say goodbye"
            return {"type": "edit", "target": "plan", "version": review.version, "content": content}
        if drawn < 0.25 and kind == "code" and snapshot.code:
            content = f"{snapshot.code.code}\n# looked at\n"
            return {"type": "edit", "target": "code", "version": review.version, "content": content}
        if drawn < 0.32:
            return {"type": "replan", "version": review.version}
        if drawn < 0.36:
            return {"type": "approval", "approved": False, "version": review.version}
        return {"type": "approval", "approved": True, **bound}

    def _after_unfinished_plan(self, snapshot: Snapshot) -> Json:
        """A plan with a failed step: retry it, skip the step, or complete the session."""
        self._counts["unfinished"] += 1
        step = (
            next((a for a in snapshot.turn.actions if a.status in ("failed", "denied")), None)
            if snapshot.turn
            else None
        )
        drawn = self.script.draw(f"unfinished {self._counts['unfinished']}")
        if drawn < 0.6 and self._counts["unfinished"] <= MAX_RETRIES:
            return {"type": "retry"}
        if drawn < 0.8 and step and "skip" in snapshot.can and self._counts["unfinished"] <= MAX_RETRIES:
            return {"type": "skip", "action_id": step.action_id, "with_dependents": True}
        return {"type": "complete"}

    def _after_failure(self, snapshot: Snapshot) -> Json | None:
        self._counts["retry"] += 1
        retryable = snapshot.failure is not None and snapshot.failure.retryable
        if retryable and self._counts["retry"] <= MAX_RETRIES:
            return {"type": "retry"}
        self.ending, self.failure_reason = "failed", snapshot.failure.reason if snapshot.failure else ""
        return None

    def _when_resting(self, snapshot: Snapshot) -> Json | None:
        if snapshot.reason == "stopped" and not self._counts["again"]:
            self._counts["again"] += 1
            if "retry" in snapshot.can and self.script.draw("again") < 0.7:
                return {"type": "retry"}
        if snapshot.reason == "answered" and (message := self._asks("the end")):
            return message
        if snapshot.reason == "answered" and "retry" in snapshot.can:
            return self._after_unfinished_plan(snapshot)
        if "run" in snapshot.can and not self._counts["run"]:
            self._counts["run"] += 1
            return {"type": "run"}
        if "judge" in snapshot.can and not self._counts["judge"]:
            self._counts["judge"] += 1
            return {"type": "judge", "accepted": True}
        if snapshot.reason == "answered" and self.script.draw("complete") < 0.5:
            return {"type": "complete"}
        self.ending = snapshot.reason
        return None

    def _when_escalated(self) -> Json:
        self._counts["hand_back"] += 1
        if self._counts["hand_back"] <= 2:
            return {"type": "hand_back", "content": "Please go on as you think best."}
        return {"type": "stop"}


FEEDBACK = ("Add support for floating point numbers", "Make it shorter", "Use clearer names", "Add a help text")
