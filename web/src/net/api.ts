// The few things the page asks over plain HTTP.

export interface Me {
  user: string;
  auth: string;
  rehearsal: boolean;
}

export interface SessionSummary {
  session_id: string;
  title: string;
  state: string;
  phase: string;
  workflow: string;
  owner: string;
  created_at: string;
  updated_at: string;
  version: number;
}

export class Denied extends Error {}

async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await fetch(path, { headers: { Accept: "application/json" }, signal });
  if (response.status === 401 || response.status === 403) throw new Denied();
  if (!response.ok) throw new Error(`The gateway answered ${response.status}.`);
  return (await response.json()) as T;
}

export const me = (): Promise<Me> => get<Me>("/api/me");

/** A summary as the gateway sends it: plan_store's row, whose key is `id`. */
type Row = Omit<SessionSummary, "session_id"> & { id?: string; session_id?: string };

export async function sessions(query: string, limit: number, signal?: AbortSignal): Promise<{ sessions: SessionSummary[]; total: number }> {
  const page = await get<{ sessions: Row[]; total: number }>(`/api/sessions?${new URLSearchParams({ q: query, limit: String(limit), offset: "0" })}`, signal);
  return { total: page.total, sessions: page.sessions.map((row) => ({ ...row, session_id: row.session_id ?? row.id ?? "" })) };
}

export function exportUrl(sessionId: string, format: "md" | "json" | "py"): string {
  return `/api/sessions/${encodeURIComponent(sessionId)}/export?format=${format}`;
}

/** Only a clear refusal counts: a gateway that is down is no matter of login. */
export async function isDenied(): Promise<boolean> {
  try {
    await me();
    return false;
  } catch (error) {
    return error instanceof Denied;
  }
}
