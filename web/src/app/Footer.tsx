// Always in sight: who is at work, how to stop it, and where to write.
import { Composer } from "../compose/Composer";
import { Progress } from "./Progress";
import { useSession } from "./session";
import { StatusLine } from "./StatusLine";

export function Footer() {
  const { state } = useSession();
  if (state.missing !== null) return null; // there is nobody to write to
  return (
    <footer className="footer">
      <Progress />
      <StatusLine />
      <Composer />
    </footer>
  );
}
