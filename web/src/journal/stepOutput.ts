// Parses what a user types as the output of a step: JSON, or else plain text. Pure.
import { fill, REVIEW } from "../words";

interface ParsedOutput {
  value: unknown;
  /** Why the text is refused; "" if it is accepted. */
  problem: string;
}

/** Text that starts like an object, a list or a quoted string must be valid JSON; other text is taken literally. */
export function parseStepOutput(input: string): ParsedOutput {
  const text = input.trim();
  if (!text) return { value: null, problem: REVIEW.skip_empty };
  try {
    const value: unknown = JSON.parse(text);
    return { value, problem: value === null ? REVIEW.skip_null : "" };
  } catch (error) {
    if (!/^[[{"]/.test(text)) return { value: text, problem: "" };
    return { value: null, problem: fill(REVIEW.skip_json, { why: error instanceof Error ? error.message : "?" }) };
  }
}
