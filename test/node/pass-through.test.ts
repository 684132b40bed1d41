/**
 * Streams of a route with `passthrough`, through the whole Worker under workerd and over real sockets: the caller's bytes
 * are the engine's, and what the gateway owes both of them holds.
 */
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type FaultGateway, startGateway } from "../faults/gateway.ts";
import { answer, hang, Provider, type ProviderCall, reset, type Script, status } from "../faults/provider.ts";

const a = new Provider("a");
const b = new Provider("b");
let gateway: FaultGateway;

beforeAll(async () => {
	await Promise.all([a.listen(), b.listen()]);
	gateway = await startGateway();
});
afterEach(async () => {
	for (const { calls } of [a, b]) for (const { closed } of calls) await closed;
});
afterAll(async () => {
	await gateway?.stop();
	a.stop();
	b.stop();
});

const TIMEOUTS = { header_ms: 20_000, idle_ms: 20_000, total_ms: 60_000 };

async function passing(script: Script, more: object = {}): Promise<void> {
	a.does(script);
	await gateway.configure(
		{ targets: [{ backend: "a" }], retries: { attempts: 1 }, timeouts: TIMEOUTS, passthrough: true, ...more },
		[a, b],
	);
}

const chunk = (choices: unknown[], more: object = {}): string =>
	`data: ${JSON.stringify({ id: "e-1", object: "chat.completion.chunk", created: 7, model: "engine's/own", choices, ...more })}\n\n`;
const delta = (content: string) =>
	chunk([{ index: 0, delta: { role: "assistant", content }, finish_reason: null }]);
const finish = chunk([{ index: 0, delta: {}, finish_reason: "stop" }]);
const usage = (completion_tokens: number) =>
	chunk([], { usage: { prompt_tokens: 11, completion_tokens, total_tokens: 11 + completion_tokens } });
const DONE = "data: [DONE]\n\n";
const WHOLE = [delta("a"), delta("b"), finish, usage(5), DONE];

const begin = ({ response }: ProviderCall) =>
	response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();

/** Each frame a write of its own; then what `then` does. */
const says =
	(frames: readonly string[], then: Script = ({ response }) => void response.end()): Script =>
	async (call) => {
		begin(call);
		for (const frame of frames) {
			await new Promise<void>((resolve) => call.response.write(frame, () => resolve()));
			await wait(2);
		}
		await then(call);
	};

/** As a caller has it who asks for no usage. */
const ask = async (options: Parameters<FaultGateway["open"]>[0] = {}): Promise<string> =>
	(await gateway.open(options)).text();

const frame = (code: number, message: string, type = "server_error") =>
	`data: ${JSON.stringify({ error: { message, type, code } })}\n\n`;
const CUT = frame(5001, "AiError: AiError: The backend 'a' was cut off mid-answer");

describe("a stream that passes through", () => {
	it("has the engine's bytes, and the account pays the engine's usage", async () => {
		const odd = `: note\n\nevent: message\nid: 4\ndata:${delta("c").slice(5)}`;
		const frames = [delta("a"), odd, ...WHOLE];
		await passing(says(frames));
		const response = await gateway.open();
		expect(response.headers.get("content-type")).toBe("text/event-stream");
		expect(response.headers.get("x-ganglion-backend")).toBe("a");
		expect(await response.text()).toBe(frames.join(""));
		expect(await gateway.billed()).toMatchObject({
			outcome: "ok",
			backend: "a",
			input_tokens: 11,
			output_tokens: 5,
			estimated: false,
		});
	});

	it.each(["[null]", '"x"', '[{"function":7}]'])(
		"is counted to its end with malformed tool calls: %s",
		async (calls) => {
			const odd = `data: {"choices":[{"index":0,"delta":{"tool_calls":${calls}}}]}\n\n`;
			const frames = [delta("a"), odd, delta("b"), finish, usage(40), DONE];
			await passing(says(frames));
			expect(await ask()).toBe(frames.join(""));
			expect(await gateway.billed()).toMatchObject({ outcome: "ok", output_tokens: 40 });
		},
	);

	it("requests usage from the engine, also if the caller does not", async () => {
		await passing(says(WHOLE));
		await ask();
		expect(a.calls[0]?.body.stream_options).toEqual({ include_usage: true });
	});

	it("delivers each chunk before the engine sends the next", async () => {
		let say = (_frame: string) => {};
		await passing((call) => {
			begin(call);
			say = (frame) => void call.response.write(frame);
			say(delta("0"));
		});
		const reader = (await gateway.open()).body?.getReader();
		const decoder = new TextDecoder();
		for (let i = 0; i < 10; i++) {
			expect(decoder.decode((await reader?.read())?.value)).toBe(delta(String(i)));
			// Longer than between two looks of the gateway, and shorter.
			await wait(i % 2 === 0 ? 130 : 5);
			say(delta(String(i + 1)));
		}
		await reader?.cancel();
	});

	it("is complete if it is long", async () => {
		const frames = Array.from({ length: 5_000 }, (_, i) => delta(`${i} ${"x".repeat(i % 300)}`));
		const text = [...frames, finish, usage(5_000), DONE].join("");
		await passing(async (call) => {
			begin(call);
			call.response.end(text);
		});
		expect(await ask()).toBe(text);
		expect(await gateway.billed()).toMatchObject({ outcome: "ok", output_tokens: 5_000 });
	});
});

