// pi's own compaction (@mariozechner/pi-coding-agent), as a program of compactlab's protocol.
//
// Usage: node with_pi.mjs FOLDER, into which npm has installed the package.
//
// Its functions decide when to compact, where to cut, what is summarised and with which text; what
// its AgentSession does around them (when they are asked, the entry of a compaction) is done here.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { ask, next, send } from "./host.mjs";
import { messagesOf, told, usageOf, whole, withoutFiller } from "./pi_messages.mjs";

const [folder] = process.argv.slice(2);
const scope = `${folder}/node_modules/@mariozechner`;
const load = (path) => import(pathToFileURL(`${scope}/${path}`));
const version = JSON.parse(readFileSync(`${scope}/pi-coding-agent/package.json`, "utf8")).version;
const pi = await load("pi-coding-agent/dist/core/compaction/index.js");
const { registerApiProvider } = await load("pi-ai/dist/api-registry.js");
const { COMPACTION_SUMMARY_PREFIX, COMPACTION_SUMMARY_SUFFIX } = await load("pi-coding-agent/dist/core/messages.js");
const { buildSessionContext } = await load("pi-coding-agent/dist/core/session-manager.js");

// The model that pi asks for a summary is compactlab's summariser: `asked` says for which messages.
let asked = [];
registerApiProvider({ api: "host", stream: summarise, streamSimple: summarise });
function summarise(model, context, options) {
  const { messages, previous } = asked.shift();
  const transcript = withoutFiller(context.messages[0].content[0].text);
  const instructions = context.systemPrompt;
  // One request after the other: the host's next line is the reply to the last.
  const result = waiting.then(async () => {
    const reply = await ask("summarize", { messages, previous, max_tokens: options.maxTokens, instructions, transcript });
    made.push(reply.parts);
    return { stopReason: "stop", content: [{ type: "text", text: reply.parts.map((p) => p.text).join("\n") }] };
  });
  waiting = result;
  return { result: () => result };
}
let waiting = Promise.resolve();
let made = [];

const wrapped = (summary) => COMPACTION_SUMMARY_PREFIX + summary + COMPACTION_SUMMARY_SUFFIX;

async function answer(view) {
  const { state } = view.notes; // of the last compaction; a rewind takes it back
  const settings = { ...pi.DEFAULT_COMPACTION_SETTINGS };
  const overflow = view.phase === "on_overflow";
  let messages = view.messages;
  if (view.phase === "before_turn") {
    const start = messages.findLastIndex((m) => m.role === "user" && !m.meta);
    if (start >= 0) messages = messages.slice(0, start);
  }
  const usage = usageOf(view.usage);
  if (!overflow && !(usage && pi.shouldCompact(pi.calculateContextTokens(usage), view.window, settings))) return {};
  const summary = state && whole(messages[0]) === wrapped(state.summary) ? messages[0] : undefined;
  const body = summary ? messages.slice(1) : messages;
  const last = body.findLastIndex((m) => m.role === "assistant");
  const entries = [];
  const home = new Map(); // by id of an entry, the message that it is of
  body.forEach((sent, place) =>
    messagesOf(sent, place === last ? usage : undefined).forEach((piece, number) => {
      entries.push({ type: "message", id: `${sent.id}/${number}`, message: piece, timestamp: new Date(piece.timestamp).toISOString() });
      home.set(`${sent.id}/${number}`, sent.id);
    }));
  if (summary) {
    // What was kept stands before the entry of the compaction, what came later behind it.
    const kept = body.findLastIndex((m) => m.id === state.last) + 1;
    const count = entries.filter((e) => body.slice(0, kept).some((m) => m.id === home.get(e.id))).length;
    const first = count ? entries[0].id : "";
    entries.splice(count, 0, { type: "compaction", id: "compaction", summary: state.summary, firstKeptEntryId: first, tokensBefore: 0, details: state.details, timestamp: new Date(0).toISOString() });
    const after = entries.slice(count + 1);
    if (!overflow && !after.some((e) => e.message?.role === "assistant")) return {};
  }
  if (overflow) entries.push({ type: "message", id: "refused", message: { role: "assistant", content: [], stopReason: "error", timestamp: 0 }, timestamp: new Date(0).toISOString() });
  entries.forEach((entry, place) => (entry.parentId = place ? entries[place - 1].id : null));
  const prepared = pi.prepareCompaction(entries, settings);
  if (!prepared) return {};
  const owner = new Map(entries.map((e) => [e.message, home.get(e.id)]));
  const idsOf = (list) => [...new Set(list.map((m) => owner.get(m)).filter(Boolean))];
  const carried = summary && prepared.previousSummary ? [summary.id] : [];
  asked = [];
  if (prepared.messagesToSummarize.length || !(prepared.isSplitTurn && prepared.turnPrefixMessages.length))
    asked.push({ messages: idsOf(prepared.messagesToSummarize), previous: carried });
  if (prepared.isSplitTurn && prepared.turnPrefixMessages.length)
    asked.push({ messages: idsOf(prepared.turnPrefixMessages), previous: [] });
  made = [];
  const result = await pi.compact(prepared, { api: "host", id: "host", provider: "host", reasoning: false }, "none");
  const context = buildSessionContext([...entries, { type: "compaction", id: "now", parentId: entries.at(-1).id, timestamp: new Date(0).toISOString(), ...result }]);
  const keep = [...new Set(context.messages.map((m) => owner.get(m)).filter(Boolean))];
  const arrived = view.messages.slice(messages.length).map((m) => m.id);
  const notes = { state: { summary: result.summary, details: result.details, last: keep.at(-1) ?? "" } };
  return { messages: [{ role: "user", parts: told(wrapped(result.summary), made.flat()) }, ...keep, ...arrived], notes };
}

let known = new Map();
for (let line = await next(); line; line = await next()) {
  if (line.type === "hello")
    send({ type: "hello", protocol: 1, name: "pi", version, phases: ["after_turn", "before_turn", "on_overflow"], does: ["summarise"] });
  if (line.type === "begin") known = new Map();
  if (line.type === "view") {
    for (const sent of line.new) known.set(sent.id, sent);
    const messages = line.ids.map((id) => known.get(id));
    send({ type: "answer", id: line.id, ...(await answer({ ...line, messages })) });
  }
}
