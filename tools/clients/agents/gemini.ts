import { type CodingAgent, type Context, KEEPS_LIMIT, MCP_SERVER, writeFile } from "../agent/client.ts";
import { KIMI } from "../library/client.ts";

function configure({ home, mcp: [command, ...args] }: Context, settings: object = {}): void {
	writeFile(home, ".gemini/settings.json", {
		mcpServers: { [MCP_SERVER]: { command, args, trust: true } },
		privacy: { usageStatisticsEnabled: false },
		general: { disableAutoUpdate: true, enableAutoUpdate: false },
		security: { auth: { selectedType: "gemini-api-key" } },
		...settings,
	});
}

export const agent: CodingAgent = {
	title: "Gemini CLI",
	package: "@google/gemini-cli",
	bin: "gemini",
	installScript: false,
	models: ["gemini-3.8-flash", KIMI],
	path: /\/v1beta\/models\/[^?]+:(?:streamGenerateContent\?alt=sse|generateContent)$/,
	configure: (context) => configure(context),
	command(prompt, { base, model, token }, resume) {
		return {
			args: ["-m", model, "--yolo", "--skip-trust", ...(resume ? ["--resume", "latest"] : []), "-p", prompt],
			env: { GOOGLE_GEMINI_BASE_URL: base, GEMINI_API_KEY: token },
		};
	},
	edit: (file_path, content) => ({ name: "write_file", input: { file_path, content } }),
	search: (query) => ({ name: "google_web_search", input: { query } }),
	compaction: {
		configure: (context) => configure(context, { model: { compressionThreshold: 0.000001 } }),
	},
	overflow: /maximum context length|context window|too long|exceeds the maximum number of tokens|HTTP 413/,
	unsupported: { shorten: KEEPS_LIMIT },
};
