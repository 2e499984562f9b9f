// A request that another component puts into the composer; the user can edit it before sending.
import { useEffect, useEffectEvent } from "react";
import type { Workflow } from "./requestChoice";

interface Suggestion {
  text: string;
  workflow: Workflow;
}

let listener: ((suggestion: Suggestion) => void) | null = null;
let queued: Suggestion | null = null;

/** Hands a request to the composer, or queues it until one mounts. A newer request replaces a queued one. */
export function suggest(suggestion: Suggestion): void {
  if (listener) listener(suggestion);
  else queued = suggestion;
}

/** Subscribes to suggestions, and delivers the queued one, if any. Returns the unsubscribe function. */
export function subscribeSuggestions(onSuggestion: (suggestion: Suggestion) => void): () => void {
  listener = onSuggestion;
  if (queued) onSuggestion(queued);
  queued = null;
  return () => {
    if (listener === onSuggestion) listener = null;
  };
}

export function useSuggestion(onSuggestion: (suggestion: Suggestion) => void): void {
  const handler = useEffectEvent(onSuggestion);
  useEffect(() => subscribeSuggestions((suggestion) => handler(suggestion)), []);
}
