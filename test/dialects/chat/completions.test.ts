import { describe, expect, it } from "vitest";
import { openaiCompletions } from "../../../src/dialects/chat/completions.ts";
import { DONE, frame } from "../../../src/streams/sse.ts";
import {
	chunk,
	completion,
	delta,
	finish,
	hubText,
	KIMI,
	LLAMA,
	read,
	split,
	USAGE,
	usageChunk,
	writtenEvents,
	writtenJson,
} from "./chat.ts";

const ask = (sent: object, asked = LLAMA) =>
	read(asked, { model: asked.id, ...sent }, openaiCompletions).input;

describe("a completion's request", () => {
	it("continues its prompt as it is", () => {
		expect(ask({ prompt: "Once" })).toStrictEqual({
			messages: [],
			prompt: "Once",
			stream: false,
			max_tokens: 256,
			temperature: 0.6,
		});
		expect(ask({ prompt: ["Once"] })).toStrictEqual(ask({ prompt: "Once" }));
	});

	it("has its own forms of some fields", () => {
		expect(
			ask({ prompt: "a", logprobs: 3, stop: "x", suffix: "z", best_of: 1, n: 2, user: "u" }),
		).toMatchObject({
			logprobs: true,
			top_logprobs: 3,
			stop: ["x"],
			suffix: "z",
			n: 2,
			user: "u",
		});
		expect(ask({ prompt: "a", suffix: "", best_of: null })).not.toHaveProperty("suffix");
	});

	it.each([
		[{ prompt: ["a", "b"] }, "8001: Invalid input: prompt: several prompts in one request are not supported"],
		[{ prompt: [1, 2] }, "8001: Invalid input: prompt must be text: tokens are not supported"],
		[{ prompt: [[1, 2]] }, "8001: Invalid input: prompt must be text: tokens are not supported"],
		[{ prompt: [] }, "8001: Invalid input: prompt must be text: the array is empty"],
		[{ prompt: "a", best_of: 2 }, "8001: Invalid input: best_of above n is not supported"],
		[{ prompt: "a", max_tokens: 0 }, "8001: Invalid input: max_tokens must be at least 1"],
		[{}, "5006: Error: required properties at '/' are 'prompt'"],
	])("is refused: %#", (sent, message) => {
		expect(() => ask(sent)).toThrowError(message);
	});
});

describe("a completion", () => {
	const head = {
		id: "cmpl-00000000000040008000000000000001",
		object: "text_completion",
		created: 1_776_784_300,
		model: KIMI.id,
	};
	const value = (sent: object, output = completion({ content: " upon" })) =>
		writtenJson(KIMI, { prompt: "Once", ...sent }, { kind: "value", output }, openaiCompletions);
	const events = (sent: object, text: string) =>
		writtenEvents(KIMI, { prompt: "Once", ...sent }, split(text), openaiCompletions);
	const said = (text: string, finish_reason: string | null = null, index = 0) =>
		frame({ ...head, choices: [{ index, text, finish_reason, logprobs: null }] });

	it("is a text", () => {
		expect(JSON.stringify(value({}))).toBe(
			JSON.stringify({
				...head,
				choices: [{ index: 0, text: " upon", finish_reason: "stop", logprobs: null }],
				usage: USAGE,
			}),
		);
		expect(value({ echo: true })).toMatchObject({ choices: [{ text: "Once upon" }] });
	});

	it("has logprobs in the older form", () => {
		const content = [
			{
				token: " u",
				logprob: -0.1,
				top_logprobs: [
					{ token: " u", logprob: -0.1 },
					{ token: " a", logprob: -2 },
				],
			},
			{ token: "pon", logprob: -0.2 },
		];
		const older = {
			tokens: [" u", "pon"],
			token_logprobs: [-0.1, -0.2],
			top_logprobs: [{ " u": -0.1, " a": -2 }, {}],
			text_offset: [0, 2],
		};
		const [choice] = completion({ content: " upon" }).choices;
		if (!choice) throw new Error("no choice");
		const logged = (logprobs: unknown) =>
			value({ logprobs: 2 }, completion({}, { choices: [{ ...choice, logprobs }] }));
		expect(logged({ content })).toMatchObject({ choices: [{ logprobs: older }] });
		expect(logged(older)).toMatchObject({ choices: [{ logprobs: older }] });
	});

	it("streams its text, with the usage when asked", async () => {
		const text = hubText({ content: " up" }, { content: "ón" });
		const written = said(" up") + said("ón") + said("", "stop");
		expect(await events({}, text)).toBe(written + DONE);
		expect(await events({ stream_options: { include_usage: true } }, text)).toBe(
			written + frame({ ...head, choices: [], usage: USAGE }) + DONE,
		);
	});

	it("echoes the prompt once in each choice", async () => {
		const text =
			delta({ content: "" }) +
			delta({ content: " a" }) +
			chunk([{ index: 1, delta: { content: " b" }, finish_reason: null }]) +
			delta({ content: "c" }) +
			finish() +
			usageChunk() +
			DONE;
		expect(await events({ echo: true, n: 2 }, text)).toBe(
			said("Once") + said(" a") + said("Once b", null, 1) + said("c") + said("", "stop") + DONE,
		);
	});
});
