import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CostEstimate } from "../../../src/accounts/admission.ts";
import { Budgets, describeRefusal } from "../../../src/accounts/durable/budgets.ts";

const DAY = "2026-11-21";
const OPERATOR = { model: "m", token: "" };
const account = (microNeurons: number) =>
	({ key: "account", microNeurons, failure: "accountLimited" }) as const;

const chat = (fields: Partial<CostEstimate> = {}): CostEstimate => ({
	fixedMicroNeurons: 100,
	microNeuronsPerOutputToken: 10,
	outputTokens: 50,
	outputUnbounded: true,
	...fields,
});

describe("grant", () => {
	it("reserves the maximum cost, and limits no output without a budget", () => {
		expect(new Budgets(DAY).grant(chat(), [])).toEqual({ kind: "granted", microNeurons: 600 });
	});

	it("limits the output if a budget limits the request", () => {
		const granted = { kind: "granted", microNeurons: 600, outputTokens: 50 };
		expect(new Budgets(DAY).grant(chat(), [account(600)])).toEqual(granted);
		expect(new Budgets(DAY).grant(chat({ outputUnbounded: false }), [account(10_000)])).toEqual(granted);
	});

	it("does not limit output that costs nothing", () => {
		const cost = chat({ microNeuronsPerOutputToken: 0 });
		expect(new Budgets(DAY).grant(cost, [account(100)])).toEqual({ kind: "granted", microNeurons: 100 });
	});

	it("grants a request without an output limit the output that the budget pays for", () => {
		expect(new Budgets(DAY).grant(chat(), [account(237)])).toEqual({
			kind: "granted",
			microNeurons: 230,
			outputTokens: 13,
		});
		expect(new Budgets(DAY).grant(chat(), [account(110)])).toMatchObject({ outputTokens: 1 });
	});

	it("refuses a request if the budget does not pay for one token", () => {
		expect(new Budgets(DAY).grant(chat(), [account(109)])).toMatchObject({
			kind: "refused",
			remaining: 109,
			cost: 110,
		});
	});

	it("grants a token for each of several choices, or refuses", () => {
		const three = chat({ minOutputTokens: 3 });
		expect(new Budgets(DAY).grant(three, [account(130)])).toMatchObject({ outputTokens: 3 });
		expect(new Budgets(DAY).grant(three, [account(129)])).toMatchObject({ kind: "refused", cost: 130 });
	});

	it("refuses a request with an output limit that the budget does not pay for", () => {
		expect(new Budgets(DAY).grant(chat({ outputUnbounded: false }), [account(599)])).toMatchObject({
			kind: "refused",
			remaining: 599,
			cost: 600,
		});
	});

	it("uses the budget with the least remaining", () => {
		const budgets = new Budgets(DAY);
		budgets.book(DAY, { model: "m", token: "t" }, { spent: 50, reserved: 40 });
		const model = { key: "model:m", microNeurons: 200, failure: "budgetExceeded" } as const;
		const grant = budgets.grant(chat(), [account(5_000), model, { ...model, key: "token:other" }]);
		expect(grant).toMatchObject({ kind: "granted", outputTokens: 1 });
		expect(budgets.grant(chat({ outputUnbounded: false }), [account(5_000), model])).toMatchObject({
			budget: model,
		});
	});

	it("admits a request that costs nothing if a budget is used up or exceeded", () => {
		const budgets = new Budgets(DAY);
		budgets.book(DAY, OPERATOR, { spent: 300, reserved: 0 });
		const free = chat({ fixedMicroNeurons: 0, microNeuronsPerOutputToken: 0 });
		expect(budgets.grant(free, [account(200)])).toEqual({ kind: "granted", microNeurons: 0 });
	});

	it("grants the most output that fits, for any fractional price", () => {
		const price = fc.double({ min: 0, max: 1e6, noNaN: true });
		const cases = fc.record({
			fixedMicroNeurons: price,
			microNeuronsPerOutputToken: price,
			outputTokens: fc.integer({ min: 0, max: 5_000 }),
			outputUnbounded: fc.boolean(),
		});
		fc.assert(
			fc.property(cases, fc.integer({ min: 0, max: 2e9 }), (cost, budget) => {
				const { fixedMicroNeurons, microNeuronsPerOutputToken, outputTokens, outputUnbounded } = cost;
				const costOf = (tokens: number) => Math.ceil(fixedMicroNeurons + microNeuronsPerOutputToken * tokens);
				const grant = new Budgets(DAY).grant(cost, [account(budget)]);
				const least = outputUnbounded ? Math.min(1, outputTokens) : outputTokens;
				expect(grant.kind === "granted").toBe(costOf(least) <= budget);
				if (grant.kind === "refused") return;
				expect(grant.microNeurons).toBeLessThanOrEqual(budget);
				const tokens = grant.outputTokens ?? outputTokens;
				expect(grant.microNeurons).toBe(costOf(tokens));
				if (tokens < outputTokens) expect(costOf(tokens + 1)).toBeGreaterThan(budget);
			}),
		);
	});
});

describe("Budgets", () => {
	it("ignores an amount of an earlier day", () => {
		const budgets = new Budgets("2026-11-22");
		budgets.book(DAY, OPERATOR, { spent: 6, reserved: -7 });
		expect(budgets.balance({ key: "account" })).toEqual({ spent: 0, reserved: 0 });
	});

	it("counts an earlier day of the month for the month", () => {
		const month = { key: "account", period: "month" } as const;
		const budgets = new Budgets("2026-11-30");
		budgets.book("2026-11-29", OPERATOR, { spent: 5, reserved: 7 });
		expect(budgets.balance(month)).toEqual({ spent: 5, reserved: 7 });
		budgets.book("2026-11-30", OPERATOR, { spent: 6, reserved: -7 });
		expect(budgets.balance(month)).toEqual({ spent: 11, reserved: 0 });
	});

	it("ignores an amount of an earlier month", () => {
		const budgets = new Budgets("2026-12-01");
		budgets.book("2026-11-30", OPERATOR, { spent: 3, reserved: 0 });
		expect(budgets.balance({ key: "account", period: "month" })).toEqual({ spent: 0, reserved: 0 });
	});
});

describe("describeRefusal", () => {
	const text = (key: string, held = 0, period?: "month") =>
		describeRefusal({
			kind: "refused",
			budget: { key, microNeurons: 10_000_000, failure: "budgetExceeded", ...(period && { period }) },
			remaining: 3_250_000,
			held,
			cost: 12_500_000,
		});

	it("names the budget", () => {
		expect(text("model:@cf/meta/llama-3.1-8b-instruct")).toBe(
			"This request may cost 12.5 neurons; the daily budget of model @cf/meta/llama-3.1-8b-instruct is 10, of which 3.25 are left",
		);
		expect(text("account", 5_000_000)).toMatch(
			/, of which 3\.25 are left and 5 are reserved by running requests$/,
		);
		expect(text("account")).toContain("the daily budget of this account is 10,");
		expect(text("token:0123")).toContain("the daily budget of this token is 10,");
		expect(text("account", 0, "month")).toContain("the monthly budget of this account is 10,");
	});
});
