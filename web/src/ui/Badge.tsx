// A coloured word. The word carries the meaning: colour alone would not be accessible.
import type { HTMLAttributes, ReactNode } from "react";
import styles from "./Badge.module.css";

export type Tone = "good" | "bad" | "wait" | "work" | "plain";

interface Props extends HTMLAttributes<HTMLSpanElement> {
  tone: Tone;
  children: ReactNode;
}

export function Badge({ tone, children, className = "", ...rest }: Props) {
  return (
    <span className={`${styles.badge} ${className}`} data-tone={tone} {...rest}>
      {children}
    </span>
  );
}

/** The tone of a session's state and phase. `unfinished`: its plan waits for the user to resume it. */
export function toneOf(state: string, phase: string, reason = "", unfinished = false): Tone {
  if (state === "offer") return "wait";
  if (state === "replying") return "work";
  if (phase === "resting" && reason === "answered" && unfinished) return "wait";
  if (phase === "failed") return "bad";
  if (phase.startsWith("awaiting") || phase === "escalated") return "wait";
  if (phase === "resting") return reason === "answered" || reason === "completed" ? "good" : "plain";
  return "work";
}
