import { type CodingAgent, KEEPS_LIMIT, MCP_SERVER, writeFile } from "../agent/client.ts";
import { KIMI } from "../library/client.ts";

export const agent: CodingAgent = {
	title: "Gemini CLI",
	package: "@google/gemini-cli",
	bin: "gemini",
	installScript: false,
	models: ["gemini-3.8-flash", KIMI],
	path: /\/v1beta\/models\/[^?]+:(?:streamGenerateContent\?alt=sse|generateContent)$/,
	configure({ home, mcp: [command, ...args] }) {
		writeFile(home, ".gemini/settings.json", {
			mcpServers: { [MCP_SERVER]: { command, args, trust: true } },
			privacy: { usageStatisticsEnabled: false },
			general: { disableAutoUpdate: true, enableAutoUpdate: false },
			security: { auth: { selectedType: "gemini-api-key" } },
		});
	},
	command(prompt, { base, model, token }, resume) {
		return {
			args: ["-m", model, "--yolo", "--skip-trust", ...(resume ? ["--resume", "latest"] : []), "-p", prompt],
			env: { GOOGLE_GEMINI_BASE_URL: base, GEMINI_API_KEY: token },
		};
	},
	overflow: /maximum context length/,
	unsupported: { shorten: KEEPS_LIMIT },
};
