/** The main action of each page with the keyboard alone: each control is reached, its focus is visible, and the focus is not lost. */
import type { Locator, Page } from "playwright-core";
import { describe, expect, inject, it } from "vitest";
import { createToken } from "./api.ts";
import { hasFocus, openSession, openTab, type Tab } from "./browser.ts";
import { ADMIN_TOKEN, SPARE } from "./gateways.ts";

/** A page lists up to 50 requests, which other tests make, and each is a stop. */
const MAX_STOPS = 200;
const CHAT = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

/** Controls appear after answers, so that the focus can be a moment late. */
const expectFocus = (target: Locator): Promise<void> =>
	expect.poll(async () => (await target.count()) === 1 && hasFocus(target), { timeout: 60_000 }).toBe(true);

/** Presses Tab until the control has the focus. A search by role visits all of the page, so it is not done for each stop. */
async function tabTo(page: Page, target: Locator): Promise<void> {
	let element = await target.elementHandle();
	const isReached = async (): Promise<boolean> => {
		// The page may have replaced the element meanwhile.
		if (!(await element?.evaluate(({ isConnected }) => isConnected))) element = await target.elementHandle();
		return element?.evaluate((node) => node.ownerDocument.activeElement === node) ?? false;
	};
	for (let stops = 0; !(await isReached()); stops++) {
		expect(stops, `stops before ${target}`).toBeLessThan(MAX_STOPS);
		await page.keyboard.press("Tab");
	}
	const outline = await page.evaluate("getComputedStyle(document.activeElement).outline");
	expect(outline, String(target)).toMatch(/solid [1-9]\d*px/);
}

async function press(page: Page, target: Locator, key = "Enter"): Promise<void> {
	await tabTo(page, target);
	await page.keyboard.press(key);
}

/** Opens the list, types the name of an option, and takes it. */
async function choose(page: Page, list: Locator, name: string): Promise<void> {
	await press(page, list);
	// The list takes the focus a moment after it opens.
	await expect.poll(() => page.evaluate("document.activeElement.role")).toBe("option");
	await page.keyboard.type(name);
	await expectFocus(page.getByRole("option", { name, exact: true }));
	await page.keyboard.press("Enter");
	await list.getByText(name, { exact: true }).waitFor();
	await expectFocus(list);
}

const main = (page: Page): Locator => page.getByRole("main");
const button = (page: Page, name: string): Locator => page.getByRole("button", { name, exact: true });

