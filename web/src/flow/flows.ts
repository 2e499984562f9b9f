// The available flows, loaded once, when a component first needs them.
import { useEffect, useSyncExternalStore } from "react";
import { fetchFlows } from "../net/api";
import { errorMessage } from "../ui/useFetch";
import type { FlowSpec } from "./spec";

interface FlowsState {
  flows: readonly FlowSpec[] | null;
  /** Why loading failed. The next component that needs the flows loads them again. */
  problem: string;
}

let current: FlowsState = { flows: null, problem: "" };
let isLoading = false;
const listeners = new Set<() => void>();

function setCurrent(next: FlowsState): void {
  current = next;
  for (const listener of listeners) listener();
}

export async function loadFlows(): Promise<void> {
  if (isLoading || current.flows) return;
  isLoading = true;
  try {
    setCurrent({ flows: (await fetchFlows()).flows, problem: "" });
  } catch (error) {
    setCurrent({ flows: null, problem: errorMessage(error) });
  } finally {
    isLoading = false;
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useFlows(): FlowsState {
  const state = useSyncExternalStore(subscribe, () => current);
  useEffect(() => void loadFlows(), []);
  return state;
}
