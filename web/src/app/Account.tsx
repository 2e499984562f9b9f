// The way out, for whoever had to log in.
import { Button, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import { fill, PAGE, TROUBLE } from "../generated/words";
import { logout, me, type Me } from "../net/api";
import { Leave } from "../ui/icons";

export function Account() {
  const [account, setAccount] = useState<Me | null>(null);
  const [problem, setProblem] = useState("");
  const [leaving, setLeaving] = useState(false);
  useEffect(() => {
    me().then(setAccount, () => setAccount(null));
  }, []);
  if (!account || account.auth === "none") return null;

  const leave = async () => {
    setLeaving(true);
    try {
      await logout();
      sessionStorage.clear(); // messages that have not been sent yet are not the next user's
      location.assign("/");
    } catch (error) {
      setProblem(fill(TROUBLE.logged_in, { why: error instanceof Error ? error.message : "" }).trim());
      setLeaving(false);
    }
  };
  return (
    <div>
      {problem && (
        <Text size="sm" role="alert">
          {problem}
        </Text>
      )}
      <Button leftSection={<Leave />} variant="subtle" color="gray" fullWidth justify="flex-start" loading={leaving} onClick={() => void leave()} data-testid="log-out">
        {PAGE.log_out} {account.auth !== "token" && <bdi className="account">{account.user}</bdi>}
      </Button>
    </div>
  );
}
