// Focuses the first field of a question's form when it appears.
import { type RefObject, useEffect } from "react";

export function useFirstFieldFocus(form: RefObject<HTMLFormElement | null>): void {
  useEffect(() => {
    // On a phone this would open the keyboard. Also, do not interrupt a user who is typing.
    const focused = document.activeElement;
    const mayTakeFocus = focused?.matches("body, main") || (focused instanceof HTMLTextAreaElement && !!focused.closest("#composer") && focused.value === "");
    if (mayTakeFocus && window.matchMedia("(pointer: fine)").matches) form.current?.querySelector<HTMLElement>("input, textarea, select")?.focus();
  }, [form]);
}
