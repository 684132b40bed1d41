/** Odd replies of an engine, whole and streamed, as the published SDKs read them. */
import { afterAll, describe, expect, it, vi } from "vitest";
import { testGateway, upstream } from "../gateway.ts";
import {
	BROKEN_ARGUMENTS,
	LAST_COMMA,
	REPAIRED_ARGUMENTS,
	streamedCall,
	WITHOUT_COMMA,
	wholeCall,
} from "./odd-replies/argument-cases.ts";
import { type Sdk, sdksOf } from "./odd-replies/sdks.ts";
import { WIRE_ANSWERS, WIRE_FAILURES } from "./odd-replies/wire-cases.ts";

const MODEL = "acme/llama-4";
const RUN_MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
// One attempt: a second one would wait, and the engine's answer would be the same.
const ROUTE = { targets: [{ backend: "engine", model: "llama-4-scout" }], retries: { attempts: 1 } };
const VARS = {
	BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" } },
	ROUTES: { [MODEL]: ROUTE, [RUN_MODEL]: ROUTE },
	MODELS: { [MODEL]: { task: "Text Generation", capabilities: ["function_calling", "reasoning"] } },
};

let respond = () => new Response();
const byResponder = upstream(() => respond()).fetch;
let answer: typeof globalThis.fetch = byResponder;
const fetch: typeof globalThis.fetch = (input, init) => answer(input, init);
const sdks = Object.entries(sdksOf({ vars: VARS, fetch }, MODEL, RUN_MODEL));
afterAll(() => void vi.unstubAllGlobals());

const KINDS = ["value", "stream"] as const;

/** What each SDK makes of the reply, by its name and the kind of its request. */
async function results(
	shown: (sdk: Sdk, kind: (typeof KINDS)[number]) => Promise<unknown>,
	among: typeof sdks = sdks,
) {
	const calls = among.flatMap(([name, sdk]) =>
		KINDS.map(async (kind) => [`${name}, ${kind}`, await shown(sdk, kind)] as const),
	);
	return Object.fromEntries(await Promise.all(calls));
}

const named = <Case extends { name: string }>(cases: readonly Case[]) =>
	cases.map((one) => [one.name, one] as const);

describe("every SDK reads the answer", () => {
	it.each(named(WIRE_ANSWERS))("%s", async (_, reply) => {
		({ respond } = reply);
		const hasCalls = reply.answer.calls.length > 0;
		const readers = sdks.filter(([, { omits }]) => !hasCalls || !omits?.includes("calls"));
		const without = (answer: object, { omits = [] }: Sdk) =>
			Object.fromEntries(Object.entries(answer).filter(([field]) => !omits.includes(field as never)));
		const read = await results(
			(sdk, kind) =>
				sdk[kind]().then(
					(answer) => without(answer, sdk),
					(error: unknown) => String(error),
				),
			readers,
		);
		expect(read).toEqual(await results(async (sdk) => without(reply.answer, sdk), readers));
	});
});

describe("every SDK fails with the sentence", () => {
	it.each(named(WIRE_FAILURES))("%s", async (_, { respond: sent, status, sentence, lateSentence }) => {
		respond = sent;
		const read = await results(async (sdk, kind) => {
			const isLate = kind === "stream" && lateSentence !== undefined;
			try {
				const answer = await sdk[kind]();
				return isLate && sdk.hidesLateFailures ? "failed" : answer;
			} catch (error) {
				const text = `${String(error)} ${JSON.stringify(error)}`;
				// One client shows the status alone.
				const hasStatus = isLate || text.includes(String(status));
				const hasSentence =
					text.includes(isLate ? lateSentence : sentence) || text.includes(`code ${status}`);
				return hasStatus && hasSentence ? "failed" : text;
			}
		});
		expect(read).toEqual(await results(async () => "failed"));
	});
});

