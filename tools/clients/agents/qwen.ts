import { type CodingAgent, KEEPS_LIMIT, MCP_SERVER, writeFile } from "../agent/client.ts";
import { KIMI } from "../library/client.ts";

const PREFIX = `mcp__${MCP_SERVER}__`;

export const agent: CodingAgent = {
	title: "Qwen Code",
	package: "@qwen-code/qwen-code",
	bin: "qwen",
	installScript: false,
	models: ["gpt-5.6-sol", "claude-opus-5-5", KIMI],
	path: /\/ai\/v1\/chat\/completions$/,
	configure({ home, mcp: [command, ...args] }) {
		writeFile(home, ".qwen/settings.json", {
			mcpServers: { [MCP_SERVER]: { command, args, trust: true } },
			privacy: { usageStatisticsEnabled: false },
			general: { disableAutoUpdate: true },
		});
	},
	command(prompt, { base, model, token }, resume) {
		return {
			args: ["--auth-type", "openai", "--yolo", ...(resume ? ["--continue"] : []), prompt],
			env: { OPENAI_BASE_URL: `${base}/v1`, OPENAI_API_KEY: token, OPENAI_MODEL: model },
		};
	},
	toolSearch: {
		name: "tool_search",
		input: { query: `select:${PREFIX}add,${PREFIX}get__weather` },
	},
	indirectCall: (tool, input) => ({
		name: "tool_call",
		input: { name: PREFIX + tool, arguments: input },
	}),
	edit: (file_path, content) => ({ name: "write_file", input: { file_path, content } }),
	compaction: { prompt: "/compress", inputTokens: 10_000 },
	overflow: /maximum context length|context window|too long|exceeds the maximum number of tokens|HTTP 413/,
	unsupported: {
		shorten: KEEPS_LIMIT,
		search:
			"its search calls only addresses of DashScope (`classifyDashScopeBaseUrl`, chunks/chunk-7I63HEBQ.js)",
	},
};
