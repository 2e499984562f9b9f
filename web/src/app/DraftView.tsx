// The text that a service is writing now.
import { Loader } from "@mantine/core";
import { DRAFTS, wordFor } from "../words";
import type { Draft } from "../state/state";
import { Markdown } from "../ui/Markdown";
import styles from "./DraftView.module.css";

export function DraftView({ draft, workflow, isReply }: { draft: Draft; workflow: string; isReply: boolean }) {
  const title = isReply ? DRAFTS.reply : wordFor(DRAFTS, `${workflow}_${draft.kind}`) ?? DRAFTS[draft.kind];
  const text = draft.hasGap ? "…" : draft.text;
  const isCode = draft.kind === "code" || draft.kind === "tests" || /^\s*[{[]/.test(text);
  return (
    <section className={styles.draft} data-testid="draft" aria-label={title} aria-busy="true">
      <h2 className={styles.title}>
        <Loader size={14} type="dots" aria-hidden="true" /> {title}
      </h2>
      {isCode ? <pre className={styles.code}>{withoutFence(text)}</pre> : <Markdown text={text} />}
    </section>
  );
}

function withoutFence(text: string): string {
  return text.replace(/^\s*```\w*\n/, "").replace(/\n```\s*$/, "");
}
