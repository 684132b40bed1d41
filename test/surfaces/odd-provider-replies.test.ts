/** Odd replies of Anthropic's, Gemini's, Ollama's and OpenAI's Responses API, as every interface shows them. */
import { describe, expect, it } from "vitest";
import { testGateway, upstream } from "../gateway.ts";
import type { ExpectedAnswer } from "./odd-replies/cases.ts";
import { PROVIDER_REPLIES, type ProviderReply } from "./odd-replies/provider-cases.ts";
import { READERS, type Surface } from "./odd-replies/readers.ts";

const MODEL = "acme/assistant-1";
const MODELS = { [MODEL]: { task: "Text Generation", capabilities: ["function_calling", "reasoning"] } };
const BACKENDS = {
	anthropic: { kind: "anthropic", url: "https://host.example", model: "claude-opus-5-5" },
	gemini: { kind: "gemini", url: "https://host.example", model: "gemini-3.8-flash" },
	ollama: { kind: "ollama", url: "http://host.example:11434", model: "qwen3.8" },
	responses: { kind: "openai", api: "responses", url: "https://host.example/v1", model: "gpt-6.1-sol" },
};

async function read(
	provider: keyof typeof BACKENDS,
	surface: Surface,
	stream: boolean,
	{ body, type }: ProviderReply,
): Promise<unknown> {
	const { model, ...backend } = BACKENDS[provider];
	const { fetch } = upstream(() => new Response(body, { headers: { "content-type": type } }));
	const vars = {
		BACKENDS: { host: backend },
		ROUTES: { [MODEL]: { targets: [{ backend: "host", model }], retries: { attempts: 1 } } },
		MODELS,
	};
	const request = READERS[surface].request(MODEL, stream);
	const response = await testGateway({ vars, fetch }).post(request.path, request.body);
	const text = await response.text();
	if (!response.ok) return { status: response.status, text };
	try {
		return READERS[surface].read(text, stream);
	} catch (error) {
		return { error: String(error), text };
	}
}

const SURFACES = ["chat", "Messages", "Responses", "Gemini", "run"] as const;

for (const provider of Object.keys(PROVIDER_REPLIES) as (keyof typeof BACKENDS)[])
	describe(`a reply of ${provider}`, () => {
		it.each(PROVIDER_REPLIES[provider].map((reply) => [reply.name, reply] as const))(
			"%s",
			async (_, reply) => {
				const results = await Promise.all(
					SURFACES.flatMap((surface) =>
						[false, true].map(async (stream) => [
							`${surface} ${stream}`,
							await read(provider, surface, stream, reply),
						]),
					),
				);
				const expected = SURFACES.flatMap((surface) => {
					const shown: Partial<ExpectedAnswer> = { ...reply.answer };
					for (const field of READERS[surface].omits ?? []) delete shown[field];
					return [false, true].map((stream) => [`${surface} ${stream}`, shown]);
				});
				expect(Object.fromEntries(results)).toEqual(Object.fromEntries(expected));
			},
		);
	});
