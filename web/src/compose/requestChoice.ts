// The workflow and settings of the next request. A new conversation starts with the last choice in this browser; a
// session keeps its own settings until the user changes them.
import { useSyncExternalStore } from "react";
import { useSession } from "../app/sessionContext";
import { WORKFLOWS as NAMES } from "../words";
import type { ServerMessageOf, SessionSettingsInput, Snapshot } from "../protocol";

export type Workflow = ServerMessageOf<"greeting">["workflows"][number];
type Settings = Snapshot["settings"];
type Planning = Settings["planning"];
export type RequestChoice = { workflow: Workflow } & Pick<Settings, "max_turns" | "approval" | "world" | "recall" | "quality" | "confirm"> & { require_plan_approval: boolean } & Pick<Planning, "flow" | "use_planning" | "cache">;

interface Session {
  sessionId: string | null;
  snapshot: Pick<Snapshot, "workflow" | "settings"> | null;
}

const KEY = "parley.choice";
export const DEFAULT_CHOICE: RequestChoice = { workflow: "conversation", max_turns: 5, approval: "writes", world: "shared", recall: true, quality: "balanced", confirm: "nodes", require_plan_approval: true, flow: "", use_planning: true, cache: true };

export const WORKFLOWS: Record<string, string> = NAMES;
const CONFIRM: readonly RequestChoice["confirm"][] = ["path", "nodes", "nothing"];

/** The stored choice, with defaults for missing or invalid values. */
export function parseChoice(text: string | null): RequestChoice {
  try {
    const stored = JSON.parse(text ?? "{}") as Partial<RequestChoice>;
    const known = Object.fromEntries(Object.entries(DEFAULT_CHOICE).map(([name, value]) => [name, typeof stored[name as keyof RequestChoice] === typeof value ? stored[name as keyof RequestChoice] : value]));
    const choice = known as unknown as RequestChoice;
    return choice.workflow in WORKFLOWS && CONFIRM.includes(choice.confirm) && choice.max_turns >= 1 && choice.max_turns <= 100 ? choice : DEFAULT_CHOICE;
  } catch {
    return DEFAULT_CHOICE;
  }
}

interface ChoiceStore {
  remembered: RequestChoice;
  /** The user's changes in a session, which its next request will carry. */
  changes: { sessionId: string; change: Partial<RequestChoice> } | null;
}

let store: ChoiceStore | null = null;
const listeners = new Set<() => void>();

function currentStore(): ChoiceStore {
  store ??= { remembered: parseChoice(readStorage()), changes: null };
  return store;
}

function setStore(next: ChoiceStore): void {
  store = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The choice that applies to the next request of this session. Pure. */
export function effectiveChoice({ remembered, changes }: ChoiceStore, { sessionId, snapshot }: Session): RequestChoice {
  if (sessionId === null || !snapshot) return remembered;
  const { max_turns, approval, world, recall, quality, confirm, require_plan_approval = true, planning } = snapshot.settings;
  const { flow, use_planning, cache } = planning;
  const current: RequestChoice = { workflow: snapshot.workflow, max_turns, approval, world, recall, quality, confirm, require_plan_approval, flow, use_planning, cache };
  return changes?.sessionId === sessionId ? { ...current, ...changes.change } : current;
}

/** The fields that a request must carry; none if the session continues unchanged. Pure. */
export function requestFields(choice: RequestChoice, { sessionId, snapshot }: Session): { workflow?: Workflow; settings?: SessionSettingsInput } {
  const { workflow, flow, use_planning, cache, ...settings } = choice;
  const planning = { flow, use_planning, cache };
  if (sessionId === null || !snapshot) return workflow === "conversation" ? { workflow } : { workflow, settings: { ...settings, planning } };
  const current = { require_plan_approval: true, ...snapshot.settings }; // servers send it only if it is off
  const isUnchanged = matches(settings, current) && matches(planning, current.planning);
  return { ...(workflow === snapshot.workflow ? {} : { workflow }), ...(isUnchanged ? {} : { settings: { ...current, ...settings, planning: { ...current.planning, ...planning } } }) };
}

function matches<T extends object>(chosen: T, current: T): boolean {
  return Object.entries(chosen).every(([name, value]) => current[name as keyof T] === value);
}

/** The choice for the session's next request, how to change it, and the fields that a request with a choice carries. */
export function useRequestChoice() {
  const current = useSyncExternalStore(subscribe, currentStore);
  const { sessionId, workflow, settings } = useSession(({ state: { sessionId, snapshot } }) => ({
    sessionId,
    workflow: snapshot?.workflow,
    settings: snapshot?.settings,
  }));
  const session: Session = { sessionId, snapshot: workflow && settings ? { workflow, settings } : null };
  const change = (change: Partial<RequestChoice>) => {
    const { remembered, changes } = currentStore();
    const next = { ...remembered, ...change };
    writeStorage(JSON.stringify(next));
    const previous = changes?.sessionId === sessionId ? changes.change : {};
    setStore({ remembered: next, changes: sessionId === null ? null : { sessionId, change: { ...previous, ...change } } });
  };
  const fieldsOf = (choice: RequestChoice) => requestFields(choice, session);
  return { choice: effectiveChoice(current, session), change, fieldsOf };
}

/** The workflows that the gateway has and the page knows. */
export function useWorkflows(): Workflow[] {
  return useSession(({ state }) => (state.greeting?.workflows ?? []).filter((workflow) => workflow in WORKFLOWS));
}

function readStorage(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function writeStorage(text: string): void {
  try {
    localStorage.setItem(KEY, text);
  } catch {
    // storage full or forbidden: the choice still applies in this tab
  }
}
