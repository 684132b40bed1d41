import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LimitStatus } from "../../../src/accounts/durable/limit-status.ts";
import type { UsageReport } from "../../../src/accounts/durable/usage.ts";
import { newTokenText } from "../../../src/accounts/token-text.ts";
import { createApp } from "../../../src/app.ts";
import { AiError } from "../../../src/core/errors.ts";
import type { EngineReport } from "../../../src/fleet/health.ts";
import { IsolateHealth } from "../../../src/fleet/health.ts";
import { GatewayCounters } from "../../../src/gateways/export/counters.ts";
import type { PoolReport } from "../../../src/pools/pool-report.ts";
import { type AccountReport, metricsText } from "../../../src/surfaces/operations/metrics-text.ts";
import { allReports } from "../../../src/surfaces/operations/worker-reports.ts";
import { FailureCounts } from "../../../src/telemetry/failure-counts.ts";
import { RequestTimes } from "../../../src/telemetry/request-times.ts";
import { admission, callsTo, fixedCost, settlement } from "../../accounts/fixtures.ts";
import { completion, ENGINE_VARS, upstream } from "../../gateway.ts";
import { ADMIN, closedGateway, failureOf, json } from "../../http/access.ts";
import { startPassedTimer } from "../../timers.ts";

const METRICS = "http://gateway/metrics";
const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";

interface Family {
	type: string;
	help: string;
	samples: { labels: Record<string, string>; value: number }[];
}

/** The text format 0.0.4, strictly: HELP, TYPE, then the family's samples, no family and no series twice. */
function parse(text: string): Map<string, Family> {
	const families = new Map<string, Family>();
	const series = new Set<string>();
	expect(text.endsWith("\n")).toBe(true);
	let help: [string, string] | undefined;
	let current: [string, Family] | undefined;
	for (const line of text.slice(0, -1).split("\n")) {
		const helpLine = /^# HELP ([a-zA-Z_:][\w:]*) ((?:[^\\]|\\\\|\\n)*)$/.exec(line);
		const typeLine = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram|summary|untyped)$/.exec(line);
		const sample = /^([a-zA-Z_:][\w:]*)\{(.*)\} (\S+)$/.exec(line);
		if (helpLine) {
			help = [helpLine[1] ?? "", helpLine[2] ?? ""];
		} else if (typeLine) {
			const [, name = "", type = ""] = typeLine;
			expect(help?.[0], "TYPE after its own HELP").toBe(name);
			expect(families.has(name), `${name} once`).toBe(false);
			current = [name, { type, help: help?.[1] ?? "", samples: [] }];
			families.set(...current);
		} else if (sample) {
			const [, name = "", labels = "", value = ""] = sample;
			const [family, { type = "" } = {}] = current ?? [];
			expect(type === "histogram" ? name.replace(/_(?:bucket|sum|count)$/, "") : name).toBe(family);
			expect(series.has(`${name}{${labels}}`), `${line} once`).toBe(false);
			series.add(`${name}{${labels}}`);
			expect(value).toMatch(/^(?:[+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|Inf)|NaN)$/);
			current?.[1].samples.push({ labels: parseLabels(labels), value: Number(value) });
		} else expect.fail(`not a line of the format: ${line}`);
	}
	return families;
}

function parseLabels(text: string): Record<string, string> {
	const labels: Record<string, string> = {};
	let remaining = text;
	while (remaining) {
		const label = /^([a-zA-Z_]\w*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,(?=.)|$)/.exec(remaining);
		if (!label) expect.fail(`not labels: ${remaining}`);
		const [all, name = "", value = ""] = label;
		expect(Object.hasOwn(labels, name)).toBe(false);
		labels[name] = value.replace(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped));
		remaining = remaining.slice(all.length);
	}
	return labels;
}

