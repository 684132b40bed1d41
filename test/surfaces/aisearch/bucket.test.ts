/** Buckets of R2 as sources of AI Search: developers.cloudflare.com/ai-search/configuration/data-source/r2. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ConfigError, configure } from "../../../src/config/index.ts";
import { searchApi } from "./api.ts";

const { LOGS_BUCKET: bucket } = env as unknown as { LOGS_BUCKET: R2Bucket };

function bucketApi(allowed: object = {}) {
	const prefix = `${crypto.randomUUID()}/`;
	const buckets = { manuals: { binding: "LOGS_BUCKET", ...allowed } };
	const api = searchApi({
		vars: { DEFAULT_BACKEND: "simulator", LOGS_BUCKET: bucket, AI_SEARCH: { buckets } },
	});
	const services = api.services as { now(): number };
	// The instance's object has the machine's clock: with an older one, its scheduled job would be due.
	let later = 0;
	services.now = () => Date.now() + later;
	return {
		...api,
		prefix,
		source: (params: object = {}) => ({
			type: "r2",
			source: "manuals",
			source_params: { prefix, ...params },
		}),
		put: (key: string, text: string, options?: R2PutOptions) => bucket.put(prefix + key, text, options),
		items: async (): Promise<{ key: string; status: string; error?: string; id: string }[]> =>
			(await api.get("/instances/docs/items?per_page=50&sort_by=modified_at")).result.map(
				(item: { key: string }) => ({
					...item,
					key: item.key.replace(prefix, ""),
				}),
			),
		sync: () => {
			later += 60_000;
			return api.post("/instances/docs/jobs", {});
		},
	};
}

afterEach(() => {
	vi.restoreAllMocks();
});

describe("a bucket", () => {
	it("is indexed, found and filtered by the metadata of its objects", async () => {
		const api = bucketApi();
		await api.put("guides/passwords.md", "# Passwords\n\nTo reset a password, open the settings page.", {
			customMetadata: { team: "web", year: "2026" },
		});
		await api.put("guides/invoices.html", "<p>Invoices are sent monthly.</p>", {
			httpMetadata: { contentType: "text/html" },
		});
		const custom_metadata = [
			{ field_name: "team", data_type: "text" },
			{ field_name: "year", data_type: "number" },
		];
		const created = await api.create("docs", { ...api.source(), custom_metadata });
		expect(created.result).toMatchObject({ type: "r2", source: "manuals" });
		const items = await api.items();
		expect(items.map(({ key, status }) => [key, status]).sort()).toEqual([
			["guides/invoices.html", "completed"],
			["guides/passwords.md", "completed"],
		]);
		const filters = { team: "web", year: { $gte: 2026 } };
		const { result } = await api.post("/instances/docs/search", {
			query: "reset password",
			ai_search_options: { retrieval: { filters } },
		});
		expect(result.chunks.map(({ item }: { item: { key: string } }) => item.key)).toEqual([
			`${api.prefix}guides/passwords.md`,
		]);
		const [first] = items;
		expect(await api.get(`/instances/docs/items/${first?.id}`)).toMatchObject({
			result: { source_id: "r2:manuals" },
		});
		const download = await api.send("GET", `/instances/docs/items/${first?.id}/download`);
		expect([download.status, await download.json()]).toMatchObject([400, { errors: [{ code: 7059 }] }]);
	});

	it("is indexed without metadata that is no value of its field, also if the field is named like one of every object", async () => {
		const api = bucketApi();
		await api.put("lies.md", "A page about turbines.", { customMetadata: { year: "soon", month: " " } });
		await api.put("truth.md", "Another page about turbines.", { customMetadata: { year: "2026" } });
		const custom_metadata = [
			{ field_name: "year", data_type: "number" },
			{ field_name: "month", data_type: "number" },
			{ field_name: "constructor", data_type: "boolean" },
		];
		await api.create("docs", { ...api.source(), custom_metadata });
		expect((await api.items()).map(({ key, status }) => [key, status]).sort()).toEqual([
			["lies.md", "completed"],
			["truth.md", "completed"],
		]);
		const { result } = await api.post("/instances/docs/search", { query: "turbines" });
		const metadata = new Map<string, object>(
			result.chunks.map(({ item }: { item: { key: string; metadata: object } }) => [
				item.key.replace(api.prefix, ""),
				item.metadata,
			]),
		);
		expect(metadata.get("lies.md")).toEqual({});
		expect(metadata.get("truth.md")).toEqual({ year: 2026 });
	});

	it("leaves what a cancelled job has not begun, until the next job", async () => {
		const api = bucketApi();
		await api.put("a.md", "A page.");
		api.hold();
		await api.create("docs", api.source());
		for (const work of api.held.splice(0)) await api.runOnce(work);
		const [job] = (await api.get("/instances/docs/jobs")).result;
		expect(await api.items()).toMatchObject([{ key: "a.md", status: "queued" }]);
		await api.patch(`/instances/docs/jobs/${job.id}`, { action: "cancel" });
		await api.runAll();
		expect(await api.items()).toMatchObject([{ key: "a.md", status: "skipped" }]);
		// The object has not changed since then.
		expect((await api.sync()).status).toBe(200);
		expect(await api.items()).toMatchObject([{ key: "a.md", status: "queued" }]);
	});

	it("follows changed, new and deleted objects, and indexes unchanged ones once", async () => {
		const api = bucketApi();
		for (const name of ["same", "changes", "goes"])
			await api.put(`${name}.md`, `Text of ${name}, first version.`);
		await api.create("docs", api.source());
		await api.put("changes.md", "Another text about turbines.");
		await api.put("new.md", "A new text.");
		await bucket.delete(`${api.prefix}goes.md`);
		const { result: job } = await api.sync();
		expect((await api.items()).map(({ key, status }) => [key, status]).sort()).toEqual([
			["changes.md", "completed"],
			["new.md", "completed"],
			["same.md", "completed"],
		]);
		const logs = await api.get(`/instances/docs/jobs/${job.id}/logs?per_page=50`);
		const indexed = logs.result.filter(({ message }: { message: string }) => message.includes("is indexed"));
		expect(indexed).toHaveLength(2);
		expect((await api.get(`/instances/docs/jobs/${job.id}`)).result).not.toHaveProperty("end_reason");
		const { result } = await api.post("/instances/docs/search", {
			query: "turbines",
			ai_search_options: { retrieval: { retrieval_type: "keyword" } },
		});
		expect(result.chunks).toHaveLength(1);
	});

	it("has errors for objects that cannot be indexed, and leaves the others", async () => {
		const api = bucketApi();
		await api.put("a.md", "A text.");
		await api.put("b.exe", "MZ");
		await api.put("c.html", "x".repeat(4 * 1024 * 1024 + 1));
		await api.put("folder/", "");
		await api.create("docs", api.source());
		expect((await api.items()).map(({ error, key, status }) => [key, status, error]).sort()).toEqual([
			["a.md", "completed", undefined],
			["b.exe", "error", "unsupported_type"],
			["c.html", "error", "over_size"],
		]);
		expect((await api.get("/instances/docs/jobs")).result[0].ended_at).toBeDefined();
	});

	it("has the objects of its prefix and patterns", async () => {
		const api = bucketApi();
		for (const name of ["docs/a.md", "docs/drafts/b.md", "docs/c.txt", "other/d.md"])
			await api.put(name, `Text ${name}`);
		await api.create(
			"docs",
			api.source({ include_items: ["**/docs/**/*.{md,mdx}"], exclude_items: ["**/drafts/*"] }),
		);
		expect((await api.items()).map(({ key }) => key)).toEqual(["docs/a.md"]);
	});

	it("lists more objects than one page, and goes on after a kill", async () => {
		const api = bucketApi();
		for (let at = 0; at < 600; at += 100)
			await Promise.all(Array.from({ length: 100 }, (_, index) => api.put(`${at + index}.bin`, "x")));
		await api.put("z.md", "The last one.");
		api.hold();
		await api.create("docs", api.source());
		const work = api.held.find(({ key }) => key.includes("sync/"));
		if (!work) throw new Error("no work was queued");
		const kill = new AbortController();
		const killing = api.runOnce(work, { signal: kill.signal });
		setTimeout(() => kill.abort(new Error("killed")), 100);
		await killing.catch(() => {});
		await api.runOne(work);
		await api.runAll();
		expect((await api.get("/instances/docs/items")).result_info.total_count).toBe(601);
		expect(
			(await api.get("/instances/docs/items?status=completed")).result.map(({ key }: { key: string }) => key),
		).toEqual([`${api.prefix}z.md`]);
	});

	it.each([
		[
			"begins again",
			(page: R2Objects): object => ({ ...page, objects: page.objects, truncated: true, cursor: "" }),
			"does not continue",
		],
		[
			"is empty and never ends",
			() => ({ objects: [], truncated: true, cursor: "next" }),
			"does not continue",
		],
	])("whose list %s ends the job, and keeps the items", async (_, changed, reason) => {
		let isChanged = false;
		let pages = 0;
		const list = bucket.list.bind(bucket);
		vi.spyOn(bucket, "list").mockImplementation(async (options) => {
			pages++;
			const page = await list({ ...options, cursor: undefined });
			return isChanged ? (changed(page) as R2Objects) : page;
		});
		const api = bucketApi();
		await api.put("a.md", "first");
		await api.create("docs", api.source());
		isChanged = true;
		const job = await api.sync();
		expect((await api.get(`/instances/docs/jobs/${job.result.id}`)).result.end_reason).toContain(reason);
		expect(pages).toBeGreaterThan(1);
		expect(await api.items()).toMatchObject([{ key: "a.md", status: "completed" }]);
	});

	it("that the operator has not allowed is refused", async () => {
		const api = bucketApi({ accounts: ["another"] });
		for (const source of ["manuals", "secrets"])
			expect((await api.create("docs", { ...api.source(), source })).errors[0]).toMatchObject({
				code: 1001,
				message: expect.stringContaining("AI_SEARCH.buckets"),
			});
	});

	it("needs an R2 binding in the configuration", () => {
		const variables = { AI_SEARCH: { buckets: { manuals: { binding: "NOTHING" } } } };
		expect(() => configure(variables)).toThrow(ConfigError);
		expect(() => configure(variables)).toThrow(
			/AI_SEARCH\.buckets\.manuals\.binding: expected the name of an R2 binding/,
		);
	});
});
