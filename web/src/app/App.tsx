// The root component: selects the session on the screen, or asks the user to log in.
import { useEffect, useState } from "react";
import { SessionClient } from "../net/client";
import { LoginRequired } from "./LoginRequired";
import { navigate, useRoute } from "./route";
import { SessionProvider, useSession } from "./sessionContext";
import { Shell } from "./Shell";

/** A session on the screen. When a new conversation gets its id, `route` is set in place, so that the client stays. */
interface Visit {
  route: string | null;
}

export function App() {
  const route = useRoute();
  const [visit, setVisit] = useState<Visit>({ route });
  const [client, setClient] = useState<SessionClient | null>(null);
  if (visit.route !== route) setVisit({ route });

  useEffect(() => {
    const next = new SessionClient(visit.route, (sessionId) => {
      visit.route = sessionId;
      navigate(sessionId);
    });
    setClient(next);
    return () => next.close();
  }, [visit]);

  const startNew = () => (route === null ? setVisit({ route }) : navigate(null));
  return client ? (
    <SessionProvider key={client.key} value={client}>
      <SessionScreen onNew={startNew} />
    </SessionProvider>
  ) : null;
}

function SessionScreen({ onNew }: { onNew: () => void }) {
  const { forkId, isDenied } = useSession(({ state, connection }) => ({ forkId: state.forkId, isDenied: connection === "denied" }));
  useEffect(() => {
    if (forkId) navigate(forkId);
  }, [forkId]);
  return isDenied ? <LoginRequired /> : <Shell onNew={onNew} />;
}
