// The footer, always visible: progress, status with the stop button, and the composer.
import { Composer } from "../compose/Composer";
import { Progress } from "./Progress";
import { useSession } from "./sessionContext";
import { StatusLine } from "./StatusLine";
import styles from "./Footer.module.css";

export function Footer() {
  const isMissing = useSession(({ state }) => state.missing !== null);
  if (isMissing) return null; // no session to write to
  return (
    <footer className={styles.footer}>
      <Progress />
      <StatusLine />
      <Composer />
    </footer>
  );
}
