// One line of a plan: only `code` is formatted. Light enough for hundreds of lines.
import { Fragment } from "react";

export function InlineText({ text }: { text: string }) {
  return text.split(/(`[^`]+`)/).map((part, index) =>
    part.length > 2 && part.startsWith("`") ? <code key={index}>{part.slice(1, -1)}</code> : <Fragment key={index}>{part}</Fragment>,
  );
}
