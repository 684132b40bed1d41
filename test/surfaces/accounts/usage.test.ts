import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import Papa from "papaparse";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Settlement } from "../../../src/accounts/admission.ts";
import { admission, callsTo, settlement, stubOf } from "../../accounts/fixtures.ts";
import { ADMIN, closedGateway, failureOf } from "../../http/access.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const BGE = "@cf/baai/bge-base-en-v1.5";

afterEach(() => {
	vi.useRealTimers();
});

/** Two requests of one model and one of another, and a gateway whose clock is the account's. */
async function used() {
	const gateway = closedGateway();
	const calls = callsTo(gateway.account);
	const serve = async (ticket: string, model: string, task: string, fields: Partial<Settlement>) => {
		await calls.admit(admission({ ticket, model, task }), []);
		await calls.settle([settlement(ticket, fields)]);
	};
	await serve("one", LLAMA, "Text Generation", {
		microNeurons: 1,
		inputTokens: 10,
		cachedTokens: 4,
		outputTokens: 2,
	});
	await serve("two", LLAMA, "Text Generation", {
		microNeurons: 9_007_199_254,
		outcome: "cancelled",
		estimated: true,
		attempts: 2,
		latencyMs: 31,
		firstTokenMs: 8,
		calls: [
			{ backend: "first", startedMs: 1, failedMs: 30, code: 3050 },
			{ backend: "second", startedMs: 31 },
		],
	});
	await serve("three", BGE, "Text Embeddings", { outcome: "failed", backend: "", code: 3040 });
	const day = new Date(gateway.services.now()).toISOString().slice(0, 10);
	return { ...gateway, day };
}

interface ListedRequest {
	result: { id: string; outcome: string; started_at: string; settled_at: string }[];
	result_info: { count: number; cursor?: string };
}

const zero = { input_tokens: 0, cached_tokens: 0, output_tokens: 0 };
const totals = {
	requests: 3,
	failed: 1,
	input_tokens: 10,
	cached_tokens: 4,
	output_tokens: 2,
	neurons: 9007.199255,
	// 10 and 31; 4 and 8.
	average_latency_ms: 21,
	average_time_to_first_token_ms: 6,
};

