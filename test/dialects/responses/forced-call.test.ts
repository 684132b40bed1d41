import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WriteContext } from "../../../src/dialects/dialect.ts";
import { mendForcedCall } from "../../../src/dialects/responses/forced-call.ts";
import { AiError } from "../../../src/errors.ts";
import type { ChatChunk, ChatCompletion, ChatInput } from "../../../src/tasks/text-generation.ts";
import {
	answered,
	CHAT_MODEL,
	completion,
	delta,
	GPT_OSS,
	hubText,
	NOW,
	streamed,
	streamOf,
	USAGE_CHUNK,
} from "./fixtures.ts";

const LOOK: ChatInput["tools"] = [{ type: "function", function: { name: "look" } }];
const FORCED: Partial<ChatInput> = {
	tools: LOOK,
	tool_choice: { type: "function", function: { name: "look" } },
};

const contextOf = (input: Partial<ChatInput>, model = GPT_OSS): WriteContext => ({
	model,
	inputs: {},
	call: {
		task: "text-generation",
		input: { messages: [{ role: "user", content: "hi" }], stream: false, ...input },
	},
	now: NOW,
	requestId: "req-1",
	uuid: () => "0-1",
});

const made = (args: string) => ({
	finish_reason: "tool_calls",
	message: {
		content: null,
		tool_calls: [{ id: "call_01", type: "function", function: { name: "look", arguments: args } }],
	},
});

function mend(output: ChatCompletion, input = FORCED, model = GPT_OSS): ChatCompletion {
	const { answer } = mendForcedCall(answered(output), contextOf(input, model));
	if (answer.kind !== "value") throw new Error("not a value");
	return answer.output as ChatCompletion;
}

describe("a value", () => {
	it.each([
		['{"at":1}', '{"at":1}'],
		[' {"at": 12345678901234567890}\n', '{"at": 12345678901234567890}'],
		['{"name":"look","arguments":"{\\"at\\":1}"}', '{"at":1}'],
		['{"name":"look","arguments":{"at":1}}', '{"at":1}'],
		['{"type":"function","name":"look","parameters":{"at":1}}', '{"at":1}'],
		// Not a call, but arguments that happen to have a name.
		['{"name":"Alice","arguments":{"at":1}}', '{"name":"Alice","arguments":{"at":1}}'],
		['{"name":"look"}', '{"name":"look"}'],
		["{}", "{}"],
	])("becomes a call: %s", (content, args) => {
		expect(mend(completion({ content, reasoning: "Hm." })).choices[0]).toMatchObject({
			...made(args),
			message: { ...made(args).message, reasoning: "Hm." },
		});
	});

	it.each(["", "I cannot.", "[1]", "1", "null", '"look"', '{"at":', '{"at":1} {"at":2}'])(
		"stays text: %j",
		(content) => {
			const output = completion({ content });
			expect(mend(output)).toEqual(output);
		},
	);

	it("is mended when one tool must be called, and there is one", () => {
		const output = completion({ content: '{"at":1}' });
		expect(mend(output, { tools: LOOK, tool_choice: "required" }).choices[0]).toMatchObject(made('{"at":1}'));
	});

	it("stays as it is when the model made a call, was not made to, or is another", () => {
		const tool_calls = [{ id: "a", type: "function" as const, function: { name: "look", arguments: "{}" } }];
		const called = completion({ content: '{"at":1}', tool_calls }, "tool_calls");
		expect(mend(called)).toEqual(called);
		const output = completion({ content: '{"at":1}' });
		expect(mend(output, {})).toBe(output);
		expect(mend(output, { tools: LOOK, tool_choice: "auto" })).toBe(output);
		const two = [...(LOOK ?? []), { type: "function" as const, function: { name: "nod" } }];
		expect(mend(output, { tools: two, tool_choice: "required" })).toBe(output);
		expect(mend(output, FORCED, CHAT_MODEL)).toBe(output);
	});
});

describe("a stream", () => {
	async function mendStream(chunks: ChatChunk[], cuts: number[] = []): Promise<ChatChunk[]> {
		const bytes = new TextEncoder().encode(hubText(chunks));
		const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
		const source = streamOf(places.slice(1).map((end, index) => bytes.slice(places[index], end)));
		const { answer } = mendForcedCall(streamed(source), contextOf({ ...FORCED, stream: true }));
		if (answer.kind !== "stream") throw new Error("not a stream");
		const text = await new Response(answer.events).text();
		expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
		return text
			.split("\n\n")
			.slice(0, -2)
			.map((event) => JSON.parse(event.slice("data: ".length)));
	}
	const said = (chunks: ChatChunk[]): string =>
		chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");

	it("ends in the call that was in its text", async () => {
		const chunks = [delta({ reasoning: "Hm." }), delta({ content: '{"a' }), delta({ content: 't":1}' })];
		const mended = await mendStream([...chunks, delta({}, "stop"), USAGE_CHUNK]);
		expect(said(mended)).toBe("");
		expect(mended[0]?.choices[0]?.delta.reasoning).toBe("Hm.");
		expect(mended.at(-2)?.choices[0]).toMatchObject({
			finish_reason: "tool_calls",
			delta: { tool_calls: [{ index: 0, id: "call_01", function: { name: "look", arguments: '{"at":1}' } }] },
		});
		expect(mended.at(-1)).toEqual(USAGE_CHUNK);
	});

	it("loses no text that is not a call, however it ends and is cut", async () => {
		const endings = [[delta({}, "stop"), USAGE_CHUNK], [delta({ content: "." }, "stop")], []];
		await fc.assert(
			fc.asyncProperty(
				fc.array(fc.string(), { maxLength: 5 }),
				fc.constantFrom(...endings),
				fc.array(fc.nat(200), { maxLength: 4 }),
				async (words, ending, cuts) => {
					const chunks = [...words.map((content) => delta({ content: `_${content}` })), ...ending];
					expect(said(await mendStream(structuredClone(chunks), cuts))).toBe(said(chunks));
				},
			),
			{ numRuns: 60 },
		);
	});

	it("lets text out before the call that follows it", async () => {
		const call = { index: 0, id: "a", function: { name: "look", arguments: "{}" } };
		const mended = await mendStream([
			delta({ content: "{}" }),
			delta({ tool_calls: [call] }),
			delta({ content: "more" }),
			delta({}, "tool_calls"),
		]);
		expect(
			mended.flatMap(({ choices }) => choices.map(({ delta }) => delta.content || delta.tool_calls?.[0]?.id)),
		).toEqual([undefined, "{}", "a", "more", undefined]);
	});

	it("fails as its source does, and stops it", async () => {
		const failing = mendForcedCall(
			streamed(streamOf([`data: ${JSON.stringify(delta({ content: "{" }))}\n\n`], new AiError("timeout"))),
			contextOf({ ...FORCED, stream: true }),
		);
		if (failing.answer.kind !== "stream") throw new Error("not a stream");
		await expect(new Response(failing.answer.events).text()).rejects.toMatchObject({ code: 3007 });
		let stopped: unknown;
		const source = new ReadableStream<Uint8Array>({
			cancel(reason) {
				stopped = reason;
			},
		});
		const left = mendForcedCall(streamed(source), contextOf({ ...FORCED, stream: true }));
		if (left.answer.kind === "stream") await left.answer.events.cancel("left");
		expect(stopped).toBe("left");
	});
});
