import { type Client, MCP_SERVER, writeFile } from "../client.ts";

export const gemini: Client = {
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
};
