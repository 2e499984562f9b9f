"""A session's files over REST: the list, downloads (never inline) and copies for a fork. The object store is fake."""

from hashlib import sha256
from typing import Any

import httpx2
import pytest

from parley.events.values import ActionSpec, FileRef
from shared.domain.kernel import commands as c
from shared.story import finish_action
from tests.support.gateway import World, serving
from tests.support.http_client import http_client

KEYS = {"parley_auth": "keys", "parley_api_keys": "alice=a,bob=b", "parley_secret": "s" * 40}
PAGE = b"<script>alert(1)</script>"
NAMES = {"notes/today.html": PAGE, "ü; filename=x.exe": b"two", 'say "hi".txt': b""}


def rest_client(address: str, key: str = "") -> httpx2.AsyncClient:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return http_client(base_url=f"http://{address}/api", headers=headers)


async def create_session_with_files(world: World, files: dict[str, bytes], owner: str = "local") -> None:
    """Create session s, at rest, with these files."""
    story = world.story("s")
    await story.commit(c.Say(text="Note it", workflow="agentflow"), user=owner)
    actions = (ActionSpec(id="1.1", tool="write_file", arguments={}, effect="write"),)
    await story.commit(c.PlanTurn(sub_goal="Note it", actions=actions))
    session = await story.load()
    assert session.turn
    await story.commit(
        c.Approve(version=session.version, action_id="1.1", hash=session.turn.actions[0].hash), user=owner
    )
    await story.commit(c.Start())
    refs = {name: FileRef(sha256=sha256(data).hexdigest(), size=len(data)) for name, data in files.items()}
    world.bus.objects |= {f"s/files/{refs[name].sha256}": data for name, data in files.items()}
    await story.commit(finish_action("1.1", files=refs))
    await story.commit(c.Stop(), user=owner)


async def test_every_file_is_sent_as_a_download() -> None:
    await create_session_with_files(world := World(), NAMES)
    async with serving(world.app) as address, rest_client(address) as http:
        page = (await http.get("/sessions/s/files")).json()
        assert [file["name"] for file in page["files"]] == sorted(NAMES)
        assert (page["bytes"], page["files"][0]["size"]) == (len(PAGE) + 3, len(PAGE))
        for name, data in NAMES.items():
            download = await http.get(
                f"/sessions/s/files/{httpx2.URL('http://x/').copy_with(path=f'/{name}').raw_path[1:].decode()}"
            )
            assert (download.status_code, download.content) == (200, data)
            assert download.headers["content-type"] == "application/octet-stream"
            assert download.headers["x-content-type-options"] == "nosniff"
            assert download.headers["content-disposition"].startswith("attachment; filename=")
        html = await http.get("/sessions/s/files/notes/today.html")
        assert html.headers["content-disposition"] == (
            "attachment; filename=\"today.html\"; filename*=UTF-8''today.html"
        )
        strange = await http.get("/sessions/s/files/u%CC%88; filename=x.exe")
        assert strange.headers["content-disposition"] == (
            "attachment; filename=\"---filename-x.exe\"; filename*=UTF-8''%C3%BC%3B%20filename%3Dx.exe"
        )


@pytest.mark.parametrize(
    "name", ["notes", "NOTES/today.html", "%2E%2E/x", "a%00b", "%2Fetc%2Fpasswd", "x" * 1_001, "%FF"]
)
async def test_a_missing_file_is_not_found(name: str) -> None:
    await create_session_with_files(world := World(), NAMES)
    async with serving(world.app) as address, rest_client(address) as http:
        refused = await http.get(f"/sessions/s/files/{name}")
        assert refused.status_code in (404, 422), refused.text
        assert PAGE.decode() not in refused.text


async def test_a_file_with_the_wrong_hash_is_not_sent() -> None:
    await create_session_with_files(world := World(), NAMES)
    world.bus.objects = dict.fromkeys(world.bus.objects, b"another's")
    async with serving(world.app) as address, rest_client(address) as http:
        assert (await http.get("/sessions/s/files/notes/today.html")).status_code == 404
        assert (await fork(http)).status_code == 404
    assert world.log.messages[-1].subject.endswith("session.stopped")


async def test_an_unreachable_object_store_is_reported() -> None:
    await create_session_with_files(world := World(), NAMES)
    async with serving(world.app) as address, rest_client(address) as http:
        world.bus.down = True
        assert (await http.get("/sessions/s/files/notes/today.html")).status_code == 503
        assert (await fork(http)).status_code == 503


async def test_files_require_permission_to_read_the_session() -> None:
    await create_session_with_files(world := World(**KEYS), NAMES, "alice")
    async with serving(world.app) as address, rest_client(address, "a") as alice, rest_client(address, "b") as bob:
        for path in ("/sessions/s/files", "/sessions/s/files/notes/today.html"):
            assert (await alice.get(path)).status_code == 200
            refused = await bob.get(path)
            assert refused.status_code == 404
            assert PAGE.decode() not in refused.text
        await world.story("s").commit(c.Share(user="bob", role="viewer"), user="alice")
        assert (await bob.get("/sessions/s/files/notes/today.html")).content == PAGE


async def fork(http: httpx2.AsyncClient, **fields: Any) -> httpx2.Response:
    return await http.post("/sessions/s/messages", json={"type": "fork"} | fields)


async def test_a_fork_has_its_own_files() -> None:
    await create_session_with_files(world := World(), NAMES)
    async with serving(world.app) as address, rest_client(address) as http:
        child = (await fork(http, id="f")).json()["fork_id"]
        assert (await fork(http, id="f")).json()["fork_id"] == child
        world.bus.objects = {name: data for name, data in world.bus.objects.items() if not name.startswith("s/")}
        assert (await http.get("/sessions/s/files/notes/today.html")).status_code == 404
        assert (await http.get(f"/sessions/{child}/files/notes/today.html")).content == PAGE
        assert len((await http.get(f"/sessions/{child}/files")).json()["files"]) == len(NAMES)


async def test_files_copied_by_a_fork_count_as_stored_bytes() -> None:
    await create_session_with_files(
        world := World(max_stored_bytes_per_day=60_000), {"a": b"x" * 40_000, "b": b"x" * 40_000}
    )
    async with serving(world.app) as address, rest_client(address) as http:
        assert (await fork(http)).status_code == 200
        before = set(world.bus.objects)
        assert (await fork(http)).status_code == 429
    assert len(before) == 2, "one object in each of the two sessions"
    assert set(world.bus.objects) == before
