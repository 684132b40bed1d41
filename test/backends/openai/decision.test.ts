import { describe, expect, it } from "vitest";
import type { DecisionInput } from "../../../src/tasks/decision/types.ts";
import { outputOf } from "../ask.ts";
import { json } from "../upstream.ts";
import { ask, OPENAI, saysJson } from "./ask.ts";

const INPUT: DecisionInput = {
	model: "clef",
	state: "The parcel is late",
	questions: {
		q0: { type: "noul", instructions: "A complaint?", criteria: { true: "angry" } },
		q1: { type: "choice", instructions: "About?", criteria: { "2": "delivery", "1": "" } },
		q2: { type: "score", instructions: "How angry?", criteria: ["calm", "furious"] },
	},
	images: ["data:image/png;base64,AAAA"],
	audio: [],
	videos: [],
};
const ANSWERS = {
	q0: { type: "noul", noul: 0.9 },
	q1: { type: "choice", choice: "2", probabilities: { "1": 0.25, "2": 0.75 }, confidence: 0.5 },
	q2: {
		type: "score",
		score: 0.5,
		legend: { "0": "calm", "1": "furious" },
		probabilities: { "0": 0.5, "1": 0.5 },
		confidence: 0,
	},
} as const;
const USAGE = { input_tokens: 12, output_tokens: 0 };
const PROMPTED = {
	question_1: 80,
	question_2: { outcome_1: 90, outcome_2: 10 },
	question_3: { outcome_1: 0, outcome_2: 100 },
};
const isChat = (url = "") => url.endsWith("/chat/completions");

describe("a server with System One", () => {
	it("gets the state, the questions and the images without an address", async () => {
		const asking = ask("decision", INPUT, () =>
			json({ model: "clef", answers: ANSWERS, usage: USAGE, object: "structured_decision" }),
		);
		expect(await outputOf(asking)).toEqual({ answers: ANSWERS, usage: USAGE });
		const [request] = asking.call.requests;
		expect(request?.url).toBe("http://engine.test/v1/systemone");
		expect(request?.json).toEqual({
			model: "engine-model",
			state: INPUT.state,
			questions: INPUT.questions,
			images: ["AAAA"],
		});
	});

	it.each([404, 405, 501])(
		"that has it not for this model (%i) is prompted, and the model is remembered",
		async (status) => {
			const observed = {};
			const target = { target: { observed } };
			for (const [round, paths] of [["/systemone", "/chat/completions"], ["/chat/completions"]].entries()) {
				const asking = ask(
					"decision",
					INPUT,
					(request) =>
						isChat(request.url) ? saysJson(PROMPTED) : json({ error: { message: "no" } }, status),
					target,
				);
				expect(await outputOf(asking), `round ${round}`).toMatchObject({
					method: "prompted",
					answers: { q0: { type: "noul", noul: 0.8 } },
				});
				expect(asking.call.requests.map(({ url }) => url.replace("http://engine.test/v1", ""))).toEqual(
					paths,
				);
			}
		},
	);

	it.each([400, 422])(
		"that refuses these questions (%i) is prompted, and asked again the next time",
		async (status) => {
			const observed: { withoutDecisions?: Set<string> } = {};
			const asking = ask(
				"decision",
				INPUT,
				(request) =>
					isChat(request.url) ? saysJson(PROMPTED) : json({ error: { message: "27 options" } }, status),
				{ target: { observed } },
			);
			expect(await outputOf(asking)).toMatchObject({ method: "prompted" });
			expect(observed.withoutDecisions).toBeUndefined();
		},
	);

	it.each([
		["an answer is missing", { answers: { q0: ANSWERS.q0 }, usage: USAGE }],
		["an answer has another type", { answers: { ...ANSWERS, q0: ANSWERS.q1 } }],
		["a page is its answer", { hello: "world" }],
		["a choice was not offered", { answers: { ...ANSWERS, q1: { ...ANSWERS.q1, choice: "3" } } }],
		["a choice is a name of objects", { answers: { ...ANSWERS, q1: { ...ANSWERS.q1, choice: "toString" } } }],
		["a score is above the levels", { answers: { ...ANSWERS, q2: { ...ANSWERS.q2, score: 2 } } }],
		["a score is below the levels", { answers: { ...ANSWERS, q2: { ...ANSWERS.q2, score: -0.5 } } }],
		["a confidence is above 1", { answers: { ...ANSWERS, q1: { ...ANSWERS.q1, confidence: 7 } } }],
		["a probability is negative", { answers: { ...ANSWERS, q0: { type: "noul", noul: -7 } } }],
		[
			"a probability is above 1",
			{ answers: { ...ANSWERS, q1: { ...ANSWERS.q1, probabilities: { "1": 0.25, "2": 1.75 } } } },
		],
		[
			"an option that was not offered has a probability",
			{ answers: { ...ANSWERS, q1: { ...ANSWERS.q1, probabilities: { "1": 0.25, "2": 0.5, "3": 0.25 } } } },
		],
		[
			"another option has the probability of an offered one",
			{ answers: { ...ANSWERS, q1: { ...ANSWERS.q1, probabilities: { "2": 0.75, "3": 0.25 } } } },
		],
		[
			"the levels are named by their labels",
			{ answers: { ...ANSWERS, q2: { ...ANSWERS.q2, probabilities: { calm: 0.5, furious: 0.5 } } } },
		],
	])("is prompted if %s", async (_, reply) => {
		const asking = ask("decision", INPUT, (request) =>
			isChat(request.url) ? saysJson(PROMPTED) : json(reply),
		);
		expect(await outputOf(asking)).toMatchObject({ method: "prompted" });
	});

	it("may leave out the options that have no probability", async () => {
		const answers = { ...ANSWERS, q1: { ...ANSWERS.q1, probabilities: { "2": 1 } } };
		const output = await outputOf(ask("decision", INPUT, () => json({ answers, usage: USAGE })));
		expect(output).toMatchObject({ answers: { q1: { probabilities: { "2": 1 } } } });
		expect(output).not.toHaveProperty("method");
	});

	it("may be wrong by a rounding", async () => {
		const answers = { ...ANSWERS, q0: { type: "noul", noul: 1.000_000_1 } };
		const output = await outputOf(ask("decision", INPUT, () => json({ answers, usage: USAGE })));
		expect(output).toMatchObject({ answers: { q0: { noul: 1 } } });
		expect(output).not.toHaveProperty("method");
	});

	it("that is overloaded is not prompted", async () => {
		const asking = ask("decision", INPUT, () => json({ error: { message: "busy" } }, 503));
		await expect(outputOf(asking)).rejects.toMatchObject({ retryable: true });
		expect(asking.call.requests).toHaveLength(1);
	});
});

