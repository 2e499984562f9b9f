// Always in sight: who is at work, how to stop it, and where to write.
import { Composer } from "../compose/Composer";
import { Progress } from "./Progress";
import { StatusLine } from "./StatusLine";

export function Footer() {
  return (
    <footer className="footer">
      <Progress />
      <StatusLine />
      <Composer />
    </footer>
  );
}
