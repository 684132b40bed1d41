import { describe, expect, it } from "vitest";
import { ConfigError, configure } from "../../src/config/index.ts";

const limitsOf = (LIMITS: unknown, more: object = {}) => configure({ LIMITS, ...more }).limits;

describe("LIMITS of accounts", () => {
	it("are the product's on the paid plan by default", () => {
		const { everyone, accounts } = limitsOf({});
		expect(everyone).toMatchObject({ plan: "paid", productRates: true });
		expect(everyone.requestsPerMinute).toMatchObject({ "Text Generation": 300, "Text Embeddings": 3000 });
		expect(everyone.requestsPerMinute).not.toHaveProperty("Text-to-Speech");
		expect(everyone).not.toHaveProperty("dailyNeurons");
		expect(accounts.size).toBe(0);
	});

	it("hold unsettled reservations for an hour, or for the configured time", () => {
		expect(limitsOf({}).holdMs).toBe(3_600_000);
		expect(limitsOf({ hold_ms: 5_000 }).holdMs).toBe(5_000);
		expect(() => limitsOf({ hold_ms: 0 })).toThrow(ConfigError);
	});

	it("count no requests with ALLOW_ANONYMOUS, unless configured", () => {
		const open = { ALLOW_ANONYMOUS: "true" };
		expect(limitsOf({}, open).everyone).toMatchObject({ requestsPerMinute: {}, productRates: false });
		const told = limitsOf({ requests_per_minute: "product" }, open).everyone;
		expect(told.requestsPerMinute).toMatchObject({ Translation: 720 });
	});

	it("give the free plan its 10,000 neurons a day, or the configured number", () => {
		expect(limitsOf({ plan: "free" }).everyone.dailyNeurons).toBe(10_000);
		expect(limitsOf({ plan: "free", daily_neurons: 5 }).everyone.dailyNeurons).toBe(5);
		expect(limitsOf({ daily_neurons: 0 }).everyone.dailyNeurons).toBe(0);
	});

	it("give an account on the free plan no more than that plan has, unless the account's own setting does", () => {
		const { accounts } = limitsOf({
			daily_neurons: 200_000,
			accounts: { trial: { plan: "free" }, more: { plan: "free", daily_neurons: 20_000 }, "team-a": {} },
		});
		expect(accounts.get("trial")?.dailyNeurons).toBe(10_000);
		expect(accounts.get("more")?.dailyNeurons).toBe(20_000);
		expect(accounts.get("team-a")?.dailyNeurons).toBe(200_000);
	});

	it("are one account's own where it has some, and everyone's where it has none", () => {
		const { accounts } = limitsOf({
			daily_neurons: 500,
			requests_per_minute: { "Text Generation": 10 },
			models: { "@cf/a/b": { requests_per_minute: 1 }, "@cf/a/c": { daily_neurons: 2 } },
			accounts: {
				"team-a": { plan: "free", models: { "@cf/a/b": { daily_neurons: 7 } } },
				"team-b": { requests_per_minute: "none", daily_neurons: 9 },
			},
		});
		expect(accounts.get("team-a")).toEqual({
			plan: "free",
			dailyNeurons: 500,
			requestsPerMinute: {
				"Text Generation": 10,
				"Markdown Conversion": 600,
				"Token Count": 3000,
				"Provider Request": 3000,
				"Web Search": 600,
				"Vector Query": 3000,
			},
			productRates: false,
			models: new Map([
				["@cf/a/b", { dailyNeurons: 7 }],
				["@cf/a/c", { dailyNeurons: 2 }],
			]),
		});
		expect(accounts.get("team-b")).toMatchObject({ plan: "paid", dailyNeurons: 9, requestsPerMinute: {} });
	});

	it("bound requests that run no model, unless they are named or there are no rates", () => {
		const { everyone, accounts } = limitsOf({
			accounts: {
				"team-a": { requests_per_minute: { "Text Generation": 10, "Token Count": 5 } },
				"team-b": { requests_per_minute: "none" },
			},
		});
		expect(everyone.requestsPerMinute).toMatchObject({ "Markdown Conversion": 600, "Token Count": 3000 });
		expect(accounts.get("team-a")?.requestsPerMinute).toEqual({
			"Text Generation": 10,
			"Markdown Conversion": 600,
			"Token Count": 5,
			"Provider Request": 3000,
			"Web Search": 600,
			"Vector Query": 3000,
		});
		expect(accounts.get("team-b")?.requestsPerMinute).toEqual({});
	});

	it("bound a month of an account and of a model", () => {
		const { everyone, accounts } = limitsOf({
			monthly_neurons: 900,
			models: { "@cf/a/b": { monthly_neurons: 30 } },
			accounts: { trial: { plan: "free" }, team: { monthly_neurons: 5 } },
		});
		expect(everyone).toMatchObject({
			monthlyNeurons: 900,
			models: new Map([["@cf/a/b", { monthlyNeurons: 30 }]]),
		});
		expect(accounts.get("trial")).toMatchObject({ dailyNeurons: 10_000, monthlyNeurons: 900 });
		expect(accounts.get("team")?.monthlyNeurons).toBe(5);
	});

	it.each([
		[{ plan: "gold" }, 'LIMITS.plan: expected "free" or "paid", found "gold"'],
		[{ daily_neurons: -1 }, "LIMITS.daily_neurons: expected at least 0, found -1"],
		[
			{ requests_per_minute: 5 },
			'LIMITS.requests_per_minute: expected "product", "none" or requests a minute by the name of a task, found a number',
		],
		[
			{ requests_per_minute: { "Text Generaton": 5 } },
			'LIMITS.requests_per_minute["Text Generaton"]: expected no such field; did you mean "Text Generation"?',
		],
		[
			{ accounts: { a: { json_bytes: 1 } } },
			"LIMITS.accounts.a.json_bytes: expected no such field, only plan, daily_neurons, monthly_neurons, requests_per_minute and models",
		],
		[
			{ models: { m: { requests_per_minute: 0 } } },
			"LIMITS.models.m.requests_per_minute: expected at least 1, found 0",
		],
	])("refuse %j", (entry, line) => {
		expect(() => limitsOf(entry)).toThrow(new ConfigError([line]));
	});
});

describe("ADMIN_TOKEN", () => {
	it("is long enough, and is not repeated", () => {
		const secret = "0123456789abcdef0123456789abcdef";
		expect(configure({ ADMIN_TOKEN: `${secret}\n` }).adminToken).toBe(secret);
		expect(configure({}).adminToken).toBeUndefined();
		expect(() => configure({ ADMIN_TOKEN: "short-secret" })).toThrow(
			new ConfigError(["ADMIN_TOKEN: expected a secret of 32 characters or more, found a shorter one"]),
		);
	});
});
