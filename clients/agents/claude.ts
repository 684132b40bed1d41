import { type CodingAgent, MCP_SERVER, writeFile } from "../agent/client.ts";
import { KIMI } from "../library/client.ts";

const TOOLS = [`mcp__${MCP_SERVER}__add`, `mcp__${MCP_SERVER}__get__weather`];

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
				TOOLS.join(","),
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
	overflow: /Prompt is too long/,
};
