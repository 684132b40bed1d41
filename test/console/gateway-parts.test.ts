/** The page of gateways: custom providers, aliases, versions of dynamic routes, and a token that may change none of them. */
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { api, createToken } from "./api.ts";
import { faultsOf, NARROW } from "./axe.ts";
import { hasFocus, openSession, type Tab } from "./browser.ts";

const ACCOUNT = "gateway-parts-a";
const AI_GATEWAY = `/accounts/${ACCOUNT}/ai-gateway`;
const DEFAULT = `${AI_GATEWAY}/gateways/default`;
const GROUPS = ["Workers AI Read", "Workers AI Run", "Workers AI Write"];
const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const OTHER = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const CHANGES_ADDRESS =
	"If you change the address, the keys that gateways store for this provider are deleted.";

let token = "";
let tab: Tab;
let page: Page;
beforeAll(async () => {
	({ value: token } = await createToken(ACCOUNT, "all", [...GROUPS, "AI Search Read"]));
	tab = await openSession("serve", "/console/gateways?gateway=default", { token, expected: /40[013]/ });
	({ page } = tab);
});
afterAll(() => tab.close());

const region = (name: string): Locator => page.getByRole("region", { name, exact: true }).first();
const press = (part: Locator, name: string): Promise<void> =>
	part.getByRole("button", { name, exact: true }).click();
const confirm = (name: string): Promise<void> => press(page.getByRole("alertdialog"), name);

async function expectAccessible(): Promise<void> {
	expect(await faultsOf(page)).toEqual([]);
	const { width, height } = page.viewportSize() ?? NARROW;
	await page.setViewportSize(NARROW);
	expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(NARROW.width);
	await page.setViewportSize({ width, height });
}

/** The model that answers a chat of the gateway `default`. */
async function routed(model: string): Promise<string | null> {
	const response = await fetch(`${inject("serve")}/client/v4/accounts/${ACCOUNT}/ai/v1/chat/completions`, {
		method: "POST",
		headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
		body: JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }] }),
	});
	await response.text();
	return response.headers.get("cf-aig-model");
}

it("an alias is created, answers, is changed and deleted", async () => {
	const part = region("Aliases");
	await part.getByText(/^No aliases\./).waitFor();
	await press(part, "New alias");
	const [name, models] = [part.getByLabel("Name"), part.getByLabel("Models, one in each line")];
	await expect.poll(() => hasFocus(name)).toBe(true);
	await name.fill("my assistant");
	await models.fill(`${LLAMA}\n${LLAMA}`);
	await press(part, "Create");
	// The browser names the rule of the field, and sends nothing.
	expect(await name.evaluate((field: { validationMessage: string }) => field.validationMessage)).not.toBe("");
	await name.fill("assistant");
	await press(part, "Create");
	await part.getByText(`Models: ${LLAMA} is listed twice: remove one.`).waitFor();
	await models.fill("dynamic/support");
	await press(part, "Create");
	await part.getByText(/models\[0\]: expected the id of a model, not an alias/).waitFor();
	expect(await api("GET", `${DEFAULT}/aliases`)).toEqual([]);
	await models.fill(`  @cf/meta/llama-3.1-8b-instruct-fb8\n\n${OTHER}\n`);
	await press(part, "Create");
	await part
		.getByText(/^models\[0\]: stored, but it cannot be called now.*llama-3\.1-8b-instruct-fp8/)
		.waitFor();
	const rows = part.locator("tbody tr");
	// The button that sends the form is disabled until the answer, so it has lost the focus.
	await expect.poll(() => hasFocus(part.getByRole("button", { name: "New alias" }))).toBe(true);
	expect(await rows.textContent()).toMatch(/custom\/assistant.*instruct-fb8.*fp8-fast.*as listed/);
	await expectAccessible();
	expect(await routed("custom/assistant")).toBe(OTHER);

	// Another client changes the alias after the list was loaded.
	const stored = [`${LLAMA}`, OTHER];
	await api("PUT", `${DEFAULT}/aliases/assistant`, { models: stored });
	await press(part, "Edit the alias assistant");
	expect(await models.inputValue()).toBe(stored.join("\n"));
	await part.getByLabel("Order of the models").click();
	await page.getByRole("option", { name: "Auto Router" }).click();
	await press(part, "Save");
	await rows.getByText("Auto Router").waitFor();
	await expect.poll(() => hasFocus(part.getByRole("button", { name: /^Edit/ }))).toBe(true);
	await expect.poll(() => part.getByText(/stored, but it cannot be called/).count()).toBe(0);
	expect(await api("GET", `${DEFAULT}/aliases`)).toMatchObject([
		{ name: "assistant", routing: "smart", models: stored },
	]);

	await press(part, "New alias");
	await name.fill("custom/assistant");
	await models.fill(LLAMA);
	await press(part, "Create");
	await part.getByText("name: another alias of the gateway has this name.").waitFor();
	await press(part, "Edit the alias assistant");
	const edit = part.getByRole("region", { name: "Edit custom/assistant" });
	await edit.waitFor();
	// To save an alias that is gone would fail, so its form closes with it.
	await press(part, "Delete the alias assistant");
	await confirm("Delete the alias");
	await part.getByText(/^No aliases\./).waitFor();
	await edit.waitFor({ state: "detached" });
	await expect.poll(() => hasFocus(part.getByRole("button", { name: "New alias" }))).toBe(true);
});

