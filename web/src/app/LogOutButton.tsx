// The log-out button, shown only if the gateway requires a login.
import { Button, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import { fill, PAGE, TROUBLE } from "../words";
import { type Account, fetchAccount, logout } from "../net/api";
import { forgetDrafts } from "../ui/drafts";
import { ROOT } from "../net/root";
import { LogOutIcon } from "../ui/icons";
import styles from "./LogOutButton.module.css";

export function LogOutButton() {
  const [account, setAccount] = useState<Account | null>(null);
  const [problem, setProblem] = useState("");
  const [isLeaving, setIsLeaving] = useState(false);
  useEffect(() => {
    fetchAccount().then(setAccount, () => setAccount(null));
  }, []);
  if (!account || account.auth === "none") return null;

  const leave = async () => {
    setIsLeaving(true);
    try {
      await logout();
      forgetDrafts();
      sessionStorage.clear(); // unsent messages must not reach the next user
      location.assign(ROOT);
    } catch (error) {
      setProblem(fill(TROUBLE.logged_in, { why: error instanceof Error ? error.message : "" }).trim());
      setIsLeaving(false);
    }
  };
  return (
    <div>
      {problem && (
        <Text size="sm" role="alert">
          {problem}
        </Text>
      )}
      <Button leftSection={<LogOutIcon />} variant="subtle" color="gray" fullWidth justify="flex-start" loading={isLeaving} onClick={() => void leave()} data-testid="log-out">
        {PAGE.log_out} {account.auth !== "token" && <bdi className={styles.account}>{account.user}</bdi>}
      </Button>
    </div>
  );
}
