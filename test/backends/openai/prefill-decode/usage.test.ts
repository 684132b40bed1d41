import { describe, expect, it } from "vitest";
import { combinedUsage, withPrefillUsage } from "../../../../src/backends/openai/prefill-decode/usage.ts";
import type { Usage } from "../../../../src/core/usage.ts";
import { EventStream, type StreamEvent, textOf } from "../../../../src/streams/sse.ts";

const usage = (prompt: number, completion: number, details?: Usage["prompt_tokens_details"]): Usage => ({
	prompt_tokens: prompt,
	completion_tokens: completion,
	total_tokens: prompt + completion,
	...(details !== undefined && { prompt_tokens_details: details }),
});

describe("the usage of two engines", () => {
	const decode = usage(900, 12, { cached_tokens: 899 });
	it.each([
		[
			"cached tokens of the prefill engine",
			usage(901, 1, { cached_tokens: 256 }),
			usage(901, 12, { cached_tokens: 256 }),
		],
		[
			"a prefill engine with an empty cache",
			usage(900, 1, { cached_tokens: 0 }),
			usage(900, 12, { cached_tokens: 0 }),
		],
		["a prefill engine that reports no cached tokens", usage(900, 1, null), usage(900, 12, null)],
		["a prefill engine without usage", undefined, usage(900, 12, null)],
		["a prefill engine that counts nothing", usage(0, 0), usage(900, 12, null)],
	])("%s", (_, prefill, expected) => {
		expect(combinedUsage(decode, prefill)).toEqual(expected);
	});

	it("keeps other details, and adds none that neither engine sent", () => {
		const details = { cached_tokens: 5, audio_tokens: 2 };
		expect(combinedUsage(usage(9, 1, details), undefined)).toEqual(
			usage(9, 1, { audio_tokens: 2 } as Usage["prompt_tokens_details"]),
		);
		expect(combinedUsage(usage(9, 1), usage(9, 1))).toEqual(usage(9, 1));
	});

	it("is rewritten in each event that has it, and waits for the counts only there", async () => {
		const chunks: object[] = [
			{ choices: [{ index: 0, delta: { content: "a" } }], usage: usage(900, 1, { cached_tokens: 899 }) },
			{ choices: [{ index: 0, delta: { content: "b" } }], usage: null },
			{ choices: [], usage: decode },
		];
		const pieceOf = (...events: StreamEvent[]) => ({
			bytes: new TextEncoder().encode(events.map(textOf).join("")),
			events,
		});
		const parsed = (value: object) => ({ data: JSON.stringify(value), value });
		const done = pieceOf({ comment: "keep-alive" }, { data: "[DONE]" });
		const pieces = [...chunks.map((value) => pieceOf(parsed(value))), done];
		const source = { pull: async () => pieces.shift(), cancel: async () => {} };
		let arrivals = 0;
		const prefill = usage(900, 1, { cached_tokens: 256 });
		const { events, progress } = withPrefillUsage(
			{ kind: "stream", events: new EventStream(source), progress: { usage: decode, outputTokens: 2 } },
			{
				latest: prefill,
				arrived: async () => {
					arrivals++;
					return prefill;
				},
			},
		);
		const text = await new Response(events).text();
		expect(text.endsWith("\n\n: keep-alive\n\ndata: [DONE]\n\n")).toBe(true);
		const sent = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
		expect(sent.map((chunk) => chunk.usage?.prompt_tokens_details?.cached_tokens)).toEqual([
			256,
			undefined,
			256,
		]);
		expect(sent.map((chunk) => chunk.choices[0]?.delta.content)).toEqual(["a", "b", undefined]);
		expect(arrivals).toBe(2);
		expect([progress.usage, progress.outputTokens]).toEqual([usage(900, 12, { cached_tokens: 256 }), 2]);
	});
});
