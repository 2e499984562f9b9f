// A request put into the composer from elsewhere: the person may change it before it is sent.
import { useEffect, useEffectEvent } from "react";
import type { Workflow } from "./choice";

interface Suggestion {
  text: string;
  workflow: Workflow;
}

const listeners = new Set<(one: Suggestion) => void>();

export function suggest(one: Suggestion): void {
  for (const listener of listeners) listener(one);
}

export function useSuggestion(take: (one: Suggestion) => void): void {
  const taken = useEffectEvent(take);
  useEffect(() => {
    const listener = (one: Suggestion) => taken(one);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
}