describe("a stream that fails", () => {
	it.each([
		["is interrupted", says([delta("a"), delta("b")], reset)],
		["ends early", says([delta("a"), delta("b")])],
	])("and %s ends in one error frame, and its delivered tokens are billed", async (_, script) => {
		await passing(script);
		expect(await ask()).toBe(delta("a") + delta("b") + CUT);
		expect(await gateway.billed()).toMatchObject({
			outcome: "interrupted",
			output_tokens: 2,
			estimated: true,
		});
	});

	it("inside an event: a blank line ends the event", async () => {
		await passing(says([delta("a"), delta("b").slice(0, 30)], reset));
		expect(await ask()).toBe(`${delta("a")}${delta("b").slice(0, 30)}\n\n${CUT}`);
	});

	it("after its last chunk is complete, and gets [DONE]", async () => {
		await passing(says([delta("a"), finish, usage(1)], reset));
		expect(await ask()).toBe(delta("a") + finish + usage(1) + DONE);
		expect(await gateway.billed()).toMatchObject({ outcome: "ok", output_tokens: 1 });
	});

	it("with an event that is not a chunk: the event is already delivered", async () => {
		await passing(says([delta("a"), "data: {no\n\n"], hang));
		const shape = "AiError: AiError: The backend 'a' answered with something that is not a chat stream";
		expect(await ask()).toBe(`${delta("a")}data: {no\n\n${frame(5001, shape)}`);
		expect(await gateway.billed()).toMatchObject({ outcome: "interrupted", output_tokens: 1 });
	});

	it("with an error event of the engine gets no second one", async () => {
		const error = 'data: {"error":{"message":"CUDA error","type":"InternalServerError","code":500}}\n\n';
		await passing(says([delta("a"), error, DONE]));
		expect(await ask()).toBe(delta("a") + error + DONE);
		expect(await gateway.billed()).toMatchObject({ outcome: "interrupted", output_tokens: 1 });
	});

	it("by an idle timeout gets an error frame", async () => {
		await passing(says([delta("a")], hang), { timeouts: { ...TIMEOUTS, idle_ms: 1_000 } });
		const silent = "AiError: Timeout: The backend 'a' was silent for 1000 ms";
		expect(await ask()).toBe(delta("a") + frame(3007, silent));
		expect(await gateway.billed()).toMatchObject({ outcome: "interrupted", output_tokens: 1 });
	});

	it("ends at [DONE], also if the connection stays open", async () => {
		await passing(says(WHOLE, hang));
		expect(await ask()).toBe(WHOLE.join(""));
		expect(await gateway.billed()).toMatchObject({ outcome: "ok", output_tokens: 5 });
	});
});

describe("a large write of the engine", () => {
	it("is inspected as fast as it arrives", async () => {
		// Short looks would take twice the time that the whole may.
		const [first = "", ...rest] = WHOLE;
		const text = [...Array.from({ length: 4_000 }, () => first), ...rest].join("");
		await passing(says([text], hang), { timeouts: { ...TIMEOUTS, total_ms: 6_000 } });
		expect(await ask()).toBe(text);
		expect(await gateway.billed()).toMatchObject({ outcome: "ok", output_tokens: 5 });
	});
});

