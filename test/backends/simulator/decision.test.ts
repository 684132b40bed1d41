import { describe, expect, it } from "vitest";
import type { Question } from "../../../src/tasks/decision.ts";
import { run } from "./fixture.ts";

const decide = async (state: unknown, questions: Record<string, Question>, images: string[] = []) =>
	run("decision", { model: "clef", state, questions, images, audio: [], videos: [] });

const route: Question = {
	type: "choice",
	instructions: "Which team should handle this ticket?",
	criteria: {
		billing: "Invoices, refunds, payments and credit cards",
		technical: "Errors, crashes and bugs in the application",
		sales: "Quotes, plans and upgrades for new customers",
	},
};

describe("a choice", () => {
	it.each([
		["My credit card was charged twice, I want a refund of the payment.", "billing"],
		[{ subject: "App crashes", body: "I see errors when the application starts" }, "technical"],
		["We are new and would like quotes for your plans", "sales"],
	])("takes the option that shares most with the state: %j", async (state, choice) => {
		const { answers } = await decide(state, { route });
		const answer = answers.route;
		if (answer?.type !== "choice") throw new Error("no choice");
		expect(answer.choice).toBe(choice);
		expect(Object.keys(answer.probabilities)).toEqual(["billing", "technical", "sales"]);
		expect(Object.values(answer.probabilities).reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 6);
		expect(answer.confidence).toBe(answer.probabilities[choice]);
		expect(answer.confidence).toBeGreaterThan(0.5);
	});
});

it("a noul is the probability of its instructions", async () => {
	const about = (state: string, criteria?: { true: string; false: string }) =>
		decide(state, {
			refund: {
				type: "noul",
				instructions: "The customer asks for a refund",
				...(criteria ? { criteria } : {}),
			},
		}).then(({ answers }) => (answers.refund?.type === "noul" ? answers.refund.noul : Number.NaN));
	const criteria = {
		true: "wants the money back, a refund",
		false: "is content with the product and keeps it",
	};
	expect(await about("I ask for a refund")).toBeGreaterThan(0.5);
	expect(await about("Lovely weather")).toBeLessThan(0.5);
	expect(await about("Give me my money back", criteria)).toBeGreaterThan(0.5);
	expect(await about("I am content and I keep the product", criteria)).toBeLessThan(0.5);
});

it("a score is the expected level, with its legend", async () => {
	const criteria = ["awful, terrible, hates it", "neutral, no opinion", "great, wonderful, loves it"];
	const mood: Question = { type: "score", instructions: "How happy is the customer?", criteria };
	const of = async (state: string) => {
		const { answers } = await decide(state, { mood });
		if (answers.mood?.type !== "score") throw new Error("no score");
		return answers.mood;
	};
	const happy = await of("This is wonderful, I love it, great!");
	expect(happy.legend).toEqual({ 0: criteria[0], 1: criteria[1], 2: criteria[2] });
	const expected = Object.entries(happy.probabilities).reduce(
		(sum, [level, share]) => sum + Number(level) * share,
		0,
	);
	expect(happy.score).toBeCloseTo(expected, 5);
	expect(happy.score).toBeGreaterThan(1.3);
	expect((await of("It is terrible, I hate it, awful")).score).toBeLessThan(0.7);
});

it("counts what it reads, images too, and writes nothing", async () => {
	const bare = (await decide("a b c", { route })).usage;
	const seen = (await decide("a b c", { route }, ["data:image/png;base64,AAAA"])).usage;
	expect(bare.output_tokens).toBe(0);
	expect(seen.input_tokens - bare.input_tokens).toBe(256);
	expect((await decide("a b c d", { route })).usage.input_tokens - bare.input_tokens).toBe(1);
});

it("always decides the same", async () => {
	expect(await decide({ a: [1, null] }, { route })).toEqual(await decide({ a: [1, null] }, { route }));
});
