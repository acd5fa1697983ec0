// Records what pi sends its model at places of small sessions: pi_context_1.6.0.json.
//
//     node tests/conformance/record_pi.mjs FOLDER
//
// FOLDER is where `npm install --ignore-scripts @earendil-works/pi-coding-agent@1.6.0` was run;
// its bundle is asked, so that no other package matters. pi needs Node 22.19 or newer (recorded
// with 22.20.0). The sessions are made up here; the answers are those of pi's own functions.

import { writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const VERSION = "1.6.0";
const bundle = join(
	resolve(process.argv[2] ?? "."),
	"node_modules/@earendil-works/pi-coding-agent/dist/bundle/index.js",
);
const pi = await import(pathToFileURL(bundle));
if (pi.VERSION !== VERSION) throw new Error(`recorded are the answers of ${VERSION}, not of ${pi.VERSION}`);

let second = 0;
const entry = (type, id, parentId, more) => {
	second += 1;
	return { type, id, parentId, timestamp: new Date(Date.UTC(2026, 10, 1, 10, 0, second)).toISOString(), ...more };
};
const says = (id, parentId, message) => entry("message", id, parentId, { message });
const user = (id, parentId, content) => says(id, parentId, { role: "user", content });
const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15, cost: { total: 0 } };
const answer = (id, parentId, ...blocks) =>
	says(id, parentId, {
		role: "assistant",
		content: blocks.map((block) => (typeof block === "string" ? { type: "text", text: block } : block)),
		api: "anthropic-messages",
		provider: "anthropic",
		model: "claude-opus-4-5",
		usage,
		stopReason: "stop",
	});
const asks = (id, command) => ({ type: "toolCall", id, name: "bash", arguments: { command } });
const result = (id, parentId, toolCallId, text) =>
	says(id, parentId, {
		role: "toolResult",
		toolCallId,
		toolName: "bash",
		content: [{ type: "text", text }],
		isError: false,
	});
const edit = (id, parentId, targetId, replacement) =>
	entry("context_edit", id, parentId, { targetId, replacement });
const compaction = (id, parentId, summary, firstKeptEntryId, more) =>
	entry("compaction", id, parentId, { summary, firstKeptEntryId, tokensBefore: 100, ...more });
const system = (id, parentId, more) => says(id, parentId, { role: "system", content: "", timestamp: 0, ...more });
const tool = (name) => ({ name, description: `The tool ${name}.`, parameters: {} });

const long = "line of a listing\n".repeat(4);
const work = [
	user("a1", null, "Where is the port set?"),
	answer("a2", "a1", "I look.", asks("c1", "grep port")),
	result("a3", "a2", "c1", long),
	answer("a4", "a3", "In the settings."),
	user("a5", "a4", "Change it."),
	answer("a6", "a5", "Changed."),
];

