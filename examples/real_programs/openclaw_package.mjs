// What the npm package openclaw has of compaction, found in its chunks by name.
//
// The chunks are bundled, not minified. Functions that a chunk keeps to itself are exported by one
// more line at its end; where a function reads or writes OpenClaw's database or starts a run, it is
// told of the host instead (`globalThis.compactlab`). Nothing else of them is changed.
import { readdirSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

// By a text of the chunk: what is read, and what in its place. A text that is not there is an error.
const HOST = "globalThis.compactlab";
const CHANGES = {
  // The summariser is told for which messages it is asked, and a refusal is not slept over.
  "async function runSummarizationCompletion(": [["params.streamFn(params.model, context, options)", "params.streamFn(params.model, context, options, params)"]],
  "async function summarizeChunks(": [["minDelayMs: 500,", "minDelayMs: 0,"], ["maxDelayMs: 5e3,\n\t\t\tjitter: .2,\n\t\t\tlabel: \"compaction/generateSummary\"", "maxDelayMs: 0,\n\t\t\tlabel: \"compaction/generateSummary\""]],
  // Of which sections a finished summary consists, from its end backwards.
  "function compactionSafeguardExtension(": [["const finalized = fitted.value;", `const finalized = fitted.value;\n\t\t\t${HOST}.finished = { body: finalized.structuralSummary.length, sections: [...Object.entries(sections), ["failures", toolFailureSection], ["files", fileOpsSummary]] };`]],
  // Secrets stay in the transcript: a masked one has another length, and no setting leaves it.
  "function redactTranscriptMessage(": [["function redactTranscriptMessage(message, cfg, sourceAppend) {", "function redactTranscriptMessage(message, cfg, sourceAppend) {\n\treturn message;"]],
  "async function runMemoryFlushIfNeeded(": [
    ["await (await embeddedAgentRuntimeLoader.load()).compactEmbeddedAgentSession(", `await ${HOST}.compact(`],
    ["readSessionTranscriptActiveStats(scope)", `${HOST}.stats()`],
    ["withRecentSessionTranscriptActiveEvents(scope, params.usageEventLimit ?? SQLITE_USAGE_TAIL_MAX_EVENTS, ", `${HOST}.events(`],
    ["await readSessionMessagesAsync(", `await ${HOST}.messages(`],
    ["await incrementCompactionCount(", `await ${HOST}.compacted(`],
    ["await updateSessionEntry(", `await ${HOST}.update(`],
    ["resolveMemoryFlushPlan(", `${HOST}.plan(`],
    ["await memoryFlushSessionRuntimeLoader.load()", `${HOST}.memory`],
    ["await runEmbeddedAgentEntry(", `await ${HOST}.flush(activeMemoryFlushPlan, `],
    ["prepareSystemAgentRunAdmission(", `${HOST}.admission(`],
    ["await appendPostCompactionRefreshPrompt(", `await ${HOST}.nothing(`],
  ],
};
const KEPT = ["estimateTokensAfterCompaction", "projectCompactionAccountingPatch", "buildMemoryFlushPlan"];

export async function packageIn(folder) {
  const home = join(folder, "node_modules/openclaw");
  const dist = join(home, "dist");
  const files = [...readdirSync(dist).filter((name) => name.endsWith(".mjs")), "extensions/memory-core/index.js"];
  const chunks = new Map(files.map((name) => [join(dist, name), readFileSync(join(dist, name), "utf8")]));
  for (const [file, text] of chunks) {
    let own = text;
    for (const [mark, changes] of Object.entries(CHANGES))
      if (text.includes(mark))
        for (const [from, to] of changes) {
          if (!own.includes(from)) throw new Error(`${basename(file)} is another one: no ${from}`);
          own = own.replaceAll(from, to);
        }
    const kept = KEPT.filter((name) => text.includes(`function ${name}(`)).map((name) => `${name} as compactlab_${name}`);
    if (kept.length) own += `\nexport { ${kept.join(", ")} };\n`;
    if (own !== text) sources.set(pathToFileURL(file).href, own);
  }
  async function exported(name) {
    for (const [file, text] of chunks) {
      const found = text.slice(text.lastIndexOf("export {")).match(new RegExp(`\\b${name} as ([\\w$]+)`))?.[1];
      const own = KEPT.includes(name) ? `compactlab_${name}` : found;
      if (own && new RegExp(`(function|class|const|var) ${name}\\b`).test(text)) return (await import(pathToFileURL(file)))[own];
    }
    throw new Error(`${name} is exported nowhere`);
  }
  const { version } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
  return { version, exported };
}

const sources = new Map(); // changed chunks, by their address
registerHooks({
  load: (url, context, next) => (sources.has(url) ? { format: "module", shortCircuit: true, source: sources.get(url) } : next(url, context)),
});
