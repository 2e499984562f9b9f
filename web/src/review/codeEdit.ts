// A person's own version of the code while it is being made. Pure.
import type { CodeView } from "../protocol";
import { isObject } from "../flow/found";

/** The text being edited, and the version that it changes. */
export interface CodeEdit {
  base: Content;
  text: string;
}

type Content = Pick<CodeView, "version" | "code">;

export function beginCode({ version, code }: Content): CodeEdit {
  return { base: { version, code }, text: code };
}

/** True where it can be gone on with; it may come from a storage. */
export function isCodeEdit(value: unknown): value is CodeEdit | null {
  if (value === null) return true;
  if (!isObject(value) || typeof value.text !== "string" || !isObject(value.base)) return false;
  return Number.isInteger(value.base.version) && typeof value.base.code === "string";
}
