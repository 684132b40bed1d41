import { describe, expect, it } from "vitest";
import * as z from "zod";
import { decisionReader, decisionWriter } from "../../../src/dialects/text/decision.ts";
import { productModel, read, refusal, write } from "../read-write.ts";

const clef = productModel("@cf/cloudflare/clef");
const flash = productModel("@cf/cloudflare/clef-flash");
const omni = productModel("@cf/cloudflare/clef-omni");

const noul = { type: "noul", instructions: "Is it urgent?" };
const sent = (questions: unknown = { urgent: noul }, fields: object = {}) => ({
	model: "clef",
	state: { ticket: "Checkout is down" },
	questions,
	...fields,
});
const refusalOf = (questions: unknown, fields?: object) =>
	refusal(decisionReader, clef, sent(questions, fields));

describe("decision-clef", () => {
	it("reads a state and questions of the three types", () => {
		const questions = {
			urgent: { ...noul, criteria: { true: "Customers cannot pay" } },
			"team.1": { type: "choice", instructions: "Who?", criteria: { web: "The site", db: null } },
			severity: { type: "score", instructions: "How bad?", criteria: ["fine", "bad"] },
		};
		expect(read(decisionReader, clef, sent(questions)).call).toEqual({
			task: "decision",
			input: {
				model: "clef",
				state: { ticket: "Checkout is down" },
				questions: {
					...questions,
					"team.1": { ...questions["team.1"], criteria: { web: "The site", db: "" } },
				},
				images: [],
				audio: [],
				videos: [],
			},
		});
	});

	it("converts structured instructions and criteria to JSON", () => {
		const questions = {
			a: { type: "noul", instructions: { ask: "Is it?", of: [1] }, criteria: { true: ["yes"], false: null } },
			b: { type: "score", instructions: ["How?"], criteria: [{ level: 0 }, "high"] },
		};
		expect(read(decisionReader, clef, sent(questions)).call.input).toMatchObject({
			questions: {
				a: { type: "noul", instructions: '{"ask":"Is it?","of":[1]}', criteria: { true: '["yes"]' } },
				b: { type: "score", instructions: '["How?"]', criteria: ['{"level":0}', "high"] },
			},
		});
	});

	it("requires a state, which may be null", () => {
		for (const state of ["text", 0, null, [], false])
			expect(read(decisionReader, clef, sent(undefined, { state })).call.input).toMatchObject({ state });
		expect(refusal(decisionReader, clef, { model: "clef", state: "x" })).toBe(
			"Error: required properties at '/' are 'model,state,questions'",
		);
	});

	it("requires the name of the requested model", () => {
		expect(read(decisionReader, flash, sent(undefined, { model: " clef-flash\n" })).call.input).toMatchObject(
			{
				model: "clef-flash",
			},
		);
		expect(refusalOf(undefined, { model: "@cf/cloudflare/clef" })).toBe(
			"Error: '/model' failed test ^\\s*(clef|clef-flash)\\s*$ pattern",
		);
		expect(refusalOf(undefined, { model: "clef-flash" })).toBe(
			"Error: '/model' must be 'clef' for @cf/cloudflare/clef",
		);
		const { model: _, ...unnamed } = sent();
		expect(read(decisionReader, omni, unnamed).call.input).toMatchObject({ model: "clef-omni" });
		expect(refusal(decisionReader, omni, sent())).toBe(
			"Error: '/model' failed test ^\\s*clef-omni\\s*$ pattern",
		);
		const custom = { ...clef, id: "acme/judge+1" };
		expect(read(decisionReader, custom, { ...unnamed, model: "judge+1" }).call.input).toMatchObject({
			model: "judge+1",
		});
	});

	it("accepts 1 to 64 questions with ids of up to 100 plain characters", () => {
		const many = (count: number) =>
			Object.fromEntries(Array.from({ length: count }, (_, i) => [`q${i}`, noul]));
		expect(read(decisionReader, clef, sent(many(64))).call.task).toBe("decision");
		expect(refusalOf(many(65))).toBe("Error: maxProperties at '/questions' is 64, got 65");
		expect(refusalOf({})).toBe("Error: minProperties at '/questions' is 1, got 0");
		expect(read(decisionReader, clef, sent({ ["a".repeat(100)]: noul })).call.task).toBe("decision");
		expect(refusalOf({ ["a".repeat(101)]: noul })).toBe(
			`Error: propertyNames at '/questions' not met: Length of '/questions/${"a".repeat(63)}…' must be <= 100`,
		);
		expect(refusalOf({ "is it?": noul })).toBe(
			"Error: propertyNames at '/questions' not met: '/questions/is it?' failed test ^[A-Za-z0-9_.-]+$ pattern",
		);
		expect(refusalOf([noul])).toBe("Error: Type mismatch of '/questions', 'object' not in 'array'");
	});

	it("accepts 2 to 255 options and 2 to 10 levels", () => {
		const choice = (count: number) => ({
			q: {
				type: "choice",
				instructions: "Which?",
				criteria: Object.fromEntries(Array.from({ length: count }, (_, i) => [`o${i}`, "option"])),
			},
		});
		const score = (count: number) => ({
			q: { type: "score", instructions: "How?", criteria: Array.from({ length: count }, () => "level") },
		});
		for (const questions of [choice(2), choice(255), score(2), score(10)])
			expect(read(decisionReader, clef, sent(questions)).call.task).toBe("decision");
		expect(refusalOf(choice(1))).toBe("Error: minProperties at '/questions/q/criteria' is 2, got 1");
		expect(refusalOf(choice(256))).toBe("Error: maxProperties at '/questions/q/criteria' is 255, got 256");
		expect(refusalOf(score(1))).toBe("Error: minItems at '/questions/q/criteria' is 2, got 1");
		expect(refusalOf(score(11))).toBe("Error: maxItems at '/questions/q/criteria' is 10, got 11");
	});

	it("refuses invalid questions", () => {
		const cases: [unknown, string][] = [
			[{}, "required properties at '/questions/q' are 'type'"],
			[
				{ type: "essay", instructions: "Write" },
				"enum value not in noul,choice,score at '/questions/q/type'",
			],
			[
				{ type: "choice", instructions: "Which?" },
				"required properties at '/questions/q' are 'type,instructions,criteria'",
			],
			[{ type: "noul", instructions: "" }, "Length of '/questions/q/instructions' must be >= 1 not met"],
			[
				{ type: "noul", instructions: 1 },
				"Type mismatch of '/questions/q/instructions', 'string' not in 'number','integer'",
			],
			[
				{ type: "choice", instructions: "Which?", criteria: ["a", "b"] },
				"Type mismatch of '/questions/q/criteria', 'object' not in 'array','binary'",
			],
			[
				{ type: "score", instructions: "How?", criteria: ["a", null] },
				"Type mismatch of '/questions/q/criteria/1', 'string' not in 'null'",
			],
		];
		for (const [question, expected] of cases) expect(refusalOf({ q: question })).toBe(`Error: ${expected}`);
	});

	it("refuses audio and videos for a model without them", () => {
		expect(refusalOf(undefined, { audio: ["data:audio/wav;base64,AAAA"] })).toBe(
			"Error: Additional or unevaluated properties '/audio' at '/' not allowed",
		);
		expect(JSON.stringify(z.toJSONSchema(decisionReader.schema(clef), { io: "input" }))).toContain(
			'"audio":{"not":{}}',
		);
	});
});

