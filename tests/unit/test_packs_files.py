"""The file tools, as the executor calls them, over an in-memory object store."""

from typing import Any

import pytest

from packs.files.pack import MAX_READ, pack
from parley import Refused
from parley.events.values import Artefact, FileRef, Outcome
from parley.protocol.tools import PastCall
from services.executor.session_files import MAX_CHANGES, MAX_FILE, MAX_FILES, MAX_TOTAL, CallFiles
from services.executor.sources.packs import PackSource
from services.executor.tools import Registry, ToolInvocation, ToolResult
from shared.bus import BusUnavailable
from shared.domain.fast_replace import replace
from shared.domain.files import apply_file_changes
from shared.domain.session import Session
from tests.support.bus import FakeBus

HASH = "0" * 64


class Folder:
    """One session, whose calls are recorded as the log would record them."""

    def __init__(self, bus: FakeBus | None = None, *, files: dict[str, FileRef] | None = None) -> None:
        self.bus = bus or FakeBus()
        self.session = Session("s", owner="ann", files=files or {})
        self.registry = Registry(PackSource((pack,), objects=self.bus))

    async def call(self, tool: str, *, recorded: bool = True, **arguments: Any) -> ToolResult:
        response = self.registry.find(tool)
        assert response
        result = await response.run(ToolInvocation(self.session, "s/1/1.1/1", arguments))
        if recorded:
            outcome = Outcome(action_id="1.1", ok=result.ok, files=dict(result.files))
            self.session = replace(self.session, files=apply_file_changes(self.session.files, [outcome]))
        return result

    async def value(self, tool: str, **arguments: Any) -> Any:
        result = await self.call(tool, **arguments)
        assert result.ok, result.error
        return result.value

    async def refusal(self, tool: str, **arguments: Any) -> str:
        before = self.session.files
        result = await self.call(tool, **arguments)
        assert (result.ok, result.unknown, self.session.files) == (False, False, before)
        return result.error

    async def preview(self, tool: str, **arguments: Any) -> Any:
        result = self.registry.find(tool)
        assert result
        assert result.preview
        return await result.preview(self.session, arguments)

    async def texts(self) -> dict[str, str]:
        return {name: (await self.value("read_file", name=name))["text"] for name in self.session.files}


async def test_what_is_written_is_listed_read_and_deleted() -> None:
    folder = Folder()
    written = await folder.call("write_file", name="notes/u\u0308.md", text="Grüße")
    assert (written.ok, written.confirmed) == (True, True)
    assert written.value == {"name": "notes/ü.md", "size": 7, "sha256": folder.session.files["notes/ü.md"].sha256}
    await folder.value("write_file", name="b.md", text="")
    assert await folder.value("list_files") == {
        "files": [{"name": "b.md", "size": 0}, {"name": "notes/ü.md", "size": 7}],
        "bytes": 7,
    }
    assert await folder.value("list_files", folder="/notes/") == {
        "files": [{"name": "notes/ü.md", "size": 7}],
        "bytes": 7,
    }
    assert (await folder.value("read_file", name="notes/u\u0308.md"))["text"] == "Grüße"
    assert await folder.value("delete_file", name="notes/ü.md") == {"deleted": "notes/ü.md"}
    assert list(folder.session.files) == ["b.md"]
    assert "there is no file notes/ü.md" in await folder.refusal("read_file", name="notes/ü.md")
    assert "there is no file notes/ü.md" in await folder.refusal("delete_file", name="notes/ü.md")


async def test_a_large_file_is_read_in_parts() -> None:
    folder = Folder()
    await folder.value("write_file", name="a", text="ä" * (MAX_READ + 5))
    first = await folder.value("read_file", name="a", length=MAX_READ)
    assert (len(first["text"]), first["next_offset"], first["characters"]) == (MAX_READ, MAX_READ, MAX_READ + 5)
    rest = await folder.value("read_file", name="a", offset=MAX_READ)
    assert (rest["text"], rest["next_offset"]) == ("ä" * 5, None)
    assert (await folder.value("read_file", name="a", offset=MAX_READ * 2))["text"] == ""
    assert "length" in await folder.refusal("read_file", name="a", length=MAX_READ + 1)


async def test_what_a_step_gave_is_written_as_json() -> None:
    folder = Folder()
    await folder.value("write_file", name="a.json", text={"price": 3, "name": "Tür"})
    assert await folder.texts() == {"a.json": '{\n "price": 3,\n "name": "Tür"\n}'}


async def test_a_call_that_is_made_again_before_it_is_recorded_does_the_same() -> None:
    """An executor that was killed between effect and record: also what appends does not do so twice."""
    folder = Folder()
    await folder.value("write_file", name="log", text="one\n")
    for recorded in (False, False, True):
        await folder.call("write_file", recorded=recorded, name="log", text="two\n", append=True)
    assert await folder.texts() == {"log": "one\ntwo\n"}
    for recorded in (False, True):
        assert (await folder.call("delete_file", recorded=recorded, name="log")).ok
    assert folder.session.files == {}


async def test_two_writes_of_one_name_follow_each_other() -> None:
    folder = Folder()
    await folder.value("write_file", name="a", text="first")
    second = await folder.call("write_file", name="a", text="second")
    assert second.confirmed
    assert await folder.texts() == {"a": "second"}
    assert "upper and lower case" in await folder.refusal("write_file", name="A", text="third")


