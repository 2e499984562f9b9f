// A request put into the composer from elsewhere: the person may change it before it is sent.
import { useEffect, useEffectEvent } from "react";
import type { Workflow } from "./choice";

interface Suggestion {
  text: string;
  workflow: Workflow;
}

let listener: ((one: Suggestion) => void) | null = null;
let waiting: Suggestion | null = null;

/** Hands a request to the composer, or keeps it until there is one. A newer one replaces it. */
export function suggest(one: Suggestion): void {
  if (listener) listener(one);
  else waiting = one;
}

/** Takes what is suggested from now on, and what nobody has taken yet. The function returned ends it. */
export function takeSuggestions(take: (one: Suggestion) => void): () => void {
  listener = take;
  if (waiting) take(waiting);
  waiting = null;
  return () => {
    if (listener === take) listener = null;
  };
}

export function useSuggestion(take: (one: Suggestion) => void): void {
  const taken = useEffectEvent(take);
  useEffect(() => takeSuggestions((one) => taken(one)), []);
}
