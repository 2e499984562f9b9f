import { expect, test } from "vitest";
import { subscribeSuggestions, suggest } from "./suggestion";

test("a suggestion made before the composer mounts is delivered once, to the next composer", () => {
  suggest({ text: "first", workflow: "flow" });
  suggest({ text: "second", workflow: "flow" });
  const received: string[] = [];
  subscribeSuggestions((suggestion) => received.push(suggestion.text))();
  subscribeSuggestions((suggestion) => received.push(suggestion.text))();
  expect(received).toEqual(["second"]);
});

test("an old composer that unsubscribes leaves the new composer subscribed", () => {
  const received: string[] = [];
  const unsubscribeOld = subscribeSuggestions((suggestion) => received.push(`old ${suggestion.text}`));
  const unsubscribe = subscribeSuggestions((suggestion) => received.push(`new ${suggestion.text}`));
  unsubscribeOld();
  suggest({ text: "a", workflow: "flow" });
  unsubscribe();
  expect(received).toEqual(["new a"]);
});
