import type OpenAI from "openai";
import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";
import { chatCompletions } from "../library/openai-sdk.ts";

type Client = new (options: {
	baseURL: string;
	apiKey: string;
}) => {
	chat: { completions: { create(request: object): Promise<OpenAI.ChatCompletion> } };
};

export const client: Library = {
	title: "token.js",
	packages: ["token.js"],
	models: [...OPENAI_MODELS, KIMI],
	async open({ base, load, model, token }) {
		const { TokenJS } = await load<{ TokenJS: Client }>("token.js");
		const { chat } = new TokenJS({ baseURL: `${base}/v1`, apiKey: token });
		const create = (request: object) =>
			chat.completions.create({ provider: "openai-compatible", ...request });
		return chatCompletions({ chat: { completions: { create } } } as unknown as Pick<OpenAI, "chat">, model);
	},
	endsByLeaving: true,
};
