// Beside the question about a budget that is used up: more of it, by an amount of the person's own.
import { Button, NumberInput } from "@mantine/core";
import { useState } from "react";
import { useAct, useCan, useSession } from "../app/session";
import { REVIEW } from "../generated/words";
import { Problem } from "../ui/Problem";

export default function RaiseBudget() {
  const { state } = useSession();
  const can = useCan();
  const act = useAct();
  const [amount, setAmount] = useState<number | string>("");
  const settings = state.snapshot?.settings;
  if (!settings || !can("raise_budget")) return null;
  const tokens = settings.token_budget !== null;
  const value = typeof amount === "number" ? amount : 0;
  return (
    <form
      className="raise"
      onSubmit={(event) => {
        event.preventDefault();
        if (value > 0) act.send({ type: "raise_budget", tokens: tokens ? value : 0, cost: tokens ? 0 : value });
      }}
    >
      <NumberInput
        size="sm"
        label={tokens ? REVIEW.budget_tokens : REVIEW.budget_cost}
        min={0}
        hideControls
        allowDecimal={!tokens}
        allowNegative={false}
        thousandSeparator={tokens ? "," : undefined}
        value={amount}
        onChange={setAmount}
        data-testid="raise-amount"
      />
      <Button type="submit" size="sm" variant="default" disabled={value <= 0} loading={act.busy} data-testid="raise">
        {REVIEW.raise}
      </Button>
      <Problem error={act.error} />
    </form>
  );
}
