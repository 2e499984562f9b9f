// What is asked over HTTP while a component is there, and again when its key is another one.
import { useEffect, useState } from "react";

export interface Answered<T> {
  answer: T | null;
  problem: string;
}

export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export function useAsked<T>(ask: (signal: AbortSignal) => Promise<T>, key: string): Answered<T> {
  const [found, setFound] = useState<Answered<T>>({ answer: null, problem: "" });
  useEffect(() => {
    const aborter = new AbortController();
    ask(aborter.signal)
      .then((answer) => setFound({ answer, problem: "" }))
      .catch((error: unknown) => !aborter.signal.aborted && setFound({ answer: null, problem: reasonOf(error) }));
    return () => aborter.abort();
  }, [key]);
  return found;
}
