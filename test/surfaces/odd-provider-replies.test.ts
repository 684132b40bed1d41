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

/** A gateway in front of a host that answers each request with `reply`. One serves all cases: to make it takes longer than a request. */
function gatewayOf(provider: keyof typeof BACKENDS) {
	const { model, ...backend } = BACKENDS[provider];
	const host: { reply: Pick<ProviderReply, "body" | "type"> } = { reply: { body: "", type: "" } };
	const { fetch } = upstream(
		() => new Response(host.reply.body, { headers: { "content-type": host.reply.type } }),
	);
	const vars = {
		BACKENDS: { host: backend },
		ROUTES: { [MODEL]: { targets: [{ backend: "host", model }], retries: { attempts: 1 } } },
		MODELS,
	};
	const { post } = testGateway({ vars, fetch });
	const read = async (surface: Surface, stream: boolean): Promise<unknown> => {
		const request = READERS[surface].request(MODEL, stream);
		const response = await post(request.path, request.body);
		const text = await response.text();
		if (!response.ok) return { status: response.status, text };
		try {
			return READERS[surface].read(text, stream);
		} catch (error) {
			return { error: String(error), text };
		}
	};
	return { host, read };
}

const SURFACES = ["chat", "Messages", "Responses", "Gemini", "run"] as const;

for (const provider of Object.keys(PROVIDER_REPLIES) as (keyof typeof BACKENDS)[])
	describe(`a reply of ${provider}`, () => {
		const { host, read } = gatewayOf(provider);
		it.each(PROVIDER_REPLIES[provider].map((reply) => [reply.name, reply] as const))(
			"%s",
			async (_, reply) => {
				host.reply = reply;
				const results = await Promise.all(
					SURFACES.flatMap((surface) =>
						[false, true].map(async (stream) => [`${surface} ${stream}`, await read(surface, stream)]),
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