const counts = {
	requests: 5,
	failed: 2,
	overruns: 1,
	inputTokens: 30,
	cachedTokens: 10,
	outputTokens: 7,
	microNeurons: 1_500_001,
	answered: 3,
	latencyMs: 900,
	firstTokenMs: 90,
};
const report = (model: string): UsageReport => ({
	rows: [{ ...counts, model, task: "Text Generation", backend: "engine" }],
	total: counts,
	truncated: false,
});
const LIMIT_STATUS: LimitStatus = {
	day: "2026-11-21",
	open: 3,
	leases: 2,
	budgets: [
		{
			key: "account",
			microNeurons: 10_000_000_000,
			failure: "freeAllocationUsed",
			spentMicroNeurons: 1_500_001,
			reservedMicroNeurons: 250_000,
			remainingMicroNeurons: 0,
		},
	],
	rates: [],
};

const accountReport = (fields: Partial<AccountReport> = {}): AccountReport => ({
	account: "local",
	usage: report(LLAMA),
	refusals: { rows: [{ code: 3021, task: "Text Generation", requests: 4 }], requests: 4, truncated: false },
	limits: LIMIT_STATUS,
	...fields,
});

describe("the text of metrics", () => {
	it("has every number with its name and labels", () => {
		const families = parse(metricsText({ accounts: [accountReport()] }));
		const common = { account: "local", model: LLAMA, task: "Text Generation", backend: "engine" };
		const metrics = Object.fromEntries(
			[...families].map(([name, { type, samples }]) => [
				name,
				[type, ...samples.map(({ labels, value }) => [labels, value])],
			]),
		);
		const budget = { account: "local", budget: "account" };
		expect(metrics).toEqual({
			ganglion_up: ["gauge", [{ account: "local" }, 1]],
			ganglion_requests_total: [
				"counter",
				[{ ...common, outcome: "served" }, 3],
				[{ ...common, outcome: "failed" }, 2],
			],
			ganglion_refused_requests_total: [
				"counter",
				[{ account: "local", task: "Text Generation", code: "3021" }, 4],
			],
			ganglion_tokens_total: [
				"counter",
				[{ ...common, kind: "input" }, 30],
				[{ ...common, kind: "cached" }, 10],
				[{ ...common, kind: "output" }, 7],
			],
			ganglion_neurons_total: ["counter", [common, 1.500001]],
			ganglion_overruns_total: ["counter", [common, 1]],
			ganglion_usage_truncated: ["gauge", [{ account: "local" }, 0]],
			ganglion_open_requests: ["gauge", [{ account: "local" }, 3]],
			ganglion_open_leases: ["gauge", [{ account: "local" }, 2]],
			ganglion_daily_budget_neurons: ["gauge", [budget, 10_000]],
			ganglion_daily_spent_neurons: ["gauge", [budget, 1.500001]],
			ganglion_daily_reserved_neurons: ["gauge", [budget, 0.25]],
		});
		expect([...families.values()].every(({ help }) => help.endsWith("."))).toBe(true);
	});

	it("escapes every model name", () => {
		fc.assert(
			fc.property(
				fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom("\\", '"', "\n", "n", "}") })),
				(model) => {
					const samples = parse(metricsText({ accounts: [accountReport({ usage: report(model) })] })).get(
						"ganglion_neurons_total",
					)?.samples;
					expect(samples?.map(({ labels }) => labels.model)).toEqual([model]);
				},
			),
		);
	});

	it("has the samples of several accounts under one family", () => {
		const families = parse(
			metricsText({ accounts: [accountReport({ account: "a" }), accountReport({ account: "b" })] }),
		);
		for (const [name, { samples }] of families)
			expect(new Set(samples.map(({ labels }) => labels.account)), name).toEqual(new Set(["a", "b"]));
	});

	it("has only the metric up for an unreachable account", () => {
		const families = parse(metricsText({ accounts: [accountReport({ account: "a" })], unreachable: ["b"] }));
		expect(families.get("ganglion_up")?.samples).toEqual([
			{ labels: { account: "a" }, value: 1 },
			{ labels: { account: "b" }, value: 0 },
		]);
		families.delete("ganglion_up");
		for (const [name, { samples }] of families)
			expect(
				samples.map(({ labels }) => labels.account),
				name,
			).not.toContain("b");
		expect([...parse(metricsText({ accounts: [], unreachable: ["b"] })).keys()]).toEqual(["ganglion_up"]);
	});

	it("omits families without samples, and infinite budgets", () => {
		const [budget] = LIMIT_STATUS.budgets;
		const endless = budget ? [{ ...budget, microNeurons: Number.POSITIVE_INFINITY }] : [];
		const families = parse(
			metricsText({
				accounts: [
					accountReport({
						usage: { ...report(""), rows: [] },
						refusals: { rows: [], requests: 0, truncated: false },
						limits: { ...LIMIT_STATUS, budgets: endless },
					}),
				],
			}),
		);
		expect([...families.keys()]).toEqual([
			"ganglion_up",
			"ganglion_usage_truncated",
			"ganglion_open_requests",
			"ganglion_open_leases",
			"ganglion_daily_spent_neurons",
			"ganglion_daily_reserved_neurons",
		]);
	});
});

