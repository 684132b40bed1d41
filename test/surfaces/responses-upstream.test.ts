/** OpenAI's current models with tools, by every interface, against a host that refuses what OpenAI refuses. */
import { describe, expect, it } from "vitest";
import { createApp } from "../../src/app.ts";
import { BASE, OPEN_ACCESS, testServices } from "../gateway.ts";
import { hostFetch } from "../hosts/fetch.ts";
import { OPENAI_KEY, openai } from "../hosts/openai/index.ts";
import type { Script } from "../hosts/script.ts";

/** The first turn calls the tool, and the turn after its result has a text. */
const SCRIPT: Script = ({ turns, tools }) =>
	turns.at(-1)?.results.length || tools.length === 0
		? { kind: "text", pieces: ["18 ", "degrees"] }
		: { kind: "tools", calls: [{ name: "weather", input: { city: "Paris" } }] };

const PARAMETERS = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const CHAT_TOOL = { type: "function", function: { name: "weather", parameters: PARAMETERS } };
const RESPONSES_TOOL = { type: "function", name: "weather", parameters: PARAMETERS };
const MESSAGES_TOOL = { name: "weather", input_schema: PARAMETERS };

interface Sent {
	path: string;
	body: Record<string, unknown> & { input?: Record<string, unknown>[] };
}

/** The gateway in front of the host, and what the host received. */
function gateway(script = SCRIPT, backend: object = {}) {
	const sent: Sent[] = [];
	const host = hostFetch(openai, script);
	const services = testServices({
		vars: {
			BACKENDS: {
				openai: { kind: "openai", url: "https://api.openai.com/v1", key: "OPENAI_KEY", ...backend },
				other: { kind: "openai", url: "https://api.openai.com/v1", key: "OPENAI_KEY" },
			},
			ROUTES: {
				"gpt-*": [{ backend: "openai" }],
				"other/*": [{ backend: "other", model: "gpt-6-astra" }],
				"@cf/meta/llama-3.3-70b-instruct-fp8-fast": [{ backend: "openai", model: "gpt-5.6-sol" }],
			},
			OPENAI_KEY,
		},
		fetch: async (input, init) => {
			const request = new Request(input, init);
			sent.push({ path: new URL(request.url).pathname, body: await request.clone().json() });
			return host(request);
		},
	});
	const app = createApp(services, OPEN_ACCESS);
	const post = async (path: string, body: object): Promise<Response> =>
		app.request(`${BASE}${path}`, {
			method: "POST",
			headers: { "content-type": "application/json" },
			body: JSON.stringify(body),
		});
	return { post, sent };
}

interface Call {
	id: string;
	extra_content?: object;
	index?: number;
	function: { name?: string; arguments: string };
}
interface Message {
	content: string | null;
	tool_calls: [Call, ...Call[]];
	thinking_blocks: [{ type: string; data?: string; signature?: string }];
}
interface Part {
	type: string;
	id: string;
	call_id?: string;
	encrypted_content?: string;
	content?: [{ text: string }];
}
/** The fields of the answers of all interfaces that the tests read. */
interface Answer {
	model: string;
	choices: [{ message: Message; finish_reason: string }];
	output: [Part, ...Part[]];
	content: [Part, ...Part[]];
}
interface Event {
	type: string;
	sequence_number: number;
	choices: { delta: { tool_calls?: Call[] } }[];
	response: { output: Part[] };
}

