/**
 * One script of an engine through both modes of a stream, under workerd and over real sockets: the gateway reads each event,
 * or the runtime moves the bytes (`passthrough`). The engine uses the catalogue's name of the model and the caller requests
 * usage, so the modes may differ only as docs/routing.md, "Passthrough" lists.
 */
import { setTimeout as wait } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { codePoint } from "../code-point.ts";
import { type Billed, type FaultGateway, MODEL, startGateway } from "../faults/gateway.ts";
import { hang, Provider, type ProviderCall, reset } from "../faults/provider.ts";

const engine = new Provider("a");
let gateway: FaultGateway;

beforeAll(async () => {
	await engine.listen();
	gateway = await startGateway();
});
afterEach(async () => {
	for (const { closed } of engine.calls) await closed;
});
afterAll(async () => {
	await gateway?.stop();
	engine.stop();
});

const chunk = (choices: unknown[], others: object = {}): string =>
	`data: ${JSON.stringify({ id: "e-1", object: "chat.completion.chunk", created: 7, model: MODEL, choices, ...others })}\n\n`;
const delta = (fields: object): string => chunk([{ index: 0, delta: fields, finish_reason: null }]);
const FIRST = delta({ role: "assistant", content: "a" });
const FINISH = chunk([{ index: 0, delta: {}, finish_reason: "stop" }]);
const USAGE = chunk([], { usage: { prompt_tokens: 11, completion_tokens: 9, total_tokens: 20 } });
const DONE = "data: [DONE]\n\n";
const HALF = delta({ content: "é" }).slice(0, 40);
const MALFORMED = "data: {no\n\n";
const ENGINE_ERROR =
	'data: {"error":{"message":"at http://10.0.0.7:8000","type":"InternalServerError","code":500}}\n\n';

const errorFrame = (code: number, message: string): string =>
	`data: ${JSON.stringify({ error: { message, type: "server_error", code } })}\n\n`;
const INTERRUPTED = errorFrame(5001, "AiError: AiError: The backend 'a' was cut off mid-answer");
const INVALID = errorFrame(
	5001,
	"AiError: AiError: The backend 'a' answered with something that is not a chat stream",
);
const SILENT = errorFrame(3007, "AiError: Timeout: The backend 'a' was silent for 1000 ms");

interface Ending {
	/** What the engine sends after its first events. */
	sent: string;
	/** What it does with the connection then. */
	close: "end" | "reset" | "hang";
	/** What the caller gets after the first events, by mode. */
	read: string;
	passed: string;
	outcome: "ok" | "interrupted";
	/** The output tokens of the bill, if the engine counts them. */
	counted?: number;
	timeouts?: object;
}

const same = (text: string): Pick<Ending, "read" | "passed"> => ({ read: text, passed: text });
const COMPLETE = { outcome: "ok", counted: 9 } as const;
const interrupted = { outcome: "interrupted" } as const;

const ENDINGS: Record<string, Ending> = {
	"a complete answer": {
		sent: FINISH + USAGE + DONE,
		close: "end",
		...same(FINISH + USAGE + DONE),
		...COMPLETE,
	},
	"a usage of null before the usage, as OpenAI sends it": {
		sent: chunk([{ index: 0, delta: {}, finish_reason: "stop" }], { usage: null }) + USAGE + DONE,
		close: "end",
		// Most clients read both.
		read: FINISH + USAGE + DONE,
		passed: chunk([{ index: 0, delta: {}, finish_reason: "stop" }], { usage: null }) + USAGE + DONE,
		...COMPLETE,
	},
	"no [DONE]": { sent: FINISH + USAGE, close: "end", ...same(FINISH + USAGE + DONE), ...COMPLETE },
	"no last blank line": {
		sent: FINISH + USAGE.trimEnd(),
		close: "end",
		...same(FINISH + USAGE + DONE),
		...COMPLETE,
	},
	"a reset after the answer": {
		sent: FINISH + USAGE,
		close: "reset",
		...same(FINISH + USAGE + DONE),
		...COMPLETE,
	},
	"an early end": { sent: "", close: "end", ...same(INTERRUPTED), ...interrupted },
	"a reset": { sent: "", close: "reset", ...same(INTERRUPTED), ...interrupted },
	"usage, then a reset": {
		sent: USAGE,
		close: "reset",
		...same(USAGE + INTERRUPTED),
		...interrupted,
		counted: 9,
	},
	// The differences: what has been sent cannot be revoked.
	"a reset in an event": {
		sent: HALF,
		close: "reset",
		read: INTERRUPTED,
		passed: `${HALF}\n\n${INTERRUPTED}`,
		...interrupted,
	},
	"a malformed event": {
		sent: MALFORMED,
		close: "hang",
		read: INVALID,
		passed: MALFORMED + INVALID,
		...interrupted,
	},
	"an engine's error": {
		sent: ENGINE_ERROR,
		close: "end",
		read: errorFrame(5001, "AiError: AiError: The backend 'a' failed with HTTP 500"),
		passed: ENGINE_ERROR,
		...interrupted,
	},
};

