// Keys that belong to an input method, such as the Enter that accepts a Japanese word. The page ignores them.

/**
 * Whether an input method handles the key. Safari reports the end of the composition before the key that ended it: then
 * only the key code tells.
 */
export const isComposing = (event: Pick<KeyboardEvent, "isComposing" | "keyCode">): boolean => event.isComposing || event.keyCode === 229;

/**
 * Keeps such keys from every handler of the page and of its libraries: from those below `page`, and from those that are
 * added to it later.
 */
export function withholdComposing(page: EventTarget): void {
  page.addEventListener("keydown", (event) => isComposing(event as KeyboardEvent) && event.stopImmediatePropagation(), { capture: true });
}
