/**
 * Streams of an upstream's own events. The behaviour that they share with OpenAI chunks is tested in full in
 * `chunk-stream.test.ts`, and here once.
 */
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import {
	postTranslated,
	type TranslationOptions,
	type Translator,
} from "../../../src/backends/transport/translated-stream.ts";
import { AiError } from "../../../src/core/errors.ts";
import type { Usage } from "../../../src/core/usage.ts";
import type { ChatChunk } from "../../../src/tasks/text-generation/types.ts";
import {
	callOf,
	drain,
	eventStream,
	failureOf,
	inPieces,
	json,
	runningTimers,
	TARGET,
	type TestCall,
	tap,
	withFakeTimers,
} from "../upstream.ts";

const encode = (text: string) => new TextEncoder().encode(text);

const USAGE: Usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const chunk = (more: Partial<ChatChunk>): ChatChunk => ({
	id: "id",
	object: "chat.completion.chunk",
	created: 1,
	model: "m",
	choices: [],
	...more,
});
const contentChunk = (content: string) => chunk({ choices: [{ index: 0, delta: { content } }] });
const LAST = chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: USAGE });
const frames = (...chunks: ChatChunk[]) => chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
const END = `${frames(LAST)}data: [DONE]\n\n`;

const Event = z.object({
	say: z.string().optional(),
	stop: z.boolean().optional(),
	fail: z.string().optional(),
});

/** For an upstream with the events `{say}`, `{fail}` and `{stop}`. `hasEndEvent`: `{stop}` is its last event. */
function translator({ hasEndEvent = false } = {}): Translator & { names: (string | undefined)[] } {
	let stopped = false;
	const names: (string | undefined)[] = [];
	return {
		names,
		get done() {
			return hasEndEvent && stopped;
		},
		translate({ event, data }) {
			names.push(event);
			const { say, stop, fail } = Event.parse(JSON.parse(data));
			if (fail !== undefined) throw new AiError("outOfCapacity", fail);
			stopped ||= stop ?? false;
			return say === undefined ? [] : [...say].map(contentChunk);
		},
		end: () => (stopped ? [LAST] : undefined),
	};
}

type Options = Partial<TranslationOptions<z.ZodType>>;

async function open(call: TestCall, options: Options = {}) {
	const reply = await postTranslated(
		call,
		"/route",
		{ a: 1 },
		{
			schema: z.never(),
			translator: translator(),
			...options,
		},
	);
	if (reply.kind !== "stream") throw new Error("no stream");
	return reply;
}

const outcome = (respond: () => Response, options?: Options) =>
	open(callOf(respond), options).then(
		({ events }) => drain(events),
		(error: unknown) => ({ text: "", error }),
	);