/** Services in which calls of an account's object fail as if it were unreachable. */
function withBroken(
	method: "verify" | "limitStatus" | "usage",
	broken: (account: string) => boolean,
	error: Error,
) {
	const gateway = closedGateway();
	const { services } = gateway;
	const { ledgers } = services;
	const logged: AiError[] = [];
	services.log = (failure) => void logged.push(failure);
	services.ledgers = {
		of: (account) => {
			const ledger = ledgers.of(account);
			if (broken(account)) ledger[method] = async () => Promise.reject(error);
			return ledger;
		},
	};
	return { ...gateway, app: createApp(services, { allowAnonymous: false, adminToken: ADMIN }), logged };
}

describe("GET /metrics", () => {
	it("reports the account of the token", async () => {
		const { account, send, createToken } = closedGateway({
			vars: { DEFAULT_BACKEND: "simulator", LIMITS: { plan: "free", daily_neurons: 100 } },
		});
		const calls = callsTo(account);
		await calls.admit(admission({ ticket: "one", model: LLAMA, cost: fixedCost(2_000_000) }), []);
		await calls.settle([settlement("one", { microNeurons: 1_500_000, inputTokens: 3 })]);
		await calls.admit(admission({ ticket: "two", model: LLAMA, cost: fixedCost(500_000) }), []);
		const response = await send(METRICS, await createToken(["Workers AI Metadata Read"]));
		expect(response.status).toBe(200);
		expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
		const families = parse(await response.text());
		const value = (name: string) => families.get(`ganglion_${name}`)?.samples.map((sample) => sample.value);
		expect(value("requests_total")).toEqual([1, 0]);
		expect(value("neurons_total")).toEqual([1.5]);
		expect(value("tokens_total")).toEqual([3, 0, 0]);
		expect(value("open_requests")).toEqual([1]);
		expect(value("daily_budget_neurons")).toEqual([100]);
		expect(value("daily_spent_neurons")).toEqual([1.5]);
		expect(value("daily_reserved_neurons")).toEqual([0.5]);
	});

	it("has what the account stores of responses and conversations, and nothing after the deletion", async () => {
		const { fetch } = upstream(() => Response.json(completion("Hello")));
		const { account, createToken, send } = closedGateway({ vars: ENGINE_VARS, fetch });
		const token = await createToken(["Workers AI Write"]);
		const values = async () => {
			const families = parse(await (await send(METRICS, token)).text());
			return ["response_store_bytes", "stored_responses", "stored_conversations"].map(
				(name) => families.get(`ganglion_${name}`)?.samples,
			);
		};
		const body = { model: "gpt-5.6-sol", input: "a".repeat(1_000) };
		const { id } = await (await send("/ai/v1/responses", token, json("POST", body))).json<{ id: string }>();
		await send("/ai/v1/conversations", token, json("POST", {}));
		const labels = { account };
		expect(await values()).toEqual([
			[{ labels, value: expect.any(Number) }],
			[{ labels, value: 1 }],
			[{ labels, value: 1 }],
		]);
		const [bytes] = await values();
		expect(bytes?.[0]?.value).toBeGreaterThan(1_000);
		await send(`/ai/v1/responses/${id}`, token, { method: "DELETE" });
		const [after, responses] = await values();
		expect(after?.[0]?.value).toBeLessThan(1_000);
		expect(responses).toEqual([{ labels, value: 0 }]);
	});

	it("reports the account that the operator requests", async () => {
		// The first one in the order of ids: a page about all accounts has at most 100.
		const { account, send } = closedGateway({}, `0-${crypto.randomUUID()}`);
		expect(await (await send(`${METRICS}?account=${account}`, ADMIN)).text()).toContain(
			`ganglion_open_requests{account="${account}"} 0\n`,
		);
		// Without ?account=: all accounts.
		expect(await (await send(METRICS, ADMIN)).text()).toContain(`ganglion_up{account="${account}"} 1\n`);
		expect(await failureOf(await send(`${METRICS}?account=a%20b`, ADMIN))).toBe(
			"400 1001: account: not a valid account id",
		);
	});

	it("reports several accounts for the operator, each once", async () => {
		const { account, send } = closedGateway();
		const text = await (
			await send(`${METRICS}?account=${account}&account=${account}-b&account=${account}`, ADMIN)
		).text();
		expect(parse(text).get("ganglion_open_requests")?.samples).toEqual([
			{ labels: { account }, value: 0 },
			{ labels: { account: `${account}-b` }, value: 0 },
		]);
		expect(await failureOf(await send(`${METRICS}?account=${account}&account=a%20b`, ADMIN))).toBe(
			"400 1001: account: not a valid account id",
		);
		const many = Array.from({ length: 101 }, (_, index) => `account=a${index}`).join("&");
		expect(await failureOf(await send(`${METRICS}?${many}`, ADMIN))).toBe(
			"400 1001: account: at most 100 accounts",
		);
	});

	describe("with an unreachable account", () => {
		const lost = new AiError("ledgerUnavailable", undefined, { cause: new Error("lost") });
		const scrape = (app: ReturnType<typeof createApp>, query: string, token: string) =>
			app.request(`${METRICS}${query}`, { headers: { authorization: `Bearer ${token}` } });

		it("reports that it is down, and the metrics of the others", async () => {
			const { account, app, logged } = withBroken("limitStatus", (name) => name.endsWith("-b"), lost);
			const response = await scrape(app, `?account=${account}-b&account=${account}`, ADMIN);
			expect(response.status).toBe(200);
			const families = parse(await response.text());
			expect(families.get("ganglion_up")?.samples).toEqual([
				{ labels: { account }, value: 1 },
				{ labels: { account: `${account}-b` }, value: 0 },
			]);
			expect(families.get("ganglion_open_requests")?.samples).toEqual([{ labels: { account }, value: 0 }]);
			expect(logged).toEqual([lost]);
		});

		it("reports only that if it is the only account", async () => {
			const { account, app } = withBroken("usage", () => true, lost);
			const response = await scrape(app, `?account=${account}`, ADMIN);
			expect(response.status).toBe(200);
			const names = [...parse(await response.text()).keys()].filter(
				(name) => !name.startsWith("ganglion_held"),
			);
			expect(names).toEqual(["ganglion_up"]);
		});

		it("discloses nothing to a token that cannot be verified", async () => {
			const { account, app } = withBroken("verify", () => true, lost);
			const response = await scrape(app, "", newTokenText(account));
			expect(await failureOf(response)).toBe("502 7009: Upstream service unavailable");
		});

		it("does not treat another failure as unreachable", async () => {
			const { account, app } = withBroken("usage", () => true, new Error("a bug"));
			expect((await scrape(app, `?account=${account}&account=${account}-b`, ADMIN)).status).toBe(500);
		});
	});

	it("has the budgets of all tokens, with their names, for the operator and for a token that may list them", async () => {
		const { account, send, createToken } = closedGateway({ vars: { DEFAULT_BACKEND: "simulator" } });
		const limits = { daily_neurons: 50, monthly_neurons: 900 };
		const shop = await createToken(["Workers AI Read"], { name: "shop", limits });
		await createToken(["Workers AI Read"], { name: "unlimited" });
		await createToken(["Workers AI Read"], { name: "search", limits: { daily_neurons: 10 } });
		expect((await send(`/ai/run/${LLAMA}`, shop, json("POST", { prompt: "Hi" }))).status).toBe(200);
		const auditor = await createToken(["Workers AI Metadata Read", "Account API Tokens Read"]);
		const reader = await createToken(["Workers AI Metadata Read"]);
		const budgets = async (token: string, metric: string) => {
			const samples = parse(await (await send(`${METRICS}?account=${account}`, token)).text()).get(
				metric,
			)?.samples;
			return (samples ?? [])
				.filter(({ labels }) => labels.budget !== "account")
				.map(({ labels, value }) => [labels.name, /^token:[0-9a-f]{32}$/.test(labels.budget ?? ""), value]);
		};
		for (const token of [ADMIN, auditor]) {
			expect((await budgets(token, "ganglion_daily_budget_neurons")).sort()).toEqual([
				["search", true, 10],
				["shop", true, 50],
			]);
			expect(await budgets(token, "ganglion_monthly_budget_neurons")).toEqual([["shop", true, 900]]);
			const spent = await budgets(token, "ganglion_daily_spent_neurons");
			expect(spent.filter(([, , value]) => Number(value) > 0).map(([name]) => name)).toEqual(["shop"]);
		}
		expect(await budgets(reader, "ganglion_daily_budget_neurons")).toEqual([]);
		const report = await (await send("/ai/usage/limits", ADMIN)).json<{ result: { budgets: object[] } }>();
		expect(report.result.budgets).toContainEqual({
			...{ key: expect.stringMatching(/^token:/), name: "search", period: "day" },
			...{ neurons: 10, spent: 0, reserved: 0, remaining: 10 },
		});
	});

	it("has what gateways answered, refused, found and cost, and each account sees only its own", async () => {
		const engine = upstream(() => Response.json(completion("Hello")));
		const { account, send, createToken, services } = closedGateway({
			vars: {
				BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" } },
				ROUTES: { [LLAMA]: [{ backend: "engine", model: "llama" }] },
			},
			fetch: engine.fetch,
		});
		const settings = {
			...{ cache_ttl: 60, cache_invalidate_on_update: false, collect_logs: false },
			...{ rate_limiting_interval: 3_600, rate_limiting_limit: 3 },
			dlp: { enabled: true, action: "BLOCK" as const, profiles: ["credit_card"] },
		};
		await services.gateways.change(account, "prod", (registry) => registry.create("prod", settings));
		const token = await createToken(["Workers AI Read"]);
		const statuses: number[] = [];
		for (const prompt of ["Hi", "Hi", "card 4111 1111 1111 1111", "one", "two", "three"]) {
			const init = json("POST", { prompt });
			const headers = {
				...init.headers,
				"cf-aig-gateway-id": "prod",
				"cf-aig-custom-cost": '{"total_cost":0.25}',
			};
			const response = await send(`/ai/run/${LLAMA}`, token, { ...init, headers });
			statuses.push(response.status);
			await response.text();
		}
		// The cached answer does not count in the rate.
		expect(statuses).toEqual([200, 200, 400, 200, 429, 429]);
		for (const reader of [token, ADMIN]) {
			const families = parse(await (await send(`${METRICS}?account=${account}`, reader)).text());
			const samplesOf = (name: string) =>
				Object.fromEntries(
					(families.get(`ganglion_gateway_${name}`)?.samples ?? []).map(({ labels, value }) => {
						const { account: owner, gateway, provider, ...others } = labels;
						expect([owner, gateway]).toEqual([account, "prod"]);
						return [[provider, ...Object.values(others)].filter(Boolean).join(" "), value];
					}),
				);
			expect(samplesOf("requests_total")).toEqual({
				"workers-ai ok": 2,
				"workers-ai cached": 1,
				"workers-ai refused": 3,
			});
			expect(samplesOf("refused_requests_total")).toEqual({ dlp_request: 1, rate_limit: 2 });
			expect(samplesOf("findings_total")).toEqual({ "dlp BLOCK": 1 });
			expect(samplesOf("cost_dollars_total")).toEqual({ "workers-ai": 0.5 });
			expect(families.has("ganglion_failures_total")).toBe(reader === ADMIN);
		}
		const others = await (await send(`${METRICS}?account=${account}-b`, ADMIN)).text();
		expect(others).not.toContain('gateway="prod"');
	});

	it("has the times of complete answers, and the reasons of failures", async () => {
		const { send, createToken, services } = closedGateway({ vars: { DEFAULT_BACKEND: "simulator" } });
		services.log = (error) => services.failureCounts.add(error);
		const token = await createToken(["Workers AI Run"]);
		const run = async (credential: string | undefined, body: object) =>
			(await send(`/ai/run/${LLAMA}`, credential, json("POST", body))).status;
		expect(await run(token, { prompt: "Hi" })).toBe(200);
		expect(await run(token, { prompt: 5 })).toBe(400);
		expect(await run("wrong", { prompt: "Hi" })).toBe(401);
		expect((await send("/ai/run/@cf/meta/llama-4-no-such", token, json("POST", {}))).status).toBe(400);
		expect((await send("/no/such/path", token)).status).toBe(400);
		const text = await (await send(METRICS, ADMIN)).text();
		const families = parse(text);
		expect(families.get("ganglion_failures_total")?.samples.map(({ labels }) => labels)).toEqual([
			{ class: "request", failure: "badInput", code: "5006", status: "400" },
			{ class: "authentication", failure: "authentication", code: "10000", status: "401" },
			{ class: "request", failure: "noSuchModel", code: "5007", status: "400" },
			{ class: "request", failure: "noRoute", code: "7000", status: "400" },
		]);
		const labels = `{model="${LLAMA}",task="Text Generation",backend="simulator"}`;
		expect(text).toContain(`ganglion_request_duration_seconds_count${labels} 1\n`);
		expect(text).toMatch(
			/ganglion_request_duration_seconds_bucket\{model="[^"]+",task="Text Generation",backend="simulator",le="\+Inf"\} 1\n/,
		);
	});

	it("counts only requests that a limit refused", async () => {
		const { send, createToken } = closedGateway({
			vars: { DEFAULT_BACKEND: "simulator", LIMITS: { requests_per_minute: { "Text Generation": 1 } } },
		});
		const token = await createToken(["Workers AI Read"]);
		const run = async (model: string, body: object) =>
			(await send(`/ai/run/${model}`, token, json("POST", body))).status;
		expect(await run(LLAMA, { prompt: "Hi" })).toBe(200);
		expect(await run(LLAMA, { prompt: "Hi" })).toBe(429);
		expect(await run(LLAMA, { prompt: "Hi" })).toBe(429);
		expect(await run(LLAMA, { prompt: 5 })).toBe(400);
		expect(await run("@cf/no/such", { prompt: "Hi" })).toBe(400);
		const families = parse(await (await send(METRICS, token)).text());
		expect(families.get("ganglion_refused_requests_total")?.samples).toEqual([
			{ labels: { account: expect.any(String), task: "Text Generation", code: "3021" }, value: 2 },
		]);
	});

	it("refuses tokens of other accounts, and tokens that may not read", async () => {
		const { account, send, createToken } = closedGateway();
		const token = await createToken(["Workers AI Metadata Read"]);
		expect(await failureOf(await send(`${METRICS}?account=other`, token))).toBe(
			"403 10000: Authentication error: the token is for another account",
		);
		expect((await send(`${METRICS}?account=${account}&account=other`, token)).status).toBe(403);
		expect((await send(`${METRICS}?account=${account}`, token)).status).toBe(200);
		expect((await send(METRICS, await createToken(["Workers AI Run"]))).status).toBe(403);
		expect((await send(METRICS)).status).toBe(401);
	});
});

