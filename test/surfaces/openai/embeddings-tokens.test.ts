/** Arrays of tokens as the input of embeddings: LangChain's OpenAIEmbeddings and Dify send them. */
import { describe, expect, it } from "vitest";
import { testGateway, upstream } from "../../gateway.ts";

const MODEL = "text-embedding-3-small";
/** `hello world` and `bye` in OpenAI's vocabulary. */
const TOKENS = [[15339, 1917], [29474]];

/** An engine that answers each row with a vector, and without counts. */
const engine = () =>
	upstream(async (request) => {
		const { input } = await request.clone().json<{ input: unknown[] }>();
		return Response.json({
			data: input.map((_, index) => ({ index, embedding: [index, 1] })),
		});
	});

const gatewayWith = (backend: object, { fetch }: { fetch: typeof globalThis.fetch }) =>
	testGateway({
		vars: {
			BACKENDS: { engine: backend },
			ROUTES: { "*": [{ backend: "engine" }] },
			MODELS: { [MODEL]: { task: "Text Embeddings" } },
		},
		fetch,
	});

describe("tokens", () => {
	it.each([
		["of OpenAI", "https://api.openai.com/v1"],
		["of an engine", "http://gpu/v1"],
		["of OpenRouter", "https://openrouter.ai/api/v1"],
	])("reach a host that knows them: %s", async (_, url) => {
		const host = engine();
		const response = await gatewayWith({ kind: "openai", url }, host).post("/v1/embeddings", {
			model: MODEL,
			input: TOKENS,
		});
		expect(await response.json()).toMatchObject({
			data: [
				{ index: 0, embedding: [0, 1] },
				{ index: 1, embedding: [1, 1] },
			],
			// Counted by the gateway, because the engine has sent no counts.
			usage: { prompt_tokens: 3, total_tokens: 3 },
		});
		expect(await host.requests[0]?.json()).toMatchObject({ model: MODEL, input: TOKENS });
	});

	it("of one text are a flat list", async () => {
		const host = engine();
		const response = await gatewayWith({ kind: "openai", url: "http://gpu/v1" }, host).post(
			"/v1/embeddings",
			{ model: MODEL, input: [15339, 1917] },
		);
		expect(await response.json()).toMatchObject({ data: [{ index: 0, embedding: [0, 1] }] });
		expect(await host.requests[0]?.json()).toMatchObject({ input: [[15339, 1917]] });
	});

	it.each([
		["a host that has none", { kind: "openai", url: "https://api.mistral.ai/v1" }],
		["an engine of another kind", { kind: "ollama", url: "http://gpu:11434" }],
		["the simulator", { kind: "simulator" }],
	])("are refused for %s", async (_, backend) => {
		const response = await gatewayWith(backend, engine()).post("/v1/embeddings", {
			model: MODEL,
			input: TOKENS,
		});
		expect(response.status).toBe(400);
		expect(await response.text()).toContain(
			"embeds text, not tokens (LangChain: check_embedding_ctx_length: false)",
		);
	});

	it.each([
		["a fraction", [1.5]],
		["an empty row", [[]]],
		["texts among tokens", [[1], "a"]],
		["a negative number", [-1]],
	])("are refused with the field's name: %s", async (_, input) => {
		const host = engine();
		const response = await gatewayWith({ kind: "openai", url: "http://gpu/v1" }, host).post(
			"/v1/embeddings",
			{ model: MODEL, input },
		);
		expect(response.status).toBe(400);
		expect(await response.text()).toContain("input");
		expect(host.requests).toEqual([]);
	});

	it("are refused for models of Workers AI, whose vocabularies are others", async () => {
		const host = engine();
		const gateway = gatewayWith({ kind: "openai", url: "http://gpu/v1" }, host);
		const response = await gateway.post("/v1/embeddings", { model: "@cf/baai/bge-m3", input: TOKENS });
		expect(response.status).toBe(400);
		expect(await response.text()).toContain("'/input' must be text, not tokens");
		expect(host.requests).toEqual([]);
	});
});
