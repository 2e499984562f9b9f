// The journal of the session, followed by the current draft and by what waits for the user.
import { ActionIcon } from "@mantine/core";
import { useEffect, useRef } from "react";
import { SIGNS } from "../words";
import { Journal } from "../journal/Journal";
import { Review } from "../review/Review";
import { activeDraft, activeService, type SessionState, type Snapshot } from "../state/state";
import { useAutoScroll } from "../ui/hooks";
import { DownIcon } from "../ui/icons";
import { DraftView } from "./DraftView";
import { useSession } from "./sessionContext";
import { SessionNotFound } from "./SessionNotFound";
import { Welcome } from "./Welcome";
import styles from "./Conversation.module.css";

export function Conversation() {
  const scroller = useRef<HTMLElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const review = useRef<HTMLDivElement>(null);
  const missing = useSession(({ state }) => state.missing);
  const isEmpty = useSession(({ state, pending }) => state.sessionId === null && !pending.some((item) => item.command.type === "user_message"));
  const causes = useSession(({ state, sent }) => ({ subject: subjectOf(state.snapshot), sentCount: sent, reply: newestReply(state.journal) }));
  const { isScrolledUp, scrollToBottom } = useAutoScroll({ scroller, content, review }, causes);
  const { subject } = causes;

  // The control that had focus may be gone: keep the keyboard position here instead of at the top of the page.
  useEffect(() => {
    if (subject && document.activeElement === document.body) scroller.current?.focus({ preventScroll: true });
  }, [subject]);

  return (
    <main className={styles.conversation} ref={scroller} tabIndex={-1}>
      <div className={styles.content} ref={content}>
        {missing !== null ? (
          <SessionNotFound reason={missing} />
        ) : isEmpty ? (
          <Welcome />
        ) : (
          <>
            <Journal />
            <CurrentDraft />
            <div ref={review}>
              <Review />
            </div>
          </>
        )}
      </div>
      {isScrolledUp && (
        <ActionIcon className={styles.toBottom} data-testid="to-bottom" variant="default" radius="xl" size="lg" onClick={scrollToBottom} aria-label={SIGNS.newest}>
          <DownIcon />
        </ActionIcon>
      )}
    </main>
  );
}

/** The only part of the conversation that renders again for each piece of a draft. */
function CurrentDraft() {
  const draft = useSession(({ state }) => activeDraft(state));
  const workflow = useSession(({ state }) => state.snapshot?.workflow ?? "");
  const reply = useSession(({ state }) => state.snapshot?.reply?.version);
  if (!draft || !(draft.text || draft.hasGap)) return null;
  return <DraftView key={draft.work} draft={draft} workflow={workflow} isReply={draft.work === reply} />;
}

function newestReply(journal: SessionState["journal"]): string {
  return [...journal.values()].findLast((entry) => entry.kind === "reply")?.key ?? "";
}

function subjectOf(snapshot: Snapshot | null): string {
  if (!snapshot || (activeService(snapshot) && !snapshot.offer)) return "";
  const { offer, phase, plan, code, question } = snapshot;
  return `${offer?.version} ${phase} ${plan?.version} ${code?.version} ${question?.question_id}`;
}