describe("metrics of engines", () => {
	it("have circuit, requests, failures and latency of each replica, only for the operator", async () => {
		let at = 0;
		const health = new IsolateHealth({ now: () => at, waitUntil: () => {} });
		const target = (url: string) => ({ backend: "vllm", url, model: "llama" });
		const good = health.start(target("http://gpu-1:8000/v1"));
		at = 1_500;
		good.begin();
		good.succeed();
		for (let i = 0; i < 5; i++) health.start(target("http://gpu-2:8000/v1")).fail();
		const text = metricsText({ accounts: [], engines: health.engines() });
		const labels = (replica: string) => `{backend="vllm",replica="${replica}",model="llama"}`;
		for (const line of [
			`ganglion_engine_circuit${labels("gpu-1:8000")} 0`,
			`ganglion_engine_circuit${labels("gpu-2:8000")} 2`,
			`ganglion_engine_requests_total${labels("gpu-2:8000")} 5`,
			`ganglion_engine_failures_total${labels("gpu-2:8000")} 5`,
			`ganglion_engine_failures_total${labels("gpu-1:8000")} 0`,
			`ganglion_engine_answers_total${labels("gpu-1:8000")} 1`,
			`ganglion_engine_latency_seconds_total${labels("gpu-1:8000")} 1.5`,
		])
			expect(text).toContain(`${line}\n`);
	});
});

