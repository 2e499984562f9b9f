"""Someone who has only a keyboard, and must see where they are."""

from tests.e2e.browser import Tab
from tests.e2e.looks import WITHOUT_FOCUS_MARK

# The name of what has the focus: its test id and its own words or label.
FOCUSED = """() => {
  const one = document.activeElement;
  const words = one.getAttribute('aria-label') ?? one.innerText ?? '';
  return [one.closest('[data-testid]')?.dataset.testid ?? '', words];
}"""
STOPS = 120  # of Tab: more than a page has


class Keys:
    """The keyboard of a tab."""

    def __init__(self, tab: Tab) -> None:
        self.page = tab.page

    async def at(self, name: str, words: str = "") -> bool:
        """Whether the focus is on what carries this name, with these words or this label."""
        focused, told = await self.page.evaluate(FOCUSED)
        return bool(focused == name and words in told)

    async def to(self, name: str, words: str = "") -> None:
        """Tab until the focus is there; each stop on the way shows that it has the focus."""
        trail: list[str] = []
        for _ in range(STOPS):
            if await self.at(name, words):
                return
            await self.page.keyboard.press("Tab")
            unmarked = await self.page.evaluate(WITHOUT_FOCUS_MARK)
            trail.append(":".join(await self.page.evaluate(FOCUSED))[:40])
            assert not unmarked, f"{unmarked} after {trail}"
        raise AssertionError(f"Tab never comes to {name} {words}, only to {trail}")

    async def press(self, name: str, words: str = "") -> None:
        await self.to(name, words)
        await self.page.keyboard.press("Enter")

    async def write(self, text: str) -> None:
        await self.page.keyboard.type(text)
        await self.page.keyboard.press("Enter")

    async def times(self, key: str, count: int) -> None:
        for _ in range(count):
            await self.page.keyboard.press(key)
