"""The sandbox's parts that need no jail: file names, folders, launch options, and machines that it does not support."""

import ctypes
import mmap
import os
import sys
import tempfile
from pathlib import Path

import pytest
from pydantic import ValidationError

from shared.sandbox import Limits, SandboxUnavailable, available, run
from shared.sandbox.model import MB
from shared.sandbox.scratch import MAX_ENTRIES, check_names, exceeds, folder, remove


@pytest.mark.parametrize("name", ["program.py", "test_program.py", "data-1.csv", "README", "a" * 100, "_x"])
def test_plain_file_names_are_accepted(name: str) -> None:
    check_names({name: ""})


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", ".hidden", "a/b", "/etc/passwd", "../x", "a\\b", "a\0b", "a\n", "-m", "a" * 101, "é.py", "a b"],
)
async def test_other_file_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="plain file name"):
        await run({"program.py": "", name: ""})


@pytest.mark.parametrize("args", [(), ("other.py",), ("-m",), ("-c", "pass"), ("/etc/passwd",), ("program.py", "a\0b")])
async def test_only_a_given_file_or_a_module_is_started(args: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="argument"):
        await run({"program.py": ""}, args=args)


@pytest.mark.parametrize("wrong", [{"wall": 0}, {"cpu": -1}, {"memory": 0}, {"output": 0}, {"unknown": 1}])
def test_limits_are_positive_and_known(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Limits.model_validate(wrong)


@pytest.mark.parametrize(("platform", "system"), [("darwin", "Darwin"), ("win32", "Windows")])
async def test_other_systems_refuse_and_offer_the_download(
    monkeypatch: pytest.MonkeyPatch, platform: str, system: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr("platform.system", lambda: system)
    available.cache_clear()
    try:
        assert available() == (
            f"The sandbox needs Linux, and this is {system}. "
            "The code is not run here; it can be downloaded and run elsewhere."
        )
        with pytest.raises(SandboxUnavailable, match=system):
            await run({"program.py": ""})
    finally:
        available.cache_clear()


def test_a_folder_is_private_and_removed() -> None:
    with folder({"a.txt": "\ud800 ok"}, owner=0) as place:
        assert (place / "a.txt").read_text() == "? ok"
        assert place.stat().st_mode & 0o777 == 0o700
    assert not place.exists()


def test_a_folder_is_removed_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(ZeroDivisionError), folder({"a": "b"}, owner=0):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_removal_handles_deep_closed_and_oddly_named_folders_and_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("kept")
    place = tmp_path / "place"
    place.mkdir()
    (place / "link").symlink_to(outside)
    (place / "moved-0").write_text("")
    home = Path.cwd()
    try:
        os.chdir(place)
        for _ in range(1_500):
            Path("deeper").mkdir()
            os.chdir("deeper")
        (Path("n" * 255)).write_text("")
    finally:
        os.chdir(home)
    (place / "closed").mkdir()
    (place / "closed" / "file").write_text("")
    (place / "closed").chmod(0)
    remove(place)
    assert not place.exists()
    assert (outside / "kept.txt").read_text() == "kept"


def test_deleted_files_are_measured_while_open(tmp_path: Path) -> None:
    with tempfile.TemporaryFile(dir=tmp_path) as hidden:
        hidden.write(b"x" * MB)
        hidden.flush()
        assert exceeds(tmp_path, limit=MB // 2, pid=os.getpid())
    assert not exceeds(tmp_path, limit=MB // 2, pid=os.getpid())


def test_a_deleted_file_that_is_only_mapped_exceeds_any_limit(tmp_path: Path) -> None:
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    with tempfile.NamedTemporaryFile(dir=tmp_path) as hidden:
        hidden.write(b"x")
        hidden.flush()
        address = libc.mmap(None, 1, mmap.PROT_READ, mmap.MAP_SHARED, hidden.fileno(), 0)
        assert not exceeds(tmp_path, limit=MB, pid=os.getpid())
    assert exceeds(tmp_path, limit=MB, pid=os.getpid())
    assert not exceeds(tmp_path / "elsewhere", limit=MB, pid=os.getpid())
    libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(1))
    assert not exceeds(tmp_path, limit=MB, pid=os.getpid())


def test_the_number_of_entries_is_limited(tmp_path: Path) -> None:
    for number in range(MAX_ENTRIES):
        (tmp_path / str(number)).touch()
    assert not exceeds(tmp_path, limit=MB, pid=os.getpid())
    (tmp_path / "one more").touch()
    assert exceeds(tmp_path, limit=MB, pid=os.getpid())
