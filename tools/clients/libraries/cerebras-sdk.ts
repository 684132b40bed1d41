import type OpenAI from "openai";
import { KIMI, type Library } from "../library/client.ts";
import { chatCompletions } from "../library/openai-sdk.ts";

type Cerebras = new (options: {
	baseURL: string;
	apiKey: string;
	warmTCPConnection: boolean;
}) => Pick<OpenAI, "chat">;

export const client: Library = {
	title: "@cerebras/cerebras_cloud_sdk",
	packages: ["@cerebras/cerebras_cloud_sdk"],
	models: [KIMI, "gpt-oss-120b"],
	async open({ base, load, model, token }) {
		const { default: Client } = await load<{ default: Cerebras }>("@cerebras/cerebras_cloud_sdk");
		return chatCompletions(new Client({ baseURL: base, apiKey: token, warmTCPConnection: false }), model);
	},
};
