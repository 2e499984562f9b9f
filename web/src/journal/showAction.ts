const LIT = 2_500; // milliseconds for which an action stays marked

/** Open an action of the journal, bring it into sight and mark it for a moment. */
export function showAction(id: string): void {
  const action = document.getElementById(`action-${id}`);
  if (!(action instanceof HTMLDetailsElement)) return;
  action.open = true;
  action.scrollIntoView({ block: "center" });
  action.querySelector("summary")?.focus({ preventScroll: true });
  action.dataset.lit = "true";
  setTimeout(() => delete action.dataset.lit, LIT);
}