it("a custom provider is created, changed and deleted; its secrets are neither shown nor sent to another address", async () => {
	const part = region("Custom providers");
	const path = `${AI_GATEWAY}/custom-providers`;
	await part.getByText(/^No custom providers\./).waitFor();
	await press(part, "New custom provider");
	const [name, slug] = [part.getByLabel("Name"), part.getByLabel(/^Slug/)];
	const [address, headers] = [part.getByLabel("Base URL"), part.getByLabel(/^Headers/)];
	await part.getByText("Its key: Keys of providers of a gateway, provider custom-{slug}.").waitFor();
	await name.fill("Our models");
	await slug.fill("Our Models");
	await address.fill("models.example.com");
	for (const field of [slug, address]) {
		await press(part, "Create");
		await expect.poll(() => hasFocus(field)).toBe(true);
		await field.fill(field === slug ? "our-models" : "http://models.example.com/v1/");
	}
	for (const [text, sentence] of [
		["[]", 'Headers: expected a JSON object such as {"x-team": "search"}.'],
		['{"x-team": 1}', 'Headers: expected texts, such as {"x-team": "search"}.'],
		[`{"authorization": "Bearer ${token}"}`, "Headers: a value has the token of this session."],
		['{"x team": "search"}', /headers.*expected names of headers/],
		['{"x-team": "search-secret"}', /base_url .*https/],
	] as const) {
		await headers.fill(text);
		await press(part, "Create");
		await part.getByText(sentence).waitFor();
	}
	expect(await api("GET", path)).toEqual([]);
	await address.fill("https://models.example.com/v1/");
	await press(part, "Create");
	const row = part.locator("tbody tr");
	await row.getByText("enabled", { exact: true }).waitFor();
	expect(await row.textContent()).toMatch(
		/custom-our-models.*Our models.*https:\/\/models\.example\.com\/v1x-team.*enabled/,
	);
	await expectAccessible();
	expect(await page.content()).not.toContain("search-secret");

	await press(part, "Edit the custom provider our-models");
	await part.getByText("Its key: Keys of providers of a gateway, provider custom-our-models.").waitFor();
	await name.fill("Models of ours");
	await part.getByRole("switch", { name: "Enabled" }).click();
	await press(part, "Save");
	await row.getByText("disabled", { exact: true }).waitFor();
	const [changed] = await api<{ headers: string }[]>("GET", path);
	expect(changed).toMatchObject({
		name: "Models of ours",
		enable: false,
		base_url: "https://models.example.com/v1",
	});
	expect(JSON.parse(changed?.headers ?? "")).toEqual({ "x-team": "[redacted]" });

	await press(part, "Edit the custom provider our-models");
	await address.fill("https://models.example.com/v1/");
	expect(await part.getByText(CHANGES_ADDRESS).count()).toBe(0);
	await address.fill("https://other.example.com/v1");
	await part.getByText(CHANGES_ADDRESS).waitFor();
	await press(part, "Save");
	await part
		.getByText("Headers: enter the values again: stored values are not sent to a new address.")
		.waitFor();
	await headers.fill("");
	await press(part, "Save");
	await row.getByText("https://other.example.com/v1").waitFor();
	await row.getByText("none", { exact: true }).waitFor();
	await press(part, "Delete the custom provider our-models");
	await confirm("Delete the custom provider");
	await part.getByText(/^No custom providers\./).waitFor();
	expect(await api("GET", path)).toEqual([]);
});

