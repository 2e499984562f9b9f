"""Drafts: what viewers see of a text that grows, and of a wait that the model's server asks for."""

from parley.protocol.server import Delta
from shared.worker import Drafts
from tests.support.bus import FakeBus


class Viewer:
    """Sees what is published of the drafts of the session `s`."""

    def __init__(self) -> None:
        self.bus = FakeBus()
        self.drafts = Drafts(self.bus)  # type: ignore[arg-type]
        self.deltas: list[Delta] = []

    async def watch(self) -> None:
        async def on_delta(_: str, body: bytes) -> None:
            self.deltas.append(Delta.model_validate_json(body))

        await self.bus.subscribe("delta.s.>", on_delta)

    async def current(self) -> Delta:
        """The draft as a client that joins now gets it."""
        body = await self.drafts.current("draft.get.s", b"")
        assert body
        return Delta.model_validate_json(body)


async def test_a_wait_is_published_and_ends_with_the_next_delta() -> None:
    viewer = Viewer()
    await viewer.watch()
    await viewer.drafts.wait("s", "1-plan", "plan", 57.5)
    joined = await viewer.current()
    assert (joined.draft_id, joined.kind, joined.text) == ("1-plan", "plan", "")
    assert joined.wait in range(1, 59)
    await viewer.drafts.wait("s", "1-plan", "plan", 0)
    assert (await viewer.current()).wait is None
    await viewer.drafts.write("s", "1-plan", "plan", "Add")
    assert [(delta.wait, delta.offset, delta.text) for delta in viewer.deltas] == [
        (58, 0, ""),
        (None, 0, ""),
        (None, 0, "Add"),
    ]
    assert b"wait" not in viewer.deltas[1].model_dump_json().encode()
