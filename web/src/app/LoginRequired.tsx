// The login page: a field for the key.
import { Button, PasswordInput } from "@mantine/core";
import { useState } from "react";
import { ACTIONS, PAGE } from "../words";
import { login } from "../net/api";
import { Logo } from "../ui/icons";
import { useSubmit } from "../ui/useSubmit";
import styles from "./LoginRequired.module.css";
import typography from "../ui/typography.module.css";

export function LoginRequired() {
  const [token, setToken] = useState("");
  const [refusal, setRefusal] = useState("");
  const { busy, problem, submit } = useSubmit();
  const [before, after] = PAGE.login_own.split("{command}");
  return (
    <main className={styles.loginRequired}>
      <Logo size={48} />
      <h1>{PAGE.login_title}</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit(async () => {
            setRefusal("");
            const refusal = await login(token.trim());
            setRefusal(refusal);
            if (!refusal) location.reload();
          });
        }}
      >
        <input type="text" name="username" autoComplete="username" defaultValue="Parley" hidden readOnly /> {/* password managers store the key under it */}
        <PasswordInput
          label={PAGE.login_key}
          description={PAGE.login_how}
          name="password"
          autoComplete="current-password"
          autoFocus
          required
          value={token}
          error={refusal || problem}
          onChange={(event) => setToken(event.currentTarget.value)}
          visibilityToggleButtonProps={{ "aria-label": PAGE.login_show }}
          data-testid="login-key"
        />
        <Button type="submit" loading={busy} disabled={!token.trim()} fullWidth data-testid="login">
          {PAGE.login}
        </Button>
      </form>
      <p className={typography.hint}>
        {before}
        <code>parley up</code>
        {after}
      </p>
      <Button variant="subtle" onClick={() => location.reload()}>
        {ACTIONS.retry}
      </Button>
    </main>
  );
}
