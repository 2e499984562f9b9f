// What a person has typed and not sent yet, kept in this tab across reloads.
import { useEffect, useState } from "react";

/** True where a value read from the storage is one of ours: another release, or another program, may have written it. */
export type Check<T> = (value: unknown) => value is T;

/** A state like React's, kept under `key` for as long as `keeps` says that there is something to keep. */
export function useKept<T>(key: string, first: () => T, keeps: (value: T) => boolean, valid: Check<T>): [T, (value: T) => void] {
  const [value, set] = useState<T>(() => readKept(key, valid) ?? first());
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

/** What is stored under `key`; null where there is nothing, or nothing that can be used. */
export function readKept<T>(key: string, valid: Check<T>): T | null {
  try {
    const value: unknown = JSON.parse(sessionStorage.getItem(key) ?? "null");
    return valid(value) ? value : null;
  } catch {
    return null;
  }
}
