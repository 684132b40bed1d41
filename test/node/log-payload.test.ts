/** The memory of payloads that wait for the object of their gateway. */
import { expect, it } from "vitest";
import { collectGarbage } from "../../scripts/collect-garbage.ts";
import { payloadOf } from "../../src/gateways/logs/payload.ts";

const MEGABYTE = 1_000_000;

it("a payload that is cut keeps its own characters in memory, not the whole text", () => {
	const heapBytes = (): number => {
		collectGarbage();
		return process.memoryUsage().heapUsed;
	};
	const before = heapBytes();
	const kept = Array.from({ length: 50 }, (_, number) =>
		payloadOf(JSON.stringify({ number, text: "a".repeat(2 * MEGABYTE) }), 20_000),
	);
	expect(heapBytes() - before).toBeLessThan(20 * MEGABYTE);
	expect(kept.every(({ text, complete }) => text.length === 20_000 && !complete)).toBe(true);
});

it("a cut text has the characters of the whole one, and does not end inside of a character", () => {
	const text = '{"a":"h\u00e9 \u4f60 \ud83d\ude00"}';
	expect(payloadOf(text, 11)).toEqual({ text: '{"a":"h\u00e9 \u4f60 ', complete: false });
	expect(payloadOf(text, 12)).toEqual({ text: '{"a":"h\u00e9 \u4f60 ', complete: false });
	expect(payloadOf(text, 13)).toEqual({ text: '{"a":"h\u00e9 \u4f60 \ud83d\ude00', complete: false });
	expect(payloadOf(text, 1_000)).toEqual({ text, complete: true });
});
