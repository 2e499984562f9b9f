// A Parley client in plain JavaScript, written from docs/protocol.md alone. It follows one session to its end.
//
//   node --experimental-websocket plain_client.mjs URL WORKFLOW REQUEST SETTINGS
//
// A URL ending in /ws means protocol 1, /ws?view=2 protocol 2. The client approves everything, answers questions with
// their first option, and prints the session as JSON when nothing is left to do.

const [url, workflow, request, settings] = process.argv.slice(2);
const socket = new WebSocket(url);
const send = (message) => socket.send(JSON.stringify(message));
const finish = (result) => (console.log(JSON.stringify(result)), socket.close());
const kinds = [];
let sessionId, last = 0;

const firstMessage = { type: "user_message", content: request, workflow, settings: JSON.parse(settings) };

// --- protocol 1: each request to the user is a message

function onMessageV1(message) {
  switch (message.type) {
    case "text_plan_review":
    case "code_review":
      return send({ type: "approval", approved: true, version: message.version, hash: message.hash });
    case "approval_request":
      for (const action of message.actions) send({ type: "approval", approved: true, action_id: action.action_id, hash: action.hash });
      return;
    case "question":
      return send({ type: "answer", question_id: message.question_id, content: answerTo(message) });
    case "continue":
      return finish({ sessionId, kinds, last });
    case "failed":
      return finish({ sessionId, kinds, last, failure: message.failure });
  }
}

// --- protocol 2: a view with sections that are replaced, and journal entries by key

let view, can = [];
const journal = new Map();
const decided = new Set();

function onMessageV2(message) {
  if (message.type === "snapshot") ({ view, can } = message);
  if (message.type !== "event") return;
  for (const entry of message.entries)
    if (entry.kind !== "update") journal.set(entry.key, entry);
    else if (journal.has(entry.key)) Object.assign(journal.get(entry.key), entry.set);
  const actions = { ...view?.actions, ...message.changed.actions };
  for (const id in actions) if (actions[id] === null) delete actions[id];
  view = { ...view, ...message.changed, actions };
  can = message.can ?? can;
  decide();
}

function sendOnce(key, message) {
  if (decided.has(key)) return;
  decided.add(key);
  send(message);
}

function decide() {
  const { review, approval_request: waiting, question } = view;
  if (review) sendOnce(`review ${review.version}`, { type: "approval", approved: true, version: review.version, hash: review.hash });
  for (const id of waiting?.actions ?? []) sendOnce(`action ${id} ${view.actions[id].hash}`, { type: "approval", approved: true, action_id: id, hash: view.actions[id].hash });
  if (question) sendOnce(`question ${question.question_id} ${last}`, { type: "answer", question_id: question.question_id, content: answerTo(question) });
  if (view.failure || view.phase === "resting") finish({ sessionId, kinds, last, view, can, failure: view.failure, journal: [...journal.values()] });
}

function answerTo({ form, options, content }) {
  if (form?.kind === "tables") return JSON.stringify({ tables: form.tables.filter((table) => table.chosen).map((table) => table.name) });
  return options[0] ?? `I have nothing to add to: ${content}`;
}

socket.onmessage = ({ data }) => {
  const message = JSON.parse(data);
  if (message.type === "greeting") {
    sessionId = message.session_id;
    return send(firstMessage);
  }
  if (message.type === "error") return finish({ error: message });
  if (message.type === "event") last = message.version;
  if (message.type !== "delta") kinds.push(message.type);
  (url.includes("view=2") ? onMessageV2 : onMessageV1)(message);
};
socket.onerror = () => process.exit(1);