const eventsIn = (text: string): Event[] =>
	Array.from(text.matchAll(/^data: (\{.*)$/gm), ([, data = ""]) => JSON.parse(data) as Event);

const read = async (response: Response): Promise<Answer> => {
	const text = await response.text();
	expect([response.status, text]).toEqual([200, text]);
	return JSON.parse(text) as Answer;
};

const reasoningIn = ({ body }: Sent) => (body.input ?? []).filter(({ type }) => type === "reasoning");

describe.each(["gpt-5.6-sol", "gpt-6-astra"])("%s with tools", (model) => {
	it("by chat completions carries its reasoning through the tool loop", async () => {
		const { post, sent } = gateway();
		const messages: object[] = [{ role: "user", content: "Weather in Paris?" }];
		const request = { model, tools: [CHAT_TOOL] };
		const first = await read(await post("/v1/chat/completions", { ...request, messages }));
		const { message, finish_reason } = first.choices[0];
		expect(finish_reason).toBe("tool_calls");
		messages.push(message, { role: "tool", tool_call_id: message.tool_calls[0].id, content: "18" });
		const second = await post("/v1/chat/completions", { ...request, messages });
		expect(second.headers.get("x-ganglion-dropped")).toBeNull();
		expect((await read(second)).choices[0].message.content).toBe("18 degrees");
		expect(sent.map(({ path }) => path)).toEqual(["/v1/responses", "/v1/responses"]);
		expect(reasoningIn(sent[1] as Sent)).toHaveLength(1);
		expect(JSON.stringify(first)).not.toContain(String(reasoningIn(sent[1] as Sent)[0]?.encrypted_content));
	});

	it("by a client that sends back only the signature of a call", async () => {
		const { post, sent } = gateway();
		const user = { role: "user", content: "Weather in Paris?" };
		const request = { model, tools: [CHAT_TOOL] };
		const first = await read(await post("/v1/chat/completions", { ...request, messages: [user] }));
		const { tool_calls } = first.choices[0].message;
		const messages = [
			user,
			{ role: "assistant", content: null, tool_calls },
			{ role: "tool", tool_call_id: tool_calls[0].id, content: "18" },
		];
		await read(await post("/v1/chat/completions", { ...request, messages }));
		expect(reasoningIn(sent[1] as Sent)).toHaveLength(1);
	});

	it("by Responses receives the items as they are", async () => {
		const { post, sent } = gateway();
		const request = {
			model,
			tools: [RESPONSES_TOOL],
			store: false,
			include: ["reasoning.encrypted_content"],
		};
		const input: object[] = [{ role: "user", content: "Weather in Paris?" }];
		const first = await read(await post("/v1/responses", { ...request, input }));
		expect(first.model).toBe(model);
		const call = first.output.find(({ type }) => type === "function_call");
		input.push(...first.output, { type: "function_call_output", call_id: call?.call_id, output: "18" });
		const second = await read(
			await post("/v1/responses", { ...request, input, reasoning: { effort: "low", context: "auto" } }),
		);
		expect(second.output.at(-1)?.content?.[0].text).toBe("18 degrees");
		expect(sent[1]?.body).toMatchObject({ reasoning: { effort: "low", context: "auto" }, store: false });
		expect(reasoningIn(sent[1] as Sent)).toHaveLength(1);
		expect(first.output[0].encrypted_content).not.toBe(reasoningIn(sent[1] as Sent)[0]?.encrypted_content);
	});

	it("by Responses as a stream", async () => {
		const { post } = gateway();
		const body = { model, tools: [RESPONSES_TOOL], input: "Weather in Paris?", stream: true };
		const text = await (await post("/v1/responses", body)).text();
		const events = eventsIn(text);
		expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
		expect(events.at(-1)).toMatchObject({
			type: "response.completed",
			response: { status: "completed", model },
		});
		const output = events.at(-1)?.response.output ?? [];
		expect(output.map(({ type }) => type)).toEqual(["reasoning", "function_call"]);
		expect(output[1]).toMatchObject({ name: "weather", arguments: '{"city":"Paris"}' });
	});

	it("by Messages carries its reasoning in redacted or signed thinking", async () => {
		const { post, sent } = gateway();
		const request = { model, max_tokens: 2048, tools: [MESSAGES_TOOL], thinking: { type: "adaptive" } };
		const messages: object[] = [{ role: "user", content: "Weather in Paris?" }];
		const first = await read(await post("/v1/messages", { ...request, messages }));
		const use = first.content.find(({ type }) => type === "tool_use");
		messages.push(
			{ role: "assistant", content: first.content },
			{ role: "user", content: [{ type: "tool_result", tool_use_id: use?.id, content: "18" }] },
		);
		const second = await read(await post("/v1/messages", { ...request, messages }));
		expect(second.content.at(-1)).toMatchObject({ type: "text", text: "18 degrees" });
		expect(reasoningIn(sent[1] as Sent)).toHaveLength(1);
	});

	it("by chat completions as a stream has one call, and its signature", async () => {
		const { post } = gateway();
		const body = {
			model,
			tools: [CHAT_TOOL],
			stream: true,
			messages: [{ role: "user", content: "Weather?" }],
		};
		const text = await (await post("/v1/chat/completions", body)).text();
		const chunks = eventsIn(text);
		const deltas = chunks.flatMap(({ choices }) => choices).flatMap(({ delta }) => delta.tool_calls ?? []);
		expect(deltas[0]).toMatchObject({
			index: 0,
			function: { name: "weather" },
			extra_content: { google: {} },
		});
		expect(deltas.map((call) => call.function.arguments).join("")).toBe('{"city":"Paris"}');
		expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
	});
});

describe("a seal", () => {
	const user = { role: "user", content: "Weather in Paris?" };
	const turn = (message: Message) => [
		user,
		message,
		{ role: "tool", tool_call_id: message.tool_calls[0].id, content: "18" },
	];

	it.each([
		["altered", (seal: string) => `${seal.slice(0, 40)}AAAA${seal.slice(44)}`],
		["of another provider", () => "EqQBCgIYAhIM1gbcDa9GJwZA2b3h"],
	])("that is %s is dropped and named, and the turn stays", async (_, change) => {
		const { post, sent } = gateway();
		const request = { model: "gpt-6-astra", tools: [CHAT_TOOL] };
		const first = await read(await post("/v1/chat/completions", { ...request, messages: [user] }));
		const {
			thinking_blocks,
			tool_calls: [call],
			...message
		} = first.choices[0].message;
		const [{ data, signature }] = thinking_blocks;
		const { extra_content: _signed, ...bare } = call;
		const changed: Message = {
			...message,
			tool_calls: [bare],
			thinking_blocks: [{ type: "redacted_thinking", data: change(data ?? signature ?? "") }],
		};
		const second = await post("/v1/chat/completions", { ...request, messages: turn(changed) });
		expect(second.headers.get("x-ganglion-dropped")).toBe("reasoning.signature");
		expect((await read(second)).choices[0].message.content).toBe("18 degrees");
		expect(reasoningIn(sent[1] as Sent)).toEqual([]);
	});

	it("of another backend or model is dropped, and the turn stays", async () => {
		const { post, sent } = gateway();
		const request = { tools: [CHAT_TOOL] };
		const first = await read(
			await post("/v1/chat/completions", { ...request, model: "gpt-6-astra", messages: [user] }),
		);
		for (const model of ["gpt-5.6-sol", "other/gpt-6-astra"]) {
			const messages = turn(first.choices[0].message);
			const second = await post("/v1/chat/completions", { ...request, model, messages });
			expect(second.headers.get("x-ganglion-dropped")).toBe("reasoning.signature");
			await read(second);
			expect(reasoningIn(sent.at(-1) as Sent)).toEqual([]);
		}
	});
});

describe("a model of the catalogue that OpenAI serves", () => {
	const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

	it("does not receive the catalogue's temperature and limit", async () => {
		const { post, sent } = gateway();
		const messages = [{ role: "user", content: "Hi" }];
		await read(await post("/v1/chat/completions", { model: LLAMA, messages }));
		expect(sent[0]?.body).not.toHaveProperty("temperature");
		expect(sent[0]?.body).not.toHaveProperty("max_completion_tokens");
	});

	it("drops and names a field that the model refuses", async () => {
		const { post } = gateway();
		const messages = [{ role: "user", content: "Hi" }];
		const response = await post("/v1/chat/completions", { model: LLAMA, messages, temperature: 0.2 });
		expect(response.headers.get("x-ganglion-dropped")).toBe("temperature");
		await read(response);
	});

	it("receives the fields of a chat that Responses has too, and no others", async () => {
		const { post, sent } = gateway(SCRIPT, { api: "responses" });
		const messages = [{ role: "user", content: "Hi" }];
		const fields = { prompt_cache_key: "key", safety_identifier: "caller", unknown_field: 1 };
		const response = await post("/v1/chat/completions", { model: LLAMA, messages, ...fields });
		await read(response);
		expect(sent[0]?.body).toMatchObject({ prompt_cache_key: "key", safety_identifier: "caller" });
		expect(sent[0]?.body).not.toHaveProperty("unknown_field");
	});

	it("receives the effort none", async () => {
		const { post, sent } = gateway();
		const body = { model: "gpt-5.6-sol", messages: [{ role: "user", content: "Hi" }], tools: [CHAT_TOOL] };
		await read(await post("/v1/chat/completions", { ...body, reasoning_effort: "none" }));
		expect(sent[0]).toMatchObject({ path: "/v1/chat/completions", body: { reasoning_effort: "none" } });
	});

	it("is asked by Responses after chat completions refused it, and by Responses alone afterwards", async () => {
		const { post, sent } = gateway(SCRIPT, { url: "https://proxy.example/v1" });
		const body = { model: "gpt-6-astra", messages: [{ role: "user", content: "Hi" }], tools: [CHAT_TOOL] };
		await read(await post("/v1/chat/completions", body));
		await read(await post("/v1/chat/completions", body));
		const paths = sent.map(({ path }) => path);
		expect(paths).toEqual(["/v1/chat/completions", "/v1/responses", "/v1/responses"]);
	});
});

describe("the phase of a text", () => {
	it.each([false, true])(
		"goes to chat completions and back to OpenAI's Responses, stream: %s",
		async (stream) => {
			const { post, sent } = gateway(SCRIPT, { api: "responses" });
			const messages: object[] = [{ role: "user", content: "Hi" }];
			const request = { model: "gpt-6-astra", stream };
			const text = await (await post("/v1/chat/completions", { ...request, messages })).text();
			expect([text.match(/"phase":"final_answer"/g)?.length, text]).toEqual([1, text]);
			messages.push(
				{ role: "assistant", content: "18 degrees", phase: "final_answer" },
				{ role: "user", content: "And now?" },
			);
			expect((await post("/v1/chat/completions", { ...request, messages })).status).toBe(200);
			expect(sent[1]?.body.input?.filter(({ role }) => role === "assistant")).toEqual([
				{
					type: "message",
					role: "assistant",
					phase: "final_answer",
					content: [{ type: "output_text", text: "18 degrees", annotations: [] }],
				},
			]);
		},
	);

	it("comes with each piece of the text once to a caller of Responses", async () => {
		const pieces = ["18 ", "degrees ", "in ", "Paris"];
		const { post } = gateway(() => ({ kind: "text", pieces }), { api: "responses" });
		const body = { model: "gpt-5.5", input: "Hi", stream: true };
		const text = await (await post("/v1/responses", body)).text();
		const deltas = [...text.matchAll(/"type":"response.output_text.delta".*?"delta":"(.*?)"/g)];
		expect(deltas.map(([, delta]) => delta)).toEqual(pieces);
	});

	it("goes from Responses to no chat engine, which would refuse it", async () => {
		const { post, sent } = gateway(SCRIPT, { api: "chat" });
		const input = [
			{ role: "user", content: "Hi" },
			{
				type: "message",
				role: "assistant",
				phase: "commentary",
				content: [{ type: "output_text", text: "Hm" }],
			},
			{ role: "user", content: "And now?" },
		];
		expect((await post("/v1/responses", { model: "gpt-5.6-sol", input, store: false })).status).toBe(200);
		expect(sent[0]?.path).toBe("/v1/chat/completions");
		expect(sent[0]?.body.messages).toContainEqual({
			role: "assistant",
			content: "Hm",
		});
	});
});

describe("a search for tools", () => {
	const search: Script = () => ({
		kind: "tools",
		calls: [{ name: "tool_search", input: { query: "weather" } }],
	});
	const request = {
		model: "gpt-5.5",
		input: "Hello",
		tools: [{ type: "tool_search", execution: "client", description: "Searches", parameters: PARAMETERS }],
	};

	// Its arguments are an object, unlike those of a function's call.
	it.each([false, true])("reaches the caller with its arguments, stream: %s", async (stream) => {
		const response = await gateway(search).post("/v1/responses", { ...request, stream });
		expect(response.status).toBe(200);
		const text = await response.text();
		expect(text).toContain('"type":"tool_search_call"');
		expect(text).toContain('"arguments":{"query":"weather"}');
		expect(text).not.toContain("not a chat stream");
	});
});
