import { type CodingAgent, KEEPS_LIMIT, writeFile } from "../agent/client.ts";
import { KIMI } from "../library/client.ts";
import { compactionIn, configuration, edit, OWN_SEARCH } from "./opencode.ts";

/** A fork of opencode, with the same configuration in another file. */
export const agent: CodingAgent = {
	title: "Kilo",
	package: "@kilocode/cli",
	// 7.8.1 does not install: npm lacks its packages of the platforms, such as @kilocode/cli-linux-x64.
	version: "7.7.7",
	bin: "kilo",
	installScript: true,
	models: ["gpt-5.6-sol", "claude-opus-5-5", KIMI],
	path: /\/ai\/v1\/chat\/completions$/,
	configure(context) {
		writeFile(context.folder, "kilo.json", configuration(context));
	},
	command(prompt, { model }, resume) {
		return {
			args: ["run", "--auto", ...(resume ? ["--continue"] : []), "-m", `ganglion/${model}`, prompt],
			env: { KILO_DISABLE_MODELS_FETCH: "1", KILO_DISABLE_AUTOUPDATE: "1" },
		};
	},
	edit,
	compaction: compactionIn("kilo.json"),
	overflow: /maximum context length|context window|too long|exceeds the maximum number of tokens|HTTP 413/,
	unsupported: { search: OWN_SEARCH, shorten: KEEPS_LIMIT },
};
