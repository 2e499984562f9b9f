// A word with a colour that says how to take it. The word is always there: colour alone says nothing.
import type { HTMLAttributes, ReactNode } from "react";

export type ToneName = "good" | "bad" | "wait" | "work" | "plain";

interface Props extends HTMLAttributes<HTMLSpanElement> {
  tone: ToneName;
  children: ReactNode;
}

export function Tone({ tone, children, className = "", ...rest }: Props) {
  return (
    <span className={`tone ${className}`} data-tone={tone} {...rest}>
      {children}
    </span>
  );
}

/** How a session's phase is to be taken. `unfinished`: its plan waits for a person to go on. */
export function toneOf(phase: string, reason = "", unfinished = false): ToneName {
  if (phase === "resting" && reason === "answered" && unfinished) return "wait";
  if (phase === "failed") return "bad";
  if (phase.startsWith("awaiting") || phase === "escalated") return "wait";
  if (phase === "resting") return reason === "answered" || reason === "completed" ? "good" : "plain";
  return "work";
}
