import { type CodingAgent, KEEPS_LIMIT, MCP_SERVER, writeFile } from "../agent/client.ts";
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

[mcp_servers.${MCP_SERVER}]
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
	toolSearch: { name: "tool_search", input: { query: "add numbers, get weather" } },
	indirectCall: (tool, input) => ({
		name: "functions__exec",
		input: {
			input: `text(await tools.mcp__${MCP_SERVER}__${tool}(${JSON.stringify(input)}))`,
		},
	}),
	overflow: /ran out of room in the model's context window/,
	unsupported: { shorten: KEEPS_LIMIT },
};
