import type Cloudflare from "cloudflare";
import type OpenAI from "openai";
import { KIMI, type Library } from "../library/client.ts";
import { chatCompletions } from "../library/openai-sdk.ts";

export const client: Library = {
	title: "cloudflare",
	packages: ["cloudflare"],
	models: [KIMI],
	async open({ account, load, model, origin, token }) {
		const { default: Client } = await load<{ default: typeof Cloudflare }>("cloudflare");
		const { ai } = new Client({ baseURL: `${origin}/client/v4`, apiToken: token });
		const create = async (
			{ model: _, ...input }: OpenAI.ChatCompletionCreateParams,
			options?: { signal?: AbortSignal },
		): Promise<unknown> => {
			const request = { account_id: account, ...input } as Parameters<typeof ai.run>[1];
			if (input.stream) return chunksOf(await ai.run(model, request, options).asResponse());
			return ai.run(model, request, options);
		};
		return chatCompletions({ chat: { completions: { create } } } as unknown as Pick<OpenAI, "chat">, model);
	},
};

/** The package does not parse streams: `asResponse()` has the body. */
async function* chunksOf(response: Response): AsyncGenerator<unknown> {
	let rest = "";
	const decoder = new TextDecoder();
	for await (const bytes of response.body ?? []) {
		const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n\n");
		rest = lines.pop() ?? "";
		for (const line of lines) {
			const data = line.replace(/^data: /, "");
			// The last event has the usage only.
			if (data !== "[DONE]") yield { choices: [], ...JSON.parse(data) };
		}
	}
}
