const HIGHLIGHT_MS = 2_500; // how long an action stays highlighted

/** Expands an action in the journal, scrolls to it and highlights it briefly. */
export function showAction(id: string): void {
  const action = document.getElementById(`action-${id}`);
  if (!(action instanceof HTMLDetailsElement)) return;
  action.open = true;
  action.scrollIntoView({ block: "center" });
  action.querySelector("summary")?.focus({ preventScroll: true });
  action.dataset.highlighted = "true";
  setTimeout(() => delete action.dataset.highlighted, HIGHLIGHT_MS);
}
