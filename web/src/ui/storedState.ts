// Unsent input that survives reloads of this tab.
import { useEffect, useState } from "react";

/** Returns true if a stored value is valid: another release or another program may have written it. */
export type TypeGuard<T> = (value: unknown) => value is T;

/** A state like useState, stored under `key` while `shouldStore` returns true. */
export function useStoredState<T>(key: string, initial: () => T, shouldStore: (value: T) => boolean, isValid: TypeGuard<T>): [T, (value: T) => void] {
  const [value, set] = useState<T>(() => readStored(key, isValid) ?? initial());
  const isStored = shouldStore(value);
  useEffect(() => {
    try {
      if (isStored) sessionStorage.setItem(key, JSON.stringify(value));
      else sessionStorage.removeItem(key);
    } catch {
      // storage full or forbidden: the value stays in memory
    }
  }, [key, value, isStored]);
  return [value, set];
}

/** The value stored under `key`; null if it is missing or invalid. */
export function readStored<T>(key: string, isValid: TypeGuard<T>): T | null {
  try {
    const value: unknown = JSON.parse(sessionStorage.getItem(key) ?? "null");
    return isValid(value) ? value : null;
  } catch {
    return null;
  }
}
