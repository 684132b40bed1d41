/** The entrypoints of AI Search through service bindings of another Worker: each call is over RPC, and the Worker's own queue indexes items. */
import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { bufferedBytes } from "../../../src/core/process-counts.ts";

interface Item {
	info(): Promise<{ key: string; status: string }>;
	download(): Promise<{ body: ReadableStream; contentType: string; filename: string; size: number }>;
	sync(): Promise<{ status: string }>;
	logs(params?: object): Promise<{ result: object[]; result_info: object }>;
	chunks(params?: object): Promise<{ result: { text: string }[]; result_info: object }>;
}
interface Instance {
	search(
		request: object,
	): Promise<{ search_query: string; chunks: { text: string; item: { key: string } }[] }>;
	chatCompletions(request: object): Promise<unknown>;
	info(): Promise<{ id: string; max_num_results: number }>;
	update(changes: object): Promise<object>;
	stats(): Promise<object>;
	items: {
		list(params?: object): Promise<{ result: object[]; result_info: object }>;
		upload(name: string, content: unknown, options?: object): Promise<{ id: string; status: string }>;
		uploadAndPoll(name: string, content: unknown, options?: object): Promise<{ id: string; status: string }>;
		get(id: string): Item;
		delete(id: string): Promise<void>;
	};
	jobs: {
		create(params?: object): Promise<{ id: string }>;
		list(): Promise<{ result: object[] }>;
		get(id: string): {
			info(): Promise<object>;
			logs(): Promise<{ result: object[] }>;
			cancel(): Promise<object>;
		};
	};
}
interface Namespace {
	get(name: string): Instance;
	list(params?: object): Promise<{ result: { id: string }[]; result_info: object }>;
	create(config: object): Promise<Instance>;
	delete(name: string): Promise<void>;
	search(request: object): Promise<{ chunks: object[]; errors?: object[] }>;
	chatCompletions(request: object): Promise<unknown>;
}
type Entrypoint = "AiSearchInstance" | "AiSearchNamespace";
const bound = <Binding>(entrypoint: Entrypoint, props: object): Binding =>
	(exports as unknown as Record<Entrypoint, (options: { props: object }) => Binding>)[entrypoint]({ props });

const account = `team-${crypto.randomUUID()}`;
const namespace = bound<Namespace>("AiSearchNamespace", { account });
const TEXT = "To reset a password, open the settings page.";
const poll = { pollIntervalMs: 50, timeoutMs: 30_000 };

const failure = (call: Promise<unknown>): Promise<object> =>
	call.then(
		(value) => ({ value }),
		({ name, message }: Error) => ({ name, message }),
	);

describe("AiSearchNamespace", () => {
	it("creates the namespace and the instance of a local session at the first use", async () => {
		const props = { account, namespace: "team-a", create: true };
		expect(await bound<Instance>("AiSearchInstance", { ...props, instance: "pages" }).info()).toMatchObject({
			id: "pages",
		});
		const other = bound<Namespace>("AiSearchNamespace", { ...props, namespace: "team-b" });
		expect((await other.list()).result).toEqual([]);
		const absent = bound<Namespace>("AiSearchNamespace", { account, namespace: "team-c" });
		expect(await failure(absent.list())).toEqual({
			name: "AiSearchNotFoundError",
			message: 'namespace_not_found: "team-c"; did you mean "team-a"?',
		});
	});

	it("creates, lists, searches and deletes instances", async () => {
		await namespace.create({ id: "docs" });
		const docs = namespace.get("docs");
		expect(await docs.info()).toMatchObject({ id: "docs", max_num_results: 10 });
		expect(await docs.update({ max_num_results: 3 })).toMatchObject({ max_num_results: 3 });
		const item = await docs.items.uploadAndPoll("guides/a.md", TEXT, { metadata: { team: "x" }, ...poll });
		expect(item.status).toBe("completed");
		const query = { query: "reset password", ai_search_options: { instance_ids: ["docs", "none"] } };
		expect(await namespace.search(query)).toMatchObject({
			chunks: [{ instance_id: "docs", text: TEXT }],
			errors: [
				{
					instance_id: "none",
					message: 'search_failed: ai_search_not_found: "none" in the namespace "default"',
				},
			],
		});
		expect(await namespace.list()).toMatchObject({
			result: [{ id: "docs", last_activity: null }],
			result_info: { count: 1, page: 1, per_page: 20, total_count: 1 },
		});
		await namespace.delete("docs");
		expect(await failure(docs.info())).toEqual({
			name: "AiSearchNotFoundError",
			message: 'ai_search_not_found: "docs" in the namespace "default"',
		});
	});

	it("throws the errors of the product", async () => {
		expect(await failure(namespace.get("none").search({ query: "x" }))).toEqual({
			...{ name: "AiSearchNotFoundError", message: 'ai_search_not_found: "none" in the namespace "default"' },
		});
		expect(await failure(namespace.create({ id: "Docs" }))).toMatchObject({ name: "AiSearchError" });
		expect(await failure(namespace.search({ query: "x" }))).toMatchObject({ name: "AiSearchError" });
		expect(await failure(bound<Namespace>("AiSearchNamespace", {}).list())).toMatchObject({
			message: expect.stringContaining("the binding has no props.account"),
		});
	});
});

