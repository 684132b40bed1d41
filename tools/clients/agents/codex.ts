import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type CodingAgent, KEEPS_LIMIT, MCP_SERVER, patchOf, writeFile } from "../agent/client.ts";
import { KIMI } from "../library/client.ts";

/** Strings and arrays of strings have the same syntax in TOML and JSON. */
const toml = (value: string | readonly string[]): string => JSON.stringify(value);

export const agent: CodingAgent = {
	title: "Codex",
	package: "@openai/codex",
	bin: "codex",
	installScript: false,
	models: ["gpt-5.5", "gpt-5.6-sol", "gpt-6-sol", "gpt-6-astra", KIMI],
	path: /\/ai\/v1\/responses$/,
	configure({ base, home, mcp: [command, ...args], model }) {
		writeFile(
			home,
			".codex/config.toml",
			`model = ${toml(model)}
model_provider = "ganglion"

[model_providers.ganglion]
name = "Ganglion"
base_url = ${toml(`${base}/v1`)}
env_key = "GANGLION_TOKEN"
wire_api = "responses"
supports_standalone_web_search = true

[mcp_servers.${MCP_SERVER}]
required = true
command = ${toml(command)}
args = ${toml(args)}
`,
		);
	},
	command(prompt, { home, token }, resume) {
		return {
			args: [
				"exec",
				...(resume ? ["resume", "--last"] : []),
				"--skip-git-repo-check",
				// Without it every call of an MCP tool needs a person's approval.
				"--dangerously-bypass-approvals-and-sandbox",
				prompt,
			],
			env: { GANGLION_TOKEN: token, CODEX_HOME: `${home}/.codex` },
		};
	},
	// With models of its own list: gpt-5.5 searches for tools; gpt-5.6 and gpt-6 call them in JavaScript.
	toolSearch: { name: "tool_search", input: { query: "add numbers, get weather, picture of the screen" } },
	indirectCall: (tool, input) => ({
		name: "functions__exec",
		input: {
			input: `const result = await tools.mcp__${MCP_SERVER}__${tool}(${JSON.stringify(input)});
for (const part of result.content) part.type === "image" ? image(part) : text(part.text);`,
		},
	}),
	edit(path, content, tools) {
		const patch = patchOf(path, content);
		if (tools.includes("apply_patch")) return { name: "apply_patch", input: { input: patch } };
		if (tools.includes("functions__exec"))
			return {
				name: "functions__exec",
				input: { input: `text(await tools.apply_patch(${JSON.stringify(patch)}))` },
			};
		return { name: "exec_command", input: { cmd: `printf %s '${content}' > ${path}` } };
	},
	// Without its JavaScript, the tool is the hosted one.
	search: (query, tools) =>
		tools.includes("functions__exec")
			? {
					name: "functions__exec",
					input: {
						input: `const found = await tools.web__run(${JSON.stringify({ search_query: [{ q: query }] })});
text(typeof found === "string" ? found : JSON.stringify(found));`,
					},
				}
			: undefined,
	compaction: {
		configure: ({ home }) =>
			writeFile(
				home,
				".codex/config.toml",
				`model_auto_compact_token_limit = 20\n${readFileSync(join(home, ".codex/config.toml"), "utf8")}`,
			),
	},
	overflow: /ran out of room in the model's context window/,
	unsupported: { shorten: KEEPS_LIMIT },
};
