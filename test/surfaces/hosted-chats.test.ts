/** Chats that OpenAI's own service answers in the place of other engines: the first example of docs/configuration.md, and failover. */
import { describe, expect, it } from "vitest";
import { type TestGateway, testGateway } from "../gateway.ts";
import { hostFetch } from "../hosts/fetch.ts";
import { OPENAI_KEY, openai } from "../hosts/openai/index.ts";
import type { Script } from "../hosts/script.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const TOOL = { type: "function", function: { name: "weather", parameters: { type: "object" } } };
const HELLO: Script = () => ({ kind: "text", pieces: ["Hello"] });

/** OpenAI's service, and other hosts, which cannot be reached. `unreachable` changes during a test. */
function gateway(vars: object, script: Script, unreachable: readonly string[]) {
	const bodies: string[] = [];
	const service = hostFetch(openai, script);
	const made: TestGateway = testGateway({
		vars: { OPENAI_KEY, ...vars },
		fetch: async (input, init) => {
			const request = new Request(input, init);
			if (unreachable.includes(new URL(request.url).hostname)) throw new TypeError("connection refused");
			bodies.push(await request.clone().text());
			return service(request);
		},
	});
	return { ...made, bodies };
}

describe("the first example of routes", () => {
	const VARS = {
		BACKENDS: {
			vllm: { kind: "openai", url: "http://vllm.internal/v1" },
			openai: { kind: "openai", url: "https://api.openai.com/v1", key: "OPENAI_KEY" },
		},
		ROUTES: {
			[LLAMA]: [
				{ backend: "vllm", model: "meta-llama/Llama-3.3-70B-Instruct" },
				{ backend: "openai", model: "gpt-5-mini" },
			],
		},
	};

	it.each([
		["/v1/chat/completions", { model: LLAMA, messages: [{ role: "user", content: "Hi" }] }],
		["/v1/responses", { model: LLAMA, input: "Hi", store: false }],
		["/v1/messages", { model: LLAMA, max_tokens: 64, messages: [{ role: "user", content: "Hi" }] }],
		[`/run/${LLAMA}`, { messages: [{ role: "user", content: "Hi" }] }],
		[`/run/${LLAMA}`, { prompt: "Hi" }],
	])("is answered by its second target when the first is down: %s %j", async (path, body) => {
		const { post } = gateway(VARS, HELLO, ["vllm.internal"]);
		const response = await post(path, body);
		const text = await response.text();
		expect([response.status, text]).toEqual([200, text]);
		expect(text).toContain("Hello");
		expect(response.headers.get("x-ganglion-dropped")).toBeNull();
	});
});

describe("a conversation whose backend is down at the second turn", () => {
	const url = "https://eu.api.openai.com/v1";
	const VARS = {
		BACKENDS: {
			eu: { kind: "openai", url, key: "OPENAI_KEY" },
			us: { kind: "openai", url: "https://api.openai.com/v1", key: "OPENAI_KEY" },
		},
		ROUTES: { "gpt-*": { targets: [{ backend: "eu" }, { backend: "us" }], retries: { attempts: 1 } } },
	};
	const script: Script = ({ turns }) =>
		turns.at(-1)?.results.length
			? { kind: "text", pieces: ["18 degrees"] }
			: { kind: "tools", calls: [{ name: "weather", input: { city: "Paris" } }] };

	it.each([false, true])("loses its seal and keeps its turn, stream: %s", async (stream) => {
		const unreachable: string[] = [];
		const { post, bodies } = gateway(VARS, script, unreachable);
		const user = { role: "user", content: "Weather in Paris?" };
		const request = { model: "gpt-6-astra", tools: [TOOL] };
		const first = await post("/v1/chat/completions", { ...request, messages: [user] });
		const { choices } = await first.json<{ choices: [{ message: { tool_calls: [{ id: string }] } }] }>();
		const { message } = choices[0];
		unreachable.push("eu.api.openai.com");
		const result = { role: "tool", tool_call_id: message.tool_calls[0].id, content: "18" };
		const second = await post("/v1/chat/completions", {
			...request,
			stream,
			messages: [user, message, result],
		});
		const text = await second.text();
		expect([second.status, text]).toEqual([200, text]);
		expect(text).toContain("18 degrees");
		expect(second.headers.get("x-ganglion-backend")).toBe("us");
		expect(second.headers.get("x-ganglion-dropped")).toBe("reasoning.signature");
		expect(bodies.at(-1)).toContain('"function_call"');
		expect(bodies.at(-1)).not.toContain('"reasoning",');
		expect(bodies.at(-1)).not.toContain('encrypted_content":');
	});
});

describe("an image in the result of a tool", () => {
	const PIXEL = "data:image/png;base64,iVBORw0KGgo=";

	it("reaches OpenAI's chat completions in a user message", async () => {
		const images: number[] = [];
		const script: Script = ({ turns }) => {
			images.push(...turns.flatMap((turn) => turn.images));
			return { kind: "text", pieces: ["A pixel"] };
		};
		const BACKENDS = { openai: { kind: "openai", url: "https://api.openai.com/v1", key: "OPENAI_KEY" } };
		const { post } = gateway({ BACKENDS, ROUTES: { "gpt-*": [{ backend: "openai" }] } }, script, []);
		const response = await post("/v1/messages", {
			model: "gpt-4.1",
			max_tokens: 64,
			tools: [{ name: "screenshot", input_schema: { type: "object" } }],
			messages: [
				{ role: "user", content: "Look." },
				{ role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "screenshot", input: {} }] },
				{
					role: "user",
					content: [
						{
							type: "tool_result",
							tool_use_id: "toolu_1",
							content: [
								{
									type: "image",
									source: { type: "base64", media_type: "image/png", data: PIXEL.split(",")[1] },
								},
							],
						},
					],
				},
			],
		});
		const text = await response.text();
		expect([response.status, text]).toEqual([200, text]);
		expect(images).toEqual([8]);
	});
});

describe("explain", () => {
	const messages = [{ role: "user", content: "Hi" }];
	const stream = { stream: true, stream_options: { include_usage: true } };

	it.each([
		["https://api.openai.com/v1", "gpt-6-astra", "the backend is called by OpenAI's Responses API"],
		[
			"https://generativelanguage.googleapis.com/v1beta/openai",
			"gemini-3.8-flash",
			"the host's signatures are sealed",
		],
	])("shows that streams of %s are rewritten, also on a passthrough route", async (url, model, why) => {
		const vars = {
			BACKENDS: { hosted: { kind: "openai", url, key: "OPENAI_KEY" } },
			ROUTES: { "*": { targets: [{ backend: "hosted" }], passthrough: true } },
		};
		const { post } = gateway(vars, HELLO, []);
		const response = await post("/explain/v1/chat/completions", {
			model,
			messages,
			tools: [TOOL],
			...stream,
		});
		const explained = await response.json<{ result?: { stream?: object }; stream?: object }>();
		expect((explained.result ?? explained).stream).toEqual({ mode: "rewrite", why });
	});
});