const sse = (...events: object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
const lines = (...events: object[]) => events.map((event) => `${JSON.stringify(event)}\n`).join("");
const ndjson = (body: ReadableStream<Uint8Array> | string) =>
	new Response(body, { headers: { "content-type": "application/x-ndjson" } });

const cut = { key: "executionFailed", description: "The backend 'lab' was cut off mid-answer" };
const malformed = {
	key: "executionFailed",
	description: "The backend 'lab' answered with something that is not a chat stream",
};

describe("the request", () => {
	it.each([
		[{}, "text/event-stream, application/json"],
		[{ format: "ndjson" }, "application/x-ndjson, application/json"],
		[{ accept: "text/event-stream" }, "text/event-stream"],
	] as const)("with %j accepts %s", async (options, accept) => {
		const call = callOf(() => json({ answer: 1 }));
		const reply = await postTranslated(
			call,
			"/route",
			{ a: 1 },
			{
				schema: z.object({ answer: z.number() }),
				translator: translator(),
				headers: { "x-version": "1" },
				...options,
			},
		);
		// The upstream answered with a complete value.
		expect(reply).toEqual({ kind: "value", value: { answer: 1 } });
		const [request] = call.requests;
		expect(request?.init.method).toBe("POST");
		expect(request?.json).toEqual({ a: 1 });
		expect(request?.headers.get("accept")).toBe(accept);
		expect(request?.headers.get("x-version")).toBe("1");
		expect(request?.headers.get("x-tenant")).toBe("tenant-secret-value");
	});

	it("fails if the answer is neither a stream nor the value", async () => {
		expect(await outcome(() => json({ other: 1 }))).toMatchObject({ error: { key: "executionFailed" } });
	});
});

describe.each([
	["server-sent events", "sse", sse, eventStream],
	["lines of JSON", "ndjson", lines, ndjson],
] as const)("a stream of %s", (_, format, write, response) => {
	const text = write({}, { say: "aé" }, { say: "b" }, {}, { stop: true });

	it("becomes chunks, for all chunk boundaries", async () => {
		const bytes = encode(text);
		await fc.assert(
			fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 30 }), async (cuts) => {
				expect(await outcome(() => response(inPieces(bytes, cuts)), { format })).toEqual({
					text: frames(contentChunk("a"), contentChunk("é"), contentChunk("b")) + END,
				});
			}),
			{ numRuns: 30 },
		);
	});

	it("keeps every character, and the log probabilities of each chunk", async () => {
		const contents = ["a", '"', "\\", "\n", "\u2028", "\ud83d", "{the content of the delta}", "", "é"];
		const chunks = contents.flatMap((content) => [
			contentChunk(content),
			chunk({ choices: [{ index: 0, delta: { content }, logprobs: { content: [content] } }] }),
			chunk({ id: "other", choices: [{ index: 0, delta: { content } }] }),
			chunk({ choices: [{ index: 0, delta: { reasoning_content: content } }] }),
		]);
		let isOver = false;
		const all: Translator = {
			translate: ({ data }) => {
				isOver = data.includes("stop");
				return isOver ? [] : chunks;
			},
			end: () => (isOver ? [LAST] : undefined),
		};
		const body = write({}, { stop: true });
		expect(await outcome(() => response(body), { format, translator: all })).toEqual({
			text: frames(...chunks) + END,
		});
	});

	it("counts a last event without its terminator", async () => {
		expect(await outcome(() => response(text.trimEnd()), { format })).toEqual({
			text: frames(contentChunk("a"), contentChunk("é"), contentChunk("b")) + END,
		});
	});

	it("is complete without a comment that is not", async () => {
		if (format !== "sse") return;
		expect(await outcome(() => response(`${text}: bye`), { format })).toEqual({
			text: frames(contentChunk("a"), contentChunk("é"), contentChunk("b")) + END,
		});
	});

	it("errors after complete chunks if it is interrupted", async () => {
		const beginning = write({ say: "a" });
		for (const tail of ["", '{"say"', write({ say: "b" }).slice(0, 8)]) {
			expect(await outcome(() => response(beginning + tail), { format })).toMatchObject({
				text: frames(contentChunk("a")),
				error: cut,
			});
		}
	});
});

