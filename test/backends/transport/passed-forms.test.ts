/**
 * Streams that the runtime could move: each passes byte by byte, or is rewritten from its first byte, wherever its pieces are cut. The
 * answer is read as a client reads it that knows only the standard of server-sent events.
 */
import { createParser } from "eventsource-parser";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { relayChunks } from "../../../src/backends/transport/chunk-stream.ts";
import { startDeadline } from "../../../src/backends/transport/deadline.ts";
import type { StreamEndFormatter } from "../../../src/tasks/task.ts";
import { callOf, drain, eventStream } from "../upstream.ts";

const chunk = (delta: object, finish_reason: string | null = null) =>
	JSON.stringify({
		id: "c",
		object: "chat.completion.chunk",
		choices: [{ index: 0, delta, finish_reason }],
	});
const CHUNKS = [
	chunk({ role: "assistant", content: "" }),
	chunk({ content: "Hel" }),
	chunk({ content: 'lo,\n\ndata: {"ä": "€"}' }),
	chunk({}, "stop"),
];
const ALL = [...CHUNKS, "[DONE]"];
const lines = (end: string) => ALL.map((data) => `data: ${data}${end}`).join("");

/** The runtime moves these. */
const SOUND: Record<string, string> = {
	"one line each": lines("\n\n"),
	"with CRLF": lines("\r\n\r\n"),
	"with comments": `: hello\n\n${ALL.map((data) => `: alive\n\ndata: ${data}\n\n`).join("")}`,
	"without a space": ALL.map((data) => `data:${data}\n\n`).join(""),
	"with ids": ALL.map((data, i) => `id: ${i}\ndata: ${data}\n\n`).join(""),
	"with two blank lines": lines("\n\n\n"),
};
/** Clients would read these as one event, or not at all. */
const ODD: Record<string, string> = {
	"parted by one line break": lines("\n"),
	"parted by one CRLF": lines("\r\n"),
	"parted by one line break, with comments": `: hello\n\n${lines("\n")}`,
	"with the field's name twice": ALL.map((data) => `data: data: ${data}\n\n`).join(""),
	"with the field's name in capitals": ALL.map((data) => `DATA: ${data}\n\n`).join(""),
	"after a text that is no JSON": `data: ping\n\n${lines("\n\n")}`,
	"as a list": `data: [${CHUNKS.join(",")}]\n\ndata: [DONE]\n\n`,
	"without fields": `${CHUNKS.join("\n")}\n\ndata: [DONE]\n\n`,
};
const MODES: Record<string, StreamEndFormatter> = {
	"found out": { onFailure: () => "data: failure\n\n", onComplete: () => "" },
	"set by the route": { onFailure: () => "data: failure\n\n", acceptsFaults: true },
};

async function relayed(text: string, cuts: readonly number[], streamEnd: StreamEndFormatter) {
	const bytes = new TextEncoder().encode(text);
	const ends = [...new Set(cuts.map((cut) => cut % bytes.length))].filter(Boolean).sort((a, b) => a - b);
	const pieces = [...ends, bytes.length].map((end, i) => bytes.slice(ends[i - 1] ?? 0, end));
	const call = callOf(() => eventStream(""));
	const source = new ReadableStream({
		type: "bytes",
		async pull(controller) {
			await scheduler.wait(0);
			const piece = pieces.shift();
			if (piece) controller.enqueue(piece);
			else controller.close();
		},
	});
	const stream = { call, source, deadline: startDeadline(call) };
	const { ended, events } = await relayChunks(stream, { choices: 1, streamEnd });
	const drained = await drain(events);
	expect(await ended).toBeUndefined();
	return { text: drained.text, passed: ended !== undefined };
}

function readStrictly(text: string): unknown[] {
	const events: unknown[] = [];
	const parser = createParser({
		onEvent: ({ data }) => events.push(data === "[DONE]" ? data : JSON.parse(data)),
	});
	parser.feed(text);
	return events;
}

const EXPECTED = [...CHUNKS.map((data) => JSON.parse(data) as unknown), "[DONE]"];
const cuts = fc.array(fc.nat(2_000), { maxLength: 12 });

describe.each(Object.entries(MODES))("a stream whose passing is %s", (mode, streamEnd) => {
	it.each(Object.entries(SOUND))("passes as it is: %s", async (_name, text) => {
		await fc.assert(
			fc.asyncProperty(cuts, async (places) => {
				expect(await relayed(text, places, streamEnd)).toEqual({ text, passed: true });
			}),
			{ numRuns: 6 },
		);
	});

	it.each(Object.entries(ODD))("is rewritten: %s", async (_name, text) => {
		await fc.assert(
			fc.asyncProperty(cuts, async (places) => {
				const { passed, text: sent } = await relayed(text, places, streamEnd);
				expect(readStrictly(sent)).toEqual(EXPECTED);
				expect(passed).toBe(false);
			}),
			{ numRuns: 6 },
		);
	});

	// One reader reads both, so the streams of the second are cut at fewer places.
	it("is rewritten, cut in two at each byte", async () => {
		const text = ODD["parted by one line break"] ?? "";
		const step = mode === "found out" ? 1 : 7;
		for (let cut = 1; cut < text.length; cut += step)
			expect(readStrictly((await relayed(text, [cut], streamEnd)).text), String(cut)).toEqual(EXPECTED);
	});
});