@pytest.mark.parametrize("name", ["..", "a/../../b", "a\0b", "/etc/passwd", "a\\b", "x" * 201, "", 7, None])
@pytest.mark.parametrize("tool", ["read_file", "write_file", "delete_file"])
async def test_bad_names_are_refused_before_an_approval(tool: str, name: Any) -> None:
    folder = Folder()
    arguments = {"name": name} | ({"text": "x"} if tool == "write_file" else {})
    assert "name" in await folder.refusal(tool, **arguments)
    result = folder.registry.find(tool)
    assert result
    assert result.check
    (why,) = result.check(arguments, [PastCall(tool=tool, status="planned")])
    assert why.startswith(f"{tool}: name: ")
    assert folder.bus.objects == {}


def many(count: int, size: int) -> dict[str, FileRef]:
    return {f"f{number}": FileRef(sha256=HASH, size=size) for number in range(count)}


async def test_the_file_that_is_too_many_or_too_large_is_refused() -> None:
    data = CallFiles(Session("s"), bus := FakeBus())
    await data.write("a", b"x" * MAX_FILE)
    with pytest.raises(Refused, match="divide it"):
        await data.write("b", b"x" * (MAX_FILE + 1))
    assert len(bus.objects) == 1

    full = Folder(files=many(MAX_FILES, 1))
    assert "may have no more" in await full.refusal("write_file", name="one-more", text="x")
    await full.value("write_file", name="f0", text="another")  # one that is there already
    await full.value("delete_file", name="f1")
    await full.value("write_file", name="one-more", text="x")

    large = Folder(files=many(MAX_TOTAL // MAX_FILE, MAX_FILE))
    assert f"{MAX_TOTAL + 1} bytes" in await large.refusal("write_file", name="one-more", text="x")
    await large.value("write_file", name="f0", text="x")
    await large.value("write_file", name="one-more", text="x")


async def test_one_call_changes_so_many_files_as_its_outcome_can_tell() -> None:
    files = CallFiles(Session("s", files=many(1, 1)), FakeBus())
    for number in range(1, MAX_CHANGES + 1):
        await files.write(f"f{number}", b"")
    await files.write("f1", b"again")
    with pytest.raises(Refused, match="one call"):
        await files.write("one-more", b"")
    with pytest.raises(Refused, match="one call"):
        files.delete("f0")
    files.delete("f1")
    assert len(files.changes) == MAX_CHANGES


async def test_what_is_appended_counts_with_what_is_there() -> None:
    folder = Folder()
    for _ in range(MAX_FILE // 1_000_000):
        await folder.value("write_file", name="a", text="x" * 1_000_000, append=True)
    assert "divide it" in await folder.refusal("write_file", name="a", text="x", append=True)


async def test_what_is_no_text_is_neither_written_nor_read() -> None:
    folder = Folder()
    assert "surrogates" in await folder.refusal("write_file", name="a", text="\ud800")
    files = CallFiles(folder.session, folder.bus)
    await files.write("picture", b"\x89PNG\xff")
    folder.session = replace(folder.session, files={"picture": files.all()["picture"]})
    assert "no text in UTF-8" in await folder.refusal("read_file", name="picture")
    preview = await folder.preview("write_file", name="picture", text="x")
    assert preview.changes[0].before == "5 bytes that are no text"


async def test_bytes_that_are_not_those_of_the_log_are_not_given() -> None:
    folder = Folder()
    await folder.value("write_file", name="a", text="mine")
    (stored,) = folder.bus.objects
    assert stored == f"s/files/{folder.session.files['a'].sha256}"
    folder.bus.objects[stored] = b"another's"
    assert "no longer there" in await folder.refusal("read_file", name="a")
    del folder.bus.objects[stored]
    assert "no longer there" in await folder.refusal("read_file", name="a")
    await folder.value("write_file", name="a", text="mine")
    assert await folder.texts() == {"a": "mine"}


async def test_a_person_sees_what_a_file_held_and_will_hold() -> None:
    folder = Folder()
    new = await folder.preview("write_file", name="a", text="one")
    assert [(change.path, change.before, change.after) for change in new.changes] == [("files/a", None, "one")]
    await folder.value("write_file", name="a", text="one")
    more = await folder.preview("write_file", name="a", text=" two", append=True)
    assert (more.changes[0].before, more.changes[0].after) == ("one", "one two")
    gone = await folder.preview("delete_file", name="a")
    assert (gone.changes[0].before, gone.changes[0].after) == ("one", None)
    assert (await folder.preview("delete_file", name="b")).error == "There is no file b."
    assert "no name for a file" in (await folder.preview("delete_file", name="..")).error


async def test_outside_of_a_session_there_are_no_files() -> None:
    tool = Registry(PackSource((pack,))).find("list_files")
    assert tool
    assert "no files here" in (await tool.run(ToolInvocation(Session("s"), "k", {}))).error


class Interrupted(FakeBus):
    """The object store does not answer at first."""

    refusals = 1

    async def keep(self, name: str, data: bytes) -> Artefact:
        if self.refusals:
            self.refusals -= 1
            raise BusUnavailable("Nobody answers.")
        return await super().keep(name, data)


async def test_an_object_store_that_is_away_is_waited_for() -> None:
    folder = Folder(Interrupted())
    await folder.value("write_file", name="a", text="one")
    assert await folder.texts() == {"a": "one"}