describe("an event", () => {
	it("has the name that the upstream gave it", async () => {
		const named = translator();
		await outcome(() => eventStream('event: first\ndata: {}\n\n: note\n\ndata: {"stop":true}\n\n'), {
			translator: named,
		});
		expect(named.names).toEqual(["first", undefined]);
	});

	it("without chunks does not end the wait of the reader", async () => {
		const upstream = tap();
		upstream.push(sse({ say: "a" }));
		const { events } = await open(callOf(() => eventStream(upstream.body)));
		const reader = events.getReader();
		expect((await reader.read()).value).toEqual(encode(frames(contentChunk("a"))));
		const next = reader.read();
		upstream.push(sse({}));
		upstream.push(sse({}));
		upstream.push(sse({ say: "b" }));
		expect((await next).value).toEqual(encode(frames(contentChunk("b"))));
		await reader.cancel();
	});

	it.each([": waiting\n\n", "event: ping\ndata: {}\n\n"])(
		"that keeps a caller waiting is a comment: %j",
		async (event) => {
			const upstream = tap();
			upstream.push(sse({ say: "a" }));
			const { events } = await open(callOf(() => eventStream(upstream.body)));
			const reader = events.getReader();
			await reader.read();
			const next = reader.read();
			upstream.push(event);
			expect(new TextDecoder().decode((await next).value)).toMatch(/^: (waiting|ping)\n\n$/);
			await reader.cancel();
		},
	);

	it.each([
		["oops", malformed],
		['{"say":7}', malformed],
		["null", malformed],
		['{"fail":"busy"}', { key: "outOfCapacity", description: "busy" }],
	])(
		"of %s ends the stream after the valid events, and aborts the upstream's fetch",
		async (data, failure) => {
			const upstream = tap();
			const call = callOf(() => eventStream(upstream.body));
			upstream.push(`${sse({ say: "a" })}data: ${data}\n\n${sse({ say: "b" }, { stop: true })}`);
			const { text, error } = await drain((await open(call)).events);
			expect(text).toBe(frames(contentChunk("a")));
			expect(error).toBeInstanceOf(AiError);
			expect(error).toMatchObject(failure);
			expect(call.requests[0]?.signal.aborted).toBe(true);
			expect(upstream.cancelled).toBe(true);
		},
	);

	it.each([
		["data: oops\n\n", malformed],
		['data: {"fail":"busy"}\n\n', { key: "outOfCapacity", retryable: true }],
		["", cut],
		[sse({}), cut],
	])("of %j at the beginning fails the call", async (text, failure) => {
		const call = callOf(() => eventStream(text));
		const error = await failureOf(open(call));
		expect(error).toBeInstanceOf(AiError);
		expect(error).toMatchObject(failure);
		expect(call.requests[0]?.signal.aborted).toBe(true);
	});

	it("is bounded in size", async () => {
		const upstream = tap();
		upstream.push(sse({ say: "a" }));
		const { events } = await open(callOf(() => eventStream(upstream.body)));
		for (let sent = 0; sent <= 16; sent++) upstream.push(new Uint8Array(1024 * 1024).fill(97));
		expect(await drain(events)).toMatchObject({
			text: frames(contentChunk("a")),
			error: { key: "requestTooLarge" },
		});
		expect(upstream.cancelled).toBe(true);
	});
});

describe("progress", () => {
	it("counts the chunks that have been read", async () => {
		const upstream = tap();
		upstream.push(sse({ say: "a" }));
		const { events, progress } = await open(callOf(() => eventStream(upstream.body)));
		expect(progress).toMatchObject({ usage: undefined, outputTokens: 1 });
		upstream.push(sse({ say: "bc" }, { stop: true }));
		upstream.end();
		await drain(events);
		expect(progress).toMatchObject({ usage: USAGE, outputTokens: 3 });
	});
});

describe("the upstream's end event", () => {
	it("ends the stream before the connection closes", async () => {
		const upstream = tap();
		const call = callOf(() => eventStream(upstream.body));
		upstream.push(sse({ say: "a" }, { stop: true }, { say: "late" }));
		const { events } = await open(call, { translator: translator({ hasEndEvent: true }) });
		const reader = events.getReader();
		expect((await reader.read()).value).toEqual(encode(frames(contentChunk("a")) + END));
		const next = reader.read();
		upstream.push("data: oops\n\n");
		upstream.end();
		expect((await next).done).toBe(true);
		expect(call.requests[0]?.signal.aborted).toBe(false);
	});

	it("completes the answer, also if the connection is reset after it", async () => {
		const upstream = tap();
		upstream.push(sse({ say: "a" }, { stop: true }));
		const { events } = await open(callOf(() => eventStream(upstream.body)));
		const reader = events.getReader();
		await reader.read();
		upstream.reset();
		expect((await reader.read()).value).toEqual(encode(END));
		expect((await reader.read()).done).toBe(true);
	});
});

