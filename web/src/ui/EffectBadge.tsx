// The effect of a call, in words.
import { REVIEW } from "../words";
import { Badge } from "./Badge";
import typography from "./typography.module.css";

const WORDS = { read: REVIEW.effect_read, write: REVIEW.effect_write, irreversible: REVIEW.effect_irreversible };

export function EffectBadge({ effect }: { effect: keyof typeof WORDS }) {
  if (effect === "read")
    return (
      <span className={typography.dimmed} data-testid="effect">
        {WORDS.read}
      </span>
    );
  return (
    <Badge tone={effect === "write" ? "wait" : "bad"} data-testid="effect">
      {WORDS[effect]}
    </Badge>
  );
}
