/** AI Search over REST: namespaces, instances, items and jobs. Codes and texts: developers.cloudflare.com/ai-search. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { bufferedBytes } from "../../../src/core/process-counts.ts";
import { holdAlarms, keepFiles, searchApi } from "./api.ts";

const NOW = "2026-11-21T12:00:00.000Z";
const PASSWORDS = "# Passwords\n\nTo reset a password, open the settings page and choose Reset password.";
const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

const failure = (status: number, code: number, message: string) => ({
	status,
	success: false,
	result: {},
	errors: [{ code, message }],
});

describe("namespaces", () => {
	it("are created, listed, changed and deleted", async () => {
		const api = searchApi();
		const closed = { public_endpoint_id: null, public_endpoint_params: null };
		const team = { name: "team-a", description: "Manuals", created_at: NOW, ...closed };
		expect((await api.post("/namespaces", { name: "team-a", description: "Manuals" })).result).toEqual(team);
		expect((await api.get("/namespaces/team-a")).result).toEqual(team);
		expect(await api.get("/namespaces")).toMatchObject({
			result: [{ name: "default" }, { name: "team-a" }],
			result_info: { count: 2, page: 1, per_page: 20, total_count: 2 },
		});
		expect((await api.get("/namespaces?search=team")).result).toEqual([team]);
		expect((await api.put("/namespaces/team-a", { description: "Guides" })).result.description).toBe(
			"Guides",
		);
		expect((await api.delete("/namespaces/team-a")).result).toEqual({ name: "team-a" });
		expect(await api.get("/namespaces/team-a")).toMatchObject(
			failure(404, 7063, 'namespace_not_found: "team-a"'),
		);
	});

	it("refuse what the product refuses", async () => {
		const api = searchApi();
		await api.post("/namespaces", { name: "team-a" });
		expect(await api.post("/namespaces", { name: "team-a" })).toMatchObject(
			failure(409, 7064, "namespace_already_exists"),
		);
		const fixed = failure(400, 7065, "cannot_modify_default_namespace");
		expect(await api.delete("/namespaces/default")).toMatchObject(fixed);
		expect(await api.put("/namespaces/default", { description: "x" })).toMatchObject(fixed);
		await api.post("/namespaces/team-a/instances", { id: "docs" });
		expect(await api.delete("/namespaces/team-a")).toMatchObject(failure(400, 7066, "namespace_not_empty"));
		expect(await api.post("/namespaces", { name: "Team A" })).toMatchObject({
			status: 400,
			errors: [
				{ code: 1001, message: expect.stringContaining("name: expected up to 64 lower-case letters") },
			],
		});
		expect(await api.post("/namespaces/team-b/instances", { id: "docs" })).toMatchObject(
			failure(404, 7063, 'namespace_not_found: "team-b"; did you mean "team-a"?'),
		);
	});
});

describe("instances", () => {
	it("are created, listed, shown, changed and deleted", async () => {
		const api = searchApi();
		const created = await api.create("docs", {
			max_num_results: 5,
			custom_metadata: [{ field_name: "Team", data_type: "text" }],
		});
		expect(created.result).toEqual({
			...{
				id: "docs",
				namespace: "default",
				type: null,
				source: null,
				ai_gateway_id: null,
				public_endpoint_id: null,
			},
			...{ embedding_model: "@cf/qwen/qwen3-embedding-0.6b", reranking_model: "@cf/baai/bge-reranker-base" },
			ai_search_model: "@cf/meta/llama-3.3-70b-instruct-fp8-fast",
			rewrite_model: "@cf/meta/llama-3.3-70b-instruct-fp8-fast",
			...{ rewrite_query: false, reranking: false, sync_interval: 21_600, fusion_method: "rrf", chunk: true },
			...{ cache: true, cache_threshold: "close_enough", cache_ttl: 172_800 },
			...{ chunk_size: 256, chunk_overlap: 10, max_num_results: 5, score_threshold: 0.4 },
			index_method: { vector: true, keyword: true },
			indexing_options: { keyword_tokenizer: "porter" },
			retrieval_options: { keyword_match_mode: "and", boost_by: [] },
			custom_metadata: [{ field_name: "team", data_type: "text" }],
			...{ metadata: {}, paused: false, enable: true, status: "ready", engine_version: 3 },
			...{ created_at: NOW, modified_at: NOW },
			...{ last_activity: null, created_by: null, modified_by: null },
		});
		await api.post("/namespaces/default/instances", { id: "faq" });
		expect(await api.get("/namespaces/default/instances?order_by_direction=asc")).toMatchObject({
			result: [{ id: "docs" }, { id: "faq" }],
			result_info: { count: 2, total_count: 2 },
		});
		expect((await api.get("/instances?search=fa&per_page=1")).result).toMatchObject([{ id: "faq" }]);
		expect((await api.put("/instances/docs", { score_threshold: 0.2 })).result).toMatchObject({
			...{ score_threshold: 0.2, max_num_results: 5 },
		});
		expect(await api.delete("/instances/docs")).toMatchObject({ status: 200, result: { id: "docs" } });
		expect(await api.get("/instances/docs")).toMatchObject(
			failure(404, 7002, 'ai_search_not_found: "docs" in the namespace "default"'),
		);
		expect(await api.get("/instances/fqa")).toMatchObject(
			failure(404, 7002, 'ai_search_not_found: "fqa" in the namespace "default"; did you mean "faq"?'),
		);
		expect(await api.delete("/instances/docs")).toMatchObject({ status: 404 });
	});

	it("keep their vector index until they are deleted", async () => {
		const api = searchApi();
		await api.create();
		await api.upload("a.md", PASSWORDS);
		const indexes = "http://gateway/client/v4/accounts/local/vectorize/v2/indexes";
		const call = async (path: string, init?: RequestInit) => {
			const response = await api.app.request(`${indexes}${path}`, init);
			// biome-ignore lint/suspicious/noExplicitAny: the test compares it.
			return { status: response.status, ...(await response.json<any>()) };
		};
		const [{ name }] = (await call("")).result;
		expect(await call(`/${name}`, { method: "DELETE" })).toMatchObject({
			...{ status: 400, success: false },
			errors: [
				{
					code: 1001,
					message:
						"the AI Search instance docs of the namespace default has its vectors in this index: delete the instance",
				},
			],
		});
		expect((await call(`/${name}`)).status).toBe(200);
		// The name of another version, which the instance does not have.
		expect((await call(`/${name}9`, { method: "DELETE" })).status).toBe(404);
		await api.delete("/instances/docs");
		// Deleted with its instance, or still there for a moment.
		expect([200, 404]).toContain((await call(`/${name}`, { method: "DELETE" })).status);
	});

	it.each([
		[{ id: "docs-" }, 1001, "id: expected up to 64"],
		[{ id: "a".repeat(65) }, 1001, "id: "],
		[{ id: "docs", type: "r2", source: "bucket" }, 1001, "source: expected the name of a bucket"],
		[{ id: "docs", type: "web-crawler" }, 1001, "source: expected the name of a bucket or an address"],
		[{ id: "docs", sync_interval: 60 }, 1001, "sync_interval"],
		[{ id: "docs", chunk_size: 63 }, 7036, "invalid_chunk_size: expected a whole number from 64 to 8192"],
		[{ id: "docs", chunk_overlap: 31 }, 1001, "chunk_overlap: expected at most 30, found 31"],
		[{ id: "docs", max_num_results: 51 }, 1001, "max_num_results: expected at most 50, found 51"],
		[{ id: "docs", index_method: { vector: false, keyword: false } }, 1001, "index_method: expected vector"],
		[{ id: "docs", custom_metadata: [{ field_name: "Folder", data_type: "text" }] }, 1001, "reserved"],
		[
			{ id: "docs", embedding_model: "@cf/baai/bge-m4" },
			7010,
			'did you mean "@cf/baai/bge-m3"? The instance names it in embedding_model',
		],
		[
			{ id: "docs", reranking_model: "@cf/baai/bge-reranker" },
			7010,
			'did you mean "@cf/baai/bge-reranker-base"? The instance names it in reranking_model',
		],
		[
			{ id: "docs", ai_search_model: "acme/zzzz" },
			7010,
			"invalid_model: Model not found: acme/zzzz. The instance names it in ai_search_model",
		],
		[
			{ id: "docs", ai_gateway_id: "de fault" },
			7018,
			'ai_gateway_not_found: the account has no gateway "de fault"; did you mean "default"?',
		],
		[
			{ id: "docs", retrieval_options: { boost_by: [{ field: "filename", direction: "asc" }] } },
			7058,
			"boost_by: filename has no order",
		],
	])("refuse %j", async (body, code, message) => {
		expect(await searchApi().post("/instances", body)).toMatchObject({
			status: 400,
			errors: [{ code, message: expect.stringContaining(message) }],
		});
	});

	it("refuse a change to what does not exist, and a client may write back what it has read", async () => {
		const api = searchApi();
		// In local development every gateway exists.
		const find = vi.spyOn(api.services.gateways, "find").mockResolvedValue(undefined);
		expect(await api.create("faq", { ai_gateway_id: "no-such" })).toMatchObject(
			failure(400, 7018, 'ai_gateway_not_found: the account has no gateway "no-such"'),
		);
		expect(await api.create("faq", { ai_gateway_id: 'a" or "b' })).toMatchObject(
			failure(400, 7018, 'ai_gateway_not_found: the account has no gateway "a\\" or \\"b"'),
		);
		expect(await api.get("/instances/faq")).toMatchObject({ status: 404 });
		const { result } = await api.create("docs", { embedding_model: "@cf/baai/bge-m3" });
		for (const [change, code] of [
			[{ embedding_model: "@cf/baai/bge-m4" }, 7010],
			[{ ai_search_model: "@cf/meta/llama-9" }, 7010],
			[{ ai_gateway_id: "no-such" }, 7018],
		] as const)
			expect(await api.put("/instances/docs", change)).toMatchObject({ status: 400, errors: [{ code }] });
		expect((await api.get("/instances/docs")).result).toEqual(result);
		find.mockRestore();
		expect((await api.put("/instances/docs", { ai_gateway_id: "mine" })).status).toBe(200);
		// The key of a provider may be stored later.
		const later = { ai_search_model: "openai/gpt-5-newer", rewrite_model: "openai/gpt-5-new" };
		expect((await api.put("/instances/docs", later)).result).toMatchObject(later);
		const written = await api.put("/instances/docs", (await api.get("/instances/docs")).result);
		expect(written.result).toMatchObject(later);
	});

	it("have unique names, and as many as the setting allows", async () => {
		const api = searchApi({ vars: { DEFAULT_BACKEND: "simulator", AI_SEARCH: { max_instances: 1 } } });
		await api.create("docs");
		expect(await api.create("docs")).toMatchObject(
			failure(400, 7022, "ai_search_with_this_name_already_exist"),
		);
		expect(await api.create("faq")).toMatchObject(
			failure(403, 7013, "max_instances_reached: AI_SEARCH.max_instances"),
		);
	});

	it("leave nothing when they are deleted", async () => {
		const api = searchApi();
		await api.create();
		await api.upload("passwords.md", PASSWORDS);
		const before = await api.services.searchInstances.usage("local");
		expect(before).toMatchObject({ instances: 1, items: 1, chunks: 1 });
		const { record } = await api.services.searchInstances.open("local", "default", "docs");
		expect(await api.services.vectorIndexes.list("local")).toHaveLength(1);
		await api.delete("/instances/docs");
		await api.runOne({
			...{ account: "local", kind: "search", key: "drop" },
			payload: {
				task: "drop",
				object: record.object,
				namespace: "default",
				instance: "docs",
				indexVersion: 1,
			},
		});
		expect(await api.services.searchInstances.usage("local")).toEqual({
			instances: 0,
			items: 0,
			chunks: 0,
			bytes: 0,
		});
		expect(await api.services.vectorIndexes.list("local")).toEqual([]);
		expect((await api.services.storage.blobs("local").list({ prefix: "search/" })).blobs).toEqual([]);
		// A new one with the name is empty.
		await api.create();
		expect((await api.get("/instances/docs/items")).result).toEqual([]);
	});

	it("index all items again after a change of the index", async () => {
		const api = searchApi();
		const enqueue = await holdAlarms();
		onTestFinished(() => void vi.restoreAllMocks());
		await api.create();
		await api.upload("passwords.md", PASSWORDS, { metadata: '{"team": "support"}' });
		await api.put("/instances/docs", { custom_metadata: [{ field_name: "team", data_type: "text" }] });
		expect((await api.get("/instances/docs/items")).result).toMatchObject([{ status: "queued" }]);
		const { record } = await api.services.searchInstances.open("local", "default", "docs");
		expect(record.indexVersion).toBe(2);
		// The object's alarm, which is due, puts the items into the queue. Here the test runs them.
		await vi.waitFor(() => expect(enqueue).toHaveBeenCalled(), { timeout: 10_000 });
		vi.restoreAllMocks();
		const [item] = (await api.get("/instances/docs/items")).result;
		await api.runOne({
			...{ account: "local", kind: "search", key: "again" },
			payload: {
				task: "ingest",
				object: record.object,
				namespace: "default",
				instance: "docs",
				item: item.id,
				revision: 2,
			},
		});
		const found = await api.post("/instances/docs/search", {
			query: "reset password",
			ai_search_options: { retrieval: { filters: { team: "support" } } },
		});
		expect(found.result.chunks).toMatchObject([
			{ id: `${item.id}.2.0`, scoring_details: { vector_rank: 1, keyword_rank: 1 } },
		]);
		expect((await api.services.vectorIndexes.list("local")).map(({ name }) => name)).toEqual([
			expect.stringMatching(/^ai-search-.*-2$/),
		]);
	});
});

describe("an upload whose call of the instance's object fails", () => {
	type Put = (...parameters: unknown[]) => Promise<unknown>;
	const prototype = (): Promise<{ put: Put }> =>
		runInDurableObject(env.SEARCH_INSTANCE.getByName("prototype"), (instance) =>
			Object.getPrototypeOf(Object.getPrototypeOf(instance)),
		);
	const files = async ({ services }: ReturnType<typeof searchApi>) =>
		(await services.storage.blobs("local").list({ prefix: "search/" })).blobs.length;

	it("leaves no file", async () => {
		const api = searchApi();
		await api.create();
		const put = vi.spyOn(await prototype(), "put").mockRejectedValueOnce(new Error("interrupted"));
		onTestFinished(() => put.mockRestore());
		expect(await api.upload("a.md", PASSWORDS)).toMatchObject({ status: 502 });
		expect(put).toHaveBeenCalledOnce();
		expect(await files(api)).toBe(0);
	});

	it("logs a file that cannot be deleted", async () => {
		const api = searchApi();
		await api.create();
		const logged = keepFiles(api);
		const put = vi.spyOn(await prototype(), "put").mockRejectedValueOnce(new Error("interrupted"));
		onTestFinished(() => put.mockRestore());
		expect(await api.upload("a.md", PASSWORDS)).toMatchObject({ status: 502 });
		expect(await files(api)).toBe(1);
		expect(logged).toContain("storageUnavailable");
	});

	it("keeps the file if the object has the item, because only the answer was lost", async () => {
		const api = searchApi();
		await api.create();
		const methods = await prototype();
		const { put: original } = methods;
		const put = vi.spyOn(methods, "put").mockImplementationOnce(async function (this: object, ...sent) {
			await Reflect.apply(original, this, sent);
			throw new Error("interrupted");
		});
		onTestFinished(() => put.mockRestore());
		expect(await api.upload("a.md", PASSWORDS)).toMatchObject({ status: 502 });
		expect(await files(api)).toBe(1);
		const { result } = await api.get("/instances/docs/items");
		const path = `/instances/docs/items/${result[0].id}/download`;
		expect(await (await api.send("GET", path)).text()).toBe(PASSWORDS);
	});
});

describe("items", () => {
	it("are uploaded, listed, shown, downloaded and deleted", async () => {
		const api = searchApi();
		await api.create();
		api.hold();
		const { result: item } = await api.upload("guides/passwords.md", PASSWORDS, {
			metadata: '{"Team": "support"}',
		});
		expect(item).toEqual({
			...{
				id: expect.stringMatching(UUID),
				key: "guides/passwords.md",
				status: "queued",
				next_action: "INDEX",
			},
			checksum: "d8a2d8d126f529df1551996b83dd16e96c4d9bec885f176f781ccd1978e9366d",
			...{ namespace: "default", chunks_count: null, file_size: 83, source_id: "builtin" },
			...{ created_at: NOW, last_seen_at: NOW },
			metadata: {
				filename: "guides/passwords.md",
				folder: "guides/",
				timestamp: Date.parse(NOW),
				team: "support",
			},
		});
		await api.runAll();
		const path = `/instances/docs/items/${item.id}`;
		expect((await api.get(path)).result).toMatchObject({
			status: "completed",
			next_action: null,
			chunks_count: 1,
		});
		expect(
			(await api.get("/instances/docs/items?status=completed&search=pass&key=guides/passwords.md")).result,
		).toHaveLength(1);
		expect((await api.get("/instances/docs/items?status=error")).result).toEqual([]);
		const filter = (value: object) =>
			api.get(`/instances/docs/items?metadata_filter=${encodeURIComponent(JSON.stringify(value))}`);
		expect((await filter({ folder: "guides/" })).result_info.total_count).toBe(1);
		expect((await filter({ folder: "manuals/" })).result).toEqual([]);
		const held = () => bufferedBytes.report().used;
		const before = held();
		const file = await api.send("GET", `${path}/download`);
		// A caller who does not read is bounded as those of files: test/surfaces/jobs/stalled-readers.test.ts.
		expect(held() - before).toBe(128 * 1024);
		expect(await file.text()).toBe(PASSWORDS);
		expect(held()).toBe(before);
		expect(file.headers.get("content-disposition")).toBe("attachment; filename*=UTF-8''passwords.md");
		expect((await api.get(`${path}/chunks`)).result).toMatchObject([
			{
				id: `${item.id}.1.0`,
				text: PASSWORDS,
				start_byte: 0,
				end_byte: 83,
				item: { key: "guides/passwords.md" },
			},
		]);
		expect(await api.get(`${path}/logs?limit=1`)).toMatchObject({
			result: [{ action: "indexed", message: "The item is indexed. Chunks: 1", chunkCount: 1 }],
			result_info: { count: 1, per_page: 1, truncated: true, cursor: expect.stringMatching(/^\d+$/) },
		});
		expect(await api.delete("/instances/docs/items/guides%2Fpasswords.md")).toMatchObject(
			failure(404, 7041, `item_not_found: "guides/passwords.md"; the id of this key is "${item.id}"`),
		);
		expect(await api.delete(path)).toMatchObject({ status: 200, result: { key: "guides/passwords.md" } });
		await api.runAll();
		expect(await api.get(path)).toMatchObject(failure(404, 7041, `item_not_found: "${item.id}"`));
		expect((await api.get("/instances/docs/stats")).result).toMatchObject({
			...{
				completed: 0,
				engine: { vectorize: { vectorsCount: 0, dimensions: 1024 }, r2: { objectCount: 0 } },
			},
		});
		expect((await api.services.storage.blobs("local").list({ prefix: "search/" })).blobs).toEqual([]);
	});

	it("are replaced by an upload with their key, and only their last revision is found", async () => {
		const api = searchApi();
		await api.create();
		const first = await api.upload("policy.md", "Holidays are twenty days.");
		const second = await api.upload("policy.md", "Holidays are thirty days.", {
			wait_for_completion: "true",
		});
		expect(second.result).toMatchObject({ id: first.result.id, status: "completed" });
		const { chunks } = (await api.post("/instances/docs/search", { query: "holidays days" })).result;
		expect(chunks.map(({ text }: { text: string }) => text)).toEqual(["Holidays are thirty days."]);
		const { result } = await api.get("/instances/docs/stats");
		expect(result.engine.vectorize.vectorsCount).toBe(1);
		const seen = (await api.get(`/instances/docs/items/${first.result.id}`)).result.last_seen_at;
		const activity = { last_activity: seen, created_by: null, modified_by: null };
		expect((await api.get("/instances/docs")).result).toMatchObject(activity);
		expect((await api.put("/instances/docs", { max_num_results: 3 })).result).toMatchObject(activity);
	});

	it("are not uploaded by a form with a wrong field", async () => {
		const api = searchApi();
		await api.create();
		expect(await api.upload("policy.md", "Holidays.", { wait_for_completion: "yes" })).toMatchObject({
			status: 400,
			errors: [{ code: 1001, message: 'wait_for_completion: expected "true" or "false", found "yes"' }],
		});
		const form = new FormData();
		form.set("files", new File(["Holidays."], "policy.md"));
		expect(await api.post("/instances/docs/items", form)).toMatchObject({
			status: 400,
			errors: [{ code: 7055, message: 'file_field_is_required: files: unknown; did you mean "file"?' }],
		});
		expect((await api.get("/instances/docs/items")).result).toEqual([]);
	});

	it("end their run for an earlier revision without a trace", async () => {
		const api = searchApi();
		await api.create();
		api.hold();
		await api.upload("policy.md", "Holidays are twenty days.");
		await api.upload("policy.md", "Holidays are thirty days.");
		const [old] = api.held;
		await api.runAll();
		if (old) await api.runOne(old, 2);
		expect((await api.get("/instances/docs/items")).result).toMatchObject([
			{ status: "completed", chunks_count: 1 },
		]);
		const { chunks } = (await api.post("/instances/docs/search", { query: "twenty" })).result;
		expect(chunks).toEqual([]);
	});

	it("are indexed again by their id and by their key", async () => {
		const api = searchApi();
		await api.create();
		const { result: item } = await api.upload("policy.md", "Holidays are twenty days.");
		const path = `/instances/docs/items/${item.id}`;
		expect((await api.patch(path, { next_action: "INDEX" })).result.status).toBe("queued");
		const again = { key: "policy.md", next_action: "INDEX", wait_for_completion: true };
		expect((await api.put("/instances/docs/items", again)).result.status).toBe("completed");
		expect(await api.put("/instances/docs/items", { ...again, key: "other.md" })).toMatchObject({
			status: 404,
		});
		expect(await api.patch(path, { next_action: "DELETE" })).toMatchObject({
			status: 400,
			errors: [{ code: 1001 }],
		});
	});

	it("show why they cannot be indexed", async () => {
		const api = searchApi();
		await api.create();
		const { result: empty } = await api.upload("empty.md", " \n");
		const { result: broken } = await api.upload("broken.pdf", "no PDF");
		expect((await api.get(`/instances/docs/items/${empty.id}`)).result).toMatchObject({
			...{ status: "error", error: "file_content_empty" },
		});
		expect((await api.get(`/instances/docs/items/${broken.id}`)).result).toMatchObject({
			...{ status: "error", error: "unable_to_convert_to_markdown" },
		});
		expect((await api.get(`/instances/docs/items/${broken.id}/logs`)).result[0]).toMatchObject({
			...{ action: "error", errorType: "unable_to_convert_to_markdown" },
		});
		expect((await api.get("/instances/docs/stats")).result).toMatchObject({
			error: 2,
			file_embed_errors: { file_content_empty: 1, unable_to_convert_to_markdown: 1 },
		});
	});

	it("refuse what the product refuses", async () => {
		const api = searchApi();
		await api.create();
		expect(await api.upload("movie.mp4x", "x")).toMatchObject({ status: 200 });
		expect(await api.upload("a.md", "x", { metadata: "{" })).toMatchObject(
			failure(400, 7056, "invalid_metadata_format: expected JSON"),
		);
		expect(await api.upload("a.md", "x", { metadata: '{"folder": "x"}' })).toMatchObject(
			failure(400, 7056, "invalid_metadata_format: folder is reserved"),
		);
		expect(await api.upload(`${"a".repeat(126)}.md`, "x")).toMatchObject(
			failure(400, 7072, "filename_exceeds_maximum_length"),
		);
		expect(await api.upload("big.html", "x".repeat(4 * 1024 * 1024 + 1))).toMatchObject(
			failure(413, 7054, "file_exceeds_maximum_size"),
		);
		const form = new FormData();
		form.set("metadata", "{}");
		expect(await api.post("/instances/docs/items", form)).toMatchObject(
			failure(400, 7055, "file_field_is_required"),
		);
		form.set("file", new File(["x"], "movie.mp4", { type: "video/mp4" }));
		expect(await api.post("/instances/docs/items", form)).toMatchObject(
			failure(400, 7060, "unsupported_file_type"),
		);
		expect(await api.upload("a.md", "x", {}, "faq")).toMatchObject(
			failure(404, 7002, 'ai_search_not_found: "faq" in the namespace "default"'),
		);
	});

	it("need room in the account", async () => {
		const api = searchApi({ vars: { DEFAULT_BACKEND: "simulator", AI_SEARCH: { max_bytes: 100 } } });
		await api.create();
		const { result: item } = await api.upload("passwords.md", PASSWORDS);
		expect((await api.get(`/instances/docs/items/${item.id}/logs`)).result[0].message).toBe(
			"The account's AI Search is full (AI_SEARCH.max_bytes)",
		);
	});
});

describe("jobs", () => {
	it("index all items again, and end with the last one", async () => {
		const api = searchApi();
		await api.create();
		const { result: item } = await api.upload("policy.md", "Holidays are twenty days.");
		const { result: job } = await api.post("/instances/docs/jobs", { description: "Again" });
		expect(job).toEqual({
			...{
				id: expect.stringMatching(UUID),
				source: "user",
				description: "Again",
				started_at: NOW,
				last_seen_at: NOW,
			},
		});
		const path = `/instances/docs/jobs/${job.id}`;
		expect(await api.post("/instances/docs/jobs")).toMatchObject(failure(429, 7020, "sync_in_cooldown"));
		const { record } = await api.services.searchInstances.open("local", "default", "docs");
		await api.runOne({
			...{ account: "local", kind: "search", key: "job" },
			payload: {
				task: "ingest",
				object: record.object,
				namespace: "default",
				instance: "docs",
				item: item.id,
				revision: 2,
			},
		});
		expect((await api.get(path)).result).toMatchObject({ ended_at: NOW });
		expect((await api.get("/instances/docs/jobs")).result).toMatchObject([{ id: job.id, ended_at: NOW }]);
		expect((await api.get(`${path}/logs`)).result.map(({ message }: { message: string }) => message)).toEqual(
			["Items of the job: 1", "policy.md: The item is indexed. Chunks: 1", "The job has ended"],
		);
		expect(await api.patch(path, { action: "cancel" })).toMatchObject(
			failure(400, 7046, "job_cannot_be_cancelled"),
		);
		expect(await api.get("/instances/docs/jobs/none")).toMatchObject(
			failure(404, 7021, 'job_not_found: "none"'),
		);
	});

	it("can be cancelled: what has not begun does not run, and is found as it was before", async () => {
		const api = searchApi();
		await api.create();
		for (const key of ["begun.md", "policy.md"]) await api.upload(key, "Holidays are twenty days.");
		const { result: job } = await api.post("/instances/docs/jobs");
		const items = (await api.get("/instances/docs/items")).result as { id: string; key: string }[];
		const idOf = (name: string): string => items.find(({ key }) => key === name)?.id ?? "";
		const { object } = (await api.services.searchInstances.find("local", "default", "docs")) ?? {
			object: "",
		};
		const run = (name: string) =>
			api.runOne({
				...{ account: "local", key: `search/${idOf(name)}`, kind: "search" },
				payload: {
					...{ task: "ingest", namespace: "default", instance: "docs", object },
					...{ item: idOf(name), revision: 2 },
				},
			});
		await run("begun.md");
		const path = `/instances/docs/jobs/${job.id}`;
		expect((await api.patch(path, { action: "cancel" })).result).toMatchObject({
			...{ ended_at: NOW, end_reason: "cancelled_by_user" },
		});
		await run("policy.md");
		const statuses = async () =>
			(await api.get("/instances/docs/items")).result
				.map(({ key, status }: { key: string; status: string }) => [key, status])
				.sort();
		expect(await statuses()).toEqual([
			["begun.md", "completed"],
			["policy.md", "outdated"],
		]);
		expect((await api.get("/instances/docs/stats")).result).toMatchObject({ completed: 1, outdated: 1 });
		const { result } = await api.post("/instances/docs/search", { query: "holidays" });
		expect(result.chunks.map(({ item }: { item: { key: string } }) => item.key).sort()).toEqual([
			"begun.md",
			"policy.md",
		]);
		expect((await api.get(`${path}/logs`)).result.map(({ message }: { message: string }) => message)).toEqual(
			[
				"Items of the job: 2",
				"begun.md: The item is indexed. Chunks: 1",
				"Items that are not indexed: 1",
				"The job has ended: cancelled_by_user",
			],
		);
		// An order for the item, or the next job, indexes it.
		const ordered = await api.patch(`/instances/docs/items/${idOf("policy.md")}`, { next_action: "INDEX" });
		expect(ordered.result.status).toBe("queued");
		await api.runAll();
		expect((await api.get(`/instances/docs/items/${idOf("policy.md")}`)).result.status).toBe("completed");
	});
});
