import { type CodingAgent, KEEPS_LIMIT, MCP_SERVER, NO_SEARCH, writeFile } from "../agent/client.ts";
import { KIMI } from "../library/client.ts";

export const agent: CodingAgent = {
	title: "Continue",
	package: "@continuedev/cli",
	bin: "cn",
	installScript: false,
	models: ["gpt-5.6-sol", "claude-opus-5-5", KIMI],
	path: /\/ai\/v1\/(?:chat\/completions|responses)$/,
	configure({ base, folder, mcp: [command, ...args], model, token }) {
		// JSON is YAML.
		writeFile(folder, "config.yaml", {
			name: "Ganglion",
			version: "1.0.0",
			schema: "v1",
			models: [
				{
					name: "Ganglion",
					provider: "openai",
					apiBase: `${base}/v1`,
					apiKey: token,
					model,
					roles: ["chat"],
					capabilities: ["tool_use"],
				},
			],
			mcpServers: [{ name: MCP_SERVER, command, args }],
		});
	},
	command(prompt, _, resume) {
		return {
			args: ["--config", "config.yaml", "--auto", ...(resume ? ["--resume"] : []), "-p", prompt],
			env: { CONTINUE_TELEMETRY_ENABLED: "0" },
		};
	},
	edit: (filepath, content) => ({ name: "Write", input: { filepath, content } }),
	compaction: { prompt: "/compact" },
	overflow: /maximum context length|context window|too long|exceeds the maximum number of tokens|HTTP 413/,
	unsupported: {
		shorten: KEEPS_LIMIT,
		search: NO_SEARCH,
		session:
			"it sends the result of an MCP tool as JSON text (`JSON.stringify(result?.content)`), so an image is base64 text",
	},
};
