// Several questions at once, or one whose options may be combined. All answers are sent together; what is left out is
// asked next.
import { Button, Checkbox, Radio, TextInput } from "@mantine/core";
import { type KeyboardEvent, useId, useRef, useState } from "react";
import { useCommand } from "../app/sessionContext";
import { useDraft } from "../app/useDraft";
import { fill, PAGE, REVIEW } from "../words";
import type { FurtherQuestionSection, QuestionSection } from "../protocol";
import { Markdown } from "../ui/Markdown";
import { Problem } from "../ui/Problem";
import { answersToSend, isReplies, NO_REPLIES, questionsOf, type Reply, replyTo, toggled } from "./questionSet";
import { useFirstFieldFocus } from "./useFirstFieldFocus";
import styles from "./QuestionSet.module.css";
import buttons from "../ui/buttons.module.css";
import panelStyles from "./panel.module.css";
import typography from "../ui/typography.module.css";

export default function QuestionSet({ question }: { question: QuestionSection }) {
  const command = useCommand();
  const form = useRef<HTMLFormElement>(null);
  const draft = useDraft("answers", NO_REPLIES, isReplies);
  const [hasProblem, setHasProblem] = useState(false);
  useFirstFieldFocus(form);
  const questions = questionsOf(question);
  const [content, ...more] = answersToSend(question, draft.value);
  const left = questions.length - more.length - 1;
  const send = () => {
    setHasProblem(content === undefined);
    if (content === undefined) form.current?.querySelector<HTMLElement>("input")?.focus();
    else command.send({ type: "answer", content, question_id: question.question_id, more }, left === 0 ? [draft.key] : []);
  };
  return (
    <form
      ref={form}
      className={panelStyles.panel}
      data-testid="question"
      aria-label={questions.length > 1 ? PAGE.questions : PAGE.question}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {questions.map((asked, index) => (
        <Question
          key={asked.question_id}
          asked={asked}
          number={questions.length > 1 ? index + 1 : null}
          reply={replyTo(asked, draft.value)}
          problem={hasProblem && index === 0 && content === undefined ? REVIEW.answer_first : ""}
          onChange={(reply) => draft.set({ ...draft.value, [asked.question_id]: reply })}
        />
      ))}
      <div className={buttons.row}>
        <Button type="submit" loading={command.busy} data-testid="question-send">
          {questions.length === 1 ? REVIEW.answer_send : left > 0 && content !== undefined ? fill(REVIEW.answers_send_some, { count: more.length + 1, all: questions.length }) : REVIEW.answers_send}
        </Button>
        {questions.length > 1 && left > 0 && <span className={typography.dimmed}>{REVIEW.answers_left}</span>}
      </div>
      <Problem error={command.error} />
    </form>
  );
}

interface Props {
  asked: FurtherQuestionSection;
  /** Its place among several; null for a single one. */
  number: number | null;
  reply: Reply;
  problem: string;
  onChange: (reply: Reply) => void;
}

function Question({ asked, number, reply, problem, onChange }: Props) {
  const id = useId();
  const { options, several } = asked;
  const Choice = several ? Checkbox : Radio;
  const choose = (option: string) => onChange({ ...reply, chosen: toggled(asked, reply.chosen, option) });
  const own = options.length > 0 ? (several ? REVIEW.own_answer_too : REVIEW.own_answer) : REVIEW.answer;
  return (
    <div className={styles.asked} role={options.length > 0 && !several ? "radiogroup" : "group"} aria-labelledby={id} data-testid="question-asked">
      <div id={id} className={styles.text}>
        {number !== null && <span>{number}.</span>}
        <Markdown text={asked.content} />
      </div>
      {several && <p className={typography.hint}>{REVIEW.choose_several}</p>}
      {options.length > 0 && (
        <div className={styles.options}>
          {options.map((option) => {
            const isChosen = reply.chosen.includes(option);
            // A click on the chosen radio button, or Space, takes the choice back: `change` does not tell of it.
            const takesBack = !several && isChosen;
            const onKeyDown = (event: KeyboardEvent) => {
              if (event.key !== " " || !takesBack) return;
              event.preventDefault();
              choose(option);
            };
            return <Choice key={option} name={id} value={option} label={option} checked={isChosen} onChange={() => choose(option)} onClick={() => takesBack && choose(option)} onKeyDown={onKeyDown} data-testid="question-choice" />;
          })}
        </div>
      )}
      <TextInput
        aria-label={own}
        placeholder={own}
        error={problem || undefined}
        value={reply.words}
        onChange={(event) => onChange({ ...reply, words: event.currentTarget.value })}
        data-testid="question-own"
      />
    </div>
  );
}
