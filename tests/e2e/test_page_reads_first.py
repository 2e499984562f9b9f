"""The card of a change while look-ups beside it run, in a browser."""

from pathlib import Path

from playwright.async_api import Browser, expect

from tests.e2e.browser import Person, Tab
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


async def test_a_change_is_on_the_page_while_a_look_up_runs_and_is_decided_on_after_it(
    browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / "packs").mkdir()
    (tmp_path / "packs" / "slow.py").write_text(TOOLS)
    async with (
        running_parley(tmp_path, PARLEY_PACKS_DIR=str(tmp_path / "packs")) as running,
        Person(browser, running.url) as person,
    ):
        tab, awaited, made = await changing_tab(person, tmp_path, "first")
        assert await tab.visual_problems("reads first") == []
        awaited.touch()
        await expect(tab("action-approve")).to_be_enabled()
        await tab.click("action-approve")
        await tab.wait_for_state("completed")
        assert made.exists()

        tab, awaited, made = await changing_tab(person, tmp_path, "second")
        await tab.page.clock.fast_forward(31_000)  # so long a look-up holds no decision up
        await tab.click("action-approve")
        await expect(tab("action-request")).to_be_hidden()
        assert not made.exists()  # it starts when the look-up has ended
        awaited.touch()
        await tab.wait_for_state("completed")
        assert made.exists()


async def changing_tab(person: Person, folder: Path, name: str) -> tuple[Tab, Path, Path]:
    """A tab with a change beside a running look-up. Also the file that ends the look-up, and the one that is made."""
    awaited, made = folder / f"{name}-awaited", folder / f"{name}-made"
    tab = await person.tab()
    await tab.page.clock.install()
    await tab("workflow").get_by_text("Act with tools").click()
    await tab.send(f'Call wait_for_file with {{"path": "{awaited}"}} and call make_file with {{"path": "{made}"}}')
    await tab.wait_for("action-request", "make_file")
    await expect(tab("action-approve")).to_be_disabled()
    return tab, awaited, made
