/** The bill of a stream that its engine interrupts: every event before the interruption, wherever the engine's bytes are cut into reads. */
import { expect, it, type MockInstance, vi } from "vitest";
import type { Settlement } from "../../src/accounts/admission.ts";
import { createApp } from "../../src/app.ts";
import { BASE, OPEN_ACCESS, replaceServices, testServices } from "../gateway.ts";
import { pieces } from "../streams/pieces.ts";

const MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const VARS = {
	BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" } },
	ROUTES: { "*": { targets: [{ backend: "engine" }], retries: { attempts: 1 } } },
};
const event = (content: string): string =>
	`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
const EVENTS = ["a", "b", "c"].map(event);
const SENT = EVENTS.join("");

const messages = [{ role: "user", content: "Hi" }];
const CHAT = "/v1/chat/completions";
const PATHS: readonly [dialect: string, path: string, body: object][] = [
	["chat", CHAT, { model: MODEL, messages, stream: true }],
	["responses", "/v1/responses", { model: MODEL, input: "Hi", stream: true, store: false }],
	["messages", "/v1/messages", { model: MODEL, messages, max_tokens: 50, stream: true }],
	[
		"gemini",
		`/v1beta/models/${MODEL}:streamGenerateContent?alt=sse`,
		{ contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
	],
	["native", `/run/${MODEL}`, { messages, stream: true }],
];
/** What the engine sends after its events, and whether the connection is reset. */
const INTERRUPTIONS: readonly [kind: string, text: string, isReset: boolean][] = [
	["garbage", 'data: {"choices":[{"del\n\n', false],
	["an error", 'data: {"error":{"message":"out of memory","code":500}}\n\n', false],
	["half an event", event("d").slice(0, 30), false],
	["a reset", "", true],
];

/** A stream whose reads return these pieces. */
function bodyOf(reads: readonly Uint8Array[], isReset: boolean): ReadableStream<Uint8Array> {
	const left = reads.filter(({ length }) => length > 0);
	return new ReadableStream({
		pull(controller) {
			const next = left.shift();
			if (next) controller.enqueue(next);
			else if (isReset) controller.error(new Error("connection reset"));
			else controller.close();
		},
	});
}

/** Sends the body once for each of the engine's answers. Returns the outcomes and output tokens that were settled. */
async function settled(path: string, body: object, answers: readonly ReadableStream<Uint8Array>[]) {
	const left = [...answers];
	const services = testServices({
		vars: VARS,
		fetch: async () => new Response(left.shift(), { headers: { "content-type": "text/event-stream" } }),
	});
	const ledgersSeen = new Set<MockInstance<(settlement: Settlement) => void>>();
	const ledgers = {
		of(account: string) {
			const ledger = services.ledgers.of(account);
			if (!vi.isMockFunction(ledger.settle)) ledgersSeen.add(vi.spyOn(ledger, "settle"));
			return ledger;
		},
	};
	const app = createApp(replaceServices(services, { ledgers }), OPEN_ACCESS);
	for (const _ of answers) {
		const response = await app.request(`${BASE}${path}`, {
			method: "POST",
			body: JSON.stringify(body),
			headers: { "content-type": "application/json" },
		});
		expect(response.status).toBe(200);
		await response.text();
	}
	return [...ledgersSeen].flatMap(({ mock }) =>
		mock.calls.map(([{ outcome, outputTokens }]) => `${outcome} ${outputTokens}`),
	);
}

const CASES = PATHS.flatMap(([dialect, ...request]) =>
	INTERRUPTIONS.map(([kind, ...ending]) => [dialect, kind, request, ending] as const),
);

it.each(CASES)("%s: all events before %s are billed", async (_, __, [path, body], [text, isReset]) => {
	const all = SENT + text;
	// In one read, in two that are cut after the first event, and in one for each event. Every dialect has the same reader of the engine.
	const step = path === CHAT ? 1 : 9;
	const first = event("a").length;
	const places = Array.from({ length: Math.ceil((all.length - first) / step) }, (_, i) => [first + i * step]);
	const ends = [1, 2, 3].map((count) => EVENTS.slice(0, count).join("").length);
	const answers = [[], ...places, ends].map((cuts) => bodyOf(pieces(all, cuts), isReset));
	const bills = await settled(path, body, answers);
	expect(bills).toHaveLength(answers.length);
	expect(new Set(bills)).toEqual(new Set(["interrupted 3"]));
});
