import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ChatChunk, ChatInput, ToolCall } from "../../../src/tasks/text-generation/types.ts";
import { calculator, chat, chunksOf, eventsOf, NOW, streamOf, target, user, weather } from "./fixture.ts";

const thinker = { capabilities: ["reasoning" as const] };

interface Joined {
	role: string;
	content: string;
	reasoning: string;
	calls: ToolCall[];
	finish_reason: string;
}

/** A client's view of one choice. */
function join(chunks: ChatChunk[], index: number): Joined {
	const joined: Joined = { role: "", content: "", reasoning: "", calls: [], finish_reason: "" };
	for (const { choices } of chunks)
		for (const { index: at, delta, finish_reason } of choices) {
			if (at !== index) continue;
			joined.role += delta.role ?? "";
			joined.content += delta.content ?? "";
			joined.reasoning += delta.reasoning_content ?? "";
			joined.finish_reason += finish_reason ?? "";
			for (const { index: place, id, function: part } of delta.tool_calls ?? []) {
				joined.calls[place] ??= {
					id: id ?? "",
					type: "function",
					function: { name: part?.name ?? "", arguments: "" },
				};
				const call = joined.calls[place];
				if (call) call.function.arguments += part?.arguments ?? "";
			}
		}
	return joined;
}

describe("the stream", () => {
	it("sends role, tokens, finish reason, usage and [DONE] as events", async () => {
		const head = {
			id: "chatcmpl-00000000000040008000000000000001",
			created: NOW / 1000,
			model: target.model,
			system_fingerprint: "ganglion-simulator",
			object: "chat.completion.chunk",
		};
		const chunk = (delta: object, finish_reason: string | null = null) =>
			JSON.stringify({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason }] });
		expect(await eventsOf(await streamOf("Say one two"))).toEqual([
			chunk({ role: "assistant", content: "" }),
			chunk({ content: "one" }),
			chunk({ content: " two" }),
			chunk({}, "stop"),
			JSON.stringify({
				...head,
				choices: [],
				usage: {
					prompt_tokens: 10,
					completion_tokens: 2,
					total_tokens: 12,
					prompt_tokens_details: { cached_tokens: 0 },
				},
			}),
			"[DONE]",
		]);
	});

	it("sends a call's name first, then its arguments in pieces", async () => {
		const chunks = await chunksOf(
			await streamOf('Use the calculator tool with {"expression":"17 * 23"}', { tools: [calculator] }),
		);
		const deltas = chunks.flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.tool_calls ?? []));
		expect(deltas[0]).toEqual({
			index: 0,
			id: "chatcmpl-tool-00000000000040008000000000000001",
			type: "function",
			function: { name: "calculator", arguments: "" },
		});
		expect(deltas.length).toBeGreaterThan(3);
		expect(deltas.slice(1).every(({ id }) => id === undefined)).toBe(true);
		expect(deltas.map((delta) => delta.function?.arguments).join("")).toBe('{"expression":"17 * 23"}');
		expect(chunks.at(-2)?.choices[0]).toMatchObject({ delta: {}, finish_reason: "tool_calls" });
	});

	const inputs: [name: string, asked: string, extra: Partial<ChatInput>][] = [
		["words", "hello", {}],
		["scripts, families and half a character", "Say 你好 👩‍👩‍👧 \ud83d und möglich", {}],
		["a call", "Use get_weather", { tools: [calculator, weather] }],
		["choices, cut", "hello", { n: 2, max_tokens: 12 }],
		["JSON", "Alice is 30", { response_format: { type: "json_object" } }],
		["a call, cut", "Use get_weather", { tools: [weather], max_tokens: 30 }],
	];
	it.each(inputs)("adds up to the answer that is not streamed: %s", async (_name, asked, extra) => {
		const { choices, usage } = await chat(asked, extra, thinker);
		const chunks = await chunksOf(await streamOf(asked, extra, thinker));
		for (const { index, message, finish_reason } of choices)
			expect(join(chunks, index)).toEqual({
				role: "assistant",
				content: message.content ?? "",
				reasoning: message.reasoning_content,
				calls: message.tool_calls ?? [],
				finish_reason,
			});
		expect(chunks.at(-1)?.usage).toEqual(usage);
	});

	it("equals the complete answer for any text", async () => {
		await fc.assert(
			fc.asyncProperty(
				fc.string({ unit: "grapheme", maxLength: 60 }),
				fc.nat({ max: 40 }),
				async (said, cut) => {
					const asked = `Say "${said}" `;
					const extra = { max_tokens: cut + 1 };
					const { choices, usage } = await chat(asked, extra);
					const chunks = await chunksOf(await streamOf(asked, extra));
					expect(join(chunks, 0).content).toBe(choices[0]?.message.content);
					expect(usage?.completion_tokens).toBeLessThanOrEqual(cut + 1);
				},
			),
			{ numRuns: 50 },
		);
	});

	it("writes an event only when it is read", async () => {
		const reader = (await streamOf([user("Say one two three")])).getReader();
		const decoder = new TextDecoder();
		const next = async () => decoder.decode((await reader.read()).value);
		expect(await next()).toContain('"role":"assistant"');
		expect((await next()).match(/data: /g)).toHaveLength(1);
		await reader.cancel();
		expect(await reader.read()).toEqual({ done: true, value: undefined });
	});

	it("ends in an error when the caller's signal fires", async () => {
		const leaving = new AbortController();
		const reader = (await streamOf("Say one two three", {}, {}, leaving.signal)).getReader();
		await reader.read();
		leaving.abort();
		await expect(reader.read()).rejects.toMatchObject({ key: "aborted" });
	});
});
