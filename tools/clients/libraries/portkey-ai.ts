import type OpenAI from "openai";
import { KIMI, type Library, OPENAI_MODELS } from "../library/client.ts";
import { chatCompletions } from "../library/openai-sdk.ts";

type Constructor = new (options: {
	baseURL: string;
	apiKey: string;
	Authorization: string;
}) => Pick<OpenAI, "chat">;

export const client: Library = {
	title: "portkey-ai",
	packages: ["portkey-ai"],
	models: [...OPENAI_MODELS, KIMI],
	endsByLeaving: true,
	async open({ base, load, model, token }) {
		const { Portkey: Client } = await load<{ Portkey: Constructor }>("portkey-ai");
		const options = { baseURL: `${base}/v1`, apiKey: token, Authorization: `Bearer ${token}` };
		return chatCompletions(new Client(options), model);
	},
};
