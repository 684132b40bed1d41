import type OpenAI from "openai";
import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";
import { responses } from "../library/openai-sdk.ts";

export const client: Library = {
	title: "openai, responses with previous_response_id",
	packages: ["openai"],
	models: [...OPENAI_MODELS, KIMI],
	async open({ base, load, model, token }) {
		const { default: Client } = await load<{ default: typeof OpenAI }>("openai");
		return responses(new Client({ baseURL: `${base}/v1`, apiKey: token }), model, "previous response");
	},
};
