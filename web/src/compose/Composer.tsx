// The message field for all phases: Enter sends, Shift+Enter starts a new line.
import { ActionIcon, Textarea } from "@mantine/core";
import { type RefObject, useEffect, useEffectEvent, useRef, useState } from "react";
import { useCan, useCommand, useSession } from "../app/sessionContext";
import { COMPOSER, fill } from "../generated/words";
import type { Command, Knowledge } from "../protocol";
import { isReplying, isWorking, needsUser, type SessionState } from "../state/state";
import { SendIcon } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { KnowledgeChips, KnowledgeMenu } from "./Knowledge";
import { requestFields, useRequestChoice } from "./requestChoice";
import { RequestSettings } from "./RequestSettings";
import { useSuggestion } from "./suggestion";

type RequestExtras = { knowledge?: Knowledge[] } & ReturnType<typeof requestFields>;
const MAX_LENGTH = 50_000;

export function Composer() {
  const { state } = useSession();
  const can = useCan();
  const command = useCommand();
  const [text, setText] = useState("");
  const [knowledge, setKnowledge] = useState<Knowledge[]>([]);
  const { choice, change } = useRequestChoice(state);
  const field = useRef<HTMLTextAreaElement>(null);
  const lastSent = useRef("");
  useEffect(() => {
    if (command.error) setText((newer) => newer || lastSent.current); // after a refusal, put the text back into the field
  }, [command.error?.key]);
  useSuggestion(({ text, workflow }) => {
    setText(text);
    change({ workflow });
    // Dialogs and the phone's drawer restore focus when they close: focus the field after that.
    setTimeout(() => field.current?.focus(), 60);
  });
  const isNew = state.sessionId === null;
  const isRequest = isNew || state.snapshot?.phase === "resting" || state.snapshot?.phase === "failed";
  const canSend = isNew || can("user_message");
  const refocus = useComposerFocus(field, state, canSend);
  const isTooLong = text.trim().length > MAX_LENGTH;
  const send = () => {
    const content = text.trim();
    if (!content || !canSend || isTooLong) return;
    lastSent.current = content;
    command.send(commandOf(content, state, isRequest ? { knowledge, ...requestFields(choice, state) } : {}));
    setText("");
    setKnowledge([]);
    refocus();
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
      <Problem error={command.error} />
      {isTooLong && (
        <p className="problem" role="alert" data-testid="too-long">
          {fill(COMPOSER.too_long, { count: text.trim().length.toLocaleString("en"), most: MAX_LENGTH.toLocaleString("en") })} {isRequest && COMPOSER.too_long_context}
        </p>
      )}
      {isRequest && <KnowledgeChips knowledge={knowledge} onChange={setKnowledge} />}
      <div className="composer-row">
        {isRequest && <KnowledgeMenu knowledge={knowledge} onChange={setKnowledge} />}
        {isRequest && <RequestSettings />}
        <Textarea
          ref={field}
          className="composer-text"
          data-testid="composer"
          aria-label={placeholderOf(state) || COMPOSER.message}
          placeholder={placeholderOf(state)}
          autosize
          minRows={1}
          maxRows={8}
          error={isTooLong}
          disabled={!canSend}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey) return;
            event.preventDefault();
            send();
          }}
        />
        <ActionIcon type="submit" size={42} aria-label={COMPOSER.send} data-testid="send" disabled={!canSend || !text.trim() || isTooLong}>
          <SendIcon />
        </ActionIcon>
      </div>
    </form>
  );
}

/**
 * Focuses the field when text is expected: for a request, for an answer, and on opening a session that does not need
 * the user for anything else. Returns a function that focuses the field again after a message was sent.
 */
function useComposerFocus(field: RefObject<HTMLTextAreaElement | null>, { sessionId, snapshot }: SessionState, canSend: boolean): () => void {
  const shouldReturn = useRef(false);
  const focus = () => {
    // On a phone, focusing would open the keyboard over the page that was just opened.
    if (window.matchMedia("(pointer: fine)").matches) field.current?.focus({ preventScroll: true });
  };
  const onExpected = useEffectEvent(focus);
  const onEntered = useEffectEvent(() => snapshot && !needsUser(snapshot) && focus());
  const isExpected = sessionId === null || !!snapshot?.question;
  useEffect(() => {
    if (isExpected) onExpected();
  }, [isExpected]);
  const shownId = snapshot ? sessionId : null;
  useEffect(() => {
    if (shownId !== null) onEntered();
  }, [shownId]);
  useEffect(() => {
    // The field is enabled again: focus it, unless the user has focused something else.
    if (!canSend || !shouldReturn.current) return;
    shouldReturn.current = false;
    if (document.activeElement?.matches("body, main")) onExpected();
  }, [canSend]);
  return () => {
    shouldReturn.current = true;
    focus();
  };
}

function commandOf(content: string, { snapshot }: SessionState, extra: RequestExtras): Command {
  if (snapshot?.question) return { type: "answer", content, question_id: snapshot.question.question_id };
  if (snapshot?.can.includes("hand_back")) return { type: "hand_back", content };
  return { type: "user_message", content, ...extra };
}

function placeholderOf({ sessionId, snapshot, missing }: SessionState): string {
  if (sessionId === null) return COMPOSER.request;
  if (!snapshot) return missing ? "" : COMPOSER.loading;
  if (snapshot.question) return COMPOSER.answer;
  if (isReplying(snapshot)) return COMPOSER.replying;
  if (isWorking(snapshot)) return COMPOSER.working;
  if (snapshot.phase.startsWith("awaiting")) return snapshot.feedback_request ? COMPOSER.feedback : snapshot.approval_request ? COMPOSER.approval : COMPOSER.review;
  if (snapshot.phase === "escalated") return COMPOSER.escalated;
  return COMPOSER.next;
}
