import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { repairForcedCall } from "../../../src/dialects/chat/forced-call.ts";
import { openaiChat } from "../../../src/dialects/chat/openai-route.ts";
import { chatOrResponsesWriter, gptOssReader } from "../../../src/dialects/responses/chat-or-responses.ts";
import { responses } from "../../../src/dialects/responses/responses.ts";
import type { ChatChunk, ChatCompletion, ChatInput } from "../../../src/tasks/text-generation/types.ts";
import { streamAnswer } from "../read-write.ts";
import {
	CHAT_MODEL,
	completion,
	delta,
	GPT_OSS,
	hubText,
	streamOf,
	USAGE_CHUNK,
} from "../responses/fixtures.ts";
import { chatModel, write } from "./chat.ts";

const LOOK: ChatInput["tools"] = [{ type: "function", function: { name: "look" } }];
const FORCED: Partial<ChatInput> = {
	tools: LOOK,
	tool_choice: { type: "function", function: { name: "look" } },
};

const inputOf = (input: Partial<ChatInput>): ChatInput => ({
	messages: [{ role: "user", content: "hi" }],
	stream: false,
	...input,
});
const uuid = () => "0-1";

const callChoice = (args: string) => ({
	finish_reason: "tool_calls",
	message: {
		content: null,
		tool_calls: [{ id: "call_01", type: "function", function: { name: "look", arguments: args } }],
	},
});

function repair(output: ChatCompletion, input = FORCED, model = GPT_OSS): ChatCompletion {
	const answer = repairForcedCall({ kind: "value", output }, inputOf(input), { model, uuid });
	if (answer.kind !== "value") throw new Error("not a value");
	return answer.output;
}

function repairEvents(events: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
	const input = inputOf({ ...FORCED, stream: true });
	const answer = repairForcedCall(streamAnswer(events), input, { model: GPT_OSS, uuid });
	if (answer.kind !== "stream") throw new Error("not a stream");
	return answer.events;
}

describe("a complete reply", () => {
	it.each([
		['{"at":1}', '{"at":1}'],
		[' {"at": 12345678901234567890}\n', '{"at": 12345678901234567890}'],
		['{"name":"look","arguments":"{\\"at\\":1}"}', '{"at":1}'],
		['{"name":"look","arguments":{"at":1}}', '{"at":1}'],
		['{"type":"function","name":"look","parameters":{"at":1}}', '{"at":1}'],
		// Arguments with a `name` of another value.
		['{"name":"Alice","arguments":{"at":1}}', '{"name":"Alice","arguments":{"at":1}}'],
		['{"name":"look"}', '{"name":"look"}'],
		["{}", "{}"],
	])("becomes a call: %s", (content, args) => {
		expect(repair(completion({ content, reasoning: "Hm." })).choices[0]).toMatchObject({
			...callChoice(args),
			message: { ...callChoice(args).message, reasoning: "Hm." },
		});
	});

	it.each(["", "I cannot.", "[1]", "1", "null", '"look"', '{"at":', '{"at":1} {"at":2}'])(
		"stays text: %j",
		(content) => {
			const output = completion({ content });
			expect(repair(output)).toEqual(output);
		},
	);

	it("is repaired if a call is required and there is one tool", () => {
		const output = completion({ content: '{"at":1}' });
		expect(repair(output, { tools: LOOK, tool_choice: "required" }).choices[0]).toMatchObject(
			callChoice('{"at":1}'),
		);
	});

	it("stays unchanged if it has a call, if no call is forced, or for another model", () => {
		const tool_calls = [{ id: "a", type: "function" as const, function: { name: "look", arguments: "{}" } }];
		const called = completion({ content: '{"at":1}', tool_calls }, "tool_calls");
		expect(repair(called)).toEqual(called);
		const output = completion({ content: '{"at":1}' });
		expect(repair(output, {})).toBe(output);
		expect(repair(output, { tools: LOOK, tool_choice: "auto" })).toBe(output);
		const two = [...(LOOK ?? []), { type: "function" as const, function: { name: "nod" } }];
		expect(repair(output, { tools: two, tool_choice: "required" })).toBe(output);
		expect(repair(output, FORCED, CHAT_MODEL)).toBe(output);
	});
});

