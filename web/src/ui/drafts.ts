// What the user has typed and the gateway has not accepted yet, by user, session and field. It survives a reload, a look
// at another session, and a restart of the browser. Each tab has its own; a new tab begins with the newest.
import { ROOT } from "../net/root";

/** Drafts that go with a command: taken out of their fields, and put back if it is refused. */
export interface SentDraft {
  key: string;
  value: unknown;
}

interface StoredDraft {
  at: number;
  value: unknown;
}

const PREFIX = `parley.draft ${ROOT}`;
const MAX_DRAFTS = 100;
const MAX_AGE_MS = 30 * 86_400_000;

const values = new Map<string, unknown>(); // of this tab; null for none
const listeners = new Set<() => void>();
let currentUser = ""; // not known yet: drafts stay in memory

/** Fields of the new conversation have a key, too: its session id is null. */
export const draftKey = (sessionId: string | null, field: string): string => `${ownerPrefix(currentUser, sessionId)}${field}`;

const ownerPrefix = (user: string, sessionId: string | null): string => `${PREFIX} ${encodeURIComponent(user)} ${sessionId ?? "new"} `;

export function subscribeDrafts(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The draft; null if there is none. The same object until it changes. */
export function readDraft(key: string): unknown {
  if (!values.has(key)) values.set(key, isStored(key) ? (load(sessionStorage, key) ?? load(localStorage, key))?.value ?? null : null);
  return values.get(key);
}

/** Stores a draft; null removes it. */
export function writeDraft(key: string, value: unknown): void {
  values.set(key, value);
  if (isStored(key)) {
    save(sessionStorage, key, value);
    save(localStorage, key, value);
  }
  notify();
}

/** Empties a field whose content is being sent. The browser keeps the content until `acceptDraft`. */
export function takeDraft({ key }: SentDraft): void {
  values.set(key, null);
  save(sessionStorage, key, null);
  notify();
}

/** Forgets sent content, unless the user has typed something else since. */
export function acceptDraft({ key, value }: SentDraft): void {
  if (isSame(load(localStorage, key)?.value ?? null, value)) save(localStorage, key, null);
}

/** Puts refused content back into its field, unless the user has typed something else since. */
export function restoreDraft({ key, value }: SentDraft): void {
  if (readDraft(key) === null) writeDraft(key, value);
}

/** Sets whose drafts these are. Those that were typed before belong to this user. */
export function setDraftUser(user: string): void {
  if (user === currentUser) return;
  const before = currentUser;
  currentUser = user;
  if (before === "") moveDrafts(`${PREFIX}  `, `${PREFIX} ${encodeURIComponent(user)} `);
  notify();
}

/** Gives the drafts of the new conversation to the session that it became. */
export const adoptDrafts = (sessionId: string): void => moveDrafts(ownerPrefix(currentUser, null), ownerPrefix(currentUser, sessionId));

function moveDrafts(from: string, to: string): void {
  for (const [key, value] of [...values]) {
    if (!key.startsWith(from)) continue;
    if (value !== null) {
      writeDraft(key, null);
      writeDraft(to + key.slice(from.length), value);
    }
    values.delete(key);
  }
}

/** Forgets what the current user has typed, in all sessions. */
export function forgetDrafts(): void {
  const prefix = `${PREFIX} ${encodeURIComponent(currentUser)} `;
  for (const key of [...values.keys(), ...storedKeys()]) if (key.startsWith(prefix)) writeDraft(key, null);
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

const isStored = (key: string): boolean => !key.startsWith(`${PREFIX}  `);

function notify(): void {
  for (const listener of listeners) listener();
}

// --- the browser's storage: full or forbidden, drafts stay in memory

function load(storage: Storage, key: string): StoredDraft | null {
  try {
    const draft = JSON.parse(storage.getItem(key) ?? "null") as Partial<StoredDraft> | null;
    return typeof draft?.at === "number" && draft.value !== undefined ? { at: draft.at, value: draft.value } : null;
  } catch {
    return null;
  }
}

function save(storage: Storage, key: string, value: unknown): void {
  try {
    if (value === null) storage.removeItem(key);
    else {
      if (storage.getItem(key) === null) prune(storage);
      storage.setItem(key, JSON.stringify({ at: Date.now(), value } satisfies StoredDraft));
    }
  } catch {
    // see above
  }
}

const storedKeys = (storage: Storage = localStorage): string[] => Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? "").filter((key) => key.startsWith(PREFIX));

/** Makes room for one more draft: the oldest go, and those that nobody came back to. */
function prune(storage: Storage): void {
  const drafts = storedKeys(storage).map((key) => ({ key, at: load(storage, key)?.at ?? 0 }));
  drafts.sort((a, b) => b.at - a.at);
  drafts.forEach(({ key, at }, index) => {
    if (index >= MAX_DRAFTS - 1 || Date.now() - at > MAX_AGE_MS) storage.removeItem(key);
  });
}