/** Each takes a second or more. */
const SLOW_ENDINGS: Record<string, Ending> = {
	"an open connection after the answer": {
		sent: FINISH + USAGE + DONE,
		close: "hang",
		...same(FINISH + USAGE + DONE),
		...COMPLETE,
	},
	silence: { sent: "", close: "hang", ...same(SILENT), ...interrupted, timeouts: { idle_ms: 1_000 } },
	"silence after the answer": {
		sent: FINISH + USAGE,
		close: "hang",
		...same(FINISH + USAGE + DONE),
		...COMPLETE,
		timeouts: { idle_ms: 1_000 },
	},
};

interface Script {
	/** The events before the ending. */
	events: readonly string[];
	/** Offsets of the bytes at which the engine starts a new write. */
	cuts: readonly number[];
	ending: Ending;
}

const begin = ({ response }: ProviderCall) =>
	response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();

/** `undefined`: the route does not set `passthrough`, and the engine's first stream has needed no change. */
type Passthrough = boolean | undefined;

async function configure(passthrough: Passthrough, timeouts: object = {}): Promise<void> {
	const route = {
		targets: [{ backend: "a" }],
		retries: { attempts: 1 },
		timeouts: { header_ms: 20_000, idle_ms: 20_000, total_ms: 60_000, ...timeouts },
		...(passthrough !== undefined && { passthrough }),
	};
	await gateway.configure(route, [engine]);
}

async function received(passthrough: Passthrough, script: Script) {
	await configure(passthrough, script.ending.timeouts);
	if (passthrough === undefined) {
		engine.does((call) => {
			begin(call);
			call.response.end(FIRST + FINISH + USAGE + DONE);
		});
		await (await gateway.open()).text();
		await gateway.billed();
	}
	return play(script);
}

async function play({ events, cuts, ending }: Script) {
	const bytes = Buffer.from(events.join("") + ending.sent);
	const offsets = [...new Set([0, ...cuts.map((cut) => cut % bytes.length), bytes.length])].sort(
		(a, b) => a - b,
	);
	engine.does(async (call) => {
		begin(call);
		for (const [i, from] of offsets.slice(0, -1).entries()) {
			await new Promise<void>((resolve) =>
				call.response.write(bytes.subarray(from, offsets[i + 1]), () => resolve()),
			);
			await wait(1);
		}
		if (ending.close === "reset") await reset(call);
		else if (ending.close === "hang") await hang(call);
		else call.response.end();
	});
	const text = await (await gateway.open()).text();
	const { outcome, input_tokens, output_tokens, estimated } = (await gateway.billed()) as Billed & {
		estimated: boolean;
	};
	return { text, bill: { outcome, input_tokens, output_tokens, estimated } };
}

async function compare(script: Script): Promise<void> {
	const { events, ending } = script;
	const read = await received(false, script);
	const passed = await received(true, script);
	expect(await received(undefined, script)).toEqual(passed);
	expect(read.text).toBe(events.join("") + ending.read);
	expect(passed.text).toBe(events.join("") + ending.passed);
	expect(passed.bill).toEqual(read.bill);
	expect(read.bill.outcome).toBe(ending.outcome);
	expect(read.bill.estimated).toBe(ending.counted === undefined);
	if (ending.counted !== undefined) expect(read.bill.output_tokens).toBe(ending.counted);
}

const text = fc.string({ unit: codePoint, maxLength: 30 });
/** Without calls: the gateway repairs them in the streams that it reads. */
const event = fc.oneof(
	{ weight: 4, arbitrary: text.map((content) => delta({ content })) },
	text.map((reasoning_content) => delta({ reasoning_content })),
	fc.constant(": keep-alive\n\n"),
);
const script = (endings: Record<string, Ending>): fc.Arbitrary<Script> =>
	fc.record({
		events: fc.array(event, { maxLength: 30 }).map((others) => [FIRST, ...others]),
		cuts: fc.array(fc.nat(5_000), { maxLength: 30 }),
		ending: fc.constantFrom(...Object.values(endings)),
	});

describe("both modes of a stream", () => {
	it.each(Object.entries({ ...ENDINGS, ...SLOW_ENDINGS }))(
		"send and bill as documented: %s",
		async (_, ending) => {
			await compare({ events: [FIRST, delta({ content: "b" })], cuts: [], ending });
		},
	);

	it("send and bill the same for any events, cuts and faults", async () => {
		await fc.assert(fc.asyncProperty(script(ENDINGS), compare), { numRuns: 10 });
	}, 120_000);

	it.each([false, true, undefined])(
		"notice a caller that disconnects (passthrough: %s)",
		async (passthrough) => {
			let sent = 0;
			engine.does(async (call) => {
				begin(call);
				sent = 0;
				while (!call.response.destroyed) {
					// Counted first: the connection may close while the loop waits.
					call.response.write(delta({ content: `${sent++}` }));
					await wait(5);
				}
			});
			await configure(passthrough);
			const disconnect = new AbortController();
			const reader = (await gateway.open({ signal: disconnect.signal })).body?.getReader();
			const { value } = (await reader?.read()) ?? {};
			const events = new TextDecoder().decode(value).split("\n\n").length - 1;
			disconnect.abort();
			await engine.calls[0]?.closed;
			const { outcome, output_tokens } = await gateway.billed();
			expect(outcome).toBe("cancelled");
			expect(output_tokens).toBeGreaterThanOrEqual(events);
			expect(output_tokens).toBeLessThanOrEqual(sent);
		},
	);
});
