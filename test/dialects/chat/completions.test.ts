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

const readRequest = (sent: object, model = LLAMA) =>
	read(model, { model: model.id, ...sent }, openaiCompletions).input;

describe("a completions request", () => {
	it("has its prompt unchanged", () => {
		expect(readRequest({ prompt: "Once" })).toStrictEqual({
			messages: [],
			prompt: "Once",
			stream: false,
			max_tokens: 256,
			temperature: 0.6,
		});
		expect(readRequest({ prompt: ["Once"] })).toStrictEqual(readRequest({ prompt: "Once" }));
	});

	it("converts logprobs, stop and suffix", () => {
		expect(
			readRequest({ prompt: "a", logprobs: 3, stop: "x", suffix: "z", best_of: 1, n: 2, user: "u" }),
		).toMatchObject({
			logprobs: true,
			top_logprobs: 3,
			stop: ["x"],
			suffix: "z",
			n: 2,
			user: "u",
		});
		expect(readRequest({ prompt: "a", suffix: "", best_of: null })).not.toHaveProperty("suffix");
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
		expect(() => readRequest(sent)).toThrowError(message);
	});
});

describe("a completion", () => {
	const common = {
		id: "cmpl-00000000000040008000000000000001",
		object: "text_completion",
		created: 1_776_784_300,
		model: KIMI.id,
	};
	const value = (sent: object, output = completion({ content: " upon" })) =>
		writtenJson(KIMI, { prompt: "Once", ...sent }, { kind: "value", output }, openaiCompletions);
	const events = (sent: object, text: string) =>
		writtenEvents(KIMI, { prompt: "Once", ...sent }, split(text), openaiCompletions);
	const textFrame = (text: string, finish_reason: string | null = null, index = 0) =>
		frame({ ...common, choices: [{ index, text, finish_reason, logprobs: null }] });

	it("has the text of the reply", () => {
		expect(JSON.stringify(value({}))).toBe(
			JSON.stringify({
				...common,
				choices: [{ index: 0, text: " upon", finish_reason: "stop", logprobs: null }],
				usage: USAGE,
			}),
		);
		expect(value({ echo: true })).toMatchObject({ choices: [{ text: "Once upon" }] });
	});

	it("has logprobs in the legacy form", () => {
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
		const legacy = {
			tokens: [" u", "pon"],
			token_logprobs: [-0.1, -0.2],
			top_logprobs: [{ " u": -0.1, " a": -2 }, {}],
			text_offset: [0, 2],
		};
		const [choice] = completion({ content: " upon" }).choices;
		if (!choice) throw new Error("no choice");
		const logged = (logprobs: unknown) =>
			value({ logprobs: 2 }, completion({}, { choices: [{ ...choice, logprobs }] }));
		expect(logged({ content })).toMatchObject({ choices: [{ logprobs: legacy }] });
		expect(logged(legacy)).toMatchObject({ choices: [{ logprobs: legacy }] });
	});

	it("streams its text, with the usage if requested", async () => {
		const text = hubText({ content: " up" }, { content: "ón" });
		const written = textFrame(" up") + textFrame("ón") + textFrame("", "stop");
		expect(await events({}, text)).toBe(written + DONE);
		expect(await events({ stream_options: { include_usage: true } }, text)).toBe(
			written + frame({ ...common, choices: [], usage: USAGE }) + DONE,
		);
	});

	it("echoes the prompt once per choice", async () => {
		const text =
			delta({ content: "" }) +
			delta({ content: " a" }) +
			chunk([{ index: 1, delta: { content: " b" }, finish_reason: null }]) +
			delta({ content: "c" }) +
			finish() +
			usageChunk() +
			DONE;
		expect(await events({ echo: true, n: 2 }, text)).toBe(
			textFrame("Once") +
				textFrame(" a") +
				textFrame("Once b", null, 1) +
				textFrame("c") +
				textFrame("", "stop") +
				DONE,
		);
	});
});
