/** Scripts that cannot be loaded, or slowly. */
import type { Page, Route } from "playwright-core";
import { afterEach, describe, expect, inject, it } from "vitest";
import { faultsOf } from "./axe.ts";
import { openTab, type Tab } from "./browser.ts";

const EXPECTED = /401|Failed to load|dynamically imported module|could not be loaded|NetworkError/;
const MESSAGE = /This part of the console could not be loaded/;

let tab: Tab | undefined;
afterEach(async () => {
	await tab?.page.context().unrouteAll();
	await tab?.page.close();
});

/**
 * The page reloads itself once, because a new deployment could have replaced its scripts. With this it has done so, once, because a
 * later reload of the caller is another one.
 */
const HAS_RELOADED = `sessionStorage.getItem("ganglion-reloaded") ?? sessionStorage.setItem("ganglion-reloaded", String(Date.now() + 600_000))`;

/** A tab of its own, whose scripts of this name fail from its first load on. */
async function without(script: RegExp, path: string): Promise<Page> {
	tab = await openTab(inject("dev"), path, {
		expected: EXPECTED,
		before: async (page) => {
			await page.addInitScript(HAS_RELOADED);
			await page.route(script, (route) => route.abort());
		},
	});
	return tab.page;
}

describe("a script that cannot be loaded", () => {
	it("shows the reason in the page's place, and the navigation stays", async () => {
		const page = await without(/\/console\/engines-[^/]*\.js/, "/console/models");
		await page.getByRole("link", { name: "Engines" }).click();
		const alert = page.getByRole("main").getByRole("alert");
		await alert.getByText(MESSAGE).waitFor();
		expect(await faultsOf(page)).toEqual([]);
		await page.getByRole("link", { name: "Models", exact: true }).click();
		await page.getByRole("heading", { name: "Models" }).waitFor();
		expect(await alert.count()).toBe(0);

		await page.getByRole("link", { name: "Engines" }).click();
		await alert.getByText(MESSAGE).waitFor();
		await page.unrouteAll();
		await alert.getByRole("button", { name: "Reload" }).click();
		await page.getByRole("region", { name: "Routes" }).first().waitFor();
	});

	it("shows the reason for a part of a page of the same name, and leaves it with that part", async () => {
		const page = await without(/\/console\/model-[^/]*\.js/, "/console/models");
		await page.getByLabel("Search models").fill("bge-m3");
		await page.getByRole("link", { name: "@cf/baai/bge-m3" }).click();
		await page.getByText(MESSAGE).waitFor();
		await page.getByRole("link", { name: "Models", exact: true }).click();
		await page.getByRole("heading", { name: "Models" }).waitFor();
	});

	it("reloads the page once, which a new deployment needs", async () => {
		tab = await openTab(inject("dev"), "/console/models", { expected: EXPECTED });
		const { page } = tab;
		await page.getByRole("heading", { name: "Models" }).waitFor();
		// The route stays: a request that is under way while a route is removed may never get an answer.
		let isOldPage = true;
		page.on("request", (request) => {
			isOldPage &&= !request.isNavigationRequest();
		});
		await page.route(/\/console\/tokens-[^/]*\.js/, (route) =>
			isOldPage ? route.abort() : route.continue(),
		);
		await page.getByRole("link", { name: "Tokens" }).click();
		await expect.poll(() => isOldPage).toBe(false);
		await page.getByRole("link", { name: "Tokens" }).click();
		await page.getByRole("heading", { name: "Tokens" }).waitFor();
	});

	it("shows the reason if it is that of the navigation itself", async () => {
		const page = await without(/\/console\/shell-[^/]*\.js/, "/console/models");
		await page.getByRole("main").getByText(MESSAGE).waitFor();
		expect(await faultsOf(page)).toEqual([]);
		await page.unrouteAll();
		await page.getByRole("button", { name: "Reload" }).click();
		await page.getByRole("heading", { name: "Models" }).waitFor();
	});
});

