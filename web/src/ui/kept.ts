// What a person has typed and not sent yet, kept in this tab across reloads.
import { useEffect, useState } from "react";

/** A state like React's, kept under `key` for as long as `keeps` says that there is something to keep. */
export function useKept<T>(key: string, first: () => T, keeps: (value: T) => boolean): [T, (value: T) => void] {
  const [value, set] = useState<T>(() => read<T>(key) ?? first());
  const kept = keeps(value);
  useEffect(() => {
    try {
      if (kept) sessionStorage.setItem(key, JSON.stringify(value));
      else sessionStorage.removeItem(key);
    } catch {
      // a full or forbidden storage: it still lives in this page
    }
  }, [key, value, kept]);
  return [value, set];
}

function read<T>(key: string): T | null {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "null") as T | null;
  } catch {
    return null;
  }
}
