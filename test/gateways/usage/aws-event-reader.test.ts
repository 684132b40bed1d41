/** Bedrock's streams in the encoding of their specification: smithy.io/2.0/aws/amazon-eventstream.html. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AnswerUsage } from "../../../src/gateways/usage/answer-usage.ts";
import { usageReader } from "../../../src/gateways/usage/usage-reader.ts";
import { concat } from "../../../src/media/bytes.ts";
import { cut } from "../../streams/pieces.ts";

const TYPE = "application/vnd.amazon.eventstream";
const encode = (text: string) => new TextEncoder().encode(text);

/** A header whose value is a string, which has the type 7. */
function header(name: string, value: string): Uint8Array {
	const length = new Uint8Array(2);
	new DataView(length.buffer).setUint16(0, value.length);
	return concat([Uint8Array.of(name.length), encode(name), Uint8Array.of(7), length, encode(value)]);
}

/** The checksums stay 0. */
function message(eventType: string, payload: string): Uint8Array {
	const headers = concat([
		header(":event-type", eventType),
		header(":content-type", "application/json"),
		header(":message-type", "event"),
	]);
	const body = encode(payload);
	const bytes = new Uint8Array(12 + headers.length + body.length + 4);
	const view = new DataView(bytes.buffer);
	view.setUint32(0, bytes.length);
	view.setUint32(4, headers.length);
	bytes.set(headers, 12);
	bytes.set(body, 12 + headers.length);
	return bytes;
}

const event = (eventType: string, payload: object) => message(eventType, JSON.stringify(payload));
/** An event of a model's own stream. */
const chunk = (payload: object) => event("chunk", { bytes: btoa(JSON.stringify(payload)), p: "abcdefgh" });

const CONVERSE = concat([
	event("messageStart", { p: "abc", role: "assistant" }),
	event("contentBlockDelta", { contentBlockIndex: 0, delta: { text: '{"usage":{"inputTokens":9}}' } }),
	event("messageStop", { stopReason: "end_turn" }),
	event("metadata", {
		metrics: { latencyMs: 1_275 },
		usage: { inputTokens: 30, outputTokens: 12, totalTokens: 52, cacheReadInputTokens: 10 },
	}),
]);
const METRICS = { inputTokenCount: 21, outputTokenCount: 9, invocationLatency: 900, firstByteLatency: 400 };
const CLAUDE = concat([
	chunk({
		type: "message_start",
		message: {
			model: "claude-sonnet-4-5-20250929",
			usage: { input_tokens: 21, cache_read_input_tokens: 100, output_tokens: 1 },
		},
	}),
	chunk({ type: "message_delta", delta: {}, usage: { output_tokens: 9 } }),
	chunk({ type: "message_stop", "amazon-bedrock-invocationMetrics": METRICS }),
]);
const NOVA = concat([
	chunk({ contentBlockDelta: { delta: { text: "Hi" } } }),
	chunk({ "amazon-bedrock-invocationMetrics": METRICS }),
]);

function read(pieces: readonly Uint8Array[]) {
	const answer = new AnswerUsage();
	const reader = usageReader(TYPE, (part) => answer.add(part));
	for (const piece of pieces) {
		reader?.push(piece);
		// The caller's stream may transfer it.
		piece.fill(0);
	}
	reader?.end();
	const { prompt_tokens, completion_tokens, prompt_tokens_details } = answer.usage ?? {};
	return [prompt_tokens, completion_tokens, prompt_tokens_details?.cached_tokens ?? 0];
}

const STREAMS: [name: string, bytes: Uint8Array, counts: (number | undefined)[]][] = [
	["ConverseStream", CONVERSE, [40, 12, 10]],
	["a stream of Claude", CLAUDE, [121, 9, 100]],
	["a stream of Nova", NOVA, [21, 9, 0]],
];

describe("the usage of Bedrock", () => {
	it.each(STREAMS)("is in %s, in pieces of any size", (_, bytes, counts) => {
		expect(read([bytes.slice()])).toEqual(counts);
		fc.assert(
			fc.property(fc.array(fc.nat(bytes.length)), (places) => {
				expect(read(cut(bytes, places))).toEqual(counts);
			}),
		);
	});

	it("is found after a message of any size", () => {
		const large = event("contentBlockDelta", { delta: { text: "x".repeat(300_000) } });
		expect(read(cut(concat([large, large, CONVERSE]), [100_000, 300_500]))).toEqual([40, 12, 10]);
	});

	it.each([
		["no messages", encode("not found".repeat(20))],
		["a payload that is no JSON", message("metadata", '{"usage":')],
		["no base64", event("chunk", { bytes: "{}" })],
		[
			"headers beyond the message",
			Uint8Array.of(0, 0, 0, 20, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
		],
		["an incomplete message", CONVERSE.subarray(0, -1)],
		["nothing", new Uint8Array()],
	])("is absent from %s", (_, bytes) => {
		expect(read([bytes.slice()])).toEqual([undefined, undefined, 0]);
	});

	it("is read or absent for any bytes: nothing throws", () => {
		fc.assert(fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), (pieces) => void read(pieces)));
		fc.assert(
			fc.property(fc.nat(CLAUDE.length - 1), fc.nat(255), (place, byte) => {
				const bytes = CLAUDE.slice();
				bytes[place] = byte;
				read([bytes]);
			}),
		);
	});
});
