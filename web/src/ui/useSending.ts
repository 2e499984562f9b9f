// What is sent over HTTP when something is pressed: whether it is under way, and why it was refused.
import { useState } from "react";
import { reasonOf } from "./useAsked";

export function useSending() {
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState("");
  const send = async (work: () => Promise<void>) => {
    setBusy(true);
    setRefused("");
    try {
      await work();
    } catch (error) {
      setRefused(reasonOf(error));
    }
    setBusy(false);
  };
  return { busy, refused, send };
}