describe("GET /ai/usage", () => {
	it("sums the last 30 days by day", async () => {
		const { send, day } = await used();
		const from = new Date(Date.parse(day) - 29 * 86_400_000).toISOString().slice(0, 10);
		expect(await (await send("/ai/usage", ADMIN)).json()).toEqual({
			result: [{ day, ...totals }],
			success: true,
			errors: [],
			messages: [],
			result_info: { from, to: day, group_by: ["day"], count: 1, truncated: false, totals },
		});
	});

	it("groups by the requested dimensions, in one order", async () => {
		const { send } = await used();
		const response = await send("/ai/usage?group_by=backend,task,%20model", ADMIN);
		const report = await response.json<{ result: unknown; result_info: { group_by: string[] } }>();
		expect(report.result_info.group_by).toEqual(["model", "task", "backend"]);
		expect(report.result).toEqual([
			{
				model: BGE,
				task: "Text Embeddings",
				backend: null,
				requests: 1,
				failed: 1,
				...zero,
				neurons: 0,
				average_latency_ms: null,
				average_time_to_first_token_ms: null,
			},
			{
				model: LLAMA,
				task: "Text Generation",
				backend: "engine",
				...totals,
				requests: 2,
				failed: 0,
			},
		]);
	});

	it("counts a token's requests by its id", async () => {
		const gateway = closedGateway();
		const token = await gateway.createToken(["Workers AI Read"]);
		await gateway.send(`/ai/run/${LLAMA}`, token, {
			method: "POST",
			body: JSON.stringify({ prompt: "Hi" }),
			headers: { "content-type": "application/json" },
		});
		const { id } = (await (await gateway.send("/tokens/verify", token)).json<{ result: { id: string } }>())
			.result;
		await expect
			.poll(async () => {
				const response = await gateway.send("/ai/usage?group_by=token", token);
				return (await response.json<{ result: object[] }>()).result;
			})
			.toEqual([expect.objectContaining({ token: id, requests: 1, failed: 0 })]);
	});

	it("applies the filters", async () => {
		const { send, day } = await used();
		for (const [query, requests] of [
			[`model=${encodeURIComponent(LLAMA)}`, 2],
			["task=Text%20Embeddings", 1],
			["token=", 3],
			["backend=engine", 2],
			["to=2020-01-31", 0],
			[`from=${day}&to=${day}`, 3],
		] as const) {
			const response = await send(`/ai/usage?${query}`, ADMIN);
			const { result_info } = await response.json<{ result_info: { totals: { requests: number } } }>();
			expect(result_info.totals.requests, query).toBe(requests);
		}
	});

	it("is CSV for spreadsheets, to the byte", async () => {
		const { send, account, day } = await used();
		const response = await send(`/ai/usage?group_by=day,model&format=csv&from=${day}`, ADMIN);
		expect(response.headers.get("content-type")).toBe("text/csv; charset=utf-8; header=present");
		expect(response.headers.get("content-disposition")).toBe(
			`attachment; filename="usage-${account}-${day}-${day}.csv"`,
		);
		expect(await response.text()).toBe(
			[
				"day,model,requests,failed,input_tokens,cached_tokens,output_tokens,neurons,average_latency_ms,average_time_to_first_token_ms",
				`${day},${BGE},1,1,0,0,0,0,,`,
				`${day},${LLAMA},2,0,10,4,2,9007.199255,21,6`,
				"",
			].join("\r\n"),
		);
	});

	it("is CSV with only a header if nothing was used", async () => {
		const { send } = closedGateway();
		expect(await (await send("/ai/usage?format=csv", ADMIN)).text()).toBe(
			"day,requests,failed,input_tokens,cached_tokens,output_tokens,neurons,average_latency_ms,average_time_to_first_token_ms\r\n",
		);
	});

	it.each([
		['=HYPERLINK("http://evil","x")', `"'=HYPERLINK(""http://evil"",""x"")"`],
		["+1", `"'+1"`],
		["-1", `"'-1"`],
		["@SUM(A1)", `"'@SUM(A1)"`],
		["@cf/x+HYPERLINK(1)", `"'@cf/x+HYPERLINK(1)"`],
		["\t=1", `"'\t=1"`],
		["a,b", '"a,b"'],
		['a"b', '"a""b"'],
		["a\nb", '"a\nb"'],
		["@cf/meta/llama-3.1_8b", "@cf/meta/llama-3.1_8b"],
	])("escapes a model name that a spreadsheet would run: %j", async (model, cell) => {
		const { account, send } = closedGateway();
		const calls = callsTo(account);
		await calls.admit(admission({ ticket: "t", model }), []);
		await calls.settle([settlement("t")]);
		const text = await (await send("/ai/usage?group_by=model&format=csv", ADMIN)).text();
		expect(text.slice(text.indexOf("\r\n") + 2)).toBe(`${cell},1,0,0,0,0,0,10,4\r\n`);
		const [row] = Papa.parse<{ model: string }>(text, { header: true }).data;
		expect(row?.model.replace(/^'/, "")).toBe(model);
	});

	it.each([
		["from=yesterday", "from: expected a UTC day, like 2026-11-21"],
		["to=2026-02-30", "to: expected a UTC day, like 2026-11-21"],
		["from=2026-02-02&to=2026-02-01", "from: is after to"],
		["group_by=hour", 'group_by[0]: expected "day", "model", "task", "token" or "backend", found "hour"'],
		["group_by=", 'group_by[0]: expected "day", "model", "task", "token" or "backend", found ""'],
		["format=xml", 'format: expected "json" or "csv", found "xml"'],
		[
			"days=30",
			"days: expected no such field, only model, task, token, backend, from, to, format and group_by",
		],
	])("refuses %s", async (query, message) => {
		const { send } = closedGateway();
		expect(await failureOf(await send(`/ai/usage?${query}`, ADMIN))).toBe(`400 1001: ${message}`);
	});
});

describe("GET /ai/usage/refused", () => {
	/** Of two tasks, one request each is accepted. The rate of the first refuses two requests, that of the second one. */
	async function refused() {
		const gateway = closedGateway();
		const calls = callsTo(gateway.account);
		const send = (task: string) =>
			calls.admit(admission({ task, rates: [{ key: `task:${task}`, perMinute: 1 }] }), []);
		for (const task of ["Text Generation", "Text Embeddings", "Text Generation", "Text Generation"])
			await send(task);
		await send("Text Embeddings");
		return { ...gateway, day: new Date(gateway.services.now()).toISOString().slice(0, 10) };
	}

	it("counts refusals by day and code", async () => {
		const { send, day } = await refused();
		const from = new Date(Date.parse(day) - 29 * 86_400_000).toISOString().slice(0, 10);
		expect(await (await send("/ai/usage/refused", ADMIN)).json()).toEqual({
			result: [{ day, code: 3021, requests: 3 }],
			success: true,
			errors: [],
			messages: [],
			result_info: {
				from,
				to: day,
				group_by: ["day", "code"],
				count: 1,
				truncated: false,
				totals: { requests: 3 },
			},
		});
		const usage = await (await send("/ai/usage", ADMIN)).json<{ result: unknown[] }>();
		expect(usage.result).toEqual([]);
	});

	it("groups by the requested dimensions, and applies the filters", async () => {
		const { send, day } = await refused();
		const result = async (query: string) =>
			(await (await send(`/ai/usage/refused?${query}`, ADMIN)).json<{ result: unknown[] }>()).result;
		expect(await result("group_by=token,task")).toEqual([
			{ task: "Text Embeddings", token: null, requests: 1 },
			{ task: "Text Generation", token: null, requests: 2 },
		]);
		expect(await result("group_by=code&task=Text%20Embeddings")).toEqual([{ code: 3021, requests: 1 }]);
		expect(await result("token=x")).toEqual([]);
		expect(await result("to=2020-01-31")).toEqual([]);
		expect(await result(`from=${day}&to=${day}`)).toHaveLength(1);
	});

	it("is CSV for spreadsheets, to the byte", async () => {
		const { send, account, day } = await refused();
		const response = await send(`/ai/usage/refused?format=csv&from=${day}`, ADMIN);
		expect(response.headers.get("content-disposition")).toBe(
			`attachment; filename="refused-${account}-${day}-${day}.csv"`,
		);
		expect(await response.text()).toBe(`day,code,requests\r\n${day},3021,3\r\n`);
	});

	it.each([
		["from=2026-02-02&to=2026-02-01", "from: is after to"],
		["group_by=model", 'group_by[0]: expected "day", "code", "task" or "token", found "model"'],
		["model=x", "model: expected no such field, only task, token, from, to, format and group_by"],
	])("refuses %s", async (query, message) => {
		const { send } = closedGateway();
		expect(await failureOf(await send(`/ai/usage/refused?${query}`, ADMIN))).toBe(`400 1001: ${message}`);
	});
});

describe("/ai/usage/leases", () => {
	it("lists charged leases, and forgives one, only for the operator", async () => {
		const { account, createToken, send } = await used();
		const leaseRequest = { id: "lease-1", requests: 1, microNeurons: 7 };
		const journal = { journal: "j", sequence: 1, requests: [], settlements: [], returned: [] };
		const { ticket: _, ...request } = admission({ model: LLAMA });
		await callsTo(account).journal({ ...journal, renewals: [{ ...request, lease: leaseRequest }] });
		vi.setSystemTime(Date.now() + 16_000);
		await runDurableObjectAlarm(stubOf(account));
		const neurons = async () =>
			(await (await send("/ai/usage", ADMIN)).json<{ result_info: { totals: { neurons: number } } }>())
				.result_info.totals.neurons;
		expect(await neurons()).toBe(9007.199262);
		const list = async () => (await send("/ai/usage/leases?limit=5", ADMIN)).json<ListedRequest>();
		const charge = { id: "lease-1", model: LLAMA, outcome: "expired", reserved_neurons: 0.000007 };
		expect(await list()).toMatchObject({
			result: [{ ...charge, neurons: 0.000007 }],
			result_info: { count: 1 },
		});
		const path = "/ai/usage/leases/lease-1/forgive";
		const token = await createToken(["Workers AI Write"]);
		expect(await failureOf(await send(path, token, { method: "POST" }))).toMatch(/^403 10000: /);
		const forgiven = { ...charge, neurons: 0, forgiven_at: expect.stringMatching(/^20\d\d-/) };
		const answer = await send(path, ADMIN, { method: "POST" });
		expect((await answer.json<{ result: object }>()).result).toMatchObject(forgiven);
		expect((await list()).result).toMatchObject([forgiven]);
		expect(await neurons()).toBe(9007.199255);
		const other = await send("/ai/usage/leases/one/forgive", ADMIN, { method: "POST" });
		expect(await failureOf(other)).toBe(
			'404 7002: Charged lease not found: "one"; GET …/ai/usage/leases lists them',
		);
	});
});

describe("GET /ai/usage/requests", () => {
	it("lists the outcome of each request, the newest first", async () => {
		const { send } = await used();
		const { result, result_info } = await (await send("/ai/usage/requests", ADMIN)).json<ListedRequest>();
		expect(result_info).toEqual({ count: 3 });
		expect(result.map(({ id }) => id)).toEqual(["three", "two", "one"]);
		expect(result[0]).toMatchObject({ outcome: "failed", code: 3040, backend: null, neurons: 0 });
		expect(result[1]).toMatchObject({
			outcome: "cancelled",
			estimated: true,
			attempts: 2,
			calls: [
				{ backend: "first", started_ms: 1, failed_ms: 30, code: 3050 },
				{ backend: "second", started_ms: 31 },
			],
			neurons: 9007.199254,
		});
		expect(result[2]).toEqual({
			id: "one",
			outcome: "ok",
			model: LLAMA,
			task: "Text Generation",
			token: null,
			backend: "engine",
			attempts: 1,
			started_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
			settled_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
			latency_ms: 10,
			time_to_first_token_ms: 4,
			input_tokens: 10,
			cached_tokens: 4,
			output_tokens: 2,
			neurons: 0.000001,
			reserved_neurons: 0,
			estimated: false,
		});
	});

	it("has no latency for a request that is in progress or was not settled", async () => {
		const { account, send } = closedGateway();
		await callsTo(account).admit(admission({ ticket: "open" }), []);
		await callsTo(account).admit(admission({ ticket: "lost", holdMs: -1 }), []);
		await runDurableObjectAlarm(stubOf(account));
		const { result } = await (await send("/ai/usage/requests", ADMIN)).json<ListedRequest>();
		expect(result).toMatchObject([
			{ id: "open", outcome: "open", latency_ms: null },
			{ id: "lost", outcome: "expired", latency_ms: null },
		]);
		expect(result[0]).not.toHaveProperty("settled_at");
	});

	it("continues after the last row of a page, and ends", async () => {
		const { send } = await used();
		const page = async (query: string) =>
			(await send(`/ai/usage/requests?${query}`, ADMIN)).json<ListedRequest>();
		const first = await page("limit=2");
		expect(first.result.map(({ id }) => id)).toEqual(["three", "two"]);
		const second = await page(`limit=2&cursor=${first.result_info.cursor}`);
		expect(second.result.map(({ id }) => id)).toEqual(["one"]);
		expect(second.result_info).toEqual({ count: 1 });
	});

	it("applies the filters", async () => {
		const { account, send } = await used();
		await callsTo(account).admit(admission({ ticket: "four" }), []);
		for (const [query, ids] of [
			["outcome=failed", ["three"]],
			["outcome=open", ["four"]],
			[`model=${encodeURIComponent(LLAMA)}&outcome=ok`, ["one"]],
			["token=x", []],
		] as const) {
			const { result } = await (await send(`/ai/usage/requests?${query}`, ADMIN)).json<ListedRequest>();
			expect(
				result.map(({ id }) => id),
				query,
			).toEqual(ids);
		}
	});

	it.each([
		["interrupted", "cut"],
		["cancelled", "left"],
	] as const)(
		"lists rows of an earlier version as %s, and accepts the filter %s",
		async (outcome, earlier) => {
			const { account, send } = closedGateway();
			const calls = callsTo(account);
			for (const ticket of ["present", "earlier", "other"]) {
				await calls.admit(admission({ ticket }), []);
				await calls.settle([settlement(ticket, { outcome: ticket === "other" ? "ok" : outcome })]);
			}
			await runInDurableObject(stubOf(account), (_, { storage }) => {
				storage.sql.exec("UPDATE requests SET outcome = ? WHERE ticket = 'earlier'", earlier);
			});
			for (const filter of [outcome, earlier]) {
				const { result } = await (
					await send(`/ai/usage/requests?outcome=${filter}`, ADMIN)
				).json<ListedRequest>();
				expect(result).toMatchObject([
					{ id: "earlier", outcome },
					{ id: "present", outcome },
				]);
				expect(result).toHaveLength(2);
			}
		},
	);

	it.each([
		["limit=0", "limit: expected at least 1, found 0"],
		["limit=101", "limit: expected at most 100, found 101"],
		["cursor=-1", "cursor: expected a whole number"],
		[
			"outcome=well",
			'outcome: expected "ok", "failed", "interrupted", "cancelled", "expired", "open", "cut" or "left", found "well"',
		],
	])("refuses %s", async (query, message) => {
		const { send } = closedGateway();
		expect(await failureOf(await send(`/ai/usage/requests?${query}`, ADMIN))).toBe(`400 1001: ${message}`);
	});
});