describe("a dynamic route", () => {
	const elements = (model: string): object[] => [
		{ id: "start", type: "start", outputs: { next: { elementId: "model" } } },
		{
			id: "model",
			type: "model",
			properties: { provider: "workers-ai", model },
			outputs: { success: { elementId: "end" } },
		},
		{ id: "end", type: "end", outputs: {} },
	];
	interface Route {
		id: string;
		version: { version_id: string };
	}

	it("has versions: an older one is shown and deployed, and the deployments are listed", async () => {
		const first = await api<Route>("POST", `${DEFAULT}/routes`, {
			name: "support",
			elements: elements(LLAMA),
		});
		const path = `${DEFAULT}/routes/${first.id}`;
		await page.reload();
		const part = region("Dynamic routes");
		await press(part, "Versions of the route support");
		const [versions, deployments] = [
			part.getByRole("region", { name: "Versions", exact: true }).locator("tbody tr"),
			part.getByRole("region", { name: "Deployments" }).locator("tbody tr"),
		];
		await part.getByText("No version is deployed, so the route serves nothing.").waitFor();
		const [old] = [first.version.version_id.slice(0, 8)];
		expect(await versions.textContent()).toContain(`${old}`);
		await press(part, `Deploy the version ${old}`);
		await confirm("Deploy the version");
		await versions.getByText("deployed", { exact: true }).waitFor();
		expect(await deployments.count()).toBe(1);
		await expect.poll(() => hasFocus(part.getByRole("region", { name: "Versions", exact: true }))).toBe(true);

		// A version that the form stores and deploys is there at once.
		await press(part, "Edit the route support");
		await part.getByLabel("Elements (JSON)").fill(JSON.stringify(elements(OTHER)));
		await press(part, "Deploy");
		await expect.poll(() => versions.count()).toBe(2);
		await expect.poll(() => deployments.count()).toBe(2);
		expect(await versions.first().textContent()).toMatch(/deployedlatest$/);
		await expect.poll(() => routed("dynamic/support"), { timeout: 20_000 }).toBe(OTHER);
		// Another name alone makes no version.
		for (const [before, name] of [
			["support", "help"],
			["help", "support"],
		] as const) {
			await press(part, `Edit the route ${before}`);
			const form = part.getByRole("region", { name: `Edit dynamic/${before}` });
			await form.getByRole("textbox", { name: "Name", exact: true }).fill(name);
			await press(part, "Rename");
			await part.getByText(`dynamic/${name}`, { exact: true }).waitFor();
		}
		// A name is stored although the version is refused, and can be changed back.
		await press(part, "Edit the route support");
		const edited = part.getByLabel("Elements (JSON)");
		const before = await edited.inputValue();
		const renamed = part.getByRole("textbox", { name: "Name", exact: true });
		await renamed.fill("help");
		await edited.fill("[]");
		await press(part, "Deploy");
		await part.getByText("dynamic/help", { exact: true }).waitFor();
		await part.getByRole("alert").waitFor();
		await renamed.fill("support");
		await edited.fill(before);
		await press(part, "Rename");
		await part.getByText("dynamic/support", { exact: true }).waitFor();
		await expect.poll(() => edited.count()).toBe(0);
		expect(await versions.count()).toBe(2);
		await part.getByRole("button", { name: old, exact: true }).click();
		await part
			.getByRole("region", { name: `Version ${old}` })
			.getByText(LLAMA)
			.waitFor();
		await expectAccessible();
		await press(part, `Close the version ${old}`);
		await press(part, `Deploy the version ${old}`);
		await confirm("Deploy the version");
		await expect.poll(() => deployments.count()).toBe(3);
		expect(await deployments.first().textContent()).toContain(old);
		await part.getByText("an older version").waitFor();
		await expect.poll(() => routed("dynamic/support"), { timeout: 20_000 }).toBe(LLAMA);

		// The deployed version is on the second page.
		for (let count = 0; count < 20; count++)
			await api("POST", `${path}/versions`, { elements: elements(OTHER) });
		await page.reload();
		await press(part, "Versions of the route support");
		await expect.poll(() => versions.count()).toBe(20);
		await part.getByRole("button", { name: "Older" }).click();
		await expect.poll(() => versions.count()).toBe(2);
		await versions.getByText("deployed", { exact: true }).waitFor();
		await press(part, "Close");
		await press(part, "Delete the route support");
		await confirm("Delete the route");
		await part.getByText(/^No dynamic routes\./).waitFor();
	});

	it("gets another name without a deployment, and the form names the instances of AI Search that use it", async () => {
		const created = { name: "drafted", elements: elements(LLAMA) };
		const { id, version } = await api<Route>("POST", `${DEFAULT}/routes`, created);
		const path = `${DEFAULT}/routes/${id}`;
		await api("POST", `${path}/deployments`, { version_id: version.version_id });
		const latest = await api<Route>("POST", `${path}/versions`, { elements: elements(OTHER) });
		const instances = `/accounts/${ACCOUNT}/ai-search/namespaces/default/instances`;
		await api("POST", instances, { id: "docs", ai_search_model: "dynamic/drafted" });
		await api("POST", instances, { id: "others" });
		await page.reload();
		const part = region("Dynamic routes");
		await press(part, "Edit the route drafted");
		const form = part.getByRole("region", { name: "Edit dynamic/drafted" });
		await form.getByRole("button", { name: "Deploy" }).waitFor();
		const { promise: listed, resolve: answerList } = Promise.withResolvers<void>();
		await page.route("**/ai-search/namespaces?**", async (route) => {
			await listed;
			await route.continue();
		});
		await form.getByRole("textbox", { name: "Name", exact: true }).fill("kept");
		const rename = form.getByRole("button", { name: "Rename" });
		await form.getByText("Looking for instances of AI Search …").waitFor();
		expect(await rename.isDisabled()).toBe(true);
		answerList();
		await form
			.getByText("These instances of AI Search fail after the rename. Set their model to dynamic/kept:")
			.waitFor({ timeout: 30_000 });
		expect(await form.getByRole("link").allTextContents()).toEqual(["default/docs"]);
		expect(await rename.isEnabled()).toBe(true);
		await expectAccessible();
		await press(form, "Rename");
		await part.getByText("dynamic/kept", { exact: true }).waitFor();
		await part.getByText("an older version").waitFor();
		const shown = await api<object>("GET", path);
		expect(shown).toMatchObject({
			deployment: { version_id: version.version_id },
			version: { version_id: latest.version.version_id },
		});
		await api("DELETE", `${instances}/docs`);
		await api("DELETE", `${instances}/others`);
		await api("DELETE", path);
	});

	it("is renamed by a token that may not list the instances of AI Search: the form names the permission", async () => {
		const created = { name: "unlisted", elements: elements(LLAMA) };
		const { id } = await api<Route>("POST", `${DEFAULT}/routes`, created);
		const { value } = await createToken(ACCOUNT, "without search", GROUPS);
		const other = await openSession("serve", "/console/gateways?gateway=default", {
			...{ token: value, expected: /40[013]/ },
		});
		const part = other.page.getByRole("region", { name: "Dynamic routes" }).first();
		await press(part, "Edit the route unlisted");
		await part.getByRole("textbox", { name: "Name", exact: true }).fill("listed");
		await part.getByText('Needs "AI Search Read".').waitFor();
		await press(part, "Rename");
		await part.getByText("dynamic/listed", { exact: true }).waitFor();
		await other.close();
		await api("DELETE", `${DEFAULT}/routes/${id}`);
	});
});

it("a token that requires a gateway gets the message of this rule", async () => {
	const { id } = await createToken(ACCOUNT, "bound", GROUPS);
	await api("PUT", `/accounts/${ACCOUNT}/tokens/${id}`, {
		...(await api<object>("GET", `/accounts/${ACCOUNT}/tokens/${id}`)),
		gateway: { id: "default", mode: "required" },
	});
	const value = await api<string>("PUT", `/accounts/${ACCOUNT}/tokens/${id}/value`, {});
	const bound = await openSession("serve", "/console/gateways?gateway=default", {
		...{ token: value, expected: /40[13]/ },
	});
	const part = bound.page.getByRole("region", { name: "Aliases" }).first();
	await press(part, "New alias");
	await part.getByLabel("Name").fill("assistant");
	await part.getByLabel("Models, one in each line").fill(LLAMA);
	await press(part, "Create");
	expect(await part.getByRole("alert").textContent()).toMatch(
		/requires the gateway "default", so the token cannot change gateways\. Use .* that requires none\.$/,
	);
	await bound.close();
});
