import { type CodingAgent, MCP_SERVER, writeFile } from "../agent/client.ts";
import { KIMI } from "../library/client.ts";

const TOOLS = ["add", "get__weather", "snapshot"].map((name) => `mcp__${MCP_SERVER}__${name}`);

export const agent: CodingAgent = {
	title: "Claude Code",
	package: "@anthropic-ai/claude-code",
	bin: "claude",
	installScript: true,
	models: ["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", KIMI],
	path: /\/ai\/v1\/messages\?beta=true$/,
	configure({ folder, mcp: [command, ...args] }) {
		writeFile(folder, "mcp.json", { mcpServers: { [MCP_SERVER]: { command, args } } });
	},
	command(prompt, { base, model, token }, resume) {
		return {
			args: [
				...(resume ? ["--continue"] : []),
				"--mcp-config",
				"mcp.json",
				"--strict-mcp-config",
				"--allowed-tools",
				[...TOOLS, "Write", "WebSearch"].join(","),
				"--print",
				prompt,
			],
			env: {
				ANTHROPIC_BASE_URL: base,
				ANTHROPIC_AUTH_TOKEN: token,
				ANTHROPIC_MODEL: model,
				ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
				CLAUDE_CODE_MAX_CONTEXT_TOKENS: "128000",
				DISABLE_AUTOUPDATER: "1",
			},
		};
	},
	toolSearch: { name: "ToolSearch", input: { query: `select:${TOOLS.join(",")}`, max_results: 5 } },
	edit: (file_path, content) => ({ name: "Write", input: { file_path, content } }),
	search: (query) => ({ name: "WebSearch", input: { query } }),
	compaction: { prompt: "/compact" },
	overflow: /Prompt is too long/,
};
