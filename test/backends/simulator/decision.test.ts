import { expect, it } from "vitest";
import type { Question } from "../../../src/tasks/decision.ts";
import { run } from "./fixture.ts";

const decide = async (state: unknown, questions: Record<string, Question>, images: string[] = []) =>
	run("decision", { model: "clef", state, questions, images, audio: [], videos: [] });

const route: Question = {
	type: "choice",
	instructions: "Which team?",
	criteria: { billing: "Invoices", technical: "Errors", sales: "Quotes" },
};

it.each(["hello", "I am furious", { mail: "refund" }])("decides nothing: %j", async (state) => {
	const { answers } = await decide(state, {
		route,
		angry: { type: "noul", instructions: "The customer is angry" },
		mood: { type: "score", instructions: "How angry?", criteria: ["calm", "annoyed", "furious", "gone"] },
	});
	expect(answers).toEqual({
		route: {
			type: "choice",
			choice: "billing",
			probabilities: { billing: 0.333334, technical: 0.333333, sales: 0.333333 },
			confidence: 0.333334,
		},
		angry: { type: "noul", noul: 0.5 },
		mood: {
			type: "score",
			score: 1.5,
			legend: { 0: "calm", 1: "annoyed", 2: "furious", 3: "gone" },
			probabilities: { 0: 0.25, 1: 0.25, 2: 0.25, 3: 0.25 },
			confidence: 0.25,
		},
	});
});

it("counts what it reads, images too, and writes nothing", async () => {
	const bare = (await decide("a b c", { route })).usage;
	const seen = (await decide("a b c", { route }, ["data:image/png;base64,AAAA"])).usage;
	expect(bare.output_tokens).toBe(0);
	expect(seen.input_tokens - bare.input_tokens).toBe(256);
	expect((await decide("a b c d", { route })).usage.input_tokens - bare.input_tokens).toBe(1);
});
