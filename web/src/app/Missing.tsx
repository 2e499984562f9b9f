import { Button } from "@mantine/core";
import { go } from "./route";

/** The address names a session that is not there, or not this person's. */
export function Missing({ why }: { why: string }) {
  return (
    <section className="welcome" data-testid="missing" aria-label="Not found">
      <h2>Nothing to show here</h2>
      <p>{why}</p>
      <Button onClick={() => go(null)}>Begin a conversation</Button>
    </section>
  );
}
