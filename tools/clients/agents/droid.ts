import { type CodingAgent, KEEPS_LIMIT, MCP_SERVER, NO_SEARCH, patchOf, writeFile } from "../agent/client.ts";
import { KIMI } from "../library/client.ts";

const DEFERRED_TOOLS =
	"its requests name the tools of an MCP server as deferred, and lack them also after its `ToolSearch`";

const NO_SESSION = "`droid exec -s` ends with 1, without a message and without a request";

export const agent: CodingAgent = {
	title: "Droid",
	package: "droid",
	bin: "droid",
	installScript: true,
	models: ["gpt-5.6-sol", "claude-opus-5-5", KIMI],
	path: /\/ai\/v1\/chat\/completions$/,
	configure({ base, home, mcp: [command, ...args], model, token }) {
		writeFile(home, ".factory/settings.json", {
			customModels: [
				{
					model,
					displayName: "Ganglion",
					baseUrl: `${base}/v1`,
					apiKey: token,
					provider: "generic-chat-completion-api",
					maxOutputTokens: 16_000,
				},
			],
		});
		writeFile(home, ".factory/mcp.json", {
			mcpServers: { [MCP_SERVER]: { type: "stdio", command, args, disabled: false } },
		});
	},
	command(prompt, { model }) {
		return { args: ["exec", "--skip-permissions-unsafe", "-m", `custom:${model}`, prompt] };
	},
	edit(file_path, content, tools) {
		// OpenAI's models have this one instead.
		if (tools.includes("ApplyPatch"))
			return { name: "ApplyPatch", input: { input: patchOf(file_path, content) } };
		return { name: "Create", input: { file_path, content } };
	},
	overflow: /context/,
	unsupported: {
		shorten: KEEPS_LIMIT,
		search: NO_SEARCH,
		session: DEFERRED_TOOLS,
		tools: DEFERRED_TOOLS,
		resume: NO_SESSION,
		compact: NO_SESSION,
		overflow: 'it says only "Exec failed"',
	},
};
