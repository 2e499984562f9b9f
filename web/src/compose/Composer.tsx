// The message field for all phases: Enter sends, Shift+Enter starts a new line.
import { ActionIcon, Textarea } from "@mantine/core";
import { type RefObject, useEffect, useEffectEvent, useMemo, useRef } from "react";
import { useCan, useCommand, useSession } from "../app/sessionContext";
import { useDraft, useTextDraft } from "../app/useDraft";
import { COMPOSER, fill, TROUBLE } from "../words";
import { commandBytes, formatKib, jsonBytes, messageLimit } from "../net/frame";
import type { Command, Knowledge } from "../protocol";
import { codePointLength } from "../state/codePoints";
import { isReplying, isWorking, needsUser, type SessionState } from "../state/state";
import { takesText } from "../review/questionSet";
import { SendIcon } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { isKnowledge, KnowledgeChips, KnowledgeMenu, NO_KNOWLEDGE } from "./Knowledge";
import { type requestFields, useRequestChoice } from "./requestChoice";
import { RequestSettings } from "./RequestSettings";
import { useSuggestion } from "./suggestion";
import { MAX_LENGTH, TooLong } from "./TooLong";
import styles from "./Composer.module.css";
import typography from "../ui/typography.module.css";

type RequestExtras = { knowledge?: Knowledge[] } & ReturnType<typeof requestFields>;

export function Composer() {
  const session = useSession(({ state: { sessionId, snapshot, missing, greeting } }) => ({ sessionId, snapshot, missing, greeting }));
  const can = useCan();
  const command = useCommand();
  const { value: text, set: setText, key: textKey } = useTextDraft("message");
  const { value: knowledge, set: setKnowledge, key: knowledgeKey } = useDraft<readonly Knowledge[]>("knowledge", NO_KNOWLEDGE, isKnowledge);
  const { choice, change, fieldsOf } = useRequestChoice();
  const field = useRef<HTMLTextAreaElement>(null);
  useSuggestion(({ text, workflow }) => {
    setText(text);
    change({ workflow });
    // Dialogs and the phone's drawer restore focus when they close: focus the field after that.
    setTimeout(() => field.current?.focus(), 60);
  });
  const isNew = session.sessionId === null;
  const isRequest = isNew || session.snapshot?.phase === "resting" || session.snapshot?.phase === "failed";
  const canSend = isNew || can("user_message");
  const refocus = useComposerFocus(field, session, canSend);
  const content = text.trim();
  const isTooLong = codePointLength(content) > MAX_LENGTH;
  const attached = isRequest ? knowledge : NO_KNOWLEDGE;
  const request = commandOf(content, session, isRequest ? { knowledge: [...attached], ...fieldsOf(choice) } : {});
  const size = useMessageSize(request, attached);
  const isTooLarge = size > messageLimit(session.greeting);
  const send = () => {
    if (!content || !canSend || isTooLong || isTooLarge) return;
    command.send(request, isRequest ? [textKey, knowledgeKey] : [textKey]);
    refocus();
  };
  return (
    <form
      id="composer"
      className={styles.composer}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Problem error={command.error} />
      <TooLong text={content} hint={isRequest ? COMPOSER.too_long_context : ""} />
      {isTooLarge && !isTooLong && (
        <p className={typography.problem} role="alert" data-testid="too-large">
          {fill(TROUBLE.too_large, { size: formatKib(size), most: formatKib(messageLimit(session.greeting)) })} {TROUBLE.too_large_hint}
        </p>
      )}
      {isRequest && <KnowledgeChips knowledge={knowledge} onChange={setKnowledge} />}
      <div className={styles.row}>
        {isRequest && <KnowledgeMenu knowledge={knowledge} onChange={setKnowledge} />}
        {isRequest && <RequestSettings />}
        <Textarea
          ref={field}
          className={styles.text}
          data-testid="composer"
          aria-label={placeholderOf(session) || COMPOSER.message}
          placeholder={placeholderOf(session)}
          autosize
          minRows={1}
          maxRows={8}
          error={isTooLong || isTooLarge}
          disabled={!canSend}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey) return;
            event.preventDefault();
            send();
          }}
        />
        <ActionIcon type="submit" size={42} aria-label={COMPOSER.send} data-testid="send" disabled={!canSend || !content || isTooLong || isTooLarge}>
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
function useComposerFocus(field: RefObject<HTMLTextAreaElement | null>, { sessionId, snapshot }: Pick<SessionState, "sessionId" | "snapshot">, canSend: boolean): () => void {
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

/** The bytes of the message. Attachments are measured only when they change, not at each key press. */
function useMessageSize(request: Command, attached: readonly Knowledge[]): number {
  const attachedBytes = useMemo(() => jsonBytes(attached), [attached]);
  return attachedBytes + commandBytes("knowledge" in request ? { ...request, knowledge: [] } : request);
}

function commandOf(content: string, { snapshot }: Pick<SessionState, "snapshot">, extra: RequestExtras): Command {
  if (snapshot?.question && takesText(snapshot.question)) return { type: "answer", content, question_id: snapshot.question.question_id };
  if (snapshot?.can.includes("hand_back")) return { type: "hand_back", content };
  return { type: "user_message", content, ...extra };
}

function placeholderOf({ sessionId, snapshot, missing }: Pick<SessionState, "sessionId" | "snapshot" | "missing">): string {
  if (sessionId === null) return COMPOSER.request;
  if (!snapshot) return missing ? "" : COMPOSER.loading;
  if (snapshot.question && takesText(snapshot.question)) return snapshot.question.further.length > 0 ? COMPOSER.answer_first : COMPOSER.answer;
  if (isReplying(snapshot)) return COMPOSER.replying;
  if (snapshot.offer) return COMPOSER.offer;
  if (isWorking(snapshot)) return snapshot.turn && snapshot.plan?.kind === "execution" ? COMPOSER.review : COMPOSER.working;
  if (snapshot.phase.startsWith("awaiting")) return snapshot.feedback_request ? COMPOSER.feedback : snapshot.approval_request || snapshot.question ? COMPOSER.approval : COMPOSER.review;
  if (snapshot.phase === "escalated") return COMPOSER.escalated;
  return COMPOSER.next;
}