describe("a stream", () => {
	async function repairStream(chunks: ChatChunk[], cuts: number[] = []): Promise<ChatChunk[]> {
		const bytes = new TextEncoder().encode(hubText(chunks));
		const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
		const source = streamOf(places.slice(1).map((end, index) => bytes.slice(places[index], end)));
		const text = await new Response(repairEvents(source)).text();
		expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
		return text
			.split("\n\n")
			.slice(0, -2)
			.map((event) => JSON.parse(event.slice("data: ".length)));
	}
	const textOf = (chunks: ChatChunk[]): string =>
		chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");

	it("ends with the call in its text", async () => {
		const chunks = [delta({ reasoning: "Hm." }), delta({ content: '{"a' }), delta({ content: 't":1}' })];
		const repaired = await repairStream([...chunks, delta({}, "stop"), USAGE_CHUNK]);
		expect(textOf(repaired)).toBe("");
		expect(repaired[0]?.choices[0]?.delta.reasoning).toBe("Hm.");
		expect(repaired.at(-2)?.choices[0]).toMatchObject({
			finish_reason: "tool_calls",
			delta: { tool_calls: [{ index: 0, id: "call_01", function: { name: "look", arguments: '{"at":1}' } }] },
		});
		expect(repaired.at(-1)).toEqual(USAGE_CHUNK);
	});

	it("keeps all text that is not a call, for any end and any split of the bytes", async () => {
		const endings = [[delta({}, "stop"), USAGE_CHUNK], [delta({ content: "." }, "stop")], []];
		await fc.assert(
			fc.asyncProperty(
				fc.array(fc.string(), { maxLength: 5 }),
				fc.constantFrom(...endings),
				fc.array(fc.nat(200), { maxLength: 4 }),
				async (contents, ending, cuts) => {
					const chunks = [...contents.map((content) => delta({ content: `_${content}` })), ...ending];
					expect(textOf(await repairStream(structuredClone(chunks), cuts))).toBe(textOf(chunks));
				},
			),
			{ numRuns: 60 },
		);
	});

	it("sends held text before a call that follows it", async () => {
		const call = { index: 0, id: "a", function: { name: "look", arguments: "{}" } };
		const repaired = await repairStream([
			delta({ content: "{}" }),
			delta({ tool_calls: [call] }),
			delta({ content: "more" }),
			delta({}, "tool_calls"),
		]);
		expect(
			repaired.flatMap(({ choices }) =>
				choices.map(({ delta }) => delta.content || delta.tool_calls?.[0]?.id),
			),
		).toEqual([undefined, "{}", "a", "more", undefined]);
	});

	it("sends held text before it fails with its source", async () => {
		const source = (error?: Error) =>
			streamOf(
				[`data: ${JSON.stringify(delta({ content: '{"a' }))}\n\n`, ...(error ? [] : ["data: {\n\n"])],
				error,
			);
		for (const [error, code] of [
			[new AiError("timeout"), 3007],
			[undefined, 5001],
		] as const) {
			const reader = repairEvents(source(error)).getReader();
			let text = "";
			const readAll = async (): Promise<void> => {
				for (;;) {
					const { done, value } = await reader.read();
					if (done) return;
					text += new TextDecoder().decode(value);
				}
			};
			await expect(readAll()).rejects.toMatchObject({ code });
			expect(text).toContain('"delta":{"content":"{\\"a"}');
		}
	});

	it("cancels its source when it is cancelled", async () => {
		let stopped: unknown;
		const source = new ReadableStream<Uint8Array>({
			cancel(reason) {
				stopped = reason;
			},
		});
		await repairEvents(source).cancel("disconnected");
		expect(stopped).toBe("disconnected");
	});
});

describe("a forced call on every route", () => {
	const model = chatModel("gpt-oss-20b");
	const parameters = { type: "object" };
	const chat = {
		messages: [{ role: "user", content: "hi" }],
		tools: [{ type: "function", function: { name: "look", parameters } }],
		tool_choice: { type: "function", function: { name: "look" } },
	};
	const response = {
		input: "hi",
		tools: [{ type: "function", name: "look", parameters }],
		tool_choice: { type: "function", name: "look" },
	};
	const native = { reader: gptOssReader, writer: chatOrResponsesWriter };

	it.each([
		["the model's own, chat", chat, native],
		["the model's own, Responses", response, native],
		["chat completions", chat, openaiChat],
		["responses", response, responses],
	])("%s", async (_, sent, dialect) => {
		const output = completion({ content: '{"at":1}' });
		const value = write(model, sent, { kind: "value", output }, dialect);
		const called = (text: string) => {
			expect(text).toContain('"name":"look"');
			expect(text).toContain('"arguments":"{\\"at\\":1}"');
			expect(text).not.toMatch(/"(?:content|delta|text)":"\{/);
		};
		if (value.kind !== "json") throw new Error(`${value.kind} instead of JSON`);
		called(JSON.stringify(value.value));
		for (const answer of [
			{ kind: "value", output } as const,
			streamAnswer(streamOf([hubText([delta({ content: '{"at":1}' }), delta({}, "stop")])])),
		]) {
			const events = write(model, { ...sent, stream: true }, answer, dialect);
			if (events.kind !== "events") throw new Error(`${events.kind} instead of events`);
			const text = await new Response(events.events).text();
			called(text.replaceAll(/"delta":"\{\\"at\\":1\}"/g, ""));
		}
	});
});
