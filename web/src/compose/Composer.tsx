// One place to write, whatever the session waits for: Enter sends, Shift+Enter begins a new line.
import { ActionIcon, Textarea } from "@mantine/core";
import { type RefObject, useEffect, useEffectEvent, useRef, useState } from "react";
import { useAct, useCan, useSession } from "../app/session";
import { COMPOSER, fill } from "../generated/words";
import type { Command, Knowledge } from "../protocol";
import { answering, type SessionState, waits, working } from "../state/state";
import { Send } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { carried, useChoice } from "./choice";
import { KnowledgeChips, KnowledgeMenu } from "./Knowledge";
import { RequestSettings } from "./RequestSettings";
import { useSuggestion } from "./suggestion";

type Extra = { knowledge?: Knowledge[] } & ReturnType<typeof carried>;
const LONGEST = 50_000;

export function Composer() {
  const { state } = useSession();
  const can = useCan();
  const act = useAct();
  const [text, setText] = useState("");
  const [knowledge, setKnowledge] = useState<Knowledge[]>([]);
  const { choice, change } = useChoice(state);
  const field = useRef<HTMLTextAreaElement>(null);
  const sent = useRef("");
  useEffect(() => {
    if (act.error) setText((newer) => newer || sent.current); // refused: nobody should have to write it again
  }, [act.error?.key]);
  useSuggestion(({ text, workflow }) => {
    setText(text);
    change({ workflow });
    // The dialog it was chosen in, and a phone's drawer, give the focus back when they close: the field takes it after that.
    setTimeout(() => field.current?.focus(), 60);
  });
  const fresh = state.sessionId === null;
  const request = fresh || state.snapshot?.phase === "resting" || state.snapshot?.phase === "failed";
  const allowed = fresh || can("user_message");
  const back = useFocus(field, state, allowed);
  const tooLong = text.trim().length > LONGEST;
  const send = () => {
    const content = text.trim();
    if (!content || !allowed || tooLong) return;
    sent.current = content;
    act.send(commandOf(content, state, request ? { knowledge, ...carried(choice, state) } : {}));
    setText("");
    setKnowledge([]);
    back();
  };
  return (
    <form
      id="composer"
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Problem error={act.error} />
      {tooLong && (
        <p className="problem" role="alert" data-testid="too-long">
          {fill(COMPOSER.too_long, { count: text.trim().length.toLocaleString("en"), most: LONGEST.toLocaleString("en") })} {request && COMPOSER.too_long_context}
        </p>
      )}
      {request && <KnowledgeChips knowledge={knowledge} onChange={setKnowledge} />}
      <div className="composer-row">
        {request && <KnowledgeMenu knowledge={knowledge} onChange={setKnowledge} />}
        {request && <RequestSettings />}
        <Textarea
          ref={field}
          className="composer-text"
          data-testid="composer"
          aria-label={placeholderOf(state) || COMPOSER.message}
          placeholder={placeholderOf(state)}
          autosize
          minRows={1}
          maxRows={8}
          error={tooLong}
          disabled={!allowed}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            send();
          }}
        />
        <ActionIcon type="submit" size={42} aria-label={COMPOSER.send} data-testid="send" disabled={!allowed || !text.trim() || tooLong}>
          <Send />
        </ActionIcon>
      </div>
    </form>
  );
}

/**
 * Focuses the field where words come next: for a request, for an answer, and on coming to a session in which nothing else
 * waits for the person. What it returns does so after a message was sent.
 */
function useFocus(field: RefObject<HTMLTextAreaElement | null>, { sessionId, snapshot }: SessionState, allowed: boolean): () => void {
  const returning = useRef(false);
  const focus = () => {
    // On a phone this would open the keyboard over the page that the person has just come to.
    if (window.matchMedia("(pointer: fine)").matches) field.current?.focus({ preventScroll: true });
  };
  const focused = useEffectEvent(focus);
  const entered = useEffectEvent(() => snapshot && !waits(snapshot) && focus());
  const expected = sessionId === null || !!snapshot?.question;
  useEffect(() => {
    if (expected) focused();
  }, [expected]);
  const shown = snapshot ? sessionId : null;
  useEffect(() => {
    if (shown !== null) entered();
  }, [shown]);
  useEffect(() => {
    // The field can be written in again: it is gone back to, unless the person has gone elsewhere.
    if (!allowed || !returning.current) return;
    returning.current = false;
    if (document.activeElement?.matches("body, main")) focused();
  }, [allowed]);
  return () => {
    returning.current = true;
    focus();
  };
}

function commandOf(content: string, { snapshot }: SessionState, extra: Extra): Command {
  if (snapshot?.question) return { type: "answer", content, question_id: snapshot.question.question_id };
  if (snapshot?.can.includes("hand_back")) return { type: "hand_back", content };
  return { type: "user_message", content, ...extra };
}

function placeholderOf({ sessionId, snapshot, missing }: SessionState): string {
  if (sessionId === null) return COMPOSER.request;
  if (!snapshot) return missing ? "" : COMPOSER.loading;
  if (snapshot.question) return COMPOSER.answer;
  if (answering(snapshot)) return COMPOSER.replying;
  if (working(snapshot)) return COMPOSER.working;
  if (snapshot.phase.startsWith("awaiting")) return snapshot.feedback_request ? COMPOSER.feedback : snapshot.approval_request ? COMPOSER.approval : COMPOSER.review;
  if (snapshot.phase === "escalated") return COMPOSER.escalated;
  return COMPOSER.next;
}