const sessions = {
	"a result is omitted": [...work, edit("e1", "a6", "a3", null)],
	"a result is shortened": [...work, edit("e1", "a6", "a3", { content: [{ type: "text", text: "line of a listing" }] })],
	"a result is replaced by a string": [...work, edit("e1", "a6", "a3", { content: "[cleared]" })],
	"a call is edited away": [...work, edit("e1", "a6", "a2", { content: [{ type: "text", text: "I look." }] }), edit("e2", "e1", "a3", null)],
	"what the user said is replaced": [...work, edit("e1", "a6", "a1", { content: "Where?" })],
	"the latest edit wins": [...work, edit("e1", "a6", "a3", { content: "[one]" }), user("a7", "e1", "And now?"), answer("a8", "a7", "Now."), edit("e2", "a8", "a3", { content: "[two]" })],
	"an edit comes before anything was sent": [...work.slice(0, 3), edit("e1", "a3", "a3", { content: "[cut]" }), answer("a9", "e1", "Found.")],
	"an edit of the first message of all": [...work, edit("e1", "a6", "a1", null)],
	"an edit between other entries": [
		...work,
		entry("custom", "x1", "a6", { customType: "notes", data: { seen: 3 } }),
		edit("e1", "x1", "a3", { content: "[gone]" }),
		entry("usage", "x2", "e1", { kind: "cache_warm", provider: "anthropic", model: "claude-opus-4-5", usage }),
		user("a7", "x2", "Go on."),
		answer("a8", "a7", "Gone on."),
	],
	"back to before an edit": [...work, edit("e1", "a6", "a3", null), user("a7", "e1", "On?"), answer("a8", "a7", "On."), user("b1", "a6", "Without the edit."), answer("b2", "b1", "Whole again.")],
	"back to after an edit": [...work, edit("e1", "a6", "a3", null), user("a7", "e1", "On?"), answer("a8", "a7", "On."), user("b1", "e1", "With the edit."), answer("b2", "b1", "Still gone.")],
	"back to after a compaction": [...work, compaction("k1", "a6", "Port changed.", "a5"), user("a7", "k1", "One."), answer("a8", "a7", "1."), user("b1", "k1", "Two."), answer("b2", "b1", "2.")],
	"a compaction keeps what was edited": [...work, edit("e1", "a6", "a5", { content: "Do it." }), compaction("k1", "e1", "Port found.", "a4")],
	"a compaction hides what was edited": [...work, edit("e1", "a6", "a3", null), compaction("k1", "e1", "Port found.", "a5")],
	"what was edited first is kept first": [...work, edit("e1", "a6", "a5", { content: "Do it." }), compaction("k1", "e1", "Port found.", "a5")],
	"an edit after a compaction": [...work, compaction("k1", "a6", "Port found.", "a4"), edit("e1", "k1", "a4", null), user("a7", "e1", "Go on."), answer("a8", "a7", "Gone on.")],
	"an edit of what a compaction hid": [...work, compaction("k1", "a6", "Port found.", "a5"), edit("e1", "k1", "a2", { content: "x" })],
	"an edit of the summary": [...work, compaction("k1", "a6", "Port found.", "a5"), edit("e1", "k1", "k1", null)],
	"nothing is kept": [...work, compaction("k1", "a6", "All done.", "k1"), user("a7", "k1", "Next."), answer("a8", "a7", "Yes.")],
	"two compactions, the second keeps more": [...work, compaction("k1", "a6", "One.", "a6"), user("a7", "k1", "More."), answer("a8", "a7", "Done."), compaction("k2", "a8", "Two.", "a4")],
	"two compactions in a row": [...work, compaction("k1", "a6", "One.", "a5"), compaction("k2", "k1", "Two.", "a6")],
	"it keeps from an entry that says nothing": [...work.slice(0, 4), entry("label", "l1", "a4", { targetId: "a1", label: "here" }), user("a5", "l1", "Change it."), answer("a6", "a5", "Changed."), compaction("k1", "a6", "Found.", "l1")],
	"it keeps from what is not there": [...work, compaction("k1", "a6", "All.", "gone")],
	"a branch summary": [...work, entry("branch_summary", "s1", "a2", { fromId: "a6", summary: "It was in the settings." }), user("b1", "s1", "Try again."), answer("b2", "b1", "Again.")],
	"an empty branch summary": [...work, entry("branch_summary", "s1", "a4", { fromId: "a6", summary: "" }), user("b1", "s1", "Try again.")],
	"messages of extensions": [...work, entry("custom_message", "m1", "a6", { customType: "notes", content: "Mind the tests.", display: true }), user("a7", "m1", "Go."), answer("a8", "a7", "Gone."), edit("e1", "a8", "m1", { content: "Mind." })],
	"commands that the user ran": [
		...work,
		says("h1", "a6", { role: "bashExecution", command: "make", output: "fine", exitCode: 0, cancelled: false, truncated: false }),
		says("h2", "h1", { role: "bashExecution", command: "env", output: "no", exitCode: 0, cancelled: false, truncated: false, excludeFromContext: true }),
		edit("e1", "h2", "h1", { content: "[run]" }),
		user("a7", "e1", "Go."),
	],
	"a new start": [...work, user("b1", null, "Something else."), answer("b2", "b1", "Yes.")],
	"system messages": [
		system("y1", null, { sections: { preamble: "You write code.", cwd: "/srv/shop" }, toolsAdded: [tool("bash"), tool("read")] }),
		user("a1", "y1", "Hello."),
		answer("a2", "a1", "Hello."),
		system("y2", "a2", { sections: { cwd: "/srv/other", skills: "Skill one." }, toolsRemoved: [{ name: "read" }] }),
		user("a3", "y2", "And?"),
		answer("a4", "a3", "So."),
	],
	"a compaction repeats the system prompt": [
		system("y1", null, { sections: { preamble: "You write code.", cwd: "/srv/shop" }, toolsAdded: [tool("bash")] }),
		user("a1", "y1", "Hello."),
		answer("a2", "a1", "Hello."),
		system("y2", "a2", { sections: { cwd: "/srv/other" } }),
		user("a3", "y2", "And?"),
		answer("a4", "a3", "So."),
		compaction("k1", "a4", "Greetings.", "a2", {
			systemMessage: { role: "system", content: "", sections: { preamble: "You write code.", cwd: "/srv/other" }, toolsAdded: [tool("bash")], timestamp: 0 },
		}),
		user("a5", "k1", "On."),
		answer("a6", "a5", "On."),
	],
	"a system message that comes late": [user("a1", null, "Hello."), answer("a2", "a1", "Hello."), system("y1", "a2", { sections: { preamble: "You write code." } }), user("a3", "y1", "And?"), answer("a4", "a3", "So.")],
};

