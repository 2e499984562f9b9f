// How the next request is to be worked on: the workflow and, for tools and flows, its settings. A new conversation begins with
// what was chosen last in this browser; in a session it is what the session has, until the person changes it.
import { useSyncExternalStore } from "react";
import { WORKFLOWS as NAMES } from "../generated/words";
import type { ServerMessageOf, SessionSettingsInput, Snapshot } from "../protocol";
import type { SessionState } from "../state/state";

export type Workflow = ServerMessageOf<"greeting">["workflows"][number];
type Settings = Snapshot["settings"];
type Planning = Settings["planning"];
export type Choice = { workflow: Workflow } & Pick<Settings, "max_turns" | "approval" | "world" | "recall" | "quality" | "confirm"> & { require_plan_approval: boolean } & Pick<Planning, "flow" | "use_planning" | "cache">;

const KEY = "parley.choice";
export const FIRST: Choice = { workflow: "conversation", max_turns: 5, approval: "writes", world: "shared", recall: true, quality: "balanced", confirm: "nodes", require_plan_approval: true, flow: "", use_planning: true, cache: true };

export const WORKFLOWS: Record<string, string> = NAMES;
const CONFIRM: readonly Choice["confirm"][] = ["path", "nodes", "nothing"];

/** What was kept, as far as it still means something. */
export function restored(kept: string | null): Choice {
  try {
    const read = JSON.parse(kept ?? "{}") as Partial<Choice>;
    const known = Object.fromEntries(Object.entries(FIRST).map(([name, value]) => [name, typeof read[name as keyof Choice] === typeof value ? read[name as keyof Choice] : value]));
    const choice = known as unknown as Choice;
    return choice.workflow in WORKFLOWS && CONFIRM.includes(choice.confirm) && choice.max_turns >= 1 && choice.max_turns <= 100 ? choice : FIRST;
  } catch {
    return FIRST;
  }
}

interface Held {
  remembered: Choice;
  /** Changes in a session that its next request will carry. */
  changes: { sessionId: string; change: Partial<Choice> } | null;
}

let held: Held | null = null;
const listeners = new Set<() => void>();

function now(): Held {
  held ??= { remembered: restored(read()), changes: null };
  return held;
}

function set(next: Held): void {
  held = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The choice for the next request, given where the session stands. Pure. */
export function chosen({ remembered, changes }: Held, { sessionId, snapshot }: Pick<SessionState, "sessionId" | "snapshot">): Choice {
  if (sessionId === null || !snapshot) return remembered;
  const { max_turns, approval, world, recall, quality, confirm, require_plan_approval = true, planning } = snapshot.settings;
  const { flow, use_planning, cache } = planning;
  const has: Choice = { workflow: snapshot.workflow, max_turns, approval, world, recall, quality, confirm, require_plan_approval, flow, use_planning, cache };
  return changes?.sessionId === sessionId ? { ...has, ...changes.change } : has;
}

/** What a request must say about it: nothing where the session goes on as it is. Pure. */
export function carried(choice: Choice, { sessionId, snapshot }: Pick<SessionState, "sessionId" | "snapshot">): { workflow?: Workflow; settings?: SessionSettingsInput } {
  const { workflow, flow, use_planning, cache, ...settings } = choice;
  const planning = { flow, use_planning, cache };
  if (sessionId === null || !snapshot) return workflow === "conversation" ? { workflow } : { workflow, settings: { ...settings, planning } };
  const has = { require_plan_approval: true, ...snapshot.settings }; // told only where it is not the usual
  const same = agrees(settings, has) && agrees(planning, has.planning);
  return { ...(workflow === snapshot.workflow ? {} : { workflow }), ...(same ? {} : { settings: { ...has, ...settings, planning: { ...has.planning, ...planning } } }) };
}

function agrees<T extends object>(wanted: T, has: T): boolean {
  return Object.entries(wanted).every(([name, value]) => has[name as keyof T] === value);
}

export function useChoice(state: SessionState) {
  const all = useSyncExternalStore(subscribe, now);
  const change = (change: Partial<Choice>) => {
    const { remembered, changes } = now();
    const kept = { ...remembered, ...change };
    write(JSON.stringify(kept));
    const before = changes?.sessionId === state.sessionId ? changes.change : {};
    set({ remembered: kept, changes: state.sessionId === null ? null : { sessionId: state.sessionId, change: { ...before, ...change } } });
  };
  return { choice: chosen(all, state), change };
}

function read(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function write(text: string): void {
  try {
    localStorage.setItem(KEY, text);
  } catch {
    // a full or forbidden storage: the choice still holds in this page
  }
}
