/** A gateway that fails, refuses, or cannot be reached while a page is open: what the page says, and that it needs no reload. */
import type { Locator, Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createToken } from "./api.ts";
import { NARROW } from "./axe.ts";
import { follow, hasFocus, openSession, type Tab } from "./browser.ts";

const API = /\/client\/v4\//;
/** What the session itself needs. */
const SESSION = /\/client\/v4\/(?:user\/tokens\/verify|accounts)$/;
const EXPECTED = /401|429|50[023]|Failed to load|ERR_/;
const CHAT = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const EMBEDDINGS = "@cf/baai/bge-small-en-v1.5";

/** While the gateway cannot be reached, a page tries again after this time. */
const RETRY_MS = 5_000;

type Answer = (route: Route) => Promise<void>;

const json =
	(status: number, code: number, message: string): Answer =>
	(route) =>
		route.fulfill({
			status,
			contentType: "application/json",
			body: JSON.stringify({ success: false, result: null, errors: [{ code, message }], messages: [] }),
		});
const html =
	(status: number): Answer =>
	(route) =>
		route.fulfill({ status, contentType: "text/html", body: "<p>" });
/** A success without its result. */
const empty: Answer = (route) =>
	route.fulfill({ json: { success: true, result: null, errors: [], messages: [] } });
const broken = (message: string): Answer => json(500, 5000, message);
const unreachable: Answer = (route) => route.abort("connectionrefused");
const UNREACHABLE = "The gateway cannot be reached.";
const limited = json(429, 3021, "AiError: rate limiting: inference request per min rate reached");
const LIMITED = "rate limiting: inference request per min rate reached. Wait a moment, then try again.";

describe("a page whose data cannot be loaded", () => {
	/** The scripts take most of the time of a page's load, so the tests follow links in two tabs. */
	let caller: Tab;
	let operator: Tab;
	beforeAll(async () => {
		const { value: token } = await createToken("errors-a", "pages", [
			"Workers AI Read",
			...["Account API Tokens Read", "Workers AI Run", "Vectorize Read"],
		]);
		const options = { expected: EXPECTED, hasClock: true };
		caller = await openSession("serve", "/console/adapters", { token, ...options });
		operator = await openSession("serve", "/console/adapters", options);
	});
	afterAll(async () => {
		await caller.close();
		await operator.close();
	});

	it.each<[path: string, part: (page: Page) => Locator, sentence: string, answer: Answer]>([
		["playground", (page) => page.getByLabel("Message"), UNREACHABLE, unreachable],
		["models", (page) => page.getByLabel("Search models"), "The gateway answered 502.", html(502)],
		[`models/${CHAT}`, (page) => page.getByLabel("Prices"), UNREACHABLE, unreachable],
		["usage", (page) => page.getByLabel("Totals"), LIMITED, limited],
		["requests", (page) => page.getByText(/^No requests/), "The gateway's answer is not JSON.", html(200)],
		["tokens", (page) => page.getByRole("region", { name: "Tokens" }), "No storage.", broken("No storage")],
		[
			"vectors",
			(page) => page.getByText(/^This account has no vector indexes\./),
			"The gateway's answer cannot be read (/client/v4/accounts/errors-a/vectorize/v2/indexes)",
			empty,
		],
		[
			"batches",
			(page) => page.getByText(/^This account has no batches\./),
			"The gateway's answer cannot be read (/client/v4/accounts/errors-a/ai/v1/batches)",
			empty,
		],
		["engines", (page) => page.getByRole("region", { name: "Routes" }).first(), UNREACHABLE, unreachable],
	])("%s: says why, and shows them later", async (path, part, sentence, answer) => {
		const { page } = path === "engines" ? operator : caller;
		await page.route(API, (route) =>
			SESSION.test(route.request().url()) ? route.fallback() : answer(route),
		);
		// Pages share the catalogue, which a session loads once.
		if (/^(?:models|playground)/.test(path)) await page.goto(new URL(`/console/${path}`, page.url()).href);
		else await follow(page, `/console/${path}`);
		const alert = page.getByRole("alert");
		await alert.first().waitFor();
		expect((await alert.allTextContents()).map((text) => text.replace(/Try again$/, ""))).toEqual([sentence]);
		await page.unrouteAll();
		// The page tries again by itself only while the gateway cannot be reached.
		if (answer === unreachable) await page.clock.fastForward(RETRY_MS);
		else await page.getByRole("button", { name: "Try again" }).click();
		await part(page).waitFor();
		await expect.poll(() => alert.count()).toBe(0);
	});

	it("says that a list is not answered, and follows again when it is", async () => {
		const { value: token } = await createToken("errors-a", "hangs", ["Workers AI Read"]);
		const options = { token, expected: EXPECTED, hasClock: true };
		const tab = await openSession("serve", "/console/models", options);
		const { page } = tab;
		await follow(page, "/console/requests");
		const part = page.getByText(/^No requests/);
		await part.waitFor();
		let held = 0;
		await page.route(/\/usage\/requests/, () => void held++);
		await page.getByRole("switch", { name: "Follow" }).click();
		await expect.poll(() => held).toBe(1);
		await page.clock.fastForward(30_000);
		const sentence = "The gateway has not answered within 30 seconds.";
		const alert = page.getByRole("alert");
		await alert.getByText(sentence, { exact: true }).waitFor();
		expect(await part.isVisible()).toBe(true);
		await page.unrouteAll();
		await page.clock.fastForward(RETRY_MS);
		await alert.waitFor({ state: "detached" });
		expect(await part.isVisible()).toBe(true);
		await tab.close();
	});

	it("keeps what it showed, and goes on by itself when the browser is online again", async () => {
		const { page } = operator;
		await page.getByRole("region", { name: "Routes" }).first().waitFor();
		await page.context().setOffline(true);
		try {
			await page.getByRole("button", { name: "Refresh" }).click();
			await page.getByRole("alert").getByText(UNREACHABLE).waitFor();
			expect(await page.getByRole("region", { name: "Routes" }).first().isVisible()).toBe(true);
		} finally {
			await page.context().setOffline(false);
		}
		await page.clock.fastForward(RETRY_MS);
		await page.getByRole("alert").waitFor({ state: "detached" });
	});
});

