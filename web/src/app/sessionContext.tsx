// React context and hooks for the session on the screen.
import { createContext, useCallback, useContext, useRef, useState, useSyncExternalStore } from "react";
import { JOURNAL } from "../words";
import type { SessionClient, SessionView } from "../net/client";
import type { Command, CommandType } from "../protocol";
import type { Notice, Snapshot } from "../state/state";
import { isSame } from "./isSame";

const SessionContext = createContext<SessionClient | null>(null);

export const SessionProvider = SessionContext.Provider;

export function useClient(): SessionClient {
  const client = useContext(SessionContext);
  if (!client) throw new Error("useClient is for components inside SessionProvider");
  return client;
}

/**
 * What a component needs of the session. The component renders again only when that changes, so select as little as
 * possible: a value of the state, or an object of several, whose values are compared one by one.
 */
export function useSession<T>(select: (view: SessionView) => T): T {
  const client = useClient();
  const previous = useRef<{ value: T } | null>(null);
  const selection = () => {
    const value = select(client.getView());
    if (!previous.current || !isSame(previous.current.value, value)) previous.current = { value };
    return previous.current.value;
  };
  return useSyncExternalStore(client.subscribe, selection);
}

/** The session's sections, which change with its events; not with a draft that is being written. */
export const useSnapshot = (): Snapshot | null => useSession(({ state }) => state.snapshot);

/** Returns a function that says whether the gateway would accept this command now. */
export function useCan(): (type: CommandType) => boolean {
  const can = useSession(({ state }) => state.snapshot?.can);
  return useCallback((type) => !!can?.includes(type), [can]);
}

export interface CommandSender {
  /** `draftKeys` name what the user typed for the command. */
  send(command: Command, draftKeys?: readonly string[]): void;
  /** Whether the command was sent, and is neither recorded nor refused yet. */
  busy: boolean;
  error: Notice | null;
}

/** Sends one command for a control. Returns whether it is pending, and why it was refused. */
export function useCommand(): CommandSender {
  const client = useClient();
  const [id, setId] = useState("");
  const { busy, error } = useSession(({ pending, state }) => ({
    busy: pending.some((item) => item.id === id),
    error: (id && state.notices.find((notice) => notice.replyTo === id)) || null,
  }));
  return { send: (command, draftKeys) => setId(client.send(command, draftKeys)), busy, error };
}

interface BatchSender {
  send(commands: readonly Command[]): void;
  busy: boolean;
  errors: readonly Notice[];
}

/** Sends several commands for one control. Returns whether any is pending, and why some were refused. */
export function useCommands(): BatchSender {
  const client = useClient();
  const [ids, setIds] = useState<readonly string[]>([]);
  const busy = useSession(({ pending }) => pending.some((item) => ids.includes(item.id)));
  const errors = useSession(({ state }) => state.notices.filter(({ replyTo }) => replyTo && ids.includes(replyTo)));
  return { send: (commands) => setIds(commands.map((command) => client.send(command))), busy, errors };
}

/** Returns a function that turns an actor into "You", another user's name, or a service's name. */
export function useDisplayName(): (actor: string) => string {
  const user = useSession(({ state }) => state.greeting?.user);
  return useCallback((actor) => (actor === `user:${user}` ? JOURNAL.you : actor.replace(/^user:/, "").replace("_", " ")), [user]);
}
