/** `GET …/ai/usage/vectors`, and the rate of queries. */
import { describe, expect, it } from "vitest";
import { type TestOptions, testGateway } from "../../gateway.ts";

const TODAY = "2026-11-21";

function gateway(vars: TestOptions["vars"] = {}) {
	const account = crypto.randomUUID();
	const { app, services } = testGateway({ vars });
	const send = (path: string, body?: unknown, method = body === undefined ? "GET" : "POST") =>
		app.request(`http://gateway/client/v4/accounts/${account}${path}`, {
			method,
			...(body !== undefined && {
				body: JSON.stringify(body),
				headers: { "content-type": "application/json" },
			}),
		});
	const indexes = "/vectorize/v2/indexes";
	return {
		account,
		services,
		send,
		create: (name: string, dimensions: number) =>
			send(indexes, { name, config: { dimensions, metric: "cosine" } }),
		insert: (name: string, ...vectors: { id: string; values: number[] }[]) =>
			send(`${indexes}/${name}/insert`, { vectors }),
		query: (name: string, vector: number[]) => send(`${indexes}/${name}/query`, { vector }),
		delete: (name: string) => send(`${indexes}/${name}`, undefined, "DELETE"),
		report: async (query = "") =>
			(await send(`/ai/usage/vectors${query}`)).json<{
				result: object[];
				result_info: { totals: { queries: number }; group_by: string[] };
			}>(),
	};
}

describe("GET /ai/usage/vectors", () => {
	it("has the dimensions of queries and of stored vectors, and their price", async () => {
		const api = gateway({
			VECTORS: { prices: { million_queried_dimensions: 0.01, hundred_million_stored_dimensions: 0.05 } },
		});
		await api.create("docs", 3);
		await api.create("pages", 2);
		await api.insert("docs", { id: "a", values: [1, 0, 0] }, { id: "b", values: [0, 1, 0] });
		await api.insert("pages", { id: "a", values: [1, 0] });
		await api.query("docs", [1, 0, 0]);
		await api.query("docs", [1, 0, 0]);
		await api.query("pages", [1, 0]);
		await api.query("docs", [1]);
		await expect
			.poll(async () => (await api.report()).result_info.totals.queries, { timeout: 10_000 })
			.toBe(3);
		const usd = (queried: number, stored: number) => {
			const ofDay = stored / 30;
			return expect.closeTo(((queried + ofDay) / 1e6) * 0.01 + (ofDay / 1e8) * 0.05, 15);
		};
		const query = `?from=${TODAY}&group_by=index,day`;
		expect(await api.report(query)).toEqual({
			result: [
				{
					...{ day: TODAY, index: "docs", queries: 2 },
					...{ queried_dimensions: 6, stored_dimensions: 6, usd: usd(6, 6) },
				},
				{
					...{ day: TODAY, index: "pages", queries: 1 },
					...{ queried_dimensions: 2, stored_dimensions: 2, usd: usd(2, 2) },
				},
			],
			success: true,
			errors: [],
			messages: [],
			result_info: {
				...{ from: TODAY, to: TODAY, group_by: ["day", "index"], count: 2, truncated: false },
				totals: { queries: 3, queried_dimensions: 8, stored_dimensions: 8, usd: usd(8, 8) },
			},
		});
		const csv = await (await api.send(`/ai/usage/vectors${query}&format=csv`)).text();
		expect(csv.split("\r\n")[0]).toBe("day,index,queries,queried_dimensions,stored_dimensions,usd");
		expect(csv.split("\r\n")[1]).toMatch(new RegExp(`^${TODAY},docs,2,6,6,`));
	});

	it("costs nothing unless there are prices", async () => {
		const api = gateway();
		await api.create("docs", 2);
		await api.insert("docs", { id: "a", values: [1, 0] });
		await expect
			.poll(async () => (await api.report()).result, { timeout: 10_000 })
			.toEqual([{ day: TODAY, queries: 0, queried_dimensions: 0, stored_dimensions: 2, usd: 0 }]);
		// The average of 30 days.
		expect((await api.report("?group_by=index")).result).toEqual([
			{ index: "docs", queries: 0, queried_dimensions: 0, stored_dimensions: 2 / 30, usd: 0 },
		]);
	});

	it("has its counts in the report of all usage", async () => {
		const api = gateway({ DEFAULT_BACKEND: "simulator" });
		const usage = async (query: string) =>
			(await api.send(`/ai/usage?${query}`)).json<{
				result: Record<string, unknown>[];
				result_info: { totals: object };
			}>();
		const counts = { vector_queries: 2, queried_dimensions: 6, stored_dimensions: 3 };
		await api.create("docs", 3);
		await api.insert("docs", { id: "a", values: [1, 0, 0] });
		await api.query("docs", [1, 0, 0]);
		await api.query("docs", [1, 0, 0]);
		// The day of models is that of the machine.
		const days = `from=${TODAY}&to=${new Date().toISOString().slice(0, 10)}`;
		await expect
			.poll(async () => (await usage(`${days}&group_by=model`)).result, { timeout: 10_000 })
			.toEqual([expect.objectContaining({ model: "vectorize/docs", requests: 0, neurons: 0, ...counts })]);
		await api.send("/ai/run/@cf/baai/bge-small-en-v1.5", { text: "a" });
		await expect
			.poll(async () => (await usage(`${days}&group_by=model,task`)).result.length, { timeout: 10_000 })
			.toBe(2);
		const { result, result_info } = await usage(`${days}&group_by=task,backend`);
		expect(result).toEqual([
			expect.not.objectContaining({ vector_queries: expect.anything() }),
			expect.objectContaining({ task: "Vector Query", backend: null, requests: 0, ...counts }),
		]);
		expect(result_info.totals).toMatchObject({ requests: 1, ...counts });
		const byDay = (await usage(`${days}&group_by=day`)).result;
		expect(byDay[0]).toMatchObject({ day: TODAY, requests: 0, ...counts });
		expect(byDay.at(-1)).toMatchObject({ requests: 1, vector_queries: 0, stored_dimensions: 3 });
		expect((await usage(`${days}&backend=simulator`)).result).toEqual([
			expect.not.objectContaining({ vector_queries: expect.anything() }),
		]);
		const csv = await (await api.send(`/ai/usage?${days}&group_by=model&format=csv`)).text();
		const [header, , row] = csv.split("\r\n");
		expect(header).toMatch(/^model,requests,.*,vector_queries,queried_dimensions,stored_dimensions$/);
		expect(row).toMatch(/^vectorize\/docs,0,.*,2,6,3$/);
	});

	it.each([
		["from=2026-02-02&to=2026-02-01", "from: is after to"],
		["group_by=model", 'group_by[0]: expected "day" or "index", found "model"'],
	])("refuses %s", async (query, message) => {
		const response = await gateway().send(`/ai/usage/vectors?${query}`);
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({ errors: [{ code: 1001, message }] });
	});
});

describe("LIMITS.requests_per_minute", () => {
	it("bounds the queries of an account", async () => {
		const api = gateway({ LIMITS: { requests_per_minute: { "Vector Query": 2 } } });
		await api.create("docs", 2);
		const statuses = [];
		for (let query = 0; query < 3; query++) statuses.push((await api.query("docs", [1, 0])).status);
		expect(statuses).toEqual([200, 200, 429]);
		const refused = await api.query("docs", [1, 0]);
		expect(await refused.json()).toMatchObject({ errors: [{ code: 3021 }] });
		expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
	});
});
