"""Drives a page by the keyboard alone, and checks that the focus is visible at every stop."""

from tests.e2e.browser import Tab
from tests.e2e.visual_checks import MISSING_FOCUS_MARK

# The test id of the focused element or of its nearest ancestor with one, and its label or text.
READ_FOCUS = """() => {
  const element = document.activeElement;
  const label = element.getAttribute('aria-label') ?? element.innerText ?? '';
  return [element.closest('[data-testid]')?.dataset.testid ?? '', label];
}"""
MAX_PRESSES = 120  # of Tab; more than any page has stops


class Keyboard:
    """The keyboard of one browser tab."""

    def __init__(self, tab: Tab) -> None:
        self.page = tab.page

    async def is_focused(self, name: str, label_part: str = "") -> bool:
        """Whether the focused element is in the element with this test id, and has this text in its label."""
        focused, label = await self.page.evaluate(READ_FOCUS)
        return bool(focused == name and label_part in label)

    async def tab_to(self, name: str, label_part: str = "") -> None:
        """Presses Tab until the element is focused. Fails if a stop on the way has no visible focus mark."""
        trail: list[str] = []
        while not await self.is_focused(name, label_part) and len(trail) < MAX_PRESSES:
            await self.page.keyboard.press("Tab")
            unmarked = await self.page.evaluate(MISSING_FOCUS_MARK)
            trail.append(":".join(await self.page.evaluate(READ_FOCUS))[:40])
            assert not unmarked, f"{unmarked} after {trail}"
        if not await self.is_focused(name, label_part):
            raise AssertionError(f"Tab does not reach {name} {label_part}, only {trail}")

    async def activate(self, name: str, label_part: str = "") -> None:
        await self.tab_to(name, label_part)
        await self.page.keyboard.press("Enter")

    async def type_line(self, text: str) -> None:
        await self.page.keyboard.type(text)
        await self.page.keyboard.press("Enter")

    async def repeat(self, key: str, count: int) -> None:
        for _ in range(count):
            await self.page.keyboard.press(key)
