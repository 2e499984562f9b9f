// State of a field whose content survives until the gateway has accepted it.
import { useEffect, useState, useSyncExternalStore } from "react";
import type { FieldValue } from "../takeover/fields";
import { draftKey, readDraft, subscribeDrafts, writeDraft } from "../ui/drafts";
import { isObject } from "../ui/values";
import { useSession } from "./sessionContext";

/** Returns true if a stored value is valid: another release or another program may have written it. */
type TypeGuard<T> = (value: unknown) => value is T;

export interface DraftField<T> {
  /** Names the draft, for the command that sends it. */
  key: string;
  value: T;
  set(value: T): void;
}

/** A draft of this session. `initial` is the value without a draft: setting it removes the draft. */
export function useDraft<T>(field: string, initial: T, isValid: TypeGuard<T>): DraftField<T> {
  const sessionId = useSession(({ state }) => state.sessionId);
  useSyncExternalStore(subscribeDrafts, () => readDraft(draftKey(sessionId, field)));
  const key = draftKey(sessionId, field);
  const stored = readDraft(key);
  return {
    key,
    value: isValid(stored) ? stored : initial,
    set: (value) => writeDraft(draftKey(sessionId, field), JSON.stringify(value) === JSON.stringify(initial) ? null : value),
  };
}

export const useTextDraft = (field: string): DraftField<string> => useDraft(field, "", isText);

export interface OptionalField {
  draft: DraftField<string>;
  isOpen: boolean;
  /** null: open only while something is typed in it. */
  setOpen(isOpen: boolean | null): void;
}

/** A text field that a button opens. After a reload it is open if something was typed in it. */
export function useOptionalField(field: string): OptionalField {
  const draft = useTextDraft(field);
  const [choice, setOpen] = useState<boolean | null>(null);
  return { draft, isOpen: choice ?? draft.value !== "", setOpen };
}

/** What was entered in a form, by field. */
export const useFormDraft = (form: string): DraftField<Record<string, FieldValue>> => useDraft<Record<string, FieldValue>>(form, NO_VALUES, isFieldValues);

const NO_VALUES = {};

const isFieldValues = (value: unknown): value is Record<string, FieldValue> => isObject(value) && Object.values(value).every((entry) => ["string", "boolean"].includes(typeof entry) || isTexts(entry));

export const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText);

export const isText = (value: unknown): value is string => typeof value === "string";

/** A state like useState, whose value is a draft of this session while `isDraft` returns true. */
export function useDraftState<T>(field: string, initial: () => T, isDraft: (value: T) => boolean, isValid: TypeGuard<T>): [T, (value: T) => void] {
  const sessionId = useSession(({ state }) => state.sessionId);
  const key = draftKey(sessionId, field);
  const [value, set] = useState<T>(() => {
    const stored = readDraft(key);
    return isValid(stored) ? stored : initial();
  });
  const isStored = isDraft(value);
  useEffect(() => writeDraft(key, isStored ? value : null), [key, value, isStored]);
  return [value, set];
}
