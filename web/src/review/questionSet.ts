// Questions that were asked together, and their answers. Pure.
import type { FurtherQuestionSection, QuestionSection } from "../protocol";
import { isObject } from "../ui/values";

/** What a person has chosen and written so far for one question. */
export interface Reply {
  chosen: readonly string[];
  words: string;
}

/** By question id: a reply stays while the questions before it are answered. */
export type Replies = Readonly<Record<string, Reply>>;

export const NO_REPLIES: Replies = {};
const NO_REPLY: Reply = { chosen: [], words: "" };

/** The open question and those that follow it. */
export const questionsOf = (question: QuestionSection): readonly FurtherQuestionSection[] => [question, ...question.further];

/** Whether the question is answered in a form: its options may be combined, or more questions come with it. */
export const needsForm = ({ several, further }: QuestionSection): boolean => several || further.length > 0;

/**
 * Whether what is written in the composer answers the question. With fields to fill, or nothing but its options, it does
 * not: it is a message about the question.
 */
export const takesText = ({ about, form }: QuestionSection): boolean => form?.type !== "object" && about !== "uncertain";

export const replyTo = (asked: FurtherQuestionSection, replies: Replies): Reply => replies[asked.question_id] ?? NO_REPLY;

/** The options that are chosen after this one was clicked: a second click takes it back. */
export function toggled({ options, several }: FurtherQuestionSection, chosen: readonly string[], option: string): readonly string[] {
  if (chosen.includes(option)) return chosen.filter((other) => other !== option);
  return several ? options.filter((other) => other === option || chosen.includes(other)) : [option];
}

/** What was chosen, and what was written, as one answer; "" if nothing was. */
export function answerOf(asked: FurtherQuestionSection, replies: Replies): string {
  const { chosen, words } = replyTo(asked, replies);
  return [...chosen, words.trim()].filter(Boolean).join("; ");
}

/** The answers that can be sent: those before the first question that was left out, which is asked next. */
export function answersToSend(question: QuestionSection, replies: Replies): readonly string[] {
  const answers = questionsOf(question).map((asked) => answerOf(asked, replies));
  const left = answers.indexOf("");
  return left < 0 ? answers : answers.slice(0, left);
}

export const isReplies = (value: unknown): value is Replies => isObject(value) && Object.values(value).every((reply) => isObject(reply) && typeof reply.words === "string" && Array.isArray(reply.chosen) && reply.chosen.every((option) => typeof option === "string"));
