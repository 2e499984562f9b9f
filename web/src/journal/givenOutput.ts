// What a person types as the output of a step: JSON, or else text. Pure.
import { fill, REVIEW } from "../generated/words";

export interface Given {
  value: unknown;
  /** Why it cannot be taken; "" where it can. */
  problem: string;
}

/** What begins like an object, a list or a quoted text is meant as JSON: it is no text where it cannot be read. */
export function givenOutput(typed: string): Given {
  const text = typed.trim();
  if (!text) return { value: null, problem: REVIEW.skip_empty };
  try {
    const value: unknown = JSON.parse(text);
    return { value, problem: value === null ? REVIEW.skip_null : "" };
  } catch (error) {
    if (!/^[[{"]/.test(text)) return { value: text, problem: "" };
    return { value: null, problem: fill(REVIEW.skip_json, { why: error instanceof Error ? error.message : "?" }) };
  }
}
