import { Button } from "@mantine/core";
import { PAGE } from "../generated/words";
import { go } from "./route";

/** The address names a session that is not there, or not this person's. */
export function Missing({ why }: { why: string }) {
  return (
    <section className="welcome" data-testid="missing" aria-label={PAGE.missing_title}>
      <h2>{PAGE.missing_title}</h2>
      <p>{why}</p>
      <Button onClick={() => go(null)}>{PAGE.begin}</Button>
    </section>
  );
}
