import { expect, it } from "vitest";
import type { QuestionSection } from "../protocol";
import { answerOf, answersToSend, isReplies, needsForm, questionsOf, type Replies, toggled } from "./questionSet";

const alone: QuestionSection = { question_id: "request-2", about: "request", content: "Which colour?", options: ["Red", "Blue"], form: null, several: false, further: [] };
const whom = { question_id: "request-2.1", content: "For whom?", options: ["Me", "My team", "Guests"], several: true };
const name = { question_id: "request-2.2", content: "Its name?", options: [], several: false };
const together: QuestionSection = { ...alone, further: [whom, name] };

const replies = (entries: Record<string, [readonly string[], string]>): Replies => Object.fromEntries(Object.entries(entries).map(([id, [chosen, words]]) => [id, { chosen, words }]));

it("needs a form for several questions, and for options that may be combined", () => {
  expect(needsForm(alone)).toBe(false);
  expect(needsForm(together)).toBe(true);
  expect(needsForm({ ...alone, several: true })).toBe(true);
});

it("lists the open question first", () => {
  expect(questionsOf(together).map(({ content }) => content)).toEqual(["Which colour?", "For whom?", "Its name?"]);
});

it("keeps chosen options in their order, or only the last one, and takes a choice back", () => {
  expect(toggled(whom, ["Guests"], "Me")).toEqual(["Me", "Guests"]);
  expect(toggled(whom, ["Me", "Guests"], "Me")).toEqual(["Guests"]);
  expect(toggled(alone, ["Red"], "Blue")).toEqual(["Blue"]);
  expect(toggled(alone, ["Red"], "Red")).toEqual([]);
});

it("joins what was chosen and what was written to one answer", () => {
  expect(answerOf(whom, {})).toBe("");
  expect(answerOf(whom, replies({ "request-2.1": [["Me", "My team"], " and guests "] }))).toBe("Me; My team; and guests");
  expect(answerOf(whom, replies({ "request-2.1": [[], "  "] }))).toBe("");
});

it("sends the answers before the first question that was left out", () => {
  const all = replies({ "request-2": [["Red"], ""], "request-2.1": [[], "all"], "request-2.2": [[], "Snake"] });
  expect(answersToSend(together, all)).toEqual(["Red", "all", "Snake"]);
  expect(answersToSend(together, { ...all, "request-2.1": { chosen: [], words: " " } })).toEqual(["Red"]);
  expect(answersToSend(together, { ...all, "request-2": { chosen: [], words: "" } })).toEqual([]);
  expect(answersToSend(alone, all)).toEqual(["Red"]);
});

it("keeps the replies to later questions when the first is answered", () => {
  const all = replies({ "request-2": [["Red"], ""], "request-2.2": [[], "Snake"] });
  const rest: QuestionSection = { ...alone, ...whom, further: [name] };
  expect(questionsOf(rest).map((asked) => answerOf(asked, all))).toEqual(["", "Snake"]);
});

it("takes no stored value of another shape", () => {
  expect(isReplies(replies({ q: [["Red"], "x"] }))).toBe(true);
  for (const value of [null, "x", { q: ["Red"] }, { q: { chosen: "Red", words: "" } }, { q: { chosen: [1], words: "" } }, { q: { chosen: [] } }]) expect(isReplies(value)).toBe(false);
});
