// The journal of the session, followed by the current draft and by what waits for the user.
import { ActionIcon } from "@mantine/core";
import { useEffect, useRef } from "react";
import { SIGNS } from "../generated/words";
import { Journal } from "../journal/Journal";
import { Review } from "../review/Review";
import { activeDraft, activeService } from "../state/state";
import { useAutoScroll } from "../ui/hooks";
import { DownIcon } from "../ui/icons";
import { DraftView } from "./DraftView";
import { useSession } from "./sessionContext";
import { SessionNotFound } from "./SessionNotFound";
import { Welcome } from "./Welcome";
import styles from "./Conversation.module.css";

export function Conversation() {
  const { state, pending, sent } = useSession();
  const scroller = useRef<HTMLElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const review = useRef<HTMLDivElement>(null);
  const subject = subjectOf(state);
  const draft = activeDraft(state);
  const { isScrolledUp, scrollToBottom } = useAutoScroll({ scroller, content, review }, { subject, sentCount: sent, reply: newestReply(state.journal) });

  // The control that had focus may be gone: keep the keyboard position here instead of at the top of the page.
  useEffect(() => {
    if (subject && document.activeElement === document.body) scroller.current?.focus({ preventScroll: true });
  }, [subject]);

  return (
    <main className={styles.conversation} ref={scroller} tabIndex={-1}>
      <div className={styles.content} ref={content}>
        {state.missing !== null ? (
          <SessionNotFound reason={state.missing} />
        ) : state.sessionId === null && !pending.some((item) => item.command.type === "user_message") ? (
          <Welcome />
        ) : (
          <>
            <Journal />
            {draft && (draft.text || draft.hasGap) && <DraftView key={draft.work} draft={draft} workflow={state.snapshot?.workflow ?? ""} isReply={draft.work === state.snapshot?.reply?.version} />}
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

function newestReply(journal: ReturnType<typeof useSession>["state"]["journal"]): string {
  return [...journal.values()].findLast((entry) => entry.kind === "reply")?.key ?? "";
}

function subjectOf({ snapshot }: ReturnType<typeof useSession>["state"]): string {
  if (!snapshot || (activeService(snapshot) && !snapshot.offer)) return "";
  return `${snapshot.offer?.version} ${snapshot.phase} ${snapshot.plan?.version} ${snapshot.code?.version} ${snapshot.question?.question_id}`;
}
