"""A real browser on a running Parley: tabs that know the page's names and notice what the console complains about."""

import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self

import pytest
from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    WebSocketRoute,
    async_playwright,
    expect,
)
from playwright.async_api import TimeoutError as PlaywrightTimeout

from tests.e2e.looks import LOW_CONTRAST, NAMELESS, OUTSIDE, SETTLED
from tests.e2e.running import ROOT, Json

PAGE = ROOT / "services" / "gateway" / "page" / "index.html"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
]
WAIT = 20_000  # milliseconds for anything to appear: services and two cores may be busy
# What there is to read, without what depends on the scroll position (CodeMirror draws only the lines in sight).
SCREEN = """() => [
  document.querySelector('h1')?.innerText, document.querySelector('[data-testid=state]')?.dataset.state,
  ...[...document.querySelectorAll('main :is(h2, p, article, button, summary, pre, select)')]
    .filter((one) => one.checkVisibility() && !one.closest('.cm-editor') && !one.closest('.to-bottom'))
    .map((one) => one.innerText.replace(/\\s+/g, ' ').trim()),
].join('\\n')"""
# The same, once nothing on it has moved for a while: no event tells that a page has come to rest. What stands in for
# a part of the page that is still loading is not yet what there is to read.
RESTING = f"""async () => {{
  const look = {SCREEN};
  for (let before = null, now = look(); ; before = now, now = look()) {{
    if (before === now && !document.querySelector('.markdown-plain, .code-waiting')) return now;
    await new Promise((done) => setTimeout(done, 150));
  }}
}}"""
WIDE = {"width": 1280, "height": 800}
NARROW = {"width": 390, "height": 844}


def find_chromium() -> str:
    """The path of a Chromium, which is installed if there is none."""
    found = subprocess.run([ROOT / "scripts" / "find-chromium"], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.fail(found.stderr)
    return found.stdout.strip()


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """One browser; everything that waits for an element waits `WAIT` at most."""
    executable = find_chromium()
    if not PAGE.is_file():
        pytest.fail("the page is not built: run `make page`")
    expect.set_options(timeout=WAIT)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        try:
            yield browser
        finally:
            await browser.close()


class Person:
    """Someone with a browser of their own: what one tab keeps, their other tabs know."""

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        self._browser = browser
        self._url = url
        self._options: dict[str, Any] = {
            "viewport": WIDE,
            "reduced_motion": "reduce",
            "accept_downloads": True,
        } | options
        self.complaints: list[str] = []
        self.forgiven: tuple[str, ...] = ()  # parts of complaints that a test has provoked

    async def __aenter__(self) -> Self:
        self.context: BrowserContext = await self._browser.new_context(**self._options)
        self.context.set_default_timeout(WAIT)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        await self.context.close()
        if kind is None:
            assert not self.unforgiven, f"the console complained: {self.unforgiven}"

    @property
    def unforgiven(self) -> list[str]:
        return [said for said in self.complaints if not any(part in said for part in self.forgiven)]

    async def tab(self, path: str = "/", *, line: Callable[[WebSocketRoute], Any] | None = None) -> "Tab":
        """A new tab at this path of the running Parley; `line` carries its WebSocket, where one is given."""
        page = await self.context.new_page()
        if line:
            await page.route_web_socket("**/ws*", line)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(f"page error: {error}"))
        await page.goto(self._url.rstrip("/") + path)
        return Tab(page)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")


class Tab:
    """The page as a person uses it. Names are the `data-testid`s of web/README.md."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def __call__(self, name: str) -> Locator:
        """What carries this name and can be seen: panels stay mounted, hidden, while a service works."""
        return self.page.locator(f'[data-testid="{name}"]:visible')

    @property
    def session_id(self) -> str:
        assert "/s/" in self.page.url, self.page.url
        return self.page.url.rsplit("/s/", 1)[1]

    async def sees(self, name: str, text: str = "") -> Locator:
        """Wait until this is there (with this text); the first one of it."""
        found = self(name).filter(has_text=text) if text else self(name)
        await expect(found.first).to_be_visible()
        return found.first

    async def gone(self, name: str) -> None:
        await expect(self(name)).to_have_count(0)

    async def state(self, name: str) -> None:
        """Wait until the session stands here."""
        await expect(self("state")).to_have_attribute("data-state", name)

    async def press(self, name: str) -> None:
        await self(name).first.click()

    async def say(self, text: str) -> None:
        """Write it into the composer and send it."""
        await self("composer").fill(text)
        await self.press("send")

    async def feedback(self, text: str) -> None:
        await self.press("feedback")
        await self("feedback-input").fill(text)
        await self.press("feedback-send")

    async def ask(self, request: str = "Help me create a simple calculator") -> None:
        """A request, until its plan is in review."""
        await self.say(request)
        await self.state("text_plan_approval")
        await self.sees("approve")

    async def to_code(self, request: str = "Help me create a simple calculator") -> None:
        """A request and the approval of its plan, until its checked code is in review."""
        await self.ask(request)
        await self.press("approve")
        await self.state("code_approval")
        await self.sees("approve")

    async def steps(self) -> list[str]:
        await self.sees("step-text")
        return await self("step-text").all_inner_texts()

    async def journal(self) -> list[str]:
        """What the journal says, entry by entry, as it is read."""
        entries = self.page.locator('[data-testid="journal"] > *')
        return [" ".join(text.split()) for text in await entries.all_inner_texts()]

    async def events(self) -> list[Json]:
        """The stored journal."""
        path = f"/api/sessions/{self.session_id}/journal"
        return list((await self.page.evaluate("async (path) => (await fetch(path)).json()", path))["events"])

    async def reloaded_the_same(self) -> None:
        """Reload, and wait until everything that could be read before is there again, and nothing else."""
        before = await self.page.evaluate(RESTING)
        await self.page.reload()
        try:
            await self.page.wait_for_function(f"(before) => ({SCREEN})() === before", arg=before)
        except PlaywrightTimeout:
            now = await self.page.evaluate(SCREEN)
            assert now == before, f"before:\n{before}\nreloaded:\n{now}"

    async def wrong_looks(self, state: str) -> list[str]:
        """What is wrong about the page as it is now, on a phone in the dark and on a desk in the light."""
        wrong: list[str] = []
        for size, scheme in ((NARROW, "dark"), (WIDE, "light")):
            await self.page.set_viewport_size(size)  # type: ignore[arg-type]
            await self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            await self.page.evaluate(SETTLED)
            found = [one for look in (LOW_CONTRAST, NAMELESS, OUTSIDE) for one in await self.page.evaluate(look)]
            if wider := await self.overflow():
                found.append(f"{wider} pixels too wide")
            wrong += [f"{state} {size['width']} {scheme}: {one}" for one in found]
        return wrong

    async def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        return int(await self.page.evaluate("document.scrollingElement.scrollWidth - innerWidth"))
