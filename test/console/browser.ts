/** Chromium for the tests, and what every page must hold: only the gateway's origin, and no message of an error. */
import { join } from "node:path";
import {
	type Browser,
	type BrowserContext,
	type ConsoleMessage,
	chromium,
	type Locator,
	type Page,
	type Request,
} from "playwright-core";
import { afterAll, expect, inject } from "vitest";
import { ADMIN_TOKEN } from "./gateways.ts";

export const WINDOW = { width: 1280, height: 900 };
/** For each step, on a busy machine. The library's own limit is 30 seconds. */
const PATIENCE_MS = 120_000;

/** The browser of all files. The global setup closes it. */
let browser: Promise<Browser> | undefined;
/** By origin: a profile of this worker's files, whose tabs share the cached files of the console. A session stays in its tab. */
const profiles = new Map<string, Promise<BrowserContext>>();

async function profileOf(origin: string): Promise<BrowserContext> {
	const profile = profiles.get(origin) ?? newProfile(await opened());
	profiles.set(origin, profile);
	return profile;
}

const opened = (): Promise<Browser> => {
	browser ??= chromium.connect(inject("browser"));
	return browser;
};

async function newProfile(browser: Browser): Promise<BrowserContext> {
	const profile = await browser.newContext({ viewport: WINDOW });
	profile.setDefaultTimeout(PATIENCE_MS);
	// An empty tab, so that the window stays: it closes with its last tab, and opening one takes half a second of CPU.
	await profile.newPage();
	return profile;
}

export interface Tab {
	page: Page;
	/** Addresses of all requests, without `blob:` and `data:`. */
	requests: string[];
	/** Expects that no request left the origin and that the page reported no error. */
	close(): Promise<void>;
}

export interface TabOptions {
	/** Messages of the console that the test causes on purpose. */
	expected?: RegExp;
	/** Runs on the empty page, before its first load. */
	before?(page: Page): Promise<unknown>;
	/** The test sets the time. It is that of a whole profile, so the tab has a profile of its own. */
	hasClock?: boolean;
}

/** A tab at a path of the console. */
export async function openTab(
	origin: string,
	path = "/console",
	{ expected, before, hasClock = false }: TabOptions = {},
): Promise<Tab> {
	const profile = hasClock ? await newProfile(await opened()) : await profileOf(origin);
	const page = await profile.newPage();
	if (hasClock) await page.clock.install();
	const watched = watch(page, origin, expected);
	await before?.(page);
	await page.goto(origin + path);
	return {
		page,
		requests: watched.requests,
		close: async () => {
			await (hasClock ? profile : page).close();
			watched.end();
		},
	};
}

/** Collects what {@link Tab.close} expects, from now on. `end`: expects it, and collects no more. */
function watch(page: Page, origin: string, expected?: RegExp): { requests: string[]; end(): void } {
	const requests: string[] = [];
	const problems: string[] = [];
	const onRequest = (request: Request) => {
		if (!/^(?:blob|data):/.test(request.url())) requests.push(request.url());
	};
	const onError = (error: Error) => problems.push(error.message);
	const onConsole = (message: ConsoleMessage) => {
		if (message.type() === "error" && !expected?.test(message.text())) problems.push(message.text());
	};
	page.on("request", onRequest).on("pageerror", onError).on("console", onConsole);
	return {
		requests,
		end: () => {
			page.off("request", onRequest).off("pageerror", onError).off("console", onConsole);
			expect(requests.filter((url) => new URL(url).host !== new URL(origin).host)).toEqual([]);
			expect(problems).toEqual([]);
		},
	};
}

export type Runtime = "dev" | "serve";

/** A tab with a session: on `serve` of the token, by default the operator's. `dev` needs none. */
export async function openSession(
	runtime: Runtime,
	path: string,
	{ token = ADMIN_TOKEN, ...options }: TabOptions & { token?: string } = {},
): Promise<Tab> {
	// The page first tries whether the gateway needs a token.
	const tab = await openTab(inject(runtime), path, { expected: /401/, ...options });
	if (runtime === "serve") await signIn(tab, token);
	return tab;
}

/** Tabs with a session that no test uses, on the page of {@link RESTING}. */
const resting = new Map<Runtime, Page>();
const RESTING = "/console/vectors";

/**
 * A tab with a session that tests of several files use one after the other, because the first load of a page takes more than a second of
 * CPU. A test begins on its page as a link leads there. It may not change the account, or what a session loads once: the list of accounts
 * and the catalogue.
 */
export async function sharedSession(
	runtime: Runtime,
	path: string,
	{ expected }: Pick<TabOptions, "expected"> = {},
): Promise<Tab> {
	const page = resting.get(runtime) ?? (await openSession(runtime, RESTING)).page;
	resting.delete(runtime);
	// What is shown stays until the page is loaded, and a page that is shown already would keep its state.
	await page.getByRole("main").getByRole("heading", { name: "Vectors" }).waitFor();
	const { requests, end } = watch(page, inject(runtime), expected);
	await follow(page, path);
	return {
		page,
		requests,
		close: async () => {
			end();
			await page.unrouteAll();
			await page.setViewportSize(WINDOW);
			await follow(page, RESTING);
			resting.set(runtime, page);
		},
	};
}

/** As a link of the console does. A page that is shown already would keep its state. */
export async function follow(page: Page, path: string): Promise<void> {
	if (page.url().endsWith(path)) throw new Error(`The tab shows ${path} already`);
	await page.evaluate(
		`history.pushState(null, "", ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent("popstate"))`,
	);
}

/**
 * One tab on `npm run dev` for all tests of a file, because the scripts take most of the time of a page's load. `open` shows the
 * empty playground of a model, each time of another one.
 */
export function playgroundTab(): { open(model: string): Promise<Page> } {
	let tab: Tab | undefined;
	afterAll(() => tab?.close());
	return {
		open: async (model) => {
			const path = `/console/playground/${model}`;
			if (tab === undefined) tab = await openSession("dev", path);
			else await follow(tab.page, path);
			const { page } = tab;
			await page.getByRole("combobox", { name: "Model" }).getByText(model, { exact: true }).waitFor();
			return page;
		},
	};
}

/** Whether the control has the focus of the keyboard. */
export const hasFocus = (control: Locator): Promise<boolean> =>
	control.evaluate((element) => element.ownerDocument.activeElement === element);

export async function signIn({ page }: Tab, token: string): Promise<void> {
	await page.getByLabel("Token").fill(token);
	await page.getByRole("button", { name: "Sign in" }).click();
	await page.getByRole("navigation").waitFor();
}

/**
 * The folder of the screenshots. `CONSOLE_SHOTS=docs npm run test:console -- test/console/chat` updates the picture of
 * `docs/console.md`.
 */
const SHOTS = process.env.CONSOLE_SHOTS;

/** Saves what the window shows, if there is a folder for it. */
export async function shoot(page: Page, name: string): Promise<void> {
	if (SHOTS !== undefined) await page.screenshot({ path: join(SHOTS, `${name}.png`) });
}
