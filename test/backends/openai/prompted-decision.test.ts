import { describe, expect, it } from "vitest";
import type { DecisionInput } from "../../../src/tasks/decision/types.ts";
import { outputOf } from "../ask.ts";
import { failureOf, json } from "../upstream.ts";
import { ask, saysJson } from "./ask.ts";

const INPUT: DecisionInput = {
	model: "clef",
	state: { mail: "My parcel is late" },
	questions: {
		complaint: { type: "noul", instructions: "Is it a complaint?", criteria: { true: "yes", false: "no" } },
		kind: {
			type: "choice",
			instructions: "What is it about?",
			criteria: { delivery: "late", price: "dear" },
		},
		mood: { type: "score", instructions: "How angry?", criteria: ["calm", "annoyed", "furious"] },
	},
	images: [],
	audio: [],
	videos: [],
};
const REPLY = {
	question_1: 80,
	question_2: { outcome_1: 90, outcome_2: 30 },
	question_3: { outcome_1: 0, outcome_2: 50, outcome_3: 50 },
};

/** A service without decisions of its own. */
const HOSTED = { target: { url: "https://api.mistral.ai/v1" } };

const decide = (reply: unknown = REPLY, input: Partial<DecisionInput> = {}) =>
	ask("decision", { ...INPUT, ...input }, () => saysJson(reply), HOSTED);

describe("a decision", () => {
	it("is one chat with short names for all questions", async () => {
		const asking = decide();
		await asking.answer;
		expect(asking.call.requests).toHaveLength(1);
		const { messages, response_format } = (asking.call.requests[0]?.json ?? {}) as {
			messages: { content: { text: string }[] }[];
			response_format: { json_schema: { schema: { properties: object } } };
		};
		expect(JSON.parse(messages[1]?.content[0]?.text ?? "")).toEqual({
			state: { mail: "My parcel is late" },
			questions: [
				{
					name: "question_1",
					type: "truth",
					instructions: "Is it a complaint?",
					criteria: { true: "yes", false: "no" },
				},
				{
					name: "question_2",
					type: "choice",
					instructions: "What is it about?",
					outcomes: [
						{ name: "outcome_1", description: "delivery: late" },
						{ name: "outcome_2", description: "price: dear" },
					],
				},
				{
					name: "question_3",
					type: "score",
					instructions: "How angry?",
					outcomes: [
						{ name: "outcome_1", description: "calm" },
						{ name: "outcome_2", description: "annoyed" },
						{ name: "outcome_3", description: "furious" },
					],
				},
			],
		});
		const percent = { type: "integer", minimum: 0, maximum: 100 };
		expect(response_format.json_schema.schema.properties).toMatchObject({
			question_1: percent,
			question_2: { properties: { outcome_1: percent, outcome_2: percent }, additionalProperties: false },
		});
	});

	it("has an answer per question", async () => {
		expect(await outputOf(decide())).toEqual({
			answers: {
				complaint: { type: "noul", noul: 0.8 },
				kind: {
					type: "choice",
					choice: "delivery",
					probabilities: { delivery: 0.75, price: 0.25 },
					confidence: 0.75,
				},
				mood: {
					type: "score",
					score: 1.5,
					legend: { "0": "calm", "1": "annoyed", "2": "furious" },
					probabilities: { "0": 0, "1": 0.5, "2": 0.5 },
					confidence: 0.5,
				},
			},
			usage: { input_tokens: 7, output_tokens: 3 },
			method: "prompted",
		});
	});

	it("has zero usage without the engine's counts", async () => {
		const reply = { choices: [{ message: { content: JSON.stringify(REPLY) } }] };
		expect((await outputOf(ask("decision", INPUT, () => json(reply), HOSTED))).usage).toEqual({
			input_tokens: 0,
			output_tokens: 0,
		});
	});

	it("sends images and audio", async () => {
		const asking = decide(REPLY, {
			images: ["data:image/png;base64,AAAA"],
			audio: ["data:audio/x-wav;base64,BBBB", "data:audio/mpeg;base64,CCCC"],
		});
		await asking.answer;
		expect(asking.call.requests[0]?.json.messages).toMatchObject([
			{},
			{
				content: [
					{ type: "text" },
					{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
					{ type: "input_audio", input_audio: { data: "BBBB", format: "wav" } },
					{ type: "input_audio", input_audio: { data: "CCCC", format: "mp3" } },
				],
			},
		]);
	});

	it.each([
		[{ videos: ["data:video/mp4;base64,AAAA"] }, "The backend 'lab' has no input for videos"],
		[{ audio: ["data:audio/flac;base64,AAAA"] }, "The backend 'lab' hears WAV and MP3 only"],
		[{ audio: ["data:audio/x-own;base64,AAAA"] }, "The backend 'lab' hears WAV and MP3 only"],
		[{ audio: ["data:audio/wav;base64,"] }, "The backend 'lab' hears WAV and MP3 only"],
		[{ audio: ["https://sounds.test/a.wav"] }, "The backend 'lab' hears WAV and MP3 only"],
	])("rejects unsupported media: %j", async (input, description) => {
		const asking = decide(REPLY, input);
		expect(await failureOf(asking.answer)).toMatchObject({ key: "engineRefused", description });
		expect(asking.call.requests).toHaveLength(0);
	});

	it.each([
		["misses a question", { question_1: 80 }],
		["misses an outcome", { ...REPLY, question_2: { outcome_1: 90 } }],
		["goes beyond 100 percent", { ...REPLY, question_1: 101 }],
		["gives no outcome a chance", { ...REPLY, question_2: { outcome_1: 0, outcome_2: 0 } }],
	])("fails if the reply %s", async (_, reply) => {
		expect(await failureOf(decide(reply).answer)).toMatchObject({ key: "executionFailed" });
	});

	it("fails if all outcomes have 0 percent", async () => {
		const reply = { ...REPLY, question_2: { outcome_1: 0, outcome_2: 0 } };
		expect(await failureOf(decide(reply).answer)).toMatchObject({
			description: "The backend 'lab' answered with something that is not a decision",
		});
	});
});
