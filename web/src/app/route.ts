// Two routes below the root: `/` starts a conversation, `/s/<session_id>` shows a session.
import { useSyncExternalStore } from "react";
import { ROOT } from "../net/root";

const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("popstate", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("popstate", listener);
  };
}

function sessionIdOf(path: string): string | null {
  return path.startsWith(ROOT) ? (/^s\/([A-Za-z0-9_-]{1,64})\/?$/.exec(path.slice(ROOT.length))?.[1] ?? null) : null;
}

export const sessionPath = (sessionId: string | null): string => (sessionId === null ? ROOT : `${ROOT}s/${sessionId}`);

export function navigate(sessionId: string | null): void {
  const path = sessionPath(sessionId);
  if (path === location.pathname) return;
  history.pushState(null, "", path);
  for (const listener of listeners) listener();
}

/** The session id in the address; null on the start page. */
export function useRoute(): string | null {
  return useSyncExternalStore(subscribe, () => sessionIdOf(location.pathname));
}
