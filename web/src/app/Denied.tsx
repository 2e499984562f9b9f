import { Button } from "@mantine/core";
import { Logo } from "../ui/icons";

export function Denied() {
  return (
    <main className="denied">
      <Logo size={48} />
      <h1>You are not logged in</h1>
      <p>
        Open the address that <code>parley up</code> printed: it carries a token that logs this browser in. On a shared server, ask
        whoever runs it for an address or a key.
      </p>
      <Button onClick={() => location.reload()}>Try again</Button>
    </main>
  );
}