describe("a change that fails", () => {
	it("says why where it is seen, also if its form is higher than the window", async () => {
		const tab = await openSession("serve", "/console/gateways", { expected: EXPECTED });
		const { page } = tab;
		await page.setViewportSize(NARROW);
		await page.getByRole("button", { name: "New gateway" }).click();
		await page.getByLabel("Name").fill("errors");
		await page.route(/\/ai-gateway\/gateways$/, broken("No storage"));
		const create = page.getByRole("button", { name: "Create" });
		await create.press("Enter");
		const alert = page.getByRole("alert").getByText("No storage.", { exact: true });
		await alert.waitFor();
		const isSeen = (): Promise<boolean> =>
			alert.evaluate((element) => {
				const { top, bottom } = element.getBoundingClientRect();
				return top >= 0 && bottom <= element.ownerDocument.documentElement.clientHeight;
			});
		await expect.poll(isSeen).toBe(true);
		await expect.poll(() => hasFocus(create)).toBe(true);
		// Another attempt clears the message, and the focus stays.
		const answered = page.waitForResponse(/\/ai-gateway\/gateways$/);
		await page.keyboard.press("Enter");
		await answered;
		await alert.waitFor();
		await expect.poll(() => hasFocus(create)).toBe(true);
		await expect.poll(() => create.isEnabled()).toBe(true);
		await page.unrouteAll();
		await page.route(/\/ai-gateway\/gateways$/, empty);
		await page.keyboard.press("Enter");
		await page
			.getByRole("alert")
			.getByText(/^The gateway's answer cannot be read \(\/client\/v4\/accounts\/.*\/gateways\)$/)
			.waitFor();
		await tab.close();
	});
});

describe("a call of the playground that fails", () => {
	let tab: Tab;
	beforeAll(async () => {
		tab = await openSession("serve", `/console/playground/${EMBEDDINGS}`, { expected: EXPECTED });
	});
	afterAll(() => tab.close());

	it("says why; another run clears it", async () => {
		const { page } = tab;
		const run = page.getByRole("button", { name: "Run" });
		await run.waitFor();
		for (const [answer, sentence] of [
			[limited, LIMITED],
			[json(503, 3050, "Engine down"), "Engine down."],
			[unreachable, UNREACHABLE],
		] as const) {
			await page.route(/\/ai\/run\//, answer);
			await run.click();
			await page.getByRole("alert").getByText(sentence, { exact: true }).waitFor();
			await page.unrouteAll();
		}
		await run.click();
		await page.getByRole("region", { name: "Result" }).waitFor();
		expect(await page.getByRole("alert").count()).toBe(0);
	});

	it("as a chat that is cut off: keeps the text, and says that it is not complete", async () => {
		const { page } = tab;
		await page.route(/\/chat\/completions$/, (route) =>
			route.fulfill({
				contentType: "text/event-stream",
				body: 'data: {"choices":[{"index":0,"delta":{"content":"One and"}}]}\n\n',
			}),
		);
		await follow(page, `/console/playground/${CHAT}`);
		await page.getByLabel("Message").fill("Count");
		await page.keyboard.press("Enter");
		const sentence = "The connection to the gateway was lost before the answer was complete.";
		await page.getByRole("alert").getByText(sentence, { exact: true }).waitFor();
		await page.getByRole("article", { name: "Model" }).getByText("One and").waitFor();
		await page.unrouteAll();
		await page.getByLabel("Message").fill("Again");
		await page.keyboard.press("Enter");
		await page.getByRole("region", { name: "Measurements" }).waitFor();
		expect(await page.getByRole("alert").count()).toBe(0);
	});
});