describe("decision-answers", () => {
	it("writes answers with four decimals and the product's confidence", () => {
		const parsed = read(decisionReader, clef, sent());
		const usage = { input_tokens: 404, output_tokens: 0 };
		const rendered = write(decisionWriter, parsed, "decision", {
			answers: {
				spam: { type: "noul", noul: 0.981512 },
				// Probabilities of observed replies, whose confidences were 0.839 and 0.9269: computed before rounding.
				action: {
					type: "choice",
					choice: "remove",
					probabilities: { approve: 0.01030001, hold: 0.0461, remove: 0.9436 },
					confidence: 0.9436,
				},
				toxicity: {
					type: "score",
					score: 0.052449,
					legend: { "0": "Not toxic", "1": "Mildly rude", "2": "Insulting", "3": "Hateful" },
					probabilities: { "0": 0.972, "1": 0.0114, "2": 0.0087, "3": 0.0079 },
					confidence: 0.972,
				},
				even: { type: "choice", choice: "a", probabilities: { a: 0.5, b: 0.5 }, confidence: 0.5 },
			},
			usage,
		});
		expect(rendered).toEqual({
			kind: "json",
			value: {
				model: "clef",
				answers: {
					spam: { type: "noul", noul: 0.9815 },
					action: {
						type: "choice",
						choice: "remove",
						probabilities: { approve: 0.0103, hold: 0.0461, remove: 0.9436 },
						confidence: 0.8389,
					},
					toxicity: {
						type: "score",
						score: 0.0524,
						legend: { "0": "Not toxic", "1": "Mildly rude", "2": "Insulting", "3": "Hateful" },
						probabilities: { "0": 0.972, "1": 0.0114, "2": 0.0087, "3": 0.0079 },
						confidence: 0.9267,
					},
					even: { type: "choice", choice: "a", probabilities: { a: 0.5, b: 0.5 }, confidence: 0 },
				},
				usage,
			},
		});
	});
});
