// Runs a request for a form or button. Returns whether it is pending, and why it was refused.
import { useState } from "react";
import { errorMessage } from "./useFetch";

export function useSubmit() {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const submit = async (action: () => Promise<void>) => {
    setBusy(true);
    setProblem("");
    try {
      await action();
    } catch (error) {
      setProblem(errorMessage(error));
    }
    setBusy(false);
  };
  return { busy, problem, submit };
}
