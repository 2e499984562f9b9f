"""What plan_store's scheduler needs of the broker, in memory, and a clock that a test can set."""

from datetime import UTC, datetime, timedelta

from parley.protocol.tools import TOOLS_POLL, PollNow, PollResult
from shared.bus import BusUnavailable, ConsumerState, Delivery


class Broker:
    """Timers, consumer positions and the executor's answers, in memory."""

    def __init__(self) -> None:
        self.armed: dict[str, tuple[datetime, bytes]] = {}
        self.done: dict[str, int] = {}  # by consumer: the position up to which every message is acknowledged
        self.down = False
        self.answers: list[PollResult | None] = []  # the executor's next answers to polls; None: it is unavailable
        self.polled: list[PollNow] = []

    async def arm(self, session_id: str, kind: str, at: datetime, payload: bytes) -> None:
        if self.down:
            raise BusUnavailable("no broker")
        self.armed[f"{session_id}.{kind}"] = at, payload

    async def disarm(self, session_id: str, kind: str) -> None:
        self.armed.pop(f"{session_id}.{kind}", None)

    async def timer(self, session_id: str, kind: str) -> bytes | None:
        armed = self.armed.get(f"{session_id}.{kind}")
        return armed[1] if armed else None

    async def request(self, subject: str, data: bytes, *, timeout: float = 5) -> bytes:  # noqa: ASYNC109
        assert subject == TOOLS_POLL
        self.polled.append(PollNow.model_validate_json(data))
        if (answer := self.answers.pop(0)) is None:
            raise BusUnavailable("no executor")
        return answer.model_dump_json().encode()

    async def consumer_state(self, durable: str) -> ConsumerState:
        done = self.done.get(durable, 2**60)
        return ConsumerState(
            delivered=2**60, acknowledged=done, pending=1, unacknowledged=1, redelivered=0, has_waiting_pull=True
        )

    def fire(self, session_id: str, kind: str = "approval") -> Delivery:
        return Delivery(f"timerfired.{session_id}.{kind}", self.armed[f"{session_id}.{kind}"][1], 1, 1)


class Clock:
    """The current time plus `ahead`, which the test sets."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead
