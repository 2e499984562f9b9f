"""A real browser on a running Parley, whose tabs find elements by test id and record console errors."""

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

from tests.e2e.parley_process import ROOT, Json
from tests.e2e.visual_checks import LOW_CONTRAST, OVERFLOWING, TRANSITIONS_ENDED, UNLABELLED

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
TIMEOUT_MS = 60_000  # for an element to appear: services and processor may be busy
# The readable text of the page, without what depends on the scroll position (CodeMirror renders only visible lines).
READ_TEXT = """() => [
  document.querySelector('h1')?.innerText, document.querySelector('[data-testid=state]')?.dataset.state,
  ...[...document.querySelectorAll('main :is(h2, p, article, button, summary, pre, select)')]
    .filter((element) => element.checkVisibility() && !element.closest('.cm-editor, [data-testid=to-bottom]'))
    .map((element) => element.innerText.replace(/\\s+/g, ' ').trim()),
].join('\\n')"""
# The same text, once it has not changed for 150 ms, and no placeholder shows that a part is still loading. The page
# has no event for this.
READ_SETTLED_TEXT = f"""async () => {{
  const read = {READ_TEXT};
  for (let before = null, now = read(); ; before = now, now = read()) {{
    if (before === now && !document.querySelector('[data-loading]')) return now;
    await new Promise((done) => setTimeout(done, 150));
  }}
}}"""
WIDE = {"width": 1280, "height": 800}
NARROW = {"width": 390, "height": 844}