describe("OpenAI's service", () => {
	const REPLY = {
		model: "gpt-6-luna",
		answers: [
			{ type: "predicate", name: "q0", probability: 0.9 },
			{
				type: "choice",
				name: "q1",
				choice: "2",
				confidence: 0.5,
				probabilities: [
					{ value: "2", probability: 0.75 },
					{ value: "1", probability: 0.25 },
				],
			},
			{
				type: "score",
				name: "q2",
				score: 0.5,
				confidence: 0,
				probabilities: [
					{ value: 0, label: "calm", probability: 0.5 },
					{ value: 1, label: "furious", probability: 0.5 },
				],
			},
		],
		usage: USAGE,
	};

	it("gets its own questions, in their order", async () => {
		const asking = ask("decision", INPUT, () => json(REPLY), OPENAI);
		expect(await outputOf(asking)).toEqual({ answers: ANSWERS, usage: USAGE });
		const [request] = asking.call.requests;
		expect(request?.url).toBe("https://api.openai.com/v1/decisions");
		expect(request?.json).toEqual({
			model: "engine-model",
			input: [
				{
					role: "user",
					content: [
						{ type: "input_text", text: "The parcel is late" },
						{ type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "auto" },
					],
				},
			],
			questions: [
				{ type: "predicate", name: "q0", instructions: "A complaint?\nTrue: angry" },
				{
					type: "choice",
					name: "q1",
					instructions: "About?",
					choices: [{ value: "1" }, { value: "2", description: "delivery" }],
				},
				{
					type: "score",
					name: "q2",
					instructions: "How angry?",
					levels: [{ label: "calm" }, { label: "furious" }],
				},
			],
		});
	});

	it.each([
		["a probability is above 1", 0, { probability: 1.5 }],
		["a choice was not offered", 1, { choice: "3" }],
		["a score is above the levels", 2, { score: 2 }],
		["an answer has another type", 0, REPLY.answers[1]],
		[
			"the levels are counted from 1",
			2,
			{
				probabilities: [
					{ value: 1, probability: 0.5 },
					{ value: 2, probability: 0.5 },
				],
			},
		],
	])("is prompted if %s", async (_, at, change) => {
		const wrong = {
			...REPLY,
			answers: REPLY.answers.map((each, index) => (index === at ? { ...each, ...change } : each)),
		};
		const asking = ask(
			"decision",
			INPUT,
			({ url }) => (isChat(url) ? saysJson(PROMPTED) : json(wrong)),
			OPENAI,
		);
		expect(await outputOf(asking)).toMatchObject({ method: "prompted", answers: { q0: { noul: 0.8 } } });
	});

	it("may refuse to answer a question", async () => {
		const refused = { ...REPLY, answers: [{ type: "refusal", name: "q0" }, ...REPLY.answers.slice(1)] };
		const { answers } = await outputOf(ask("decision", INPUT, () => json(refused), OPENAI));
		expect(Object.keys(answers)).toEqual(["q1", "q2"]);
	});
});
