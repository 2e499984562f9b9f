import { Button } from "@mantine/core";
import { PAGE } from "../words";
import { navigate } from "./route";
import welcomeStyles from "./Welcome.module.css";

/** Shown if the session in the address does not exist or belongs to another user. */
export function SessionNotFound({ reason }: { reason: string }) {
  return (
    <section className={welcomeStyles.welcome} data-testid="missing" aria-label={PAGE.missing_title}>
      <h2>{PAGE.missing_title}</h2>
      <p>{reason}</p>
      <Button onClick={() => navigate(null)}>{PAGE.begin}</Button>
    </section>
  );
}
