import { COMPOSER, fill } from "../words";
import { codePointLength } from "../state/codePoints";
import typography from "../ui/typography.module.css";

export const MAX_LENGTH = 50_000; // characters of one text

/** Says that a text is too long to be sent, and nothing otherwise. */
export function TooLong({ text, hint = "" }: { text: string; hint?: string }) {
  const length = codePointLength(text);
  if (length <= MAX_LENGTH) return null;
  return (
    <p className={typography.problem} role="alert" data-testid="too-long">
      {fill(COMPOSER.too_long, { count: length.toLocaleString("en"), most: MAX_LENGTH.toLocaleString("en") })} {hint}
    </p>
  );
}
