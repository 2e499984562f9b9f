import { expect, test } from "vitest";
import { suggest, takeSuggestions } from "./suggestion";

test("a suggestion made before there is a composer reaches the next one, once", () => {
  suggest({ text: "first", workflow: "flow" });
  suggest({ text: "second", workflow: "flow" });
  const taken: string[] = [];
  takeSuggestions((one) => taken.push(one.text))();
  takeSuggestions((one) => taken.push(one.text))();
  expect(taken).toEqual(["second"]);
});

test("a composer that is gone takes nothing away from the one that replaced it", () => {
  const taken: string[] = [];
  const gone = takeSuggestions((one) => taken.push(`old ${one.text}`));
  const end = takeSuggestions((one) => taken.push(`new ${one.text}`));
  gone();
  suggest({ text: "a", workflow: "flow" });
  end();
  expect(taken).toEqual(["new a"]);
});
