/**
 * Searches in an answer that also calls functions of the caller. The caller sends the answer back with the results of its functions, and
 * the model receives its searches again.
 */
import { describe, expect, it } from "vitest";
import {
	dataOf,
	type EngineRequest,
	type EngineTurn,
	SEARCH_CALL,
	searchingGateway,
} from "./search-engine.ts";

const MODEL = "gpt-6-astra";
const WEATHER = { name: "get_weather", arguments: '{"city":"Oslo"}' };
const TIME = { name: "get_time", arguments: '{"zone":"UTC"}' };
const QUESTION = "Do Durable Objects have storage, and how is the weather?";
const SCHEMA = { type: "object" };

type Fields = Record<string, unknown>;

/** One API: the first request, and how a client that keeps what it received continues. */
interface Api {
	path(stream: boolean): string;
	first: Fields;
	/** The body that a client sends after an answer, with the results of the caller's functions. */
	next(answer: Fields): Fields;
	/** The answer of a stream, as a client of this API joins it. */
	joined(text: string): Fields;
	/** The names of the caller's functions that the answer calls. */
	called(answer: Fields): string[];
}

interface ChatCall {
	index: number;
	id?: string;
	extra_content?: object;
	function: { name?: string; arguments: string };
}

const chat: Api = {
	path: () => "/v1/chat/completions",
	first: {
		model: MODEL,
		messages: [{ role: "user", content: QUESTION }],
		web_search_options: {},
		tools: [WEATHER, TIME].map(({ name }) => ({ type: "function", function: { name, parameters: SCHEMA } })),
	},
	next(answer) {
		const [{ message }] = answer.choices as [{ message: { tool_calls: { id: string }[] } }];
		const results = message.tool_calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "4 °C" }));
		return { ...chat.first, messages: [...(chat.first.messages as object[]), message, ...results] };
	},
	joined(text) {
		const message: Fields = { role: "assistant", content: "" };
		const calls: ChatCall[] = [];
		for (const { choices } of dataOf<{ choices: { delta: Fields & { tool_calls?: ChatCall[] } }[] }>(text)) {
			const { tool_calls = [], content, ...others } = choices[0]?.delta ?? {};
			Object.assign(message, others);
			message.content = String(message.content) + (content ?? "");
			for (const { index, function: part, ...fields } of tool_calls) {
				const call = calls[index] ?? { index, function: { arguments: "" } };
				calls[index] = Object.assign(call, fields);
				call.function = { ...call.function, ...part, arguments: call.function.arguments + part.arguments };
			}
		}
		return { choices: [{ message: { ...message, tool_calls: calls.map(({ index: _, ...call }) => call) } }] };
	},
	called: (answer) =>
		(answer.choices as { message: { tool_calls: ChatCall[] } }[])[0]?.message.tool_calls.map(
			(call) => call.function.name ?? "",
		) ?? [],
};

interface OutputItem extends Fields {
	type: string;
	call_id: string;
	name: string;
}

const responses: Api = {
	path: () => "/v1/responses",
	first: {
		model: MODEL,
		input: [{ role: "user", content: QUESTION }],
		store: false,
		tools: [
			{ type: "web_search" },
			...[WEATHER, TIME].map(({ name }) => ({ type: "function", name, parameters: SCHEMA })),
		],
	},
	next({ output }) {
		const items = output as OutputItem[];
		const results = items.flatMap(({ type, call_id }) =>
			type === "function_call" ? [{ type: "function_call_output", call_id, output: "4 °C" }] : [],
		);
		return { ...responses.first, input: [...(responses.first.input as object[]), ...items, ...results] };
	},
	joined(text) {
		const done = dataOf<{ type: string; item: OutputItem; response: Fields }>(text);
		const items = done.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item);
		expect(done.at(-1)?.response.output).toHaveLength(items.length);
		return { output: items };
	},
	called: ({ output }) =>
		(output as OutputItem[]).flatMap(({ type, name }) => (type === "function_call" ? [name] : [])),
};

