// Two pages: `/` begins a conversation, `/s/<session_id>` shows one.
import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("popstate", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("popstate", listener);
  };
}

export function sessionOf(path: string): string | null {
  return /^\/s\/([A-Za-z0-9_-]{1,64})\/?$/.exec(path)?.[1] ?? null;
}

export const pathOf = (sessionId: string | null): string => (sessionId === null ? "/" : `/s/${sessionId}`);

export function go(sessionId: string | null): void {
  const path = pathOf(sessionId);
  if (path === location.pathname) return;
  history.pushState(null, "", path);
  for (const listener of listeners) listener();
}

/** The session of the address, null on the front page. */
export function useRoute(): string | null {
  return useSyncExternalStore(subscribe, () => sessionOf(location.pathname));
}
