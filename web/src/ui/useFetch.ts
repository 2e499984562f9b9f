// Loads data over HTTP when a component mounts, and again when `key` changes.
import { useEffect, useState } from "react";

export interface FetchResult<T> {
  data: T | null;
  problem: string;
}

export const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export function useFetch<T>(fetcher: (signal: AbortSignal) => Promise<T>, key: string): FetchResult<T> {
  const [result, setResult] = useState<FetchResult<T>>({ data: null, problem: "" });
  useEffect(() => {
    const aborter = new AbortController();
    fetcher(aborter.signal)
      .then((data) => setResult({ data, problem: "" }))
      .catch((error: unknown) => !aborter.signal.aborted && setResult({ data: null, problem: errorMessage(error) }));
    return () => aborter.abort();
  }, [key]);
  return result;
}
