/**
 * The page of AI Search: an instance, uploads by drop, items with their errors, a question with its chunks and the answer; a website as
 * source, the cache, the public endpoint.
 */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { BUCKET, PAGE } from "../bucket-state.ts";
import { api } from "./api.ts";
import { faultsOf } from "./axe.ts";
import { sharedSession, shoot } from "./browser.ts";
import { OPERATOR_ACCOUNT } from "./gateways.ts";

const PAGES = {
	"passwords.md": "# Passwords\n\nTo reset a password, open the settings page and choose Security.",
	"invoices.md": "# Invoices\n\nAn invoice is sent on the first day of each month.",
	"empty.md": "",
	"tool.exe": "MZ",
};

/** As a browser does with files of the desktop. */
async function drop(page: Page, files: Readonly<Record<string, string>>): Promise<void> {
	await page.locator(".drop").waitFor();
	await page.evaluate(
		`{
			const transfer = new DataTransfer();
			for (const [name, text] of Object.entries(${JSON.stringify(files)})) transfer.items.add(new File([text], name));
			document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
		}`,
	);
}

it("files are dropped, indexed, asked, indexed again and deleted with their instance", async () => {
	const tab = await sharedSession("serve", "/console/search", { expected: /401|400/ });
	const { page } = tab;
	await page.getByText("No instances of AI Search here.").waitFor();
	await page.getByRole("button", { name: "New instance" }).click();
	const form = page.getByRole("region", { name: "New instance" });
	await form.getByLabel("Name").fill("manual");
	expect(
		await form
			.locator("datalist")
			.first()
			.locator("option")
			.evaluateAll((options: { value: string }[]) => options.map(({ value }) => value)),
	).toContain("@cf/baai/bge-m3");
	await form.getByRole("button", { name: "Create" }).click();
	await page.waitForURL(/\?instance=manual$/);

	const items = page.getByRole("region", { name: "Items" }).first();
	await items.getByLabel("Folder").fill("guides/");
	await drop(page, PAGES);
	await items.getByText("tool.exe").waitFor();
	expect(await items.getByRole("alert").textContent()).toContain("guides/tool.exe: unsupported_file_type");
	await items.getByText("completed", { exact: true }).nth(1).waitFor();
	await items.getByText("file_content_empty").waitFor();
	await page.getByRole("region", { name: "manual", exact: true }).getByText("Indexed items").waitFor();
	await items.getByRole("button", { name: "guides/empty.md", exact: true }).click();
	await page.getByRole("region", { name: "guides/empty.md" }).getByText("The file is empty").waitFor();
	await page.getByRole("region", { name: "guides/empty.md" }).getByRole("button", { name: "Close" }).click();

	const question = page.getByRole("region", { name: "Question" });
	await question.getByLabel("Question").fill("reset password");
	await question.getByRole("button", { name: "Ask" }).click();
	const chunks = question.getByRole("list", { name: "Chunks" });
	await chunks.getByText("guides/passwords.md").waitFor();
	const text = await chunks.textContent();
	expect(text).toContain("To reset a password, open the settings page");
	expect(text).toMatch(/score 1\.000/);
	expect(text).toMatch(/Meaning.*0\.\d{3} rank 1/);
	expect(text).toMatch(/Keyword \(BM25\).*\d\.\d\S* rank 1/);
	await question.getByText("compare words and parts of words, not meanings").waitFor();
	await question.getByRole("region", { name: "Measurements" }).waitFor();
	expect((await question.getByRole("article", { name: "Answer" }).textContent())?.length).toBeGreaterThan(
		"Answer".length,
	);
	expect(await faultsOf(page)).toEqual([]);
	await page.setViewportSize({ width: 1280, height: 1500 });
	await shoot(page, "search");

	await question.getByLabel("Question").fill("zebra");
	await question.getByRole("button", { name: "Ask" }).click();
	await question.getByText("No chunk matches. Try other words").waitFor();
	await question.getByLabel("Question").fill("密码");
	await question.getByRole("button", { name: "Ask" }).click();
	await question.getByText("create one whose keywords are parts of words").waitFor();

	await items.getByRole("button", { name: "Delete guides/empty.md" }).click();
	await items.getByRole("button", { name: "guides/empty.md", exact: true }).waitFor({ state: "detached" });
	await items.getByRole("button", { name: "Index again: guides/invoices.md" }).click();
	await expect
		.poll(() => api("GET", `/accounts/${OPERATOR_ACCOUNT}/ai-search/instances/manual/stats`), {
			timeout: 60_000,
		})
		.toMatchObject({ completed: 2, error: 0, queued: 0, running: 0 });

	await page.getByRole("button", { name: "Delete manual" }).click();
	await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
	await page.getByText("No instances of AI Search here.").waitFor();
	await tab.close();
});

