/** What holds of every page: no serious fault of accessibility, no scrolling sideways at 360 px, and a small first script. */
import type { Page } from "playwright-core";
import { describe, expect, inject, it } from "vitest";
import { api, createToken } from "./api.ts";
import { faultsOf, NARROW } from "./axe.ts";
import { follow, openSession, openTab, type Runtime, shoot, WINDOW } from "./browser.ts";
import { OPERATOR_ACCOUNT } from "./gateways.ts";

const MAX_FIRST_SCRIPT_BYTES = 150_000;
const CHAT = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const PAGES: readonly (readonly [title: string, path: string, part: string])[] = [
	["playground", `/console/playground/${CHAT}`, "Message"],
	["task", "/console/playground/@cf/baai/bge-small-en-v1.5", "Input"],
	["models", "/console/models", "Search models"],
	["model", `/console/models/${CHAT}`, "Engines"],
	["usage", "/console/usage", "Budgets"],
	["requests", "/console/requests", "Outcome"],
	["gateways", "/console/gateways", "New gateway"],
	["tokens", "/console/tokens", "New token"],
	["adapters", "/console/adapters", "New adapter"],
	["batches", "/console/batches", "New batch"],
	["replays", "/console/replays", "New replay"],
	["search", "/console/search", "New instance"],
	["engines", "/console/engines", "Routes"],
];

/** A control or a region that only this page has. */
const partOf = (page: Page, name: string) =>
	page.getByLabel(name).or(page.getByRole("button", { name })).first();

describe("every page", () => {
	// The pages of both runtimes are the same files, so the slow checks of accessibility run once.
	it("fits 360 px, and stays on its origin, on npm run dev", async () => {
		const tab = await openSession("dev", "/console/playground/@cf/baai/bge-base-en-v1.5");
		const { page } = tab;
		await page.setViewportSize(NARROW);
		for (const [title, path, part] of PAGES) {
			await follow(page, path);
			await partOf(page, part).waitFor();
			expect(await page.evaluate("document.documentElement.scrollWidth"), title).toBeLessThanOrEqual(360);
		}
		await tab.close();
	});

	it("is accessible, fits 360 px, and stays on its origin, light and dark, on npm run serve", async () => {
		const runtime: Runtime = "serve";
		// Rows for the tables.
		await createToken(OPERATOR_ACCOUNT, "shop", ["Workers AI Read", "Workers AI Run"]);
		for (const prompt of ["One", "Two"])
			await api("POST", `/accounts/${OPERATOR_ACCOUNT}/ai/run/${CHAT}`, { prompt });
		const tab = await openSession(runtime, "/console/playground/@cf/baai/bge-base-en-v1.5");
		const { page } = tab;
		for (const [title, path, part] of PAGES) {
			await page.setViewportSize(WINDOW);
			await page.emulateMedia({ colorScheme: "light" });
			await follow(page, path);
			await partOf(page, part).waitFor();
			await page.waitForLoadState("networkidle");
			expect(await faultsOf(page), `${title}, light`).toEqual([]);
			await shoot(page, `${runtime}-${title}-1280-light`);
			await page.setViewportSize(NARROW);
			await shoot(page, `${runtime}-${title}-360-light`);

			await page.emulateMedia({ colorScheme: "dark" });
			expect(await faultsOf(page), `${title}, dark`).toEqual([]);
			expect(await page.evaluate("document.documentElement.scrollWidth"), title).toBeLessThanOrEqual(360);
			await shoot(page, `${runtime}-${title}-360-dark`);
			await page.setViewportSize(WINDOW);
			await shoot(page, `${runtime}-${title}-1280-dark`);
		}
		await tab.close();
	});
});

describe("the first page", () => {
	it("is accessible, and loads at most 150 KB of compressed script", async () => {
		const tab = await openTab(inject("serve"), "/console", { expected: /401/ });
		const { page } = tab;
		await page.getByLabel("Token").waitFor();
		expect(await faultsOf(page)).toEqual([]);
		await shoot(page, "sign-in-1280-light");
		// As at a first visit: a script from the cache may have no size.
		const debug = await page.context().newCDPSession(page);
		await debug.send("Network.setCacheDisabled", { cacheDisabled: true });
		await page.reload({ waitUntil: "networkidle" });
		const scriptBytes = async () =>
			(await page.evaluate(`performance
				.getEntriesByType("resource")
				.filter(({ name }) => name.endsWith(".js"))
				.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`)) as number;
		// A busy browser may run a script before it records its size.
		await expect.poll(scriptBytes, { timeout: 20_000 }).toBeGreaterThan(0);
		expect(await scriptBytes()).toBeLessThanOrEqual(MAX_FIRST_SCRIPT_BYTES);
		await tab.close();
	});
});