describe("arguments that are no JSON", () => {
	const readers = sdks.filter(([, { omits }]) => !omits?.includes("calls"));
	const callsOf = (sdk: Sdk, kind: (typeof KINDS)[number]) =>
		sdk[kind]().then(
			({ calls }) => calls,
			(error: unknown) => String(error),
		);
	const answerWith = (text: string, pieces: readonly string[]) => {
		({ fetch: answer } = upstream(async (request) => {
			const { stream } = await request.json<{ stream?: boolean }>();
			return stream
				? new Response(streamedCall(pieces), { headers: { "content-type": "text/event-stream" } })
				: new Response(wholeCall(text), { headers: { "content-type": "application/json" } });
		}));
	};

	// `test/core/json-repair.test.ts` has other pieces.
	it.each(REPAIRED_ARGUMENTS)("are repaired for every SDK: %s", async (_, text, args) => {
		answerWith(text, [...text]);
		const expected = await results(async () => [["get_weather", args]], readers);
		expect(await results(callsOf, readers)).toEqual(expected);
	});

	it("have no comma before a bracket", async () => {
		answerWith(LAST_COMMA, [LAST_COMMA]);
		expect(await results(callsOf, readers)).toEqual(
			await results(async () => [["get_weather", WITHOUT_COMMA]], readers),
		);
	});

	it("have no comma at the end of a piece, for all but the chat streams", async () => {
		answerWith(LAST_COMMA, [...LAST_COMMA]);
		for (const [name, sdk] of readers)
			if (!/chat|compatible|workers|cloudflare/.test(name))
				expect([name, await callsOf(sdk, "stream")]).toEqual([name, [["get_weather", WITHOUT_COMMA]]]);
	});

	it("that cannot be repaired are one error in a stream of Messages, and wrapped in a whole message", async () => {
		answerWith(BROKEN_ARGUMENTS, [...BROKEN_ARGUMENTS]);
		const [, sdk] = sdks.find(([name]) => name === "@anthropic-ai/sdk") ?? [];
		const failure = sdk && (await sdk.stream().catch(String));
		expect(failure).toContain("The engine wrote a tool call whose arguments are no JSON");
		expect(failure).not.toContain("Unable to parse tool parameter");
		expect((await sdk?.value())?.calls).toEqual([["get_weather", { INVALID_JSON: BROKEN_ARGUMENTS }]]);
	});

	it("that cannot be repaired are those of the model for callers of OpenAI's APIs, and wrapped for Gemini's", async () => {
		answerWith(BROKEN_ARGUMENTS, [...BROKEN_ARGUMENTS]);
		const gateway = testGateway({ vars: VARS, fetch });
		const post = async (path: string, body: object) =>
			(await gateway.post(path, { model: MODEL, ...body })).text();
		const messages = [{ role: "user", content: "Weather?" }];
		const text = JSON.stringify(BROKEN_ARGUMENTS);
		expect(await post("/v1/chat/completions", { messages })).toContain(`"arguments":${text}`);
		expect(await post("/v1/responses", { input: "Weather?", store: false })).toContain(`"arguments":${text}`);
		const streamed = await post("/v1/responses", { input: "Weather?", store: false, stream: true });
		expect(streamed).toContain(`"response.function_call_arguments.done"`);
		expect(streamed).toContain(`"arguments":${text}`);
		const contents = [{ role: "user", parts: [{ text: "Weather?" }] }];
		const path = `/v1beta/models/${MODEL}`;
		const wrapped = `"args":{"INVALID_JSON":${text}}`;
		expect(await post(`${path}:generateContent`, { contents })).toContain(wrapped);
		expect(await post(`${path}:streamGenerateContent?alt=sse`, { contents })).toContain(wrapped);
	});

	it("that an engine has not completed are those of an answer that was cut", async () => {
		const cut = '{"city": "Oslo", "days": [1';
		answer = upstream(
			() =>
				new Response(streamedCall([...cut], "stop"), { headers: { "content-type": "text/event-stream" } }),
		).fetch;
		const { post } = testGateway({ vars: VARS, fetch });
		const body = { model: MODEL, messages: [{ role: "user", content: "Weather?" }], stream: true };
		const message = await post("/v1/messages", { ...body, max_tokens: 100 });
		expect(await message.text()).toContain('"stop_reason":"max_tokens"');
		expect(await (await post("/v1/chat/completions", body)).text()).toContain('"finish_reason":"length"');
	});
});