it("an instance for Chinese finds words of two characters", async () => {
	// Of an attempt that failed.
	await api("DELETE", `${INSTANCES}/chinese`).catch(() => {});
	const tab = await sharedSession("serve", "/console/search");
	const { page } = tab;
	await page.getByRole("button", { name: "New instance" }).click();
	const form = page.getByRole("region", { name: "New instance" });
	await form.getByLabel("Name").fill("chinese");
	await form.getByRole("combobox", { name: "Keywords" }).click();
	await page.getByRole("option", { name: /^Parts of words/ }).click();
	await form.getByRole("button", { name: "Create" }).click();
	await page.waitForURL(/\?instance=chinese$/);
	await page.getByText("Parts of words (Chinese, Japanese, Thai)").waitFor();
	await drop(page, { "zh.md": "如何重置密码：打开设置页面。" });
	const items = page.getByRole("region", { name: "Items" }).first();
	await items.getByText("zh.md").waitFor();
	await items.getByText("completed", { exact: true }).waitFor();
	const question = page.getByRole("region", { name: "Question" });
	await question.getByLabel("Question").fill("密码");
	await question.getByRole("button", { name: "Ask" }).click();
	await question.getByRole("list", { name: "Chunks" }).getByText("如何重置密码").waitFor();
	await page.getByRole("button", { name: "Delete chinese" }).click();
	await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
	await page.getByText("No instances of AI Search here.").waitFor();
	await tab.close();
});

const INSTANCES = `/accounts/${OPERATOR_ACCOUNT}/ai-search/instances`;
const PATHS = ["/passwords", "/invoices", "/gone"];
const TEXTS: Readonly<Record<string, string>> = {
	"/passwords": "<h1>Passwords</h1><p>To reset a password, open the settings page.</p>",
	"/invoices": "<h1>Invoices</h1><p>An invoice is sent on the first day of each month.</p>",
};

let server: Server;
let site: string;