def find_chromium() -> str:
    """The path of Chromium, which the script installs if it is missing."""
    result = subprocess.run([ROOT / "scripts" / "find-chromium"], capture_output=True, text=True, check=False)
    if result.returncode:
        pytest.fail(result.stderr)
    return result.stdout.strip()


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Starts a browser. Waiting for an element fails after `TIMEOUT_MS`."""
    executable = find_chromium()
    if not PAGE.is_file():
        pytest.fail("the page is not built: run `make page`")
    expect.set_options(timeout=TIMEOUT_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        try:
            yield browser
        finally:
            await browser.close()


class Person:
    """A user with a separate browser context, whose tabs share its storage."""

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        self._browser = browser
        self._url = url
        self._options: dict[str, Any] = {
            "viewport": WIDE,
            "reduced_motion": "reduce",
            "accept_downloads": True,
        } | options
        self.console_errors: list[str] = []
        self.expected_errors: tuple[str, ...] = ()  # parts of the errors that a test provokes

    async def __aenter__(self) -> Self:
        self.context: BrowserContext = await self._browser.new_context(**self._options)
        self.context.set_default_timeout(TIMEOUT_MS)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        await self.context.close()
        if kind is None:
            assert not self.unexpected_errors, f"console errors: {self.unexpected_errors}"

    @property
    def unexpected_errors(self) -> list[str]:
        return [text for text in self.console_errors if not any(part in text for part in self.expected_errors)]

    async def tab(self, path: str = "/", *, route_socket: Callable[[WebSocketRoute], Any] | None = None) -> "Tab":
        """Opens a tab at this path; `route_socket` handles its WebSocket, if given."""
        page = await self.context.new_page()
        if route_socket:
            await page.route_web_socket("**/ws*", route_socket)
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.console_errors.append(f"page error: {error}"))
        await page.goto(self._url.rstrip("/") + path)
        return Tab(page)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.console_errors.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")


class Tab:
    """The page as a user sees it. Names are the `data-testid`s of web/README.md."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def __call__(self, name: str) -> Locator:
        """The visible elements with this test id: hidden panels stay mounted while a service works."""
        return self.page.locator(f'[data-testid="{name}"]:visible')

    @property
    def session_id(self) -> str:
        assert "/s/" in self.page.url, self.page.url
        return self.page.url.rsplit("/s/", 1)[1]

    async def wait_for(self, name: str, text: str = "") -> Locator:
        """Waits until an element with this test id (and text) is visible; returns the first one."""
        matches = self(name).filter(has_text=text) if text else self(name)
        await expect(matches.first).to_be_visible()
        return matches.first

    async def wait_until_gone(self, name: str) -> None:
        await expect(self(name)).to_have_count(0)

    async def wait_for_state(self, name: str) -> None:
        """Waits until the session is in this state."""
        await expect(self("state")).to_have_attribute("data-state", name)

    async def click(self, name: str) -> None:
        await self(name).first.click()

    async def send(self, text: str) -> None:
        """Types the text into the composer and sends it."""
        await self("composer").fill(text)
        await self.click("send")

    async def send_feedback(self, text: str) -> None:
        await self.click("feedback")
        await self("feedback-input").fill(text)
        await self.click("feedback-send")

    async def to_plan(self, request: str = "Help me create a simple calculator") -> None:
        """Sends a request and waits until its plan is in review."""
        await self.send(request)
        await self.wait_for_state("text_plan_approval")
        await self.wait_for("approve")

    async def to_code(self, request: str = "Help me create a simple calculator") -> None:
        """Sends a request, approves its plan, and waits until its checked code is in review."""
        await self.to_plan(request)
        await self.click("approve")
        await self.wait_for_state("code_approval")
        await self.wait_for("approve")

    async def steps(self) -> list[str]:
        await self.wait_for("step-text")
        return await self("step-text").all_inner_texts()

    async def journal(self) -> list[str]:
        """The text of each journal entry."""
        entries = self.page.locator('[data-testid="journal"] > *')
        return [" ".join(text.split()) for text in await entries.all_inner_texts()]

    async def events(self) -> list[Json]:
        """The session's stored events."""
        path = f"/api/sessions/{self.session_id}/journal"
        return list((await self.page.evaluate("async (path) => (await fetch(path)).json()", path))["events"])

    async def check_reload(self) -> None:
        """Reloads, and checks that the page then shows the same text."""
        before = await self.page.evaluate(READ_SETTLED_TEXT)
        await self.page.reload()
        try:
            await self.page.wait_for_function(f"(before) => ({READ_TEXT})() === before", arg=before)
        except PlaywrightTimeout:
            after = await self.page.evaluate(READ_TEXT)
            assert after == before, f"before:\n{before}\nreloaded:\n{after}"

    async def visual_problems(self, state: str) -> list[str]:
        """The visual problems of the current page, on a phone in dark mode and on a desktop in light mode."""
        problems: list[str] = []
        for size, scheme in ((NARROW, "dark"), (WIDE, "light")):
            await self.page.set_viewport_size(size)  # type: ignore[arg-type]
            await self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            await self.page.evaluate(TRANSITIONS_ENDED)
            new = [
                problem
                for check in (LOW_CONTRAST, UNLABELLED, OVERFLOWING)
                for problem in await self.page.evaluate(check)
            ]
            if excess := await self.overflow():
                new.append(f"{excess} pixels too wide")
            problems += [f"{state} {size['width']} {scheme}: {problem}" for problem in new]
        return problems

    async def overflow(self) -> int:
        """How many pixels the page is wider than the window."""
        return int(await self.page.evaluate("document.scrollingElement.scrollWidth - innerWidth"))


class PausableSocket:
    """A WebSocket route that can hold back the gateway's messages, or those `of_page`, and release them later."""

    def __init__(self, *, of_page: bool = False) -> None:
        self._of_page = of_page
        self._messages: list[str | bytes] | None = None
        self._forward: Callable[[str | bytes], None] | None = None

    async def handle(self, page: WebSocketRoute) -> None:
        gateway = page.connect_to_server()
        sender, receiver = (page, gateway) if self._of_page else (gateway, page)
        receiver.on_message(sender.send)
        self._forward = receiver.send
        sender.on_message(self._on_message)

    def _on_message(self, message: str | bytes) -> None:
        assert self._forward
        if self._messages is None:
            self._forward(message)
        else:
            self._messages.append(message)

    def hold(self) -> None:
        self._messages = []

    def drop(self) -> None:
        """Drops the messages that were held back."""
        self._messages = None

    def release(self) -> None:
        messages, self._messages = self._messages or [], None
        for message in messages:
            self._on_message(message)
