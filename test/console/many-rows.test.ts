/** Lists with more rows than a page of the API: each row is reached, with the keyboard too. A form keeps what it has no field for. */
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { api, createToken } from "./api.ts";
import { faultsOf, NARROW } from "./axe.ts";
import { follow, hasFocus, openSession, type Tab, WINDOW } from "./browser.ts";
import { ADMIN_TOKEN } from "./gateways.ts";

const ACCOUNT = "many-rows-a";
const ROWS = 51;
/** The rows of a page of the API. */
const PER_PAGE = 50;
const GROUPS = ["Workers AI Read", "Workers AI Write", "Workers AI Run", "AI Search Read", "AI Search Write"];
const numbers = Array.from({ length: ROWS }, (_, index) => String(index + 1).padStart(2, "0"));

let tab: Tab;
let page: Page;
beforeAll(async () => {
	const { value: token } = await createToken(ACCOUNT, "all", [...GROUPS, "Account API Tokens Write"]);
	tab = await openSession("serve", "/console/adapters", { token, expected: /40[14]/ });
	({ page } = tab);
});
afterAll(() => tab.close());

const rowsOf = (name: string): Locator => page.getByRole("region", { name, exact: true }).locator("tbody tr");

/** Turns to the second page, the last one, with the keyboard, and back. `found`: its row. */
async function turn(rows: Locator, found: RegExp): Promise<void> {
	await expect.poll(() => rows.count()).toBe(PER_PAGE);
	const [newer, older] = [
		page.getByRole("button", { name: "Newer" }),
		page.getByRole("button", { name: "Older" }),
	];
	await older.press("Enter");
	await expect.poll(async () => (await rows.count()) < PER_PAGE).toBe(true);
	await rows.filter({ hasText: found }).waitFor();
	await expect.poll(() => hasFocus(newer)).toBe(true);
	expect(await faultsOf(page)).toEqual([]);
	await page.setViewportSize(NARROW);
	expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(NARROW.width);
	await page.setViewportSize(WINDOW);
	await newer.press("Enter");
	await expect.poll(() => rows.count()).toBe(PER_PAGE);
	await expect.poll(() => hasFocus(older)).toBe(true);
}

it("tokens", async () => {
	for (const number of numbers) await createToken(ACCOUNT, `number-${number}`, ["Workers AI Read"]);
	await follow(page, "/console/tokens");
	await turn(rowsOf("Tokens"), /number-01/);
});

it("instances of AI Search, of which one on another page opens", async () => {
	for (const number of numbers)
		await api("POST", `/accounts/${ACCOUNT}/ai-search/instances`, { id: `number-${number}` });
	await follow(page, "/console/search?instance=number-01");
	await page.getByRole("region", { name: "number-01", exact: true }).waitFor();
	await turn(rowsOf("Instances"), /number-01/);
	await page.goto(`${inject("serve")}/console/search?instance=number-99`);
	await page.getByRole("alert").waitFor();
	expect(await page.getByRole("alert").textContent()).toContain('"number-99"');
});

it("batches", async () => {
	const files = `${inject("serve")}/client/v4/accounts/${ACCOUNT}/ai/v1`;
	const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
	const url = "/v1/chat/completions";
	const body = { model: "@cf/meta/llama-3.1-8b-instruct-fp8", messages: [{ role: "user", content: "Hi" }] };
	const form = new FormData();
	form.set("purpose", "batch");
	form.set("file", new Blob([JSON.stringify({ custom_id: "1", method: "POST", url, body })]), "one.jsonl");
	const stored = await fetch(`${files}/files`, { method: "POST", headers, body: form });
	const { id } = (await stored.json()) as { id: string };
	const ids: string[] = [];
	for (const _ of numbers) {
		const created = await fetch(`${files}/batches`, {
			method: "POST",
			headers: { ...headers, "content-type": "application/json" },
			body: JSON.stringify({ input_file_id: id, endpoint: url, completion_window: "24h" }),
		});
		ids.push(((await created.json()) as { id: string }).id);
	}
	await follow(page, "/console/batches");
	await turn(rowsOf("Batches"), new RegExp(`${ids[0]?.slice(-8)}`));
});

describe("the form of a token", () => {
	it("sends it once, and keeps its times and what it has no field for", async () => {
		const path = `/accounts/${ACCOUNT}/tokens`;
		await follow(page, "/console/tokens");
		await page.getByRole("button", { name: "New token" }).click();
		const form = page.getByRole("region", { name: "New token" });
		await form.getByLabel("Name").fill("once");
		await form.getByRole("button", { name: "Create" }).dblclick();
		await page.getByRole("button", { name: "Done" }).click();
		const named = (
			await api<{ id: string; name: string }[]>("GET", `${path}?per_page=50&direction=desc`)
		).filter(({ name }) => name === "once");
		expect(named).toHaveLength(1);

		const [{ id } = { id: "" }] = named;
		const times = { not_before: "2026-01-02T03:04:05Z", expires_on: "2099-05-06T07:08:09Z" };
		const stored = await api<object>("GET", `${path}/${id}`);
		const gateway = { id: "default", mode: "default" };
		// Another client changes the token after the list was loaded.
		await api("PUT", `${path}/${id}`, { ...stored, ...times, gateway });
		await page.getByRole("button", { name: "Edit once" }).click();
		const edit = page.getByRole("region", { name: "Edit once" });
		expect(await edit.getByLabel("Expires (UTC)").inputValue()).toBe("2099-05-06");
		await edit.getByLabel("Requests per minute").fill("7");
		await edit.getByRole("button", { name: "Save" }).click();
		await page.getByText("7 requests a minute").waitFor();
		expect(await api("GET", `${path}/${id}`)).toMatchObject({
			...times,
			gateway,
			limits: { requests_per_minute: 7 },
		});
		await page.getByRole("button", { name: "Edit once" }).click();
		await edit.getByLabel("Expires (UTC)").fill("");
		await edit.getByRole("button", { name: "Save" }).click();
		await edit.waitFor({ state: "detached" });
		expect(await api("GET", `${path}/${id}`)).not.toHaveProperty("expires_on");

		// To save a token that is gone would fail, so its form closes with it.
		await page.getByRole("button", { name: "Edit once" }).click();
		await edit.waitFor();
		await page.getByRole("button", { name: "Revoke once" }).click();
		await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click();
		await edit.waitFor({ state: "detached" });
	});
});
