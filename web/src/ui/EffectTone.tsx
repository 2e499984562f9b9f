// What a call does to the world, in words.
import { REVIEW } from "../generated/words";
import { Tone } from "./Tone";

const WORDS = { read: REVIEW.effect_read, write: REVIEW.effect_write, irreversible: REVIEW.effect_irreversible };

export function EffectTone({ effect }: { effect: keyof typeof WORDS }) {
  if (effect === "read")
    return (
      <span className="dimmed" data-testid="effect">
        {WORDS.read}
      </span>
    );
  return (
    <Tone tone={effect === "write" ? "wait" : "bad"} data-testid="effect">
      {WORDS[effect]}
    </Tone>
  );
}
