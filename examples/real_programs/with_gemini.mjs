// Gemini CLI's own compression (@google/gemini-cli-core), as a program of compactlab's protocol.
//
// Usage: node with_gemini.mjs FOLDER, into which npm has installed the package.
//
// Its ChatCompressionService decides when to compress, which outputs of tools to cut, where to part
// the history and whether the new one is taken; its GeminiChat makes the curated history that the
// service reads. What its GeminiClient does around them (when it is asked, what a failure leaves) is
// done here, and its table of models' windows says the run's window. Not here: the environment that
// the client puts in front of a history, the masking of outputs by another service, and the bill of
// the request that checks a summary: it is answered with the same summary again.
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Console } from "node:console";
import { register } from "node:module";
import { tmpdir } from "node:os";
import { pathToFileURL } from "node:url";
import { ask, next, send } from "./host.mjs";

globalThis.console = new Console(process.stderr); // standard output is the protocol's
console.debug = () => {};
const [folder] = process.argv.slice(2);
const scratch = await mkdtemp(`${tmpdir()}/gemini-cli-`);
process.env.GEMINI_CLI_HOME = scratch;
process.env.GEMINI_TELEMETRY_ENABLED = "false";

// The window of the run, in place of the table of models.
const windows = "export const DEFAULT_TOKEN_LIMIT = 1_048_576; export const tokenLimit = () => globalThis.compactlabWindow;";
const hook = `export const load = (url, context, next) => url.endsWith("/core/tokenLimits.js")
  ? { format: "module", shortCircuit: true, source: ${JSON.stringify(windows)} } : next(url, context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);

const home = `${folder}/node_modules/@google/gemini-cli-core`;
const load = (path) => import(pathToFileURL(`${home}/dist/src/${path}`));
const version = JSON.parse(readFileSync(`${home}/package.json`, "utf8")).version;
const { ChatCompressionService } = await load("context/chatCompressionService.js");
const { Config, DEFAULT_TRUNCATE_TOOL_OUTPUT_THRESHOLD } = await load("config/config.js");
const { DEFAULT_GEMINI_MODEL, PREVIEW_GEMINI_MODEL } = await load("config/models.js");
const { GeminiChat } = await load("core/geminiChat.js");
const { CompressionStatus } = await load("core/turn.js");
const { uiTelemetryService } = await load("telemetry/uiTelemetry.js");

// What the services need of a configuration; all else is the package's own.
const model = PREVIEW_GEMINI_MODEL ?? DEFAULT_GEMINI_MODEL;
const files = `${scratch}/files`;
const config = Object.assign(Object.create(Config.prototype), {
  model,
  truncateToolOutputThreshold: DEFAULT_TRUNCATE_TOOL_OUTPUT_THRESHOLD,
  getModel: () => model,
  getActiveModel: () => model,
  getApprovedPlanPath: () => undefined,
  getHookSystem: () => undefined,
  getCompressionThreshold: async () => undefined, // as it comes: half of the window
  getBaseLlmClient: () => ({ generateContent }),
  getContentGenerator: () => ({ countTokens: () => Promise.reject(new Error("no network")) }),
  getIncludeDirectoryTree: () => false,
  getSessionMemory: () => "",
  getProjectRoot: () => scratch,
  getUsageStatisticsEnabled: () => false,
  getSessionId: () => "session",
  getExperiments: () => undefined,
  getContentGeneratorConfig: () => undefined,
  isInteractive: () => false,
  isContextManagementEnabled: () => false,
  getNextCompressionTruncationId: () => ++truncations,
});
Object.defineProperties(config, { config: { value: config }, storage: { value: { getProjectTempDir: () => files } } });
const service = new ChatCompressionService();
let truncations = 0;

// Where nobody has the text: as many characters and tokens as it has.
const shown = (part) => part.text || " the".repeat(part.size ?? 0);

// A message as a content of Gemini's API, and which of its parts each part is. The client does not
// take thoughts into its history.
function content(sent) {
  const parts = [];
  sent.parts.forEach((part, place) => {
    const id = part.call_id ? { id: part.call_id } : {};
    let made = { text: shown(part) };
    if (part.type === "thinking") return;
    if (part.type === "image") made = { inlineData: { data: ".".repeat(4 * (part.size ?? 0)), mimeType: "image/png" } };
    if (part.type === "tool_call") made = { functionCall: { ...id, name: part.name ?? "", args: parsed(part.text) } };
    if (part.type === "tool_result") {
      // What has been put in the place of an error is an output.
      const key = part.is_error && part.kind !== "truncated" ? "error" : "output";
      made = { functionResponse: { ...id, name: part.name ?? "", response: { [key]: shown(part) } } };
    }
    places.set(made, [sent.id, place]);
    parts.push(made);
  });
  return { role: sent.role === "assistant" ? "model" : "user", parts };
}
let places = new Map(); // by part of a content: the message that it is of, and its place there

function parsed(text) {
  try {
    const value = JSON.parse(text);
    return value && typeof value === "object" && !Array.isArray(value) ? value : { arguments: value };
  } catch {
    return { arguments: text };
  }
}

// The model that is asked for a summary is compactlab's summariser.
let asked, made;
async function generateContent({ contents, systemInstruction, promptId }) {
  if (!promptId.endsWith("-verify")) {
    const transcript = contents.slice(0, -1).flatMap((each) => each.parts.map(said)).filter(Boolean).join("\n\n");
    const instructions = `${systemInstruction.text}\n\n${contents.at(-1).parts[0].text}`;
    made = (await ask("summarize", { ...asked(contents), instructions, transcript })).parts;
  }
  return { candidates: [{ content: { parts: made.map(({ text }) => ({ text })) } }] };
}

function said(part) {
  if (part.functionCall) return `${part.functionCall.name} ${JSON.stringify(part.functionCall.args)}`;
  return part.functionResponse ? Object.values(part.functionResponse.response).join("\n") : part.text;
}

const tells = (sent) => sent.role === "user" && sent.parts.some((part) => part.kind === "summary");
const promptOf = (usage) => usage.uncached + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h;

async function answer(view) {
  const { failed = false, after = "", cut = 0 } = view.notes; // a rewind takes them back
  truncations = cut;
  const { messages } = view;
  const end = messages.findLastIndex((sent) => sent.role === "assistant") + 1;
  const pending = messages.slice(end).map((sent) => sent.id);
  places = new Map();
  const turns = messages.slice(0, end).map((sent) => ({ id: sent.id, content: content(sent) }));
  const chat = new GeminiChat({ config, promptId: "prompt" }, "", [], turns.filter((turn) => turn.content.parts.length));
  // What was reported is of another history, if no answer has come since this one was made.
  const heard = messages.slice(messages.findIndex((sent) => sent.id === after) + 1).some((sent) => sent.role === "assistant");
  if (!view.usage) chat.lastPromptTokenCount = 0;
  else if (!after || heard) chat.lastPromptTokenCount = promptOf(view.usage);
  uiTelemetryService.setLastPromptTokenCount(chat.getLastPromptTokenCount());

  const curated = chat.getHistory(true);
  const owner = (each) => places.get(each.parts[0])[0];
  const indexOf = (id) => messages.findIndex((sent) => sent.id === id);
  asked = (contents) => {
    const first = curated[contents.length - 1]; // the oldest that is kept
    const old = messages.slice(0, first ? indexOf(owner(first)) : end);
    const [previous, spoken] = [old.filter(tells), old.filter((sent) => !tells(sent))];
    return { messages: spoken.map((sent) => sent.id), previous: previous.map((sent) => sent.id), max_tokens: most };
  };
  const { newHistory, info } = await service.compress(chat, "prompt", false, model, config, failed);
  const inflated = info.compressionStatus === CompressionStatus.COMPRESSION_FAILED_INFLATED_TOKEN_COUNT;
  const notes = { failed: failed || inflated, after, cut: truncations };
  if (!newHistory) return { notes };
  const compressed = info.compressionStatus === CompressionStatus.COMPRESSED;
  const stays = compressed ? newHistory.slice(2) : newHistory;
  const before = curated.slice(curated.length - stays.length);
  const shorter = new Map(); // by message: its parts that were cut
  for (const [number, each] of stays.entries())
    for (const [place, part] of each.parts.entries()) {
      const old = before[number].parts[place];
      if (part === old) continue;
      const [id, at] = places.get(old);
      const edit = await shortened(known.get(id), at, part.functionResponse.response.output);
      if (edit) shorter.set(id, (shorter.get(id) ?? new Map()).set(at, edit));
    }
  const start = before.length ? indexOf(owner(before[0])) : end;
  const kept = messages.slice(start, end).map(({ id, parts }) =>
    shorter.has(id) ? { id, parts: parts.map((_, at) => shorter.get(id).get(at) ?? at) } : id);
  const front = compressed
    ? [{ role: "user", parts: made }, { role: "assistant", parts: newHistory[1].parts.map(({ text }) => ({ text })) }]
    : [];
  const last = pending.at(-1) ?? messages.at(-1).id;
  return { messages: [...front, ...kept, ...pending], notes: { ...notes, after: last } };
}

// A result that did not fit. If its middle was cut out, all of it stays in a file, and the spans
// that are left of it are told; an error that is not long has become an output.
async function shortened(sent, at, text) {
  const part = sent.parts[at];
  if (text === part.text) return undefined;
  const [, path] = text.split("\n", 1)[0].match(/ see: (.*)$/) ?? [];
  if (!path?.startsWith(files)) return { part: at, text, kind: "truncated" };
  const handle = path.slice(files.length + 1);
  await ask("write", { path: handle, text: part.text });
  const edit = { part: at, text: text.replace(path, handle), kind: "truncated", handle: part.handle ?? handle };
  if (part.kind) return { ...edit, sources: part.sources };
  const kept = config.getTruncateToolOutputThreshold();
  const first = Math.floor(kept * 0.2);
  const length = [...part.text].length; // in code points, as the protocol counts
  const head = [...part.text.slice(0, first)].length;
  const tail = [...part.text.slice(first - kept)].length;
  const spans = [[0, head], [length - tail, length]].filter(([start, end]) => start < end);
  if (!spans.length) return { ...edit, kind: "stub" };
  return { ...edit, sources: spans.map(([start, end]) => ({ id: sent.id, part: at, start, end })) };
}

let known = new Map();
let most = 8192;
for (let line = await next(); line; line = await next()) {
  if (line.type === "hello")
    send({ type: "hello", protocol: 1, name: "gemini-cli", version, does: ["summarise", "truncate", "offload"] });
  if (line.type === "begin") {
    known = new Map();
    globalThis.compactlabWindow = line.window;
    most = line.max_output || 8192; // the package sets no limit
  }
  if (line.type === "view") {
    for (const sent of line.new) known.set(sent.id, sent);
    const messages = line.ids.map((id) => known.get(id));
    send({ type: "answer", id: line.id, ...(await answer({ ...line, messages })) });
  }
}
await rm(scratch, { recursive: true, force: true });
process.exit(0);
