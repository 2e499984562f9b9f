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
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import Session
from shared.domain.turn.files import apply_file_changes
from tests.support.bus import FakeBus

HASH = "0" * 64


class Folder:
    """A session's files: each call of a tool changes them as its recorded outcome would."""

    def __init__(self, bus: FakeBus | None = None, *, files: dict[str, FileRef] | None = None) -> None:
        self.bus = bus or FakeBus()
        self.session = Session("s", owner="ann", files=files or {})
        self.registry = Registry(PackSource((pack,), objects=self.bus))

    async def call(self, tool: str, *, recorded: bool = True, **arguments: Any) -> ToolResult:
        registered = self.registry.find(tool)
        assert registered
        result = await registered.run(ToolInvocation(self.session, "s/1/1.1/1", arguments))
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
        registered = self.registry.find(tool)
        assert registered
        assert registered.preview
        return await registered.preview(self.session, arguments)

    async def texts(self) -> dict[str, str]:
        return {name: (await self.value("read_file", name=name))["text"] for name in self.session.files}


async def test_a_written_file_can_be_listed_read_and_deleted() -> None:
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
    second = await folder.value("read_file", name="a", offset=MAX_READ)
    assert (second["text"], second["next_offset"]) == ("ä" * 5, None)
    assert (await folder.value("read_file", name="a", offset=MAX_READ * 2))["text"] == ""
    assert "length" in await folder.refusal("read_file", name="a", length=MAX_READ + 1)


async def test_a_call_that_is_repeated_before_it_is_recorded_has_its_effect_once() -> None:
    """An executor that was killed before it recorded the outcome makes the call again; nothing is appended twice."""
    folder = Folder()
    await folder.value("write_file", name="log", text="one\n")
    for recorded in (False, False, True):
        await folder.call("write_file", recorded=recorded, name="log", text="two\n", append=True)
    assert await folder.texts() == {"log": "one\ntwo\n"}
    for recorded in (False, True):
        assert (await folder.call("delete_file", recorded=recorded, name="log")).ok
    assert folder.session.files == {}


@pytest.mark.parametrize("name", ["..", "a/../../b", "a\0b", "/etc/passwd", "a\\b", "x" * 201, "", 7, None])
@pytest.mark.parametrize("tool", ["read_file", "write_file", "delete_file"])
async def test_invalid_names_are_refused_by_the_check_and_the_call(tool: str, name: Any) -> None:
    folder = Folder()
    arguments = {"name": name} | ({"text": "x"} if tool == "write_file" else {})
    assert "name" in await folder.refusal(tool, **arguments)
    registered = folder.registry.find(tool)
    assert registered
    assert registered.check
    (why,) = registered.check(arguments, [PastCall(tool=tool, status="planned")])
    assert why.startswith(f"{tool}: name: ")
    assert folder.bus.objects == {}


def files_of_size(count: int, size: int) -> dict[str, FileRef]:
    return {f"f{number}": FileRef(sha256=HASH, size=size) for number in range(count)}


async def test_the_number_and_sizes_of_files_are_limited() -> None:
    call_files = CallFiles(Session("s"), bus := FakeBus())
    await call_files.write("a", b"x" * MAX_FILE)
    with pytest.raises(Refused, match="divide it"):
        await call_files.write("b", b"x" * (MAX_FILE + 1))
    assert len(bus.objects) == 1

    full = Folder(files=files_of_size(MAX_FILES, 1))
    assert "may have no more" in await full.refusal("write_file", name="one-more", text="x")
    await full.value("write_file", name="f0", text="another")  # f0 exists already
    await full.value("delete_file", name="f1")
    await full.value("write_file", name="one-more", text="x")

    large = Folder(files=files_of_size(MAX_TOTAL // MAX_FILE, MAX_FILE))
    assert f"{MAX_TOTAL + 1} bytes" in await large.refusal("write_file", name="one-more", text="x")
    await large.value("write_file", name="f0", text="x")
    await large.value("write_file", name="one-more", text="x")


async def test_the_number_of_files_that_one_call_may_change_is_limited() -> None:
    files = CallFiles(Session("s", files=files_of_size(1, 1)), FakeBus())
    for number in range(1, MAX_CHANGES + 1):
        await files.write(f"f{number}", b"")
    await files.write("f1", b"again")
    with pytest.raises(Refused, match="one call"):
        await files.write("one-more", b"")
    with pytest.raises(Refused, match="one call"):
        files.delete("f0")
    files.delete("f1")
    assert len(files.changes) == MAX_CHANGES


async def test_the_size_limit_applies_to_appended_files_too() -> None:
    folder = Folder()
    for _ in range(MAX_FILE // 1_000_000):
        await folder.value("write_file", name="a", text="x" * 1_000_000, append=True)
    assert "divide it" in await folder.refusal("write_file", name="a", text="x", append=True)


async def test_text_that_is_not_valid_utf_8_is_neither_written_nor_read() -> None:
    folder = Folder()
    assert "surrogates" in await folder.refusal("write_file", name="a", text="\ud800")
    files = CallFiles(folder.session, folder.bus)
    await files.write("picture", b"\x89PNG\xff")
    folder.session = replace(folder.session, files={"picture": files.all()["picture"]})
    assert "no text in UTF-8" in await folder.refusal("read_file", name="picture")
    preview = await folder.preview("write_file", name="picture", text="x")
    assert preview.changes[0].before == "5 bytes that are no text"


async def test_stored_bytes_that_do_not_match_the_log_are_not_returned() -> None:
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


async def test_the_preview_shows_a_file_before_and_after_the_call() -> None:
    folder = Folder()
    new = await folder.preview("write_file", name="a", text="one")
    assert [(change.path, change.before, change.after) for change in new.changes] == [("files/a", None, "one")]
    await folder.value("write_file", name="a", text="one")
    appended = await folder.preview("write_file", name="a", text=" two", append=True)
    assert (appended.changes[0].before, appended.changes[0].after) == ("one", "one two")
    deleted = await folder.preview("delete_file", name="a")
    assert (deleted.changes[0].before, deleted.changes[0].after) == ("one", None)
    assert (await folder.preview("delete_file", name="b")).error == "There is no file b."
    assert "no name for a file" in (await folder.preview("delete_file", name="..")).error


async def test_without_an_object_store_the_tools_refuse_calls() -> None:
    tool = Registry(PackSource((pack,))).find("list_files")
    assert tool
    assert "no files here" in (await tool.run(ToolInvocation(Session("s"), "k", {}))).error


class TemporarilyUnavailable(FakeBus):
    """An object store that does not answer the first request."""

    refusals = 1

    async def keep(self, name: str, data: bytes) -> Artefact:
        if self.refusals:
            self.refusals -= 1
            raise BusUnavailable("Nobody answers.")
        return await super().keep(name, data)


async def test_a_call_retries_while_the_object_store_is_unavailable() -> None:
    folder = Folder(TemporarilyUnavailable())
    await folder.value("write_file", name="a", text="one")
    assert await folder.texts() == {"a": "one"}
