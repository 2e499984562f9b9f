"""The card of a change while look-ups beside it run, in a browser."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.browser import Person
from tests.e2e.parley_process import running_parley

TOOLS = '''
import asyncio
from pathlib import Path
from pydantic import BaseModel
from parley import Context, Pack, tool


class File(BaseModel):
    path: str


@tool(seconds=120)
async def wait_for_file(call: File, context: Context) -> str:
    """Waits until a file exists."""
    while not Path(call.path).exists():
        await asyncio.sleep(0.1)
    return "there"


@tool(effect="write", keyed=True)
async def make_file(call: File, context: Context) -> str:
    """Makes a file."""
    Path(call.path).touch()
    return "made"


pack = Pack("slow", [wait_for_file, make_file])
'''


@pytest.mark.parametrize("decides_at_once", [False, True], ids=["after the look-up", "after half a minute"])
async def test_a_change_is_on_the_page_while_a_look_up_runs_and_is_decided_on_after_it(
    browser: Browser, tmp_path: Path, decides_at_once: bool
) -> None:
    (tmp_path / "packs").mkdir()
    (tmp_path / "packs" / "slow.py").write_text(TOOLS)
    awaited, made = tmp_path / "awaited", tmp_path / "made"
    request = f'Call wait_for_file with {{"path": "{awaited}"}} and call make_file with {{"path": "{made}"}}'
    async with (
        running_parley(tmp_path, PARLEY_PACKS_DIR=str(tmp_path / "packs")) as running,
        Person(browser, running.url) as person,
    ):
        tab = await person.tab()
        await tab.page.clock.install()
        await tab("workflow").get_by_text("Act with tools").click()
        await tab.send(request)
        card = await tab.wait_for("action-request", "make_file")
        await expect(tab("action-approve")).to_be_disabled()
        assert await tab.visual_problems("reads first") == []
        if decides_at_once:
            await tab.page.clock.fast_forward(31_000)
            await tab.click("action-approve")
            await expect(card).to_be_hidden()
            assert not made.exists()  # it starts when the look-up has ended
            awaited.touch()
        else:
            awaited.touch()
            await expect(tab("action-approve")).to_be_enabled()
            await tab.click("action-approve")
        await tab.wait_for_state("completed")
        assert made.exists()