const text = (content) =>
	typeof content === "string" ? content : content.filter((block) => block.type === "text").map((block) => block.text).join("\n");
const written = (message) => ({
	role: message.role,
	text: text(message.content),
	...(message.role === "assistant" ? { calls: message.content.filter((block) => block.type === "toolCall").map((block) => block.id) } : {}),
	...(message.role === "toolResult" ? { answers: message.toolCallId } : {}),
});
const inForce = (messages) => {
	const sections = new Map();
	const tools = new Map();
	for (const message of messages.filter((each) => each.role === "system")) {
		for (const [name, value] of Object.entries(message.sections ?? {})) value === null ? sections.delete(name) : sections.set(name, value);
		for (const each of message.toolsRemoved ?? []) tools.delete(each.name);
		for (const each of message.toolsAdded ?? []) tools.set(each.name, each);
	}
	return { sections: [...sections.values()], tools: [...tools.keys()] };
};
const asked = (entries, leafId) => {
	const messages = pi.convertToLlm(pi.buildSessionContext(structuredClone(entries), leafId).messages);
	return { messages: messages.filter((each) => each.role !== "system").map(written), system: inForce(messages) };
};

const cases = Object.entries(sessions).flatMap(([name, entries]) => {
	const prompts = entries.filter((each) => !work.includes(each) && each.message?.role === "user");
	const places = [...new Set([...prompts.map((each) => each.parentId).filter(Boolean), entries.at(-1).id])];
	return places.map((leafId) => ({
		name: `${name}, at ${leafId}`,
		input: { entries: name, leafId },
		output: asked(entries, leafId),
	}));
});
const file = join(dirname(fileURLToPath(import.meta.url)), "recorded", `pi_context_${VERSION}.json`);
const head = { function: "convertToLlm(buildSessionContext)", package: "@earendil-works/pi-coding-agent", version: VERSION };
const lines = Object.entries(sessions).map(([name, entries]) => `  ${JSON.stringify(name)}: ${JSON.stringify(entries)}`);
const told = cases.map((each) => `  ${JSON.stringify(each)}`);
writeFileSync(
	file,
	`{${JSON.stringify(head).slice(1, -1)},\n "sessions": {\n${lines.join(",\n")}\n },\n "cases": [\n${told.join(",\n")}\n ]}\n`,
);
console.log(`${cases.length} cases: ${file}`);
