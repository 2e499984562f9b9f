"""A first message is read, folded and looked up no more often than it must be."""

import re
from pathlib import Path

from scripts.first_message import GUIDE, listed, walk
from shared.domain.kernel import commands as c
from shared.log import StoredMessage
from tests.support.bus import FakeBus, FeedingLog
from tests.support.gateway import World, client, serving
from tests.support.http_client import http_client
from tests.support.parley import in_process

MAX_FILES, BY_TIMING = 118, 6  # files in which a function runs, and how many of them may differ between two runs
PLAN = {"kind": "plan", "say": "So.", "goal": "Add numbers", "steps": ["Read them", "Add them"]}


class CountingLog(FeedingLog):
    """Records from which position a session's messages are read."""

    def __init__(self, bus: FakeBus) -> None:
        super().__init__(bus)
        self.read_after: list[int] = []

    async def read(
        self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False
    ) -> list[StoredMessage]:
        self.read_after.append(after)
        return await super().read(session_id, after=after, limit=limit, leader=leader)


class CountingBus(FakeBus):
    """Records the subjects of requests."""

    def __init__(self) -> None:
        super().__init__()
        self.log: CountingLog = CountingLog(self)
        self.requested: list[str] = []

    async def request(self, subject: str, data: bytes, *, timeout: float = 5) -> bytes:  # noqa: ASYNC109
        self.requested.append(subject)
        return await super().request(subject, data, timeout=timeout)


async def test_a_first_message_asks_nobody_and_its_event_is_not_read_back(tmp_path: Path) -> None:
    bus = CountingBus()
    async with in_process(tmp_path, bus) as running:
        running.model.replies = {"text_plan": PLAN}
        for requested in (["plan_store.library.similar"], []):  # the library is known to be empty the second time
            bus.requested.clear()
            bus.log.read_after.clear()
            async with client(running.url.removeprefix("http://")) as user:
                await user.send("user_message", content="Add two numbers")
                await user.until("text_plan_review")
                assert user.versions == [1, 2]
                assert bus.requested == requested
                first = bus.log.messages[-2].position
                assert set(bus.log.read_after) == {first}  # the gateway reads the planner's event, and nothing before


async def test_a_session_begun_by_rest_is_neither_loaded_nor_read(tmp_path: Path) -> None:
    bus = CountingBus()
    async with in_process(tmp_path, bus) as running, http_client(base_url=running.url) as http:
        running.model.replies = {"text_plan": PLAN}
        begun = await http.post("/api/sessions", json={"request": "Add two numbers"})
        assert begun.status_code == 201
        assert [subject for subject in bus.requested if ".session." in subject] == []
        assert 0 not in bus.log.read_after


async def test_a_session_that_exists_after_all_is_continued() -> None:
    world = World()
    async with serving(world.app) as address, client(address) as user:
        await world.story(user.session_id).commit(c.Say(text="A calculator"))
        await user.send("user_message", content="A clock")
        versions = [(await user.event("message.received"))["version"] for _ in range(2)]
    assert versions == [1, 2]


async def test_the_guide_names_the_files_of_a_first_message() -> None:
    files = set(await walk())
    assert len(files) <= MAX_FILES, sorted(files)
    table = GUIDE.read_text("utf-8").split("| Step |")[1].split("Every file")[0]
    assert set(re.findall(r"`((?:services|shared)/[\w/]+\.py)`", table)) <= files
    assert len(files ^ listed()) <= BY_TIMING, "run `python scripts/first_message.py --write`"
