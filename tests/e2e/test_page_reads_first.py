"""The card of a change while look-ups beside it run, in a browser."""

from pathlib import Path

from playwright.async_api import Browser, expect

from tests.e2e.browser import Tab
from tests.e2e.store_user import NO_MORE_TURNS, Customer, call, turn
from tests.support.parley import in_process

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
        in_process(tmp_path, parley_packs_dir=tmp_path / "packs") as parley,
        Customer(browser, parley) as customer,
    ):
        tab, awaited, made = await changing_tab(customer, tmp_path, "first")
        assert await tab.visual_problems("reads first") == []
        awaited.touch()
        await expect(tab("action-approve")).to_be_enabled()
        await tab.click("action-approve")
        await tab.wait_for_state("completed")
        assert made.exists()

        tab, awaited, made = await changing_tab(customer, tmp_path, "second")
        await tab.page.clock.fast_forward(31_000)  # so long a look-up holds no decision up
        await tab.click("action-approve")
        await expect(tab("action-request")).to_be_hidden()
        assert not made.exists()  # it starts when the look-up has ended
        awaited.touch()
        await tab.wait_for_state("completed")
        assert made.exists()


async def changing_tab(customer: Customer, folder: Path, name: str) -> tuple[Tab, Path, Path]:
    """A tab with a change beside a running look-up. Also the file that ends the look-up, and the one that is made."""
    awaited, made = folder / f"{name}-awaited", folder / f"{name}-made"
    calls = (
        call("wait_for_file", "Wait for a file", path=str(awaited)),
        call("make_file", "Make a file", path=str(made)),
    )
    verdict = {"status": "success", "next_action": "complete", "reasoning": "Both were done."}
    answer = {"text": "It is there.", "confidence": 0.9, "evidence": []}
    replies = {"turn": [turn("Wait and make", *calls, final=True), NO_MORE_TURNS], "turn_verdict": verdict}
    tab = await customer.open_start_page(replies | {"answer": answer})
    await tab.page.clock.install()
    await tab.send(f"Wait, and make {name}")
    await tab.wait_for("action-request", "make_file")
    await expect(tab("action-approve")).to_be_disabled()
    return tab, awaited, made
