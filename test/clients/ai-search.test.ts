/** AI Search with the published `cloudflare` SDK, MCP clients and `wrangler ai-search`, of which only the address is changed. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import Cloudflare, { toFile } from "cloudflare";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { ACCOUNT } from "./gateway.ts";
import { wranglerIn } from "./wrangler.ts";

const home = mkdtempSync(join(tmpdir(), "ganglion-ai-search-"));
afterAll(() => rmSync(home, { recursive: true }));

const account_id = ACCOUNT;
const client = new Cloudflare({ baseURL: inject("baseURL"), apiToken: "none", maxRetries: 0 });
const { namespaces, instances, tokens } = client.aiSearch;

const PASSAGE = "To reset a password, open the settings page.";
const content = PASSAGE;

describe("the cloudflare SDK", () => {
	it("fills, searches, asks and deletes an instance of a namespace", async () => {
		expect(await namespaces.create({ account_id, name: "sdk" })).toMatchObject({ name: "sdk" });
		const own = { account_id, name: "sdk" };
		expect(await namespaces.instances.create("sdk", { account_id, id: "docs" })).toMatchObject({
			...{ id: "docs", namespace: "sdk", index_method: { vector: true, keyword: true } },
		});
		const file = { file: await toFile(Buffer.from(content), "a.md"), wait_for_completion: true };
		const item = await namespaces.instances.items.upload("docs", { ...own, file });
		expect(item).toMatchObject({ key: "a.md", status: "completed", chunks_count: 1 });
		const keys: string[] = [];
		for await (const { key } of namespaces.instances.items.list("docs", own)) keys.push(key);
		expect(keys).toEqual(["a.md"]);
		const range = { ...own, id: "docs" };
		expect(await namespaces.instances.items.get(item.id, range)).toMatchObject({ key: "a.md" });
		const [chunk] = await namespaces.instances.items.chunks(item.id, range);
		expect(chunk?.text).toBe(PASSAGE);
		const stored = await namespaces.instances.items.download(item.id, range);
		expect(await stored.text()).toBe(PASSAGE);

		const found = await namespaces.instances.search("docs", { ...own, query: "reset password" });
		expect(found.chunks).toMatchObject([{ text: PASSAGE, item: { key: "a.md" } }]);
		const messages = [{ role: "user" as const, content: "reset password" }];
		expect(await namespaces.instances.chatCompletions("docs", { ...own, messages })).toMatchObject({
			...{ object: "chat.completion", choices: [{ message: { role: "assistant" } }] },
			chunks: [{ text: PASSAGE }],
		});
		const ai_search_options = { instance_ids: ["docs"] };
		const several = await namespaces.search("sdk", {
			account_id,
			query: "reset password",
			ai_search_options,
		});
		expect(several.chunks).toMatchObject([{ instance_id: "docs", text: PASSAGE }]);
		expect(await namespaces.instances.stats("docs", own)).toMatchObject({ completed: 1, error: 0 });
		await namespaces.instances.update("docs", { ...own, max_num_results: 3 });
		expect(await namespaces.instances.read("docs", own)).toMatchObject({ max_num_results: 3 });

		const job = await namespaces.instances.jobs.create("docs", { ...own, description: "again" });
		expect(await namespaces.instances.jobs.get(job.id, range)).toMatchObject({ description: "again" });
		await namespaces.instances.items.delete(item.id, range);
		await namespaces.instances.delete("docs", own);
		await namespaces.delete("sdk", { account_id });
		await expect(namespaces.read("sdk", { account_id })).rejects.toMatchObject({
			...{ status: 404, errors: [{ code: 7063, message: 'namespace_not_found: "sdk"' }] },
		});
	});

	it("uses instances of the namespace default, and lists tokens", async () => {
		await instances.create({ account_id, id: "sdk-default" });
		const ids: string[] = [];
		for await (const { id } of instances.list({ account_id })) ids.push(id);
		expect(ids).toContain("sdk-default");
		expect(await instances.search("sdk-default", { account_id, query: "x" })).toMatchObject({ chunks: [] });
		await instances.delete("sdk-default", { account_id });
		const names: string[] = [];
		for await (const { name } of tokens.list({ account_id })) names.push(name);
		expect(names).toEqual(["the permissions of the caller"]);
	});
});

describe("MCP clients", () => {
	const address = new URL(`${inject("baseURL")}/accounts/${ACCOUNT}/ai-search/instances/mcp/mcp`);
	beforeAll(async () => {
		const own = { account_id, name: "default" };
		await namespaces.instances.create("default", { account_id, id: "mcp" });
		const file = { file: await toFile(Buffer.from(content), "a.md"), wait_for_completion: true };
		await namespaces.instances.items.upload("mcp", { ...own, file });
	});

	const tool = {
		...{ name: "search", description: "Finds exactly what you're looking for" },
		inputSchema: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
	};
	const found = (result: unknown) => {
		const { content: parts } = result as { content: { text: string }[] };
		return JSON.parse(parts[0]?.text ?? "").chunks.map(({ text }: { text: string }) => text);
	};
	const call = { name: "search", arguments: { query: "reset password" } };

	it.each(["auto", { pin: "2026-07-28" }, "legacy"] as const)("of 2026-07-28 search (%o)", async (mode) => {
		const options = { versionNegotiation: { mode } };
		const client = new Client({ name: "test", version: "1" }, options);
		await client.connect(new StreamableHTTPClientTransport(address));
		expect((await client.listTools()).tools).toMatchObject([tool]);
		expect(found(await client.callTool(call))).toEqual([PASSAGE]);
		expect(client.getServerVersion()).toMatchObject({ name: "mcp" });
		expect(await client.callTool({ ...call, arguments: { query: " " } })).toMatchObject({
			...{ isError: true, content: [{ type: "text", text: "missing_user_query" }] },
		});
		await client.close();
	});

	it("of 2025, which begin with initialize, search", async () => {
		const client = new OlderClient({ name: "test", version: "1" });
		// The types of the package do not fit exactOptionalPropertyTypes.
		await client.connect(new OlderTransport(address) as Parameters<OlderClient["connect"]>[0]);
		expect((await client.listTools()).tools).toMatchObject([tool]);
		expect(found(await client.callTool(call))).toEqual([PASSAGE]);
		await client.close();
	});
});

describe("wrangler ai-search", () => {
	const run = wranglerIn(home, "ai-search");
	const wrangler = async (...args: string[]): Promise<string> => (await run(...args)).stdout;

	it("creates, changes, searches, lists and deletes an instance, and creates a namespace", async () => {
		const fields = ["--type", "builtin", "--chunk-size", "128", "--custom-metadata", "team:text"];
		expect(await wrangler("create", "cli", ...fields, "--hybrid-search", "--no-cache")).toContain(
			'Successfully created AI Search instance "cli"',
		);
		const form = new FormData();
		form.set("file", new File([content], "a.md"));
		form.set("metadata", JSON.stringify({ team: "x" }));
		form.set("wait_for_completion", "true");
		const items = `${inject("baseURL")}/accounts/${ACCOUNT}/ai-search/instances/cli/items`;
		expect((await fetch(items, { method: "POST", body: form })).status).toBe(200);
		const search = ["search", "cli", "--query", "reset password", "--json"];
		await wrangler("update", "cli", "--max-num-results", "2");
		const [found, list, stats, job] = await Promise.all([
			wrangler(...search, "--filter", "team=x"),
			wrangler("list", "--json"),
			wrangler("stats", "cli"),
			wrangler("jobs", "create", "cli", "--json"),
		]);
		expect(JSON.parse(found)).toMatchObject({ chunks: [{ text: PASSAGE }] });
		expect(JSON.parse(list)).toContainEqual(
			expect.objectContaining({ id: "cli", chunk_size: 128, max_num_results: 2 }),
		);
		expect(stats).toMatch(/Indexed/);
		expect(JSON.parse(job)).toMatchObject({ source: "user" });
		await wrangler("delete", "cli", "--force");
		await wrangler("namespace", "create", "cli-team");
		expect(await wrangler("namespace", "list")).toContain("cli-team");
	});
});
