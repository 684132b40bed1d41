/** AI Search with the published `cloudflare` SDK and with `wrangler ai-search`, of which only the address is changed. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import Cloudflare, { toFile } from "cloudflare";
import { afterAll, describe, expect, inject, it } from "vitest";
import { ACCOUNT } from "./gateway.ts";

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
			...{ status: 404, errors: [{ code: 7063, message: "namespace_not_found" }] },
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

describe("wrangler ai-search", () => {
	const env: Record<string, string> = {
		PATH: process.env.PATH ?? "",
		HOME: home,
		NO_COLOR: "1",
		NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? "",
		WRANGLER_SEND_METRICS: "false",
		CLOUDFLARE_API_BASE_URL: inject("baseURL"),
		CLOUDFLARE_API_TOKEN: "none",
		CLOUDFLARE_ACCOUNT_ID: ACCOUNT,
	};
	const wrangler = async (...args: string[]): Promise<string> => {
		const script = resolve("node_modules/wrangler/bin/wrangler.js");
		const { stdout } = await promisify(execFile)(process.execPath, [script, "ai-search", ...args], {
			cwd: home,
			env: env as NodeJS.ProcessEnv,
		});
		return stdout;
	};

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
		expect(JSON.parse(list)).toMatchObject([{ id: "cli", chunk_size: 128, max_num_results: 2 }]);
		expect(stats).toMatch(/Indexed/);
		expect(JSON.parse(job)).toMatchObject({ source: "user" });
		await wrangler("delete", "cli", "--force");
		await wrangler("namespace", "create", "cli-team");
		expect(await wrangler("namespace", "list")).toContain("cli-team");
	});
});
