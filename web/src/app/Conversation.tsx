// The journal of the session, and under it what is being written or waits for the person.
import { ActionIcon } from "@mantine/core";
import { useEffect, useRef } from "react";
import { SIGNS } from "../generated/words";
import { Journal } from "../journal/Journal";
import { Review } from "../review/Review";
import { answering, drafted, worker } from "../state/state";
import { useFollow } from "../ui/hooks";
import { Down } from "../ui/icons";
import { DraftView } from "./DraftView";
import { useSession } from "./session";
import { Missing } from "./Missing";
import { Welcome } from "./Welcome";

export function Conversation() {
  const { state, pending } = useSession();
  const box = useRef<HTMLElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const review = useRef<HTMLDivElement>(null);
  const subject = subjectOf(state);
  const draft = drafted(state);
  const { away, toBottom } = useFollow({ box, content, review }, subject, pending.length);

  // What was pressed may be gone now: the keyboard goes on from here, not from the top of the page.
  useEffect(() => {
    if (subject && document.activeElement === document.body) box.current?.focus({ preventScroll: true });
  }, [subject]);

  return (
    <main className="conversation" ref={box} tabIndex={-1}>
      <div className="conversation-content" ref={content}>
        {state.missing !== null ? (
          <Missing why={state.missing} />
        ) : state.sessionId === null && !pending.some((one) => one.command.type === "user_message") ? (
          <Welcome />
        ) : (
          <>
            <Journal />
            {draft && <DraftView draft={draft} workflow={state.snapshot?.workflow ?? ""} answers={answering(state.snapshot)} />}
            <div ref={review}>
              <Review />
            </div>
          </>
        )}
      </div>
      {away && (
        <ActionIcon className="to-bottom" variant="default" radius="xl" size="lg" onClick={toBottom} aria-label={SIGNS.newest}>
          <Down />
        </ActionIcon>
      )}
    </main>
  );
}

function subjectOf({ snapshot }: ReturnType<typeof useSession>["state"]): string {
  if (!snapshot || worker(snapshot)) return "";
  return `${snapshot.phase} ${snapshot.plan?.version} ${snapshot.code?.version} ${snapshot.question?.question_id}`;
}
