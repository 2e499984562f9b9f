import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type * as Drafts from "./drafts";

/** A browser's storage in memory. `limit`: the most characters of one value. */
class FakeStorage {
  readonly items = new Map<string, string>();
  limit = Infinity;
  get length() {
    return this.items.size;
  }
  key = (index: number) => [...this.items.keys()][index] ?? null;
  getItem = (key: string) => this.items.get(key) ?? null;
  removeItem = (key: string) => void this.items.delete(key);
  setItem = (key: string, text: string) => {
    if (text.length > this.limit) throw new DOMException("full", "QuotaExceededError");
    this.items.set(key, text);
  };
}

const local = new FakeStorage();

/** A tab of the browser: a page of its own, whose session storage survives reloads. */
async function openTab(tabStorage: FakeStorage, user = "ann"): Promise<typeof Drafts> {
  vi.stubGlobal("localStorage", local);
  vi.stubGlobal("sessionStorage", tabStorage);
  vi.resetModules();
  const tab = await import("./drafts");
  if (user) tab.setDraftUser(user);
  return tab;
}

beforeEach(() => local.items.clear());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("keeps a draft over a reload, and shows it in a new tab", async () => {
  const storage = new FakeStorage();
  const tab = await openTab(storage);
  tab.writeDraft(tab.draftKey("s", "message"), "half a thought");
  for (const other of [await openTab(storage), await openTab(new FakeStorage())]) {
    expect(other.readDraft(other.draftKey("s", "message"))).toBe("half a thought");
    expect(other.readDraft(other.draftKey("t", "message"))).toBeNull();
    expect(other.readDraft(other.draftKey("s", "feedback"))).toBeNull();
  }
});

it("keeps what each tab has typed into the same field", async () => {
  const [one, two] = [new FakeStorage(), new FakeStorage()];
  for (const [storage, text] of [[one, "first"], [two, "second"]] as const) {
    const tab = await openTab(storage);
    tab.writeDraft(tab.draftKey(null, "message"), text);
  }
  for (const [storage, text] of [[one, "first"], [two, "second"]] as const) {
    const tab = await openTab(storage);
    expect(tab.readDraft(tab.draftKey(null, "message"))).toBe(text);
  }
});

it("hides drafts from another user of the browser, and forgets them when their user logs out", async () => {
  const storage = new FakeStorage();
  const ann = await openTab(storage);
  ann.writeDraft(ann.draftKey("s", "message"), "my secret");
  const bob = await openTab(storage, "bob");
  expect(bob.readDraft(bob.draftKey("s", "message"))).toBeNull();
  bob.writeDraft(bob.draftKey("s", "message"), "bob's");
  bob.forgetDrafts();
  expect([...local.items.values()].join()).not.toContain("bob's");
  const again = await openTab(storage);
  expect(again.readDraft(again.draftKey("s", "message"))).toBe("my secret");
  again.forgetDrafts();
  expect(local.length).toBe(0);
});

it("gives what was typed before the greeting to the user whom it names, and stores nothing before", async () => {
  const tab = await openTab(new FakeStorage(), "");
  tab.writeDraft(tab.draftKey(null, "message"), "early");
  expect(local.length).toBe(0);
  tab.setDraftUser("ann");
  expect(tab.readDraft(tab.draftKey(null, "message"))).toBe("early");
  expect(local.length).toBe(1);
});

it("empties the field of a sent draft, and forgets it only once it is accepted", async () => {
  const storage = new FakeStorage();
  const tab = await openTab(storage);
  const key = tab.draftKey("s", "message");
  tab.writeDraft(key, "please");
  const sent = { key, value: "please" };
  tab.takeDraft(sent);
  expect(tab.readDraft(key)).toBeNull();
  expect(local.length).toBe(1); // the tab may be closed before the answer
  tab.acceptDraft(sent);
  expect(local.length).toBe(0);
});

it("puts a refused draft back, unless something newer was typed", async () => {
  const tab = await openTab(new FakeStorage());
  const key = tab.draftKey("s", "message");
  const sent = { key, value: "refused" };
  tab.writeDraft(key, "refused");
  tab.takeDraft(sent);
  tab.restoreDraft(sent);
  expect(tab.readDraft(key)).toBe("refused");
  tab.takeDraft(sent);
  tab.writeDraft(key, "newer");
  tab.restoreDraft(sent);
  tab.acceptDraft(sent);
  expect(tab.readDraft(key)).toBe("newer");
  expect((await openTab(new FakeStorage())).readDraft(key)).toBe("newer");
});

it("moves what was typed for a new conversation to the session that it becomes", async () => {
  const tab = await openTab(new FakeStorage());
  tab.writeDraft(tab.draftKey(null, "message"), "and then");
  tab.adoptDrafts("s");
  expect([tab.readDraft(tab.draftKey("s", "message")), tab.readDraft(tab.draftKey(null, "message"))]).toEqual(["and then", null]);
});

it("limits the number and the age of stored drafts", async () => {
  vi.useFakeTimers({ now: 0 });
  const tab = await openTab(new FakeStorage());
  tab.writeDraft(tab.draftKey("old", "message"), "old");
  vi.setSystemTime(31 * 86_400_000);
  for (let index = 0; index < 150; index++) {
    vi.setSystemTime(31 * 86_400_000 + index);
    tab.writeDraft(tab.draftKey(`s${index}`, "message"), "text");
  }
  expect(local.length).toBe(100);
  const later = await openTab(new FakeStorage());
  expect(["old", "s0", "s149"].map((id) => later.readDraft(later.draftKey(id, "message")))).toEqual([null, null, "text"]);
});

it("keeps drafts in memory if the browser's storage is full, and ignores what it cannot read", async () => {
  local.limit = 10;
  const tab = await openTab(new FakeStorage());
  const key = tab.draftKey("s", "message");
  tab.writeDraft(key, "longer than ten");
  expect(tab.readDraft(key)).toBe("longer than ten");
  local.limit = Infinity;
  for (const text of ["{", "7", "[]", "null", '{"value": 1}', '{"at": 1}']) {
    local.setItem(key, text);
    expect((await openTab(new FakeStorage())).readDraft(key)).toBeNull();
  }
});
