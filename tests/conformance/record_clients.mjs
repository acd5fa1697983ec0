// Records what the programs of Codex and OpenCode have in them: recorded/codex_models_0.171.0.json
// and recorded/opencode_usable_1.18.33.json.
//
//     node tests/conformance/record_clients.mjs CODEX OPENCODE
//
// CODEX and OPENCODE are the executables of npm @openai/codex 0.171.0 (linux-x64) and of
// opencode-linux-x64 1.18.33. Codex carries its list of models as JSON; OpenCode its JavaScript,
// minified: a function is found by what it says, the names in it by where they stand.

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [codex, opencode] = process.argv.slice(2).map((path) => readFileSync(path));

function block(text, open) {
	let depth = 0;
	for (let at = open; ; at++) {
		if (text[at] === "{") depth++;
		if (text[at] === "}" && !--depth) return at + 1;
	}
}

// 1. Codex: the window and the compatibility of each model.
const first = codex.lastIndexOf('"models"', codex.indexOf('"slug": "gpt-6.2-sol"'));
const list = codex.subarray(codex.lastIndexOf("{", first), first + 2_000_000).toString("latin1");
// Braces in the texts of the list are paired, or it would not be JSON.
const { models } = JSON.parse(list.slice(0, block(list, 0)));
const windows = models
	.filter((model) => model.visibility === "list")
	.map((model) => ({ name: model.slug, input: { model: model.slug }, output: { window: model.context_window, hash: model.comp_hash } }));

// 2. OpenCode: what is usable of a window, and the tokens of the tail.
const code = opencode.toString("latin1");
function found(marker, from = 0) {
	const at = code.indexOf(marker, from);
	const start = code.lastIndexOf("function ", at + marker.length - 1);
	const source = code.slice(start, block(code, code.indexOf("{", start)));
	return { source, near: code.slice(at - 4000, at + 4000), name: source.match(/function ([\w$]+)/)[1] };
}
const number = (text, name) => Number(text.match(new RegExp(`[ ,]${name.replace("$", "\\$")}=(\\d+(?:e\\d+)?)[,;]`))[1]);
const usable = found(".compaction?.reserved??Math.min(");
const tail = found(".compaction?.preserve_recent_tokens??Math.min(");
const [, buffer, transform] = usable.source.match(/Math\.min\(([\w$]+),([\w$]+)\./);
const [, most, least] = tail.source.match(/Math\.min\(([\w$]+),Math\.max\(([\w$]+),/);
const exported = code.match(/maxOutputTokens:\(\)=>([\w$]+),ProviderTransform:\(\)=>[\w$]+,OUTPUT_TOKEN_MAX:\(\)=>([\w$]+)\}/);
const answer = found(`function ${exported[1]}(`, exported.index);
const ask = new Function(`
	const ${buffer} = ${number(usable.near, buffer)}, ${most} = ${number(tail.near, most)}, ${least} = ${number(tail.near, least)};
	const ${exported[2]} = ${number(code.slice(exported.index, exported.index + 40000), exported[2])};
	${answer.source}
	const ${transform} = { maxOutputTokens: ${exported[1]} };
	${usable.source}
	${tail.source}
	return (model, compaction) => ({ usable: ${usable.name}({ model, cfg: { compaction } }), tail: ${tail.name}({ model, cfg: { compaction } }) });
`)();
const sizes = [];
// A limit of the prompt beside the window, where the answer takes no more than half of that.
for (const context of [8000, 100000, 200000, 400000, 1050000])
	for (const output of [0, 8192, 32000, 128000])
		for (const input of [undefined, context - output])
			if (input === undefined || (output && input >= output))
				sizes.push({ name: `${context}/${output}/${input ?? "-"}`, input: { context, output, input: input ?? null }, output: ask({ limit: { context, output, input } }) });

const here = join(dirname(fileURLToPath(import.meta.url)), "recorded");
const write = (file, fn, name, version, cases) => {
	const head = JSON.stringify({ function: fn, package: name, version }).slice(0, -1);
	writeFileSync(join(here, `${file}_${version}.json`), `${head},"cases":[\n${cases.map((one) => JSON.stringify(one)).join(",\n")}\n]}\n`);
};
write("codex_models", "Codex's window and comp_hash of a model", "@openai/codex", "0.171.0", windows);
write("opencode_usable", "OpenCode's usable window and tail", "opencode-ai", "1.18.33", sizes);
