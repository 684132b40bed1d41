import type OpenAI from "openai";
import { KIMI, type Library } from "../library/client.ts";
import { chatCompletions } from "../library/openai-sdk.ts";

interface Inference {
	chatCompletion(request: object, options?: { signal?: AbortSignal }): Promise<unknown>;
	chatCompletionStream(request: object, options?: { signal?: AbortSignal }): AsyncIterable<unknown>;
}

export const client: Library = {
	title: "@huggingface/inference",
	packages: ["@huggingface/inference"],
	models: [KIMI, "meta-llama/Llama-3.3-70B-Instruct-Turbo"],
	async open({ base, load, model, token }) {
		const module = await load<{ InferenceClient: new (token: string, options: object) => Inference }>(
			"@huggingface/inference",
		);
		const inference = new module.InferenceClient(token, { endpointUrl: base });
		const create = (request: { stream?: boolean | null }, options?: { signal?: AbortSignal }) =>
			request.stream
				? inference.chatCompletionStream(request, options)
				: inference.chatCompletion(request, options);
		return chatCompletions({ chat: { completions: { create } } } as unknown as Pick<OpenAI, "chat">, model);
	},
};
