// Raises an exhausted budget by an amount that the user enters.
import { Button, NumberInput } from "@mantine/core";
import { useState } from "react";
import { useCan, useCommand, useSession } from "../app/sessionContext";
import { REVIEW } from "../words";
import type { Snapshot } from "../protocol";
import { Problem } from "../ui/Problem";
import styles from "./RaiseBudget.module.css";

type Limit = "tokens" | "cost" | "calls" | "seconds";
const ZERO_AMOUNTS: Record<Limit, number> = { tokens: 0, cost: 0, calls: 0, seconds: 0 };

/** The exhausted budget; the first one if there are several. */
function usedUpLimit(settings: Snapshot["settings"], usage: Snapshot["usage"]): Limit {
  const limits: [Limit, number | null | undefined, number][] = [
    ["tokens", settings.token_budget, usage.prompt_tokens + usage.completion_tokens],
    ["cost", settings.cost_budget, usage.cost],
    ["calls", settings.call_budget, usage.tool_calls ?? 0],
    ["seconds", settings.time_budget, usage.seconds ?? 0],
  ];
  return limits.find(([, limit, spent]) => typeof limit === "number" && spent >= limit)?.[0] ?? "tokens";
}

export default function RaiseBudget() {
  const { settings, usage } = useSession(({ state }) => ({ settings: state.snapshot?.settings, usage: state.snapshot?.usage }));
  const can = useCan();
  const command = useCommand();
  const [amount, setAmount] = useState<number | string>("");
  if (!settings || !usage || !can("raise_budget")) return null;
  const limit = usedUpLimit(settings, usage);
  const value = typeof amount === "number" ? amount : 0;
  return (
    <form
      className={styles.raise}
      onSubmit={(event) => {
        event.preventDefault();
        if (value > 0) command.send({ type: "raise_budget", ...ZERO_AMOUNTS, [limit]: value });
      }}
    >
      <NumberInput
        size="sm"
        label={REVIEW[`budget_${limit}`]}
        min={0}
        hideControls
        allowDecimal={limit === "cost"}
        allowNegative={false}
        thousandSeparator={limit === "cost" ? undefined : ","}
        value={amount}
        onChange={setAmount}
        data-testid="raise-amount"
      />
      <Button type="submit" size="sm" variant="default" disabled={value <= 0} loading={command.busy} data-testid="raise">
        {REVIEW.raise}
      </Button>
      <Problem error={command.error} />
    </form>
  );
}
