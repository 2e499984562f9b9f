"""REST request bodies: parsed as strictly as messages of `/ws`; every accepted body can be read back."""

import asyncio
import json
from collections import Counter

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parley.events.values import Step
from parley.protocol.tools import TOOLS_LIST, ToolPage, ToolSpec
from services.gateway.api_errors import ApiError
from services.gateway.messages.parsing import MAX_DEPTH, parse_message
from shared.domain.kernel import commands as c
from shared.store_api import JournalPage
from tests.support.gateway import World

EDIT = '{"type": "edit", "version": %d, "steps": [{"text": "x", "tool": "t", "arguments": {"a": %s}}]}'
REST_OF_DEPTH = MAX_DEPTH - 4  # nesting levels left below message, steps, step and arguments
UNSTORABLE = {
    "NaN": "NaN",
    "infinity": "-Infinity",
    "beyond a double": "1e999",
    "too many digits": "9" * 5_000,
    "deep": "[" * (REST_OF_DEPTH + 1) + "]" * (REST_OF_DEPTH + 1),
    "very deep": "[" * 100_000 + "]" * 100_000,
    "half of a surrogate pair": '"\\ud800"',
    "no UTF-8": b'"\xff"',
    "NUL": '"\\u0000"',
    "comma": "[1,]",
    "comment": "1 /* one */",
    "nothing": "",
}


TOOL = ToolSpec(name="t", description="Takes anything.", parameters={"type": "object"}, effect="read", origin="shop")


def world_with_tool() -> World:
    """A gateway whose executor has one tool, which accepts any value."""
    world = World(max_requests_per_second=0)
    world.bus.answers[TOOLS_LIST] = lambda _: ToolPage(tools=(TOOL,), total=1).model_dump_json().encode()
    return world


async def create_session_in_review(world: World, session_id: str) -> None:
    """Create a session with a plan of one call in review."""
    step = Step(text="x", tool="t", arguments={}, id="s1")
    story = world.story(session_id)
    await story.commit(c.Say(text="Do it", workflow="execution_plan"))
    await story.commit(c.DraftPlan(goal="Do it", steps=(step,), kind="execution"))


class RestClient:
    """The REST client of a session in review."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.session_id = "s"
        transport = httpx2.ASGITransport(world.app)
        self._http = httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1")

    async def edit(self, version: int, value: str | bytes) -> httpx2.Response:
        before, _, after = EDIT.partition("%s")
        body = (before % version).encode() + (value if isinstance(value, bytes) else value.encode()) + after.encode()
        url = f"/api/sessions/{self.session_id}/messages"
        return await self._http.post(url, content=body, headers={"content-type": "application/json"})

    async def version(self) -> int:
        """The session's version. Checks that store, journal and snapshot contain every event of the log."""
        events = await self._world.store.events(self.session_id)
        assert len(events) == len(await self._world.log.read(self.session_id))
        page = (await self._http.get(f"/api/sessions/{self.session_id}/journal?limit=1000")).content
        assert JournalPage.model_validate_json(page).events == tuple(events)
        snapshot = await self._http.get(f"/api/sessions/{self.session_id}")
        assert snapshot.status_code == 200
        assert json.loads(snapshot.content)["version"] == len(events)
        return len(events)


@pytest.mark.parametrize("value", UNSTORABLE.values(), ids=UNSTORABLE)
async def test_values_that_cannot_be_stored_are_refused_with_a_reason(value: str | bytes) -> None:
    world = World()
    await world.story("s").plan()
    rest = RestClient(world)
    answer = await rest.edit(2, value)
    assert answer.status_code == 422
    assert answer.json().items() >= {"code": "bad_message"}.items()
    assert answer.json()["message"]
    assert answer.json()["hint"]
    assert await rest.version() == 2
    if isinstance(value, str):
        with pytest.raises(ApiError) as refused:
            parse_message(EDIT % (2, value))
        assert refused.value.message == answer.json()["message"]


async def test_values_at_the_limits_are_stored() -> None:
    world = world_with_tool()
    await create_session_in_review(world, "s")
    rest = RestClient(world)
    assert (await rest.edit(2, "[" * REST_OF_DEPTH + "]" * REST_OF_DEPTH)).status_code == 200
    assert await rest.version() == 3


LITERALS = (
    *("1", "-0", "1e-400", "1e308", "1e309", "9" * 4_000, "NaN", "true", "null", '""', "{}", '{"a": 1, "a": 2}'),
    *('"\\ud83d\\ude00"', '"\\udc00"', '{"\\ud800": 1}', '"\\u0000"', '"\\\\u0000"', '"\x7f\u202e"', '{"": []}'),
)
JSON_TEXTS = st.recursive(
    st.sampled_from(LITERALS) | st.text(max_size=20).map(json.dumps) | st.floats().map(json.dumps),
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda items: f"[{','.join(items)}]")
        | st.dictionaries(st.text(max_size=5).map(json.dumps), inner, max_size=4).map(
            lambda items: f"{{{','.join(f'{name}:{item}' for name, item in items.items())}}}"
        )
        | st.tuples(inner, st.integers(1, 250)).map(lambda nested: "[" * nested[1] + nested[0] + "]" * nested[1])
    ),
    max_leaves=10,
)


def test_every_accepted_body_can_be_read_back() -> None:
    world = world_with_tool()
    rest = RestClient(world)
    statuses = Counter[int]()

    @settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
    @given(value=JSON_TEXTS)
    def send_one(value: str) -> None:
        runner.run(check_value(value))

    async def check_value(value: str) -> None:
        rest.session_id = f"s{len(world.log.messages)}"  # a new session for each value: reading back stays fast
        await create_session_in_review(world, rest.session_id)
        answer = await rest.edit(2, value)
        statuses[answer.status_code] += 1
        assert await rest.version() == 2 + (answer.status_code == 200)

    with asyncio.Runner() as runner:
        send_one()
    assert statuses.keys() == {200, 422}