describe("time limits", () => {
	const { idleMs, totalMs } = TARGET.timeouts;

	withFakeTimers();

	it("apply between two pieces before the first chunk", async () => {
		const upstream = tap();
		const call = callOf(() => eventStream(upstream.body));
		const failure = failureOf(open(call));
		await vi.advanceTimersByTimeAsync(idleMs - 1);
		expect(runningTimers()).toBe(1);
		upstream.push(sse({}));
		await vi.advanceTimersByTimeAsync(idleMs - 1);
		expect(call.requests[0]?.signal.aborted).toBe(false);
		await vi.advanceTimersByTimeAsync(1);
		expect(await failure).toMatchObject({ key: "timeout" });
		expect(upstream.cancelled).toBe(true);
	});

	it("apply to the complete call, and do not drop a complete answer", async () => {
		for (const finished of [false, true]) {
			const upstream = tap();
			upstream.push(sse({ say: "a" }, ...(finished ? [{ stop: true }] : [])));
			const { events } = await open(callOf(() => eventStream(upstream.body)));
			await vi.advanceTimersByTimeAsync(totalMs);
			const { text, error } = await drain(events);
			if (finished) expect({ text, error }).toEqual({ text: frames(contentChunk("a")) + END });
			else expect(error).toMatchObject({ key: "modelTimeout" });
			expect(upstream.cancelled).toBe(true);
		}
	});

	it("are short after the upstream's end event", async () => {
		const upstream = tap();
		upstream.push(sse({ stop: true }));
		const { events } = await open(
			callOf(() => eventStream(upstream.body)),
			{
				translator: translator({ hasEndEvent: true }),
			},
		);
		const drained = drain(events);
		await vi.advanceTimersByTimeAsync(1000);
		expect(await drained).toEqual({ text: END });
		expect(upstream.cancelled).toBe(true);
	});
});

describe("cancelling", () => {
	it.each(["before the first read", "between events", "during a read"])(
		"by cancelling %s ends the upstream's fetch at once",
		async (phase) => {
			const upstream = tap();
			const call = callOf(() => eventStream(upstream.body));
			upstream.push(sse({ say: "a" }) + sse({ say: "b" }).slice(0, 9));
			const reader = (await open(call)).events.getReader();
			if (phase !== "before the first read") await reader.read();
			const read = phase === "during a read" ? reader.read() : undefined;
			const cancelled = reader.cancel();
			expect(call.requests[0]?.signal.aborted).toBe(true);
			expect(upstream.cancelled).toBe(true);
			await cancelled;
			if (read) expect((await read).done).toBe(true);
		},
	);

	it("by the caller's signal ends it, too, and errors the stream", async () => {
		const upstream = tap();
		const call = callOf(() => eventStream(upstream.body));
		upstream.push(sse({ say: "a" }));
		const reader = (await open(call)).events.getReader();
		await reader.read();
		call.disconnect();
		expect(call.requests[0]?.signal.aborted).toBe(true);
		expect(await failureOf(reader.read())).toMatchObject({ key: "aborted" });
		expect(upstream.cancelled).toBe(true);
	});

	it("is not needed to stop reading: the upstream is read on demand", async () => {
		const upstream = tap();
		upstream.push(sse({ say: "a" }));
		const { events, progress } = await open(callOf(() => eventStream(upstream.body)));
		upstream.push(sse({ say: "b" }));
		await scheduler.wait(0);
		expect(progress.outputTokens).toBe(1);
		await events.cancel();
	});
});

it("skips empty lines of JSON lines", async () => {
	const lines = '{"say":"a"}\n\n \n{"stop":true}\n\n';
	const headers = { "content-type": "application/x-ndjson" };
	const call = callOf(() => new Response(lines, { headers }));
	const options = {
		schema: z.never(),
		translator: translator({ hasEndEvent: true }),
		format: "ndjson",
	} as const;
	const reply = await postTranslated(call, "/chat", {}, options);
	if (reply.kind !== "stream") throw new Error("no stream");
	expect(await drain(reply.events)).toEqual({ text: frames(contentChunk("a")) + END });
});
