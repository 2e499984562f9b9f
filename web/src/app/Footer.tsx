// Always in sight: who is at work, how to stop it, and where to write.
import { Composer } from "../compose/Composer";
import { StatusLine } from "./StatusLine";

export function Footer() {
  return (
    <footer className="footer">
      <StatusLine />
      <Composer />
    </footer>
  );
}
