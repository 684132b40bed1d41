import { describe, expect, it } from "vitest";
import { completion, testGateway, upstream } from "../gateway.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

/** The body that the engine receives for a prompt without options. */
async function sentTo(backend: object, model: string): Promise<Record<string, unknown>> {
	const { fetch, requests } = upstream(() => Response.json(completion("Hi")));
	const { post } = testGateway({
		vars: { BACKENDS: { engine: backend }, ROUTES: { [LLAMA]: [{ backend: "engine", model }] } },
		fetch,
	});
	expect((await post(`/run/${LLAMA}`, { prompt: "Hi" })).status).toBe(200);
	return (await requests[0]?.json()) as Record<string, unknown>;
}

const openai = (url: string) => ({ kind: "openai", url });

describe("the catalogue's temperature and limit of a model", () => {
	it.each([
		["https://api.openai.com/v1", "gpt-5-mini"],
		["https://acme.openai.azure.com/openai/v1", "team-deployment"],
		["https://api.x.ai/v1", "grok-4.6"],
		["https://api.mistral.ai/v1", "mistral-medium-latest"],
		["https://api.moonshot.ai/v1", "kimi-k2.6"],
		["https://generativelanguage.googleapis.com/v1beta/openai", "gemini-3.8-flash"],
		["https://openrouter.ai/api/v1", "openai/gpt-6-sol"],
		["https://openrouter.ai/api/v1", "anthropic/claude-opus-5.5"],
		["https://litellm.example/v1", "o4-mini"],
		["https://litellm.example/v1", "bedrock/eu.anthropic.claude-sonnet-5-5"],
	])("are not sent to %s for %s", async (url, model) => {
		expect(await sentTo(openai(url), model)).toEqual({
			model,
			stream: false,
			messages: [{ role: "user", content: "Hi" }],
		});
	});

	it.each([
		["https://openrouter.ai/api/v1", "meta-llama/llama-3.3-70b-instruct"],
		["https://api.groq.com/openai/v1", "openai/gpt-oss-120b"],
		["https://engine.example/v1", "qwen3-30b-a3b"],
	])("are sent to %s for %s, which is an open model", async (url, model) => {
		const { max_tokens, max_completion_tokens, temperature } = await sentTo(openai(url), model);
		expect([max_tokens ?? max_completion_tokens, temperature]).toEqual([256, 0.6]);
	});
});
