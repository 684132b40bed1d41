import { type CodingAgent, KEEPS_LIMIT, MCP_SERVER, NO_SEARCH, writeFile } from "../agent/client.ts";
import { KIMI } from "../library/client.ts";

const CONTEXT_TOKENS = 128_000;

export const agent: CodingAgent = {
	title: "pi",
	package: "@earendil-works/pi-coding-agent",
	bin: "pi",
	installScript: false,
	models: ["gpt-5.6-sol", "claude-opus-5-5", KIMI],
	path: /\/ai\/v1\/chat\/completions$/,
	configure({ base, home, mcp: [command, ...args], model, token }) {
		writeFile(home, ".pi/agent/models.json", {
			providers: {
				ganglion: {
					baseUrl: `${base}/v1`,
					api: "openai-completions",
					apiKey: token,
					models: [{ id: model, contextWindow: CONTEXT_TOKENS, maxTokens: 16_000, input: ["text", "image"] }],
				},
			},
		});
		// With its default exposure, the model calls the tools in JavaScript, and the first request may come before the server is connected.
		writeFile(home, ".pi/agent/mcp.json", {
			mcpServers: { [MCP_SERVER]: { command, args, exposure: "direct" } },
		});
	},
	command(prompt, { model }, resume) {
		return {
			args: ["--provider", "ganglion", "--model", model, ...(resume ? ["--continue"] : []), "-p", prompt],
			env: { PI_OFFLINE: "1" },
		};
	},
	edit: (path, content) => ({ name: "write", input: { path, content } }),
	compaction: {
		// Otherwise it keeps a conversation of less than 20,000 tokens as it is.
		configure: ({ home }) =>
			writeFile(home, ".pi/agent/settings.json", {
				compaction: { reserveTokens: CONTEXT_TOKENS - 1_000, keepRecentTokens: 0 },
			}),
		inputTokens: 1_500,
	},
	overflow: "compaction",
	unsupported: {
		shorten: KEEPS_LIMIT,
		search: NO_SEARCH,
		overflow:
			"it notices the full context, but has nothing to compact after one prompt (`_runAutoCompaction`, dist/core/agent-session.js)",
	},
};
