import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Library, PERSON_SCHEMA } from "../library/client.ts";
import { serveTool } from "../library/mcp-tool.ts";

interface Thread {
	run(
		input: string | object[],
		options?: { outputSchema?: object; signal?: AbortSignal },
	): Promise<{ finalResponse: string }>;
}
type Constructor = new (options: object) => { startThread(options: object): Thread };

export const client: Library = {
	title: "@openai/codex-sdk",
	packages: ["@openai/codex-sdk"],
	models: ["gpt-5.5", "gpt-6-astra"],
	addsTurns: true,
	sentences: { 404: /No such model/ },
	async open({ base, load, model, token }) {
		const { Codex } = await load<{ Codex: Constructor }>("@openai/codex-sdk");
		const folder = mkdtempSync(join(tmpdir(), "ganglion-codex-sdk-"));
		const provider = {
			name: "Ganglion",
			base_url: `${base}/v1`,
			env_key: "GANGLION_TOKEN",
			wire_api: "responses",
			request_max_retries: 1,
			stream_max_retries: 0,
		};
		const open = (config: object = {}) =>
			new Codex({
				apiKey: token,
				env: { PATH: process.env.PATH ?? "", HOME: folder, CODEX_HOME: folder, GANGLION_TOKEN: token },
				config: { model_provider: "ganglion", model_providers: { ganglion: provider }, ...config },
			}).startThread({
				model,
				skipGitRepoCheck: true,
				workingDirectory: folder,
				// Otherwise each call of an MCP tool needs a person's approval.
				...{ approvalPolicy: "never", sandboxMode: "danger-full-access" },
			});
		return {
			async converse(prompts) {
				const thread = open();
				const answers: string[] = [];
				for (const prompt of prompts) answers.push((await thread.run(prompt)).finalResponse);
				return answers;
			},
			interrupt: (prompt, signal) => open().run(prompt, { signal }),
			async callTools(prompt, tool) {
				const { close, url } = await serveTool(tool);
				const thread = open({ mcp_servers: { local: { url, required: true } } });
				return (await thread.run(prompt).finally(close)).finalResponse;
			},
			async describe(text, png) {
				const path = join(folder, "image.png");
				writeFileSync(path, png);
				const input = [
					{ type: "text", text },
					{ type: "local_image", path },
				];
				return (await open().run(input)).finalResponse;
			},
			async extract(prompt) {
				const { finalResponse } = await open().run(prompt, { outputSchema: PERSON_SCHEMA });
				return JSON.parse(finalResponse);
			},
		};
	},
	unsupported: {
		stream:
			"its events have whole items, not parts of the text (0.163.0, dist/index.d.ts:167, `ThreadEvent`)",
	},
};