beforeAll(async () => {
	server = createServer((request, response) => {
		const path = request.url ?? "";
		const locations = PATHS.map((own) => `<url><loc>${site}${own}</loc></url>`).join("");
		const sitemap = `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${locations}</urlset>`;
		const text = path === "/sitemap.xml" ? sitemap : TEXTS[path];
		const type = path === "/sitemap.xml" ? "application/xml" : "text/html";
		response.writeHead(text === undefined ? 404 : 200, { "content-type": type }).end(text);
	}).listen(0, "127.0.0.1");
	await once(server, "listening");
	site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

async function create(page: Page, fields: { name: string; source: string }): Promise<void> {
	await page.getByRole("button", { name: "New instance" }).click();
	const form = page.getByRole("region", { name: "New instance" });
	await form.getByLabel("Name").fill(fields.name);
	await form.getByLabel("Source").fill(fields.source);
	await form.getByRole("button", { name: "Create" }).click();
}

it("a website is read, with its errors; the cache and the public endpoint are shown", async () => {
	const tab = await sharedSession("serve", "/console/search", { expected: /400|401|429/ });
	const { page } = tab;
	await create(page, { name: "site", source: site });
	await page.waitForURL(/\?instance=site$/);
	const source = page.getByRole("region", { name: "Source" });
	await source.getByText("completed").waitFor();
	expect(await source.textContent()).toMatch(
		/Websitehttp:\/\/127\.0\.0\.1:\d+\/Read every360 minutesLast jobcompletedStarted\d/,
	);
	const errors = source.getByRole("list", { name: "Errors of the job" });
	expect(await errors.getByRole("listitem").allTextContents()).toEqual([
		`${site}/gone: the server answered that there is no such page`,
	]);
	const items = page.getByRole("region", { name: "Items" }).first();
	await items.getByText(`${site}/passwords`).waitFor();
	await items.getByText("completed", { exact: true }).nth(1).waitFor();
	expect(await faultsOf(page)).toEqual([]);

	// Less than 30 seconds after the first one.
	await source.getByRole("button", { name: "Read now" }).click();
	await source.getByText("sync_in_cooldown").waitFor();

	const facts = page.getByRole("region", { name: "site", exact: true });
	const text = (await facts.textContent()) ?? "";
	expect(text).toContain("Cache of chatson");
	expect(text).not.toContain("Public endpoint");
	const { public_endpoint_id: id } = await api<{ public_endpoint_id: string }>("PUT", `${INSTANCES}/site`, {
		...{ cache: false, public_endpoint_params: { enabled: true } },
	});
	await page.reload();
	await facts.getByText(id).waitFor();
	expect(await facts.textContent()).toContain("Cache of chatsoff");
	const answer = await fetch(`${inject("serve")}/search/${OPERATOR_ACCOUNT}/${id}/search`, {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: JSON.stringify({ query: "reset password" }),
	});
	expect(await answer.json()).toMatchObject({
		result: { chunks: [{ item: { key: `${site}/passwords` } }] },
	});
	await api("DELETE", `${INSTANCES}/site`);
	await tab.close();
});

it("a job that waits for its website is cancelled; uploads are all indexed again", async () => {
	const stalled = createServer((request, response) => {
		// Only the sitemap is answered, so that the job waits for the page.
		if (request.url !== "/sitemap.xml") return;
		const location = `http://${request.headers.host}/passwords`;
		response
			.writeHead(200, { "content-type": "application/xml" })
			.end(
				`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>${location}</loc></url></urlset>`,
			);
	}).listen(0, "127.0.0.1");
	await once(stalled, "listening");
	const { port } = stalled.address() as AddressInfo;
	const tab = await sharedSession("serve", "/console/search", { expected: /401/ });
	const { page } = tab;
	await create(page, { name: "stalled", source: `http://127.0.0.1:${port}` });
	await page.waitForURL(/\?instance=stalled$/);
	const source = page.getByRole("region", { name: "Source" });
	await source.getByRole("button", { name: "Cancel the job" }).click();
	await source.getByRole("button", { name: "Read now" }).waitFor();
	expect(await source.textContent()).toContain("Last jobcancelled_by_user");
	const [job] = await api<{ end_reason: string }[]>("GET", `${INSTANCES}/stalled/jobs`);
	expect(job?.end_reason).toBe("cancelled_by_user");
	stalled.closeAllConnections();
	stalled.close();
	await create(page, { name: "uploads", source: "" });
	await page.waitForURL(/\?instance=uploads$/);
	await api("DELETE", `${INSTANCES}/stalled`);
	const jobs = page.getByRole("region", { name: "Jobs" });
	await jobs.getByText("Last job").waitFor();
	expect(await jobs.textContent()).toContain("Last jobnone");
	await jobs.getByRole("button", { name: "Index all again" }).click();
	await jobs.getByText("Started").waitFor();
	expect(await api<unknown[]>("GET", `${INSTANCES}/uploads/jobs`)).toHaveLength(1);
	expect(await faultsOf(page)).toEqual([]);
	await api("DELETE", `${INSTANCES}/uploads`);
	await tab.close();
});

it("a bucket of R2 is read, and its page is found", async () => {
	const tab = await sharedSession("dev", "/console/search");
	const { page } = tab;
	await create(page, { name: "bucket", source: BUCKET });
	await page.waitForURL(/\?instance=bucket$/);
	const source = page.getByRole("region", { name: "Source" });
	await source.getByText("completed").waitFor();
	expect(await source.textContent()).toContain(BUCKET);
	const items = page.getByRole("region", { name: "Items" }).first();
	await items.getByRole("button", { name: PAGE, exact: true }).waitFor();
	await items.getByText("completed", { exact: true }).first().waitFor();
	await shoot(page, "search-bucket");
	await tab.close();
});

it("a bucket that the operator does not allow is refused in the form", async () => {
	const tab = await sharedSession("serve", "/console/search", { expected: /400|401/ });
	await create(tab.page, { name: "absent", source: "invoices" });
	await tab.page
		.getByRole("region", { name: "New instance" })
		.getByText("expected the name of a bucket of AI_SEARCH.buckets")
		.waitFor();
	await tab.close();
});

it("items are read again until they have ended, although the sizes that were read after them say that none waits", async () => {
	// Of an attempt that failed.
	await api("DELETE", `${INSTANCES}/late`).catch(() => {});
	const tab = await sharedSession("serve", "/console/search");
	const { page } = tab;
	await create(page, { name: "late", source: "" });
	await page.waitForURL(/\?instance=late$/);
	let old = 0;
	await page.route(/\/items\?/, async (route) => {
		const response = await route.fetch();
		const text = await response.text();
		const isOld = text.includes('"completed"') && old++ < 3;
		await route.fulfill({ response, body: isOld ? text.replaceAll('"completed"', '"running"') : text });
	});
	await drop(page, { "one.md": "# One\n\nA text." });
	const items = page.getByRole("region", { name: "Items" }).first();
	await items.getByText("completed", { exact: true }).waitFor({ timeout: 30_000 });
	expect(old).toBeGreaterThan(3);
	await page.unrouteAll();
	await api("DELETE", `${INSTANCES}/late`);
	await tab.close();
});