interface GeminiPart extends Fields {
	functionCall?: { id: string; name: string };
}
interface GeminiAnswer {
	candidates: { content: { parts: GeminiPart[] } }[];
}
const partsOf = ({ candidates }: GeminiAnswer): GeminiPart[] => candidates[0]?.content.parts ?? [];

const gemini: Api = {
	path: (stream) => `/v1beta/models/${MODEL}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
	first: {
		contents: [{ role: "user", parts: [{ text: QUESTION }] }],
		tools: [
			{ googleSearch: {} },
			{ functionDeclarations: [WEATHER, TIME].map(({ name }) => ({ name, parametersJsonSchema: SCHEMA })) },
		],
	},
	next(answer) {
		const parts = partsOf(answer as unknown as GeminiAnswer);
		const results = parts.flatMap(({ functionCall }) =>
			functionCall
				? [
						{
							functionResponse: {
								id: functionCall.id,
								name: functionCall.name,
								response: { output: "4 °C" },
							},
						},
					]
				: [],
		);
		const turns = [
			{ role: "model", parts },
			{ role: "user", parts: results },
		];
		return { ...gemini.first, contents: [...(gemini.first.contents as object[]), ...turns] };
	},
	joined: (text) => ({
		candidates: [{ content: { parts: dataOf<GeminiAnswer>(text).flatMap(partsOf) } }],
	}),
	called: (answer) =>
		partsOf(answer as unknown as GeminiAnswer).flatMap(({ functionCall }) => functionCall?.name ?? []),
};

const APIS = { chat, responses, gemini };

/** Gemini's requests have it in their address. */
const streamable = (body: Fields, stream: boolean): Fields =>
	stream && !("contents" in body) ? { ...body, stream } : body;

async function ask({ path, joined }: Api, post: Poster, body: Fields, stream: boolean): Promise<Fields> {
	const response = await post(path(stream), streamable(body, stream));
	expect(response.status).toBe(200);
	return stream ? joined(await response.text()) : response.json<Fields>();
}
type Poster = ReturnType<typeof searchingGateway>["post"];

/** The conversation without texts. */
const outline = ({ messages }: EngineRequest): unknown[] =>
	messages.map(({ role, tool_calls, tool_call_id }) => [
		role,
		...((tool_calls as { id: string; function: { name: string } }[] | undefined)?.map(
			({ id, function: called }) => `${called.name} ${id}`,
		) ?? []),
		...(tool_call_id === undefined ? [] : [tool_call_id]),
	]);

const CASES = (["chat", "responses", "gemini"] as const).flatMap((api) =>
	[false, true].map((stream) => ({ api, stream })),
);

describe.each(CASES)("$api, stream: $stream", ({ api, stream }) => {
	const format = APIS[api];
	const result = /<web_search_results[\s\S]*URL: https:\/\/example\.com\/s\n {2}Text of S/;

	it.each([
		{ order: "before", calls: [SEARCH_CALL, WEATHER, TIME], ids: [0, 1, 2] },
		{ order: "after", calls: [WEATHER, TIME, SEARCH_CALL], ids: [2, 0, 1] },
		{ order: "between", calls: [WEATHER, SEARCH_CALL, TIME], ids: [1, 0, 2] },
	])("a search $order the caller's calls", async ({ calls, ids }) => {
		const turn = (_: EngineRequest, round: number): EngineTurn =>
			round === 1 ? { calls } : { text: "Yes, and it is cold." };
		const { post, requests, searches } = searchingGateway(turn);
		const answer = await ask(format, post, format.first, stream);
		expect(format.called(answer)).toEqual(["get_weather", "get_time"]);
		expect([requests.length, searches.length]).toEqual([1, 1]);
		await ask(format, post, format.next(answer), stream);
		expect([requests.length, searches.length]).toEqual([2, 1]);
		const [, continued] = requests;
		if (!continued) throw new Error("There is no second request");
		const [search, first, second] = ids.map((index) => `call-${index}`);
		expect(outline(continued)).toEqual([
			["user"],
			["assistant", ...calls.map(({ name }, index) => `${name} call-${index}`)],
			["tool", search],
			["tool", first],
			["tool", second],
		]);
		expect(continued.messages[2]?.content).toMatch(result);
		expect(continued.messages[3]?.content).toBe("4 °C");
	});

	it("a search in an earlier round of the answer", async () => {
		const turn = (_: EngineRequest, round: number): EngineTurn =>
			[{ calls: [SEARCH_CALL], text: "One moment." }, { calls: [WEATHER] }][round - 1] ?? { text: "Yes." };
		const { post, requests, searches } = searchingGateway(turn);
		const answer = await ask(format, post, format.first, stream);
		expect(format.called(answer)).toEqual(["get_weather"]);
		await ask(format, post, format.next(answer), stream);
		expect([requests.length, searches.length]).toEqual([3, 1]);
		const continued = requests[2];
		const calls = continued?.messages.flatMap(({ tool_calls, content, role }) =>
			role === "tool" ? [result.test(String(content)) ? "pages" : content] : (tool_calls ?? []),
		);
		expect(calls).toMatchObject([{ function: SEARCH_CALL }, "pages", { function: WEATHER }, "4 °C"]);
		expect(JSON.stringify(continued).match(/One moment/g)).toHaveLength(1);
	});

	it("without the seal, and with an altered one", async () => {
		const turn = (_: EngineRequest, round: number): EngineTurn =>
			round % 2 === 1 ? { calls: [SEARCH_CALL, WEATHER] } : { text: "It is cold." };
		const { post, requests } = searchingGateway(turn);
		const answer = await ask(format, post, format.first, stream);
		const next = JSON.stringify(format.next(answer));
		const [seal = ""] = /gngl[A-Za-z0-9+/]{40,}/.exec(next) ?? [];
		expect(seal).not.toBe("");
		const altered = `${seal.slice(0, 30)}${seal[30] === "A" ? "B" : "A"}${seal.slice(31)}`;
		for (const changed of ["", altered]) {
			const body = JSON.parse(next.replaceAll(seal, changed)) as Fields;
			const response = await post(format.path(stream), streamable(body, stream));
			expect(response.status).toBe(200);
			expect(response.headers.get("x-ganglion-dropped")).toBe((changed && "reasoning.signature") || null);
			await response.text();
			expect(JSON.stringify(requests.at(-1)?.messages)).not.toMatch(/web_search/);
		}
	});
});

describe("stored responses", () => {
	const turn = (_: EngineRequest, round: number): EngineTurn =>
		round === 1 ? { calls: [SEARCH_CALL, WEATHER] } : { text: "Yes, and it is cold." };
	const stored = { ...responses.first, store: true };

	it.each([false, true])("are continued by their id, stream: %s", async (stream) => {
		const { post, requests } = searchingGateway(turn);
		const response = await post("/v1/responses", { ...stored, stream });
		const { id } = stream
			? (dataOf<{ response: { id: string } }>(await response.text()).at(-1)?.response ?? { id: "" })
			: await response.json<{ id: string }>();
		const input = [{ type: "function_call_output", call_id: "call-1", output: "4 °C" }];
		const { status } = await post("/v1/responses", { ...stored, previous_response_id: id, input });
		expect(status).toBe(200);
		expect(requests[1] && outline(requests[1])).toEqual([
			["user"],
			["assistant", "web_search call-0", "get_weather call-1"],
			["tool", "call-0"],
			["tool", "call-1"],
		]);
	});

	it("are continued by their items, whose seals the caller has not requested", async () => {
		const { post, requests } = searchingGateway(turn);
		const answer = await (await post("/v1/responses", stored)).json<Fields>();
		expect(JSON.stringify(answer)).not.toContain('encrypted_content":"');
		const next: Fields = { ...responses.next(answer), store: true };
		const second = await (await post("/v1/responses", next)).json<{ output: object[] }>();
		const input = [...(next.input as object[]), ...second.output, { role: "user", content: "Thanks" }];
		expect((await post("/v1/responses", { ...next, input })).status).toBe(200);
		for (const request of requests.slice(1))
			expect(outline(request).slice(0, 4)).toEqual([
				["user"],
				["assistant", "web_search call-0", "get_weather call-1"],
				["tool", "call-0"],
				["tool", "call-1"],
			]);
		expect(requests).toHaveLength(3);
	});
});