describe("several events in one chunk of bytes", () => {
	const shape = frame(
		5001,
		"AiError: AiError: The backend 'a' answered with something that is not a chat stream",
	);
	const named = `event: error\n${delta("c")}`;
	it.each([
		["are billed one by one", [delta("b"), delta("c"), finish, DONE], "", "ok", 3],
		["are billed by the usage of the last", [delta("b"), finish, usage(9), DONE], "", "ok", 9],
		["are complete without [DONE] when every choice is finished", [delta("b"), finish], DONE, "ok", 2],
		["are read up to [DONE]", [delta("b"), finish, DONE, "data: {no\n\n"], "", "ok", 2],
		[
			"are read up to an event that is not JSON",
			[delta("b"), "data: {no\n\n", delta("c")],
			shape,
			"interrupted",
			2,
		],
		["are parsed one by one", [delta("b"), 'data: {"a":[1\n\n', "data: 2]}\n\n"], shape, "interrupted", 2],
		[
			"must be JSON on one line each",
			[delta("b"), 'data: {"a":\n1}\n\n', delta("c")],
			shape,
			"interrupted",
			2,
		],
		["must be objects", [delta("b"), "data: 7\n\n", delta("c")], shape, "interrupted", 2],
		["are read up to an error event of the engine", [delta("b"), named, delta("d")], "", "interrupted", 2],
		[
			"may have comments and other spacing",
			[`: note\n\n${delta("b")}`, delta("c").replace(": ", ":"), finish],
			DONE,
			"ok",
			3,
		],
		["may have CRLF line ends", [delta("b"), delta("c").replaceAll("\n", "\r\n"), finish], DONE, "ok", 3],
		["may end in a partial event", [delta("b"), delta("c"), "data: {"], `\n\n${CUT}`, "interrupted", 3],
	])("%s", async (_, frames, last, outcome, output_tokens) => {
		const text = delta("a") + frames.join("");
		await passing(says([delta("a"), frames.join("")]));
		expect(await ask()).toBe(text + last);
		expect(await gateway.billed()).toMatchObject({ outcome, output_tokens });
	});
});

describe("before the first event", () => {
	const TWO = { targets: [{ backend: "a" }, { backend: "b" }] };

	it.each([
		["a refusal", status(503)],
		["an error as its first event", says(['data: {"error":{"message":"full","code":503}}\n\n'])],
		["an end without an event", says([])],
		["silence", says([], hang)],
	])("%s leads to the next target", async (_, script) => {
		b.does(says(WHOLE));
		await passing(script, { ...TWO, timeouts: { ...TIMEOUTS, first_token_ms: 1_000 } });
		expect(await ask()).toBe(WHOLE.join(""));
		expect(await gateway.billed()).toMatchObject({ outcome: "ok", backend: "b", attempts: 2 });
	});

	it("a failure of the last target is one error response", async () => {
		await passing(says(['data: {"error":{"message":"full","code":503}}\n\n']));
		expect((await gateway.open()).status).toBe(429);
	});

	it("only: after it no other target continues", async () => {
		b.does(says(WHOLE));
		await passing(says([delta("a")], reset), TWO);
		expect(await ask()).toBe(delta("a") + CUT);
		expect(b.calls).toEqual([]);
	});
});

describe("an answer that does not pass through", () => {
	it("is a complete value, which has the catalogue's name", async () => {
		await passing(answer());
		const { model } = JSON.parse(await ask({ stream: false }));
		expect(model).toBe("acme/model");
	});
});

describe("a caller", () => {
	it("that disconnects stops the engine, and pays for the delivered tokens", async () => {
		let written = 0;
		await passing(async (call) => {
			begin(call);
			written = 0;
			while (!call.response.destroyed) {
				call.response.write(delta(`${written++}`));
				await wait(10);
			}
		});
		for (let turn = 0; turn < 10; turn++) {
			const leaving = new AbortController();
			const reader = (await gateway.open({ signal: leaving.signal })).body?.getReader();
			let heard = 0;
			while (heard < 3)
				heard += new TextDecoder().decode((await reader?.read())?.value).split("\n\n").length - 1;
			leaving.abort();
			await a.calls[turn]?.closed;
			const { outcome, output_tokens } = await gateway.billed();
			expect(outcome).toBe("cancelled");
			expect(output_tokens).toBeGreaterThanOrEqual(heard);
			// How soon it stops is measured in test/node/leaving-sockets.test.ts and in the soak.
			expect(output_tokens).toBeLessThanOrEqual(written);
		}
	});

	it("that does not read causes no idle timeout, and gets the complete stream", async () => {
		const piece = delta("x".repeat(32_000));
		const pieces = 400;
		await passing(
			async (call) => {
				begin(call);
				for (let i = 0; i < pieces; i++)
					if (!call.response.write(piece))
						await new Promise((resolve) => call.response.once("drain", resolve));
				call.response.end(finish + usage(pieces) + DONE);
			},
			{ timeouts: { ...TIMEOUTS, idle_ms: 400 } },
		);
		const response = await gateway.open();
		await wait(1_500);
		const text = await response.text();
		expect(text.length).toBe(piece.length * pieces + (finish + usage(pieces) + DONE).length);
		expect(text.endsWith(finish + usage(pieces) + DONE)).toBe(true);
		expect(await gateway.billed()).toMatchObject({ outcome: "ok", output_tokens: pieces });
	});
});
