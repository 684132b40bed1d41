import { describe, expect, it } from "vitest";
import { DONE, frame } from "../../../src/streams/sse.ts";
import {
	chunk,
	completion,
	delta,
	finish,
	hub,
	hubText,
	LEGACY,
	LLAMA,
	LLAMA_70B,
	R1,
	SCOUT,
	split,
	toolCall,
	usageChunk,
	VISION,
	writtenEvents,
} from "./chat.ts";

const prompt = { prompt: "Hello" };
const END = `data: {"response":"","usage":{"prompt_tokens":10,"completion_tokens":50,"total_tokens":60}}\n\n${DONE}`;

describe("a native stream", () => {
	it("has an event for each text, then the usage", async () => {
		const events = hub({ content: "Hé" }, { content: "" }, { content: "llo" });
		expect(await writtenEvents(LLAMA, prompt, events)).toBe(
			`data: {"response":"Hé"}\n\ndata: {"response":"llo"}\n\n${END}`,
		);
	});

	it.each([LLAMA_70B, SCOUT, VISION])("has an empty list of calls in each text event: $id", async (model) => {
		expect(await writtenEvents(model, prompt, hub({ content: "Hi" }))).toBe(
			`data: {"response":"Hi","tool_calls":[]}\n\n${END}`,
		);
	});

	it("writes calls in parts, and ends each call with an empty element", async () => {
		const events = hub(
			{ content: "Wait" },
			{
				tool_calls: [{ index: 0, id: "call_a", type: "function", function: { name: "add", arguments: "" } }],
			},
			{ tool_calls: [{ index: 0, function: { arguments: '{"a":' } }] },
			{ tool_calls: [{ index: 0, function: { arguments: "1}" } }] },
			{
				tool_calls: [
					{ index: 1, id: "call_b", type: "function", function: { name: "now", arguments: "{}" } },
				],
			},
		);
		const tools = (element: object) => frame({ tool_calls: [element] });
		const end = (index: number) =>
			tools({ id: null, type: null, index, function: { name: null, arguments: "" } });
		expect(await writtenEvents(LLAMA_70B, prompt, events)).toBe(
			frame({ response: "Wait", tool_calls: [] }) +
				tools({ id: "call_a", type: "function", index: 0, function: { name: "add" } }) +
				tools({ index: 0, function: { arguments: '{"a":' } }) +
				tools({ index: 0, function: { arguments: "1}" } }) +
				end(0) +
				tools({ id: "call_b", type: "function", index: 1, function: { name: "now", arguments: "{}" } }) +
				end(1) +
				END,
		);
	});

	it("adds missing ids and indexes of calls", async () => {
		const events = hub(
			{
				tool_calls: [
					{ function: { name: "a", arguments: "{}" } },
					{ function: { name: "b", arguments: "{}" } },
				],
			},
			{ tool_calls: [{ index: 0, id: "x", function: { name: "c", arguments: "" } }] },
			{ tool_calls: [{ index: 0, id: "x", function: { name: "c", arguments: "{}" } }] },
		);
		const text = await writtenEvents(LLAMA, prompt, events);
		const elements = [...text.matchAll(/^data: (\{"tool_calls.*)$/gm)].map(
			([, json]) => JSON.parse(json ?? "").tool_calls[0],
		);
		expect(elements.filter(({ id, index }) => id || index === 2)).toEqual([
			{
				id: "chatcmpl-tool-00000000000040008000000000000001",
				type: "function",
				index: 0,
				function: { name: "a", arguments: "{}" },
			},
			{
				id: "chatcmpl-tool-00000000000040008000000000000002",
				type: "function",
				index: 1,
				function: { name: "b", arguments: "{}" },
			},
			{ id: "x", type: "function", index: 2, function: { name: "c" } },
			{ index: 2, function: { arguments: "{}" } },
			{ id: null, type: null, index: 2, function: { name: null, arguments: "" } },
		]);
	});

	it("has reasoning in its text only for reasoning models", async () => {
		const deltas = [
			{ reasoning_content: "H", reasoning: "H" },
			{ reasoning: "m" },
			{ content: "Yes" },
			{ content: "." },
		];
		expect(await writtenEvents(R1, prompt, hub(...deltas))).toBe(
			`${["<think>\nH", "m", "\n</think>\n\nYes", "."].map((response) => frame({ response })).join("")}${END}`,
		);
		expect(await writtenEvents(R1, prompt, hub({ reasoning: "Hm" }))).toBe(
			frame({ response: "<think>\nHm" }) + END,
		);
		const call = { tool_calls: [{ index: 0, id: "a", function: { name: "f" } }] };
		expect(await writtenEvents(R1, prompt, hub({ reasoning: "Hm" }, call))).toContain(
			frame({ response: "<think>\nHm" }) + frame({ response: "\n</think>\n\n" }),
		);
		expect(await writtenEvents(LEGACY, prompt, hub(...deltas))).toBe(
			frame({ response: "Yes" }) + frame({ response: "." }) + END,
		);
	});

	it("ignores zero counts after others", async () => {
		const counted = (total: number) => ({
			usage: { prompt_tokens: 1, completion_tokens: total - 1, total_tokens: total },
		});
		const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
		const events =
			delta({ content: "a" }, counted(2)) +
			delta({ content: "b" }, counted(3)) +
			finish() +
			usageChunk(zeros) +
			DONE;
		expect(await writtenEvents(LLAMA, prompt, split(events))).toContain(
			frame({ response: "", ...counted(3) }) + DONE,
		);
	});

	it("calculates a missing total, and ignores zeros after it", async () => {
		const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
		const counts = { prompt_tokens: 10, completion_tokens: 50 };
		const text = delta({ content: "a" }) + finish() + chunk([], { usage: counts }) + usageChunk(zeros) + DONE;
		expect((await writtenEvents(LLAMA, prompt, split(text))).endsWith(END)).toBe(true);
	});

	it("has no usage if the engine has no counts", async () => {
		expect(await writtenEvents(LLAMA, prompt, split(delta({ content: "a" }) + finish() + DONE))).toBe(
			frame({ response: "a" }) + DONE,
		);
	});

	it("has only the first choice, and nothing after its end", async () => {
		const events =
			chunk([{ index: 1, delta: { content: "other" } }]) +
			hubText({ content: "a" }) +
			delta({ content: "b" });
		expect(await writtenEvents(LLAMA, prompt, split(events))).toBe(frame({ response: "a" }) + END);
	});

	it("is written for a complete reply", async () => {
		const complete = completion({ content: "Hi" });
		expect(await writtenEvents(LLAMA, prompt, complete)).toBe(frame({ response: "Hi" }) + END);
		const calling = await writtenEvents(
			LLAMA_70B,
			prompt,
			completion({ tool_calls: [toolCall("add", '{"a":1}')] }),
		);
		expect(calling).toBe(
			frame({
				tool_calls: [
					{ id: "call_1", type: "function", index: 0, function: { name: "add", arguments: '{"a":1}' } },
				],
			}) +
				frame({ tool_calls: [{ id: null, type: null, index: 0, function: { name: null, arguments: "" } }] }) +
				END,
		);
	});
});
