// The flows there are: asked for once, when the first part of the page needs them.
import { useEffect, useSyncExternalStore } from "react";
import { flows } from "../net/api";
import type { FlowSpec } from "./spec";

export interface Known {
  flows: readonly FlowSpec[] | null;
  /** Why they could not be had; asked again when the next part needs them. */
  problem: string;
}

let known: Known = { flows: null, problem: "" };
let asking = false;
const listeners = new Set<() => void>();

function set(next: Known): void {
  known = next;
  for (const listener of listeners) listener();
}

export async function ask(): Promise<void> {
  if (asking || known.flows) return;
  asking = true;
  try {
    set({ flows: (await flows()).flows, problem: "" });
  } catch (error) {
    set({ flows: null, problem: error instanceof Error ? error.message : String(error) });
  } finally {
    asking = false;
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useFlows(): Known {
  const now = useSyncExternalStore(subscribe, () => known);
  useEffect(() => void ask(), []);
  return now;
}
