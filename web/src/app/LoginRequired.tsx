import { Button } from "@mantine/core";
import { ACTIONS, PAGE } from "../generated/words";
import { Logo } from "../ui/icons";

export function LoginRequired() {
  const [before, after] = PAGE.login_how.split("{command}");
  return (
    <main className="login-required">
      <Logo size={48} />
      <h1>{PAGE.login_title}</h1>
      <p>
        {before}
        <code>parley up</code>
        {after}
      </p>
      <Button onClick={() => location.reload()}>{ACTIONS.retry}</Button>
    </main>
  );
}