describe("a script that is loaded slowly", () => {
	it("shows progress on the page before, and none of it afterwards", async () => {
		tab = await openTab(inject("dev"), "/console/models", { expected: EXPECTED });
		const { page } = tab;
		await page.getByRole("heading", { name: "Models" }).waitFor();
		const held: Route[] = [];
		await page.route(/\/console\/usage-[^/]*\.js/, (route) => void held.push(route));
		await page.getByRole("link", { name: "Usage" }).click();
		await page.getByRole("status").getByText("Loading the page").waitFor({ state: "attached" });
		expect(await page.getByRole("main").getAttribute("aria-busy")).toBe("true");
		expect(await page.getByRole("heading", { name: "Models" }).count()).toBe(1);
		expect(await faultsOf(page)).toEqual([]);
		for (const route of held) await route.continue();
		await page.getByRole("heading", { name: "Usage" }).waitFor();
		await expect.poll(() => page.getByRole("main").getAttribute("aria-busy")).toBe("false");
		expect(await page.getByText("Loading the page").count()).toBe(0);
	});
});

describe("the script of the chart", () => {
	async function withChart(change: (route: Route) => Promise<void>): Promise<Page> {
		tab = await openTab(inject("dev"), "/console/models", { expected: EXPECTED });
		const { page } = tab;
		await page.getByRole("heading", { name: "Models" }).waitFor();
		// The chart needs a day with a request.
		await page.evaluate(`sessionStorage.setItem("ganglion-reloaded", String(Date.now() + 600_000)); fetch(
			"/client/v4/accounts/local/ai/run/@cf/baai/bge-m3",
			{ method: "POST", body: '{"text":["One"]}' },
		).then((response) => response.text())`);
		await page.route(/\/console\/chart-[^/]*\.js/, change);
		await page.getByRole("link", { name: "Usage" }).click();
		return page;
	}

	it("is loaded slowly: the rest of the page does not wait", async () => {
		const held: Route[] = [];
		const page = await withChart(async (route) => void held.push(route));
		await page.getByRole("status", { name: "Loading the chart" }).waitFor();
		await page.getByRole("region", { name: "Usage" }).waitFor();
		expect(await page.getByRole("navigation").isVisible()).toBe(true);
		for (const route of held) await route.continue();
		await page.locator(".chart canvas").waitFor();
	});

	it("cannot be loaded: the rest of the page stays, with a message", async () => {
		const page = await withChart((route) => route.abort());
		await page.getByRole("region", { name: "Neurons by day" }).getByText(MESSAGE).waitFor();
		await page.getByRole("region", { name: "Usage" }).waitFor();
	});
});

describe("an entry script that does not start", () => {
	/** The entry script is the one that the page names. The names of others can begin in the same way. */
	async function withEntry(change: (route: Route) => Promise<void>): Promise<Page> {
		const html = await (await fetch(`${inject("dev")}/console/models`)).text();
		const [, entry] = /<script[^>]* src="([^"]+)"/.exec(html) ?? [];
		if (entry === undefined) throw new Error(`No script in ${html}`);
		const before = (page: Page) => page.route(inject("dev") + entry, change);
		tab = await openTab(inject("dev"), "/console/models", { expected: EXPECTED, before });
		return tab.page;
	}

	it.each<[string, (route: Route) => Promise<void>]>([
		["cannot be loaded", (route) => route.abort()],
		["throws", (route) => route.fulfill({ contentType: "text/javascript", body: "throw new Error()" })],
	])("because it %s: a message and a button", async (_, change) => {
		const page = await withEntry(change);
		await page.getByRole("heading", { name: "The console has not started" }).waitFor();
		await page
			.getByRole("alert")
			.getByText(/script could not be loaded/)
			.waitFor();
		expect(await page.getByText("JavaScript").count()).toBe(0);
		expect(await faultsOf(page)).toEqual([]);
		await page.emulateMedia({ colorScheme: "dark" });
		expect(await faultsOf(page)).toEqual([]);
		await page.unrouteAll();
		await page.getByRole("link", { name: "Reload" }).press("Enter");
		await page.getByRole("heading", { name: "Models" }).waitFor();
		expect(await page.getByText("The console has not started").count()).toBe(0);
	});

	it("because the browser runs no scripts: says so at once", async () => {
		tab = await openTab(inject("dev"), "/console", { expected: EXPECTED });
		const { page } = tab;
		const debug = await page.context().newCDPSession(page);
		await debug.send("Emulation.setScriptExecutionDisabled", { value: true });
		await page.reload();
		// A search for text leaves out this element.
		const message = page.locator("noscript p");
		await message.waitFor();
		expect(await message.textContent()).toBe("The console needs JavaScript.");
	});
});
