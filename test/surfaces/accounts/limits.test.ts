import { expect, it } from "vitest";
import { admission, callsTo, settlement } from "../../accounts/fixtures.ts";
import { ADMIN, closedGateway, json } from "../../http/access.ts";

const MODEL = "@cf/meta/llama-3.1-8b-instruct-fp8";
const LIMITS = { daily_neurons: 1000, models: { [MODEL]: { daily_neurons: 100 } } };

it("shows each budget, what is used of it, and the open requests", async () => {
	const { account, send } = closedGateway({ vars: { LIMITS } });
	const budget = {
		key: "account",
		period: "day" as const,
		microNeurons: 1e9,
		failure: "budgetExceeded" as const,
	};
	const calls = callsTo(account);
	await calls.admit(admission({ ticket: "one", model: MODEL, budgets: [budget] }), []);
	await calls.settle([settlement("one", { microNeurons: 2_500_000 })]);
	await calls.admit(admission({ ticket: "two", model: MODEL, budgets: [budget] }), []);

	const { result } = await (await send("/ai/usage/limits", ADMIN)).json<{ result: { budgets: object[] } }>();
	expect(result).toMatchObject({ open_requests: 1 });
	expect(result.budgets).toEqual([
		{
			key: "account",
			period: "day",
			neurons: 1000,
			spent: 2.5,
			reserved: expect.any(Number),
			remaining: expect.any(Number),
		},
		{
			key: "account",
			period: "month",
			neurons: null,
			spent: 2.5,
			reserved: expect.any(Number),
			remaining: null,
		},
		{
			key: `model:${MODEL}`,
			period: "day",
			neurons: 100,
			spent: expect.any(Number),
			reserved: expect.any(Number),
			remaining: expect.any(Number),
		},
	]);
});

const BUDGET = { key: "", spent: 0, reserved: 0, remaining: 0 };

it("shows the budgets of the caller's token with their periods", async () => {
	const { createToken, send } = closedGateway();
	const token = await createToken(["Workers AI Read"], { limits: { daily_neurons: 5, monthly_neurons: 50 } });
	const { result } = await (await send("/ai/usage/limits", token)).json<{ result: { budgets: object[] } }>();
	expect(result.budgets.slice(-2)).toMatchObject([
		{ key: expect.stringMatching(/^token:/), period: "day", neurons: 5 },
		{ key: expect.stringMatching(/^token:/), period: "month", neurons: 50 },
	]);
});

it("lets requests one after the other use a budget up, and then names the time of the next one", async () => {
	const { createToken, send } = closedGateway();
	const DAILY = 20;
	const limits = { daily_neurons: DAILY };
	const token = await createToken(["Workers AI Read", "Workers AI Run"], { limits });
	const read = async () => {
		const answer = await send("/ai/usage/limits", token);
		const { result } = await answer.json<{ result: { budgets: (typeof BUDGET)[] } }>();
		return result.budgets.find(({ key }) => key.startsWith("token:")) ?? BUDGET;
	};
	const ask = () => send(`/ai/run/${MODEL}`, token, json("POST", { prompt: "Hello", max_tokens: 20 }));
	const first = await ask();
	expect(first.status).toBe(200);
	const cost = Number(first.headers.get("cf-ai-neurons"));
	let refused: Response | undefined;
	for (let count = 1; !refused && count <= DAILY / cost + 2; count++) {
		const response = await ask();
		await response.clone().text();
		if (!response.ok) refused = response;
	}
	expect(refused?.status).toBe(429);
	expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
	const { spent, reserved, remaining } = await read();
	expect(spent).toBeLessThanOrEqual(DAILY);
	expect(reserved).toBe(0);
	// The most that one request costs: 204,805 micro-neurons for each of 20 tokens, and a short prompt.
	expect(remaining).toBeLessThan((20 * 204_805) / 1e6 + 2);
});
