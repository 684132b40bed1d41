/**
 * Adds one of each kind from outside: a row in the table of its kind, and the part itself. `tables/` has the tables with
 * those rows, which the project `extending` of vitest.config.ts puts in place of the sources' own; no other file changes.
 * CONTRIBUTING.md and the docstrings of their types name the parts as examples.
 */
import { describe, expect, it, vi } from "vitest";
import { composed, type GatewayRequest } from "../../src/gateways/request.ts";
import { isHedgeable, isSession, isShareable } from "../../src/tasks/traits.ts";
import { BASE, completion, testGateway, upstream } from "../gateway.ts";
import { quietHours } from "./quiet-hours.ts";

const MODEL = "@own/lingua";
const VARS = {
	BACKENDS: { detector: { kind: "lingua", url: "http://detector" } },
	ROUTES: { [MODEL]: [{ backend: "detector", model: "lingua-1" }] },
	MODELS: {
		[MODEL]: {
			task: "Text Classification",
			input: "detect-language",
			output: "language",
			prices: [{ unit: "per M input tokens", neurons: 1_000_000 }],
		},
	},
};

describe("a task, a family and a kind of backend that were added", () => {
	const engine = upstream(() => Response.json({ language: "fr", confidence: 0.9 }));
	const { post, get, services } = testGateway({ vars: VARS, fetch: engine.fetch });

	it("answer a request from the surface to the engine and back", async () => {
		const response = await post(`/run/${MODEL}`, { text: "Bonjour tout le monde" });
		expect(await response.json()).toMatchObject({ success: true, result: { language: "fr", score: 0.9 } });
		expect(response.headers.get("x-ganglion-backend")).toBe("detector");
		// 1 neuron per token: four words and the two marks of an encoder.
		expect(response.headers.get("cf-ai-neurons")).toBe("6.00");
		const [request] = engine.requests;
		expect(request?.url).toBe("http://detector/detect");
		expect(await request?.json()).toEqual({ text: "Bonjour tout le monde" });
	});

	it("validate the inputs by the family's schema", async () => {
		const response = await post(`/run/${MODEL}`, { text: "" });
		expect(response.status).toBe(400);
		const schema = await (await get(`/models/schema?model=${encodeURIComponent(MODEL)}`)).json();
		expect(schema).toMatchObject({ result: { input: { required: ["text"] } } });
	});

	it("are refused where the backend does not have the task", async () => {
		const vars = { ...VARS, ROUTES: { [MODEL]: [{ backend: "simulator" }] } };
		const response = await testGateway({ vars }).post(`/run/${MODEL}`, { text: "Hi" });
		expect(await response.json()).toMatchObject({ errors: [{ code: 5007 }] });
	});

	it("have the traits of a task by default", () => {
		const call = { task: "language-detection" as never, input: { text: "Hi" } };
		expect([isHedgeable(call), isShareable(call), isSession(call)]).toEqual([true, true, false]);
		expect(services.catalog.find(MODEL)?.input).toBe("detect-language");
	});
});

describe("a provider that was added", () => {
	it("needs a key only", async () => {
		const provider = upstream(() => Response.json(completion("Hello")));
		const vars = { PROVIDER_KEYS: { acme: "ACME_KEY" }, ACME_KEY: "sk-acme" };
		const { post } = testGateway({ vars, fetch: provider.fetch });
		const response = await post("/v1/chat/completions", {
			model: "acme/rocket-1",
			messages: [{ role: "user", content: "Hi" }],
		});
		expect(await response.json()).toMatchObject({ choices: [{ message: { content: "Hello" } }] });
		const [request] = provider.requests;
		expect(request?.url).toBe("https://api.acme.example/v1/chat/completions");
		expect(request?.headers.get("authorization")).toBe("Bearer sk-acme");
		expect(await request?.json()).toMatchObject({ model: "rocket-1" });
	});
});

describe("a route that was added", () => {
	const { app, get } = testGateway();

	it("answers, and refuses other methods of its path", async () => {
		expect(await (await get("/languages")).json()).toMatchObject({ success: true, result: ["en", "fr"] });
		const refused = await app.request(`${BASE}/languages`, { method: "PUT" });
		expect(refused.status).toBe(405);
	});
});

describe("a room that was added", () => {
	const ENGINES = {
		BACKENDS: {
			ollama: { kind: "openai", url: "http://ollama/v1" },
			vllm: { kind: "openai", url: "http://vllm/v1" },
		},
		ROUTES: {
			"@cf/meta/llama-3.3-70b-instruct-fp8-fast": [{ backend: "vllm", model: "llama-3.3" }],
			"@cf/qwen/qwen3-30b-a3b-fp8": [{ backend: "ollama", model: "qwen3" }],
		},
	};
	const MODELS = Object.keys(ENGINES.ROUTES);

	it("calls each model as a request of its own, which the account pays", async () => {
		const engine = upstream(async (request) => {
			const { model } = (await request.json()) as { model: string };
			return Response.json(completion(`I am ${model}`));
		});
		const { post, get } = testGateway({ vars: ENGINES, fetch: engine.fetch });
		const response = await post("/second-opinion", { prompt: "Who are you?", models: MODELS });
		expect(await response.json()).toMatchObject({
			success: true,
			result: [{ response: "I am llama-3.3" }, { choices: [{ text: "I am qwen3" }] }],
		});
		const billed = async (): Promise<string[]> => {
			const { result } = await (await get("/usage/requests")).json<{ result: { model: string }[] }>();
			return result.map(({ model }) => model).sort();
		};
		await vi.waitFor(async () => expect(await billed()).toEqual(MODELS));
		const last = await (await get("/second-opinion/last")).json();
		expect(last).toMatchObject({
			result: [{ response: "I am llama-3.3" }, { choices: [{ text: "I am qwen3" }] }],
		});
	});

	it("has the failures of the pipeline", async () => {
		const { post } = testGateway({ vars: ENGINES });
		const unknown = await post("/second-opinion", { prompt: "Hi", models: ["@cf/meta/llama-9"] });
		expect(await unknown.json()).toMatchObject({ success: false, errors: [{ code: 5007 }] });
		expect((await post("/second-opinion", { prompt: "Hi", models: [] })).status).toBe(400);
	});
});

describe("a middleware that was added", () => {
	const answerAt = (time: string): Promise<Response> =>
		composed([quietHours({ now: () => Date.parse(time) })])({
			step: { call: async () => new Response("Hello") },
		} as unknown as GatewayRequest);

	it("refuses before the step is called, or passes the request on", async () => {
		await expect(answerAt("2026-11-21T23:30:00Z")).rejects.toThrow("Try again at 6:00 UTC");
		expect(await (await answerAt("2026-11-21T12:00:00Z")).text()).toBe("Hello");
	});
});