describe("AiSearchInstance", () => {
	const docs = bound<Instance>("AiSearchInstance", { account, instance: "faq", create: true });

	it("is created at its first use, and has items, searches and chats", async () => {
		// The tests' wrapper of entrypoints does not call methods of a property before it is awaited. The runtime does.
		const items = await docs.items;
		const stream = new Response(TEXT).body;
		const uploaded = await items.uploadAndPoll("a.md", stream, poll);
		expect(uploaded.status).toBe("completed");
		for (const content of [new TextEncoder().encode(TEXT).buffer, new Blob([TEXT])])
			expect((await items.uploadAndPoll("a.md", content, poll)).id).toBe(uploaded.id);
		const item = items.get(uploaded.id);
		expect(await item.info()).toMatchObject({ key: "a.md", status: "completed" });
		const { body, filename, size } = await item.download();
		expect([filename, size, await new Response(body).text()]).toEqual(["a.md", TEXT.length, TEXT]);
		expect((await item.chunks({ limit: 1 })).result).toMatchObject([{ text: TEXT }]);
		expect((await item.logs({ limit: 1 })).result).toMatchObject([{ action: "indexed" }]);
		expect((await items.list({ status: "completed" })).result).toHaveLength(1);
		expect(await docs.stats()).toMatchObject({ completed: 1, engine: { vectorize: { vectorsCount: 1 } } });
		expect(await docs.search({ query: "reset password" })).toMatchObject({
			chunks: [{ item: { key: "a.md" } }],
		});
		const messages = [{ role: "user", content: "reset password" }];
		expect(await docs.chatCompletions({ messages })).toMatchObject({
			object: "chat.completion",
			chunks: [{ text: TEXT }],
		});
		const events = (await docs.chatCompletions({ messages, stream: true })) as ReadableStream;
		expect(await new Response(events).text()).toMatch(/^event: chunks\ndata: \[\{"id":/);
		await items.delete(uploaded.id);
		expect(await failure(item.info())).toEqual({
			...{ name: "AiSearchNotFoundError", message: `item_not_found: "${uploaded.id}"` },
		});
		expect(await failure(items.upload("a.exe", "x"))).toEqual({
			name: "AiSearchError",
			message: "unsupported_file_type",
		});
	});

	it("gives the bytes of a file back that is sent to an instance which does not exist", async () => {
		const before = bufferedBytes.report().used;
		const absent = bound<Instance>("AiSearchInstance", { account, instance: "absent" });
		const { readable, writable } = new IdentityTransformStream();
		const writer = writable.getWriter();
		const refused = failure((await absent.items).upload("a.md", readable));
		await writer.write(new Uint8Array(5_000));
		expect(await refused).toMatchObject({ name: "AiSearchNotFoundError" });
		// What is still sent is not counted.
		await writer.write(new Uint8Array(5_000)).catch(() => {});
		await writer.close().catch(() => {});
		await expect.poll(() => bufferedBytes.report().used).toBe(before);
	});

	it("has jobs", async () => {
		const [items, jobs] = [await docs.items, await docs.jobs];
		await items.uploadAndPoll("b.md", TEXT, poll);
		const { id } = await jobs.create({ description: "Again" });
		expect(await jobs.get(id).info()).toMatchObject({ id, source: "user", description: "Again" });
		expect((await jobs.list()).result).toHaveLength(1);
		expect((await jobs.get(id).logs()).result[0]).toMatchObject({ message: "Items of the job: 1" });
		expect(await failure(jobs.create())).toEqual({ name: "AiSearchError", message: "sync_in_cooldown" });
	});
});