describe("metrics of pools", () => {
	it("leave out a backend that a reload has removed", async () => {
		const vars = (backend: string) => ({
			BACKENDS: { [backend]: { kind: "openai", urls: ["http://1/v1", "http://2/v1"] } },
			ROUTES: { "*": [{ backend }] },
		});
		const { services } = closedGateway({ vars: vars("old") });
		services.pools.reports = () => [reportOfPool("old"), reportOfPool("new")];
		const { routing } = closedGateway({ vars: vars("new") }).services;
		expect((await allReports(services)).pools.map(({ backend }) => backend)).toEqual(["old"]);
		expect((await allReports({ ...services, routing })).pools.map(({ backend }) => backend)).toEqual(["new"]);
	});

	it("have replicas by state, tokens in progress, and the queue", () => {
		const pool = reportOfPool("vllm");
		const gate = {
			waiting: 2,
			waitingTokens: 350,
			oldestMs: 1_250,
			refused: { full: 5, timeout: 1, drained: 2 },
		};
		const engine = { replica: "", requests: 0, failures: 0, begun: 0, waitedMs: 0 };
		const open = { ...engine, backend: "vllm", url: "http://2", model: "m", circuit: "open" } as const;
		const text = metricsText({
			accounts: [],
			engines: [open, { ...open, model: "n" }, { ...open, backend: "other", url: "http://3" }],
			pools: [
				{ ...pool, gate },
				{ ...pool, backend: "tei" },
				{
					...pool,
					backend: "pairs",
					stages: { prefill: { ...pool, requests: 2 }, decode: pool },
					pairs: {
						choices: { pair: 9, short: 4, cached: 3, sooner: 0, unpaired: 0, noPrefill: 1, noDecode: 0 },
						fallbacks: { prefillFailed: 2, noHandle: 0 },
					},
				},
			],
		});
		for (const line of [
			'ganglion_pool_replicas{backend="pairs",stage="prefill",state="draining"} 1',
			'ganglion_pool_inflight_requests{backend="pairs",stage="prefill"} 2',
			'ganglion_pool_inflight_requests{backend="pairs",stage="decode"} 7',
			'ganglion_pool_stage_choices_total{backend="pairs",reason="pair"} 9',
			'ganglion_pool_stage_choices_total{backend="pairs",reason="no_prefill"} 1',
			'ganglion_pool_stage_fallbacks_total{backend="pairs",reason="prefill_failed"} 2',
			'ganglion_pool_replicas{backend="vllm",state="active"} 2',
			'ganglion_pool_replicas{backend="vllm",state="open"} 1',
			'ganglion_pool_expected_ttft_seconds{backend="vllm"} 0.25',
			'ganglion_pool_engine_requests{backend="vllm",state="waiting"} 2',
			'ganglion_pool_incoming_requests_total{backend="tei"} 40',
			'ganglion_pool_replicas{backend="vllm",state="draining"} 1',
			'ganglion_pool_inflight_requests{backend="tei"} 7',
			'ganglion_pool_inflight_prefill_tokens{backend="vllm"} 900',
			'ganglion_pool_inflight_decode_tokens{backend="vllm"} 4000',
			'ganglion_pool_waiting_requests{backend="vllm"} 2',
			'ganglion_pool_waiting_tokens{backend="vllm"} 350',
			'ganglion_pool_queue_oldest_seconds{backend="vllm"} 1.25',
			'ganglion_pool_incoming_requests_total{backend="vllm"} 40',
			'ganglion_pool_rejected_total{backend="vllm",reason="full"} 5',
			'ganglion_pool_rejected_total{backend="vllm",reason="timeout"} 1',
			'ganglion_pool_rejected_total{backend="vllm",reason="drained"} 2',
		])
			expect(text).toContain(`${line}\n`);
		expect(text).not.toContain('ganglion_pool_waiting_requests{backend="tei"}');
		expect(text).not.toContain('ganglion_pool_inflight_requests{backend="pairs"}');
	});

	it("have the number of each process, and omit processes that do not answer", async () => {
		const engine: EngineReport = {
			...{ backend: "vllm", replica: "gpu-1", url: "http://gpu-1", model: "llama", circuit: "closed" },
			...{ requests: 3, failures: 0, begun: 3, waitedMs: 0 },
		};
		const pool: PoolReport = {
			...{ backend: "vllm", incoming: 1, active: ["http://1", "http://2"], draining: 0, requests: 1 },
			...{ prefillTokens: 0, decodeTokens: 0 },
		};
		const failures = new FailureCounts();
		failures.add(new AiError("rateLimited"));
		const report = { engines: [engine], pools: [pool], metrics: failures.metrics() };
		const reports = await allReports({
			health: { engines: () => [engine] } as never,
			pools: { reports: () => [] } as never,
			routing: { list: () => [] } as never,
			counts: () => [
				{ name: "sockets", used: 3, limit: 72, refused: 4 },
				{ name: "objects", used: 0, limit: Number.POSITIVE_INFINITY, refused: 0 },
			],
			separatedRequests: () => ({ separatesLarge: true, large: 5, small: 6 }),
			now: () => 0,
			startTimer: startPassedTimer,
			requestTimes: new RequestTimes(),
			failureCounts: failures,
			gatewayCounters: new GatewayCounters(),
			gatewayLogs: { metrics: () => [] } as never,
			otelExporter: { metrics: () => [] } as never,
			shadows: { metrics: () => [] } as never,
			workers: {
				worker: "1",
				peers: [
					{ worker: "2", report: () => Promise.resolve(report) },
					{ worker: "3", report: () => new Promise(() => {}) },
					{ worker: "4", report: () => Promise.reject(new Error("disconnected")) },
				],
			},
		});
		const text = metricsText({ accounts: [], ...reports });
		const up = [...text.matchAll(/^ganglion_worker_up(.*)$/gm)].map(([, sample]) => sample);
		expect(up).toEqual(['{worker="1"} 1', '{worker="2"} 1', '{worker="3"} 0', '{worker="4"} 0']);
		const labels = 'backend="vllm",replica="gpu-1",model="llama"';
		expect(text).toContain(`ganglion_engine_requests_total{${labels},worker="1"} 3\n`);
		expect(text).toContain(`ganglion_engine_requests_total{${labels},worker="2"} 3\n`);
		expect(text).toContain('ganglion_pool_replicas{backend="vllm",worker="2",state="active"} 2\n');
		expect(text).toContain('ganglion_held{class="sockets",worker="1"} 3\n');
		expect(text).toContain('ganglion_held_limit{class="sockets",worker="1"} 72\n');
		expect(text).not.toContain('ganglion_held_limit{class="objects"');
		expect(text).toContain('ganglion_held_refused_total{class="sockets",worker="1"} 4\n');
		expect(text).toContain('ganglion_separates_large{worker="1"} 1\n');
		for (const size of ['size="large",worker="1"} 5', 'size="small",worker="1"} 6'])
			expect(text).toContain(`ganglion_separated_requests_total{${size}\n`);
		const failed = 'ganglion_failures_total{class="limit",failure="rateLimited",code="3021",status="429"';
		for (const worker of ["1", "2"]) expect(text).toContain(`${failed},worker="${worker}"} 1\n`);
		expect(text.match(/^# TYPE ganglion_failures_total /gm)).toHaveLength(1);
	});
});

const reportOfPool = (backend: string): PoolReport => ({
	backend,
	incoming: 40,
	active: ["http://1", "http://2", "http://3"],
	draining: 1,
	expectedMs: 250,
	reported: { running: 5, waiting: 2 },
	requests: 7,
	prefillTokens: 900,
	decodeTokens: 4_000,
});