describe("the keyboard alone", () => {
	it("signs in, skips the navigation, changes the account, and signs out", async () => {
		for (const account of ["keyboard-a", "keyboard-b"])
			await createToken(account, "one", ["Workers AI Read"]);
		const tab = await openTab(inject("serve"), "/console/usage", { expected: /401/ });
		const { page } = tab;
		await expectFocus(page.getByLabel("Token"));
		await page.keyboard.type("not-a-token");
		await page.keyboard.press("Enter");
		await page.getByRole("alert").waitFor();
		await expectFocus(page.getByLabel("Token"));
		await page.keyboard.press("Control+A");
		await page.keyboard.type(ADMIN_TOKEN);
		await page.keyboard.press("Enter");
		await page.getByRole("navigation").waitFor();
		await expectFocus(main(page));

		await page.reload();
		await page.getByRole("navigation").waitFor();
		await press(page, page.getByRole("link", { name: "Skip to the content" }));
		await expectFocus(main(page));

		const account = page.getByRole("combobox", { name: "Account" });
		await choose(page, account, "keyboard-b");
		await press(page, button(page, "Sign out"));
		await expectFocus(page.getByLabel("Token"));
		await tab.close();
	});

	it("finds a model, opens it in the playground, chooses another, and runs it", async () => {
		const { tab, page } = await tabAt("/console/models");
		await tabTo(page, page.getByLabel("Search models"));
		await page.keyboard.type("bge-m3");
		expect(await page.getByLabel("Search models").inputValue()).toBe("bge-m3");
		await press(page, page.getByRole("link", { name: "@cf/baai/bge-m3" }));
		await page.getByRole("heading", { name: "@cf/baai/bge-m3" }).waitFor();
		await expectFocus(main(page));
		await press(page, page.getByRole("link", { name: "Open in the playground" }));
		await page.getByRole("heading", { name: "Playground" }).waitFor();
		await expectFocus(main(page));

		const model = page.getByRole("combobox", { name: "Model" });
		await choose(page, model, "@cf/baai/bge-small-en-v1.5");
		const run = button(page, "Run");
		await press(page, run);
		await page.getByRole("region", { name: "Result" }).waitFor();
		await expectFocus(run);
		await tabTo(page, page.getByRole("tab", { name: "curl" }));
		await page.keyboard.press("ArrowRight");
		await page.getByLabel("TypeScript with env.AI", { exact: true }).waitFor();
		await tab.close();
	});

	it("chats", async () => {
		const { tab, page } = await tabAt(`/console/playground/${CHAT}`);
		await press(page, page.getByRole("button", { name: "Write a haiku about the edge of a network." }));
		const send = button(page, "Send");
		await send.waitFor();
		await page.getByRole("region", { name: "Measurements" }).waitFor();
		await expectFocus(send);
		await press(page, button(page, "Clear"), "Space");
		const message = page.getByLabel("Message");
		await expectFocus(message);
		await page.keyboard.type("One");
		await page.keyboard.press("Enter");
		await page.getByRole("article", { name: "Model" }).waitFor();
		await expectFocus(message);
		await tab.close();
	});

	it("chooses a chart, follows the requests, and reads one", async () => {
		const { tab, page } = await tabAt("/console/usage");
		const chart = page.getByRole("combobox", { name: "Chart" });
		await choose(page, chart, "Requests");
		await page.getByRole("heading", { name: "Requests by day" }).waitFor();

		await press(page, page.getByRole("link", { name: "Requests" }));
		await page.getByRole("heading", { name: "Requests" }).waitFor();
		await expectFocus(main(page));
		const follow = page.getByRole("switch", { name: "Follow" });
		for (const isOn of ["true", "false"]) {
			await press(page, follow, "Space");
			await expect.poll(() => follow.getAttribute("aria-checked")).toBe(isOn);
		}
		await tabTo(page, page.getByLabel("Model"));
		await page.keyboard.type("bge");
		await press(page, button(page, "Clear filters"));
		await expectFocus(page.getByLabel("Model"));
		const row = page.getByRole("region", { name: "Requests" }).getByRole("row").nth(1).getByRole("button");
		await tabTo(page, row);
		// Requests of other tests can move the row.
		const pressed = await row.elementHandle();
		await page.keyboard.press("Enter");
		await page.getByRole("region", { name: "Request", exact: true }).waitFor();
		await press(page, button(page, "Close"));
		await expect
			.poll(() => pressed?.evaluate((element) => element.ownerDocument.activeElement === element))
			.toBe(true);
		await tab.close();
	});

	it("creates, rolls and revokes a token", async () => {
		const { tab, page } = await tabAt("/console/tokens");
		const create = button(page, "New token");
		await press(page, create);
		await expectFocus(page.getByLabel("Name"));
		await page.keyboard.type("by-keyboard");
		await press(page, page.getByRole("checkbox", { name: "Workers AI Run" }), "Space");
		await press(page, button(page, "Create"));
		await page.getByLabel("token", { exact: true }).waitFor();
		await press(page, button(page, "Done"));
		await expectFocus(create);

		const roll = button(page, "Roll by-keyboard");
		await press(page, roll);
		await expectFocus(button(page, "Cancel"));
		await page.keyboard.press("Escape");
		await expectFocus(roll);
		await page.keyboard.press("Enter");
		await press(page, button(page, "Roll"));
		await press(page, button(page, "Done"));
		await expectFocus(roll);

		await press(page, button(page, "Revoke by-keyboard"));
		await press(page, button(page, "Revoke"));
		await page.getByText("by-keyboard").waitFor({ state: "detached" });
		await expectFocus(create);
		await tab.close();
	});

	// On `npm run dev`, because another test drains the same replica on `serve`.
	it("drains a replica and gives it requests again", async () => {
		const tab = await openSession("dev", "/console/engines");
		const { page } = tab;
		const spare = (action: string): Locator =>
			page.getByRole("button", { name: new RegExp(`^${action} .*/${SPARE}/`) });
		for (const action of ["Drain", "Undrain", "Drain", "Undrain"]) await press(page, spare(action));
		await spare("Drain").waitFor();
		await expectFocus(spare("Drain"));
		await tab.close();
	});
});

/** A page as after a reload, so that the focus is at its start. */
async function tabAt(path: string): Promise<{ tab: Tab; page: Page }> {
	const tab = await openSession("serve", path);
	await tab.page.reload();
	await tab.page.getByRole("navigation").waitFor();
	return { tab, page: tab.page };
}
