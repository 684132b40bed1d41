/** The page of gateways: one is created and changed, gets a route and a key, its logs are filtered and read, it is deleted. */
import { expect, inject, it } from "vitest";
import { api, createToken } from "./api.ts";
import { faultsOf, NARROW } from "./axe.ts";
import { openSession, shoot } from "./browser.ts";

const ACCOUNT = "gateways-a";
const MODEL = "@cf/meta/llama-3.1-8b-instruct-fp8";
const GATEWAYS = `/accounts/${ACCOUNT}/ai-gateway/gateways`;
const SHOP = `${GATEWAYS}/shop`;
/** Its request is longer than the beginning that a log shows at first (4,096 characters). */
const LONG = `${"long ".repeat(1_000)}end of the prompt`;

/** Sends a prompt through the gateway `shop`. */
async function prompt(token: string, text: string, headers = {}, model = MODEL): Promise<number> {
	const response = await fetch(`${inject("serve")}/client/v4/accounts/${ACCOUNT}/ai/run/${model}`, {
		method: "POST",
		headers: { authorization: `Bearer ${token}`, "cf-aig-gateway-id": "shop", ...headers },
		body: JSON.stringify({ messages: [{ role: "user", content: text }] }),
	});
	await response.text();
	return response.status;
}

it("a gateway is created, changed, gets a route and a key, is called, its logs are read, and it is deleted", async () => {
	const { value: token } = await createToken(ACCOUNT, "all", [
		...["Workers AI Read", "Workers AI Run", "Workers AI Write"],
	]);
	const tab = await openSession("serve", "/console/gateways", { token, expected: /40[014]/ });
	const { page } = tab;
	const table = page.getByRole("region", { name: "Gateways" });
	const rowOf = (name: string) => table.locator("tr", { hasText: name });
	await rowOf("default").waitFor();
	expect(
		await rowOf("default")
			.getByRole("button", { name: /^Delete/ })
			.count(),
	).toBe(0);

	await page.getByRole("button", { name: "New gateway" }).click();
	const form = page.getByRole("region", { name: /^(New gateway|Edit shop)$/ });
	await form.getByLabel("Name").fill("shop");
	await form.getByLabel("Cache answers for (seconds)").fill("300");
	await form.getByLabel("Requests at most").fill("1000");
	await form.getByLabel("In (seconds)").fill("3600");
	await form.getByRole("button", { name: "Add a spend limit" }).click();
	await form.getByLabel("Spend limit 1 (US dollars)").fill("2.5");
	await form.getByLabel("Other settings (JSON)").fill("[]");
	await form.getByRole("button", { name: "Create" }).click();
	await form.getByText("Other settings: expected a JSON object").waitFor();
	await form.getByLabel("Other settings (JSON)").fill('{"spend_limits": null}');
	await form.getByRole("button", { name: "Create" }).click();
	await form.getByText("Other settings: spend_limits has a field above").waitFor();
	await form.getByLabel("Other settings (JSON)").fill('{"retry_max_attempts": 9}');
	await form.getByRole("button", { name: "Create" }).click();
	await form
		.getByText(/retry_max_attempts/)
		.first()
		.waitFor();
	expect(await faultsOf(page)).toEqual([]);
	await shoot(page, "gateway-form");
	await form.getByLabel("Other settings (JSON)").fill('{"retry_max_attempts": 3, "retry_delai": 10}');
	await form.getByRole("button", { name: "Create" }).click();
	await page.waitForURL(/\?gateway=shop$/);
	await page.getByText(/^retry_delai: unknown.*did you mean "retry_delay"/).waitFor();
	await expect.poll(() => form.count()).toBe(0);
	await rowOf("shop")
		.getByText("cache 300 s, 1,000 requests an hour, $2.5 a day, 3 attempts", { exact: true })
		.waitFor();
	const search = page.getByLabel("Search gateways");
	for (const [words, shown, hidden] of [
		["SHOP", "shop", "default"],
		["attempts $2.5", "shop", "default"],
		["defau", "default", "shop"],
	] as const) {
		await search.fill(words);
		await expect.poll(() => rowOf(hidden).count()).toBe(0);
		await rowOf(shown).waitFor();
	}
	await search.fill("nothing");
	await page.getByText("No gateway has this in its name or rules.").waitFor();
	await search.fill("");
	await rowOf("shop").waitFor();
	expect(await api("GET", SHOP)).toMatchObject({
		...{ cache_ttl: 300, rate_limiting_limit: 1_000, rate_limiting_interval: 3_600 },
		...{ collect_logs: true, retry_max_attempts: 3 },
		spend_limits: { enabled: true, rules: [{ limitType: "cost", limit: 2.5, window: 86_400 }] },
	});
	await page.getByText(`${inject("serve")}/v1/${ACCOUNT}/shop/compat`, { exact: true }).waitFor();

	const edit = async (): Promise<void> => {
		await rowOf("shop").getByRole("button", { name: "Edit shop" }).click();
		await form.waitFor();
	};
	await edit();
	expect(JSON.parse(await form.getByLabel("Other settings (JSON)").inputValue())).toEqual({
		...{ retry_max_attempts: 3, retry_delai: 10 },
	});
	await form.getByRole("button", { name: "Remove spend limit 1" }).click();
	await form.getByLabel("Other settings (JSON)").fill("");
	await form.getByLabel("Empty the cache when settings change").click();
	// Another client changes a setting while the form is open.
	const stored = await api<Record<string, unknown>>("GET", SHOP);
	await api("PUT", SHOP, { ...stored, authentication: false, byok_only: true });
	await form.getByRole("button", { name: "Save" }).click();
	await rowOf("shop")
		.getByText("cache 300 s, 1,000 requests an hour, without the operator's keys", { exact: true })
		.waitFor();
	await expect.poll(() => page.getByText(/^retry_delai/).count()).toBe(0);
	expect(await api("GET", SHOP)).toMatchObject({
		...{ authentication: false, byok_only: true, cache_invalidate_on_update: true, spend_limits: null },
	});
	// The form has no fields for the keys of a rule, so the rule stays JSON. A setting that is removed is no longer set.
	const rule = { limitType: "cost", limit: 5, window: 60, metadata: { user: { mode: "partition" } } };
	await edit();
	await form
		.getByLabel("Other settings (JSON)")
		.fill(JSON.stringify({ spend_limits: { enabled: true, rules: [rule] } }));
	await form.getByRole("button", { name: "Save" }).click();
	await rowOf("shop")
		.getByText(/\$5 a minute for each user, without/)
		.waitFor();
	expect(await api("GET", SHOP)).toMatchObject({ authentication: null, spend_limits: { rules: [rule] } });
	await edit();
	expect(await form.getByLabel("Other settings (JSON)").inputValue()).toContain("partition");
	await form.getByLabel("Other settings (JSON)").fill("");
	await form.getByRole("button", { name: "Save" }).click();
	await rowOf("shop")
		.getByText(/an hour, without/)
		.waitFor();

	const routes = page.getByRole("region", { name: "Dynamic routes" });
	await routes.getByText(/^No dynamic routes\./).waitFor();
	await routes.getByRole("button", { name: "New route" }).click();
	await routes.getByLabel("Name").fill("support");
	const elements = routes.getByLabel("Elements (JSON)");
	const example = await elements.inputValue();
	await elements.fill("[");
	await routes.getByRole("button", { name: "Deploy" }).click();
	await routes.getByText("Elements is not JSON").waitFor();
	await elements.fill(example.replace("llama-3.3-70b-instruct-fp8-fast", "no-such-model"));
	await routes.getByRole("button", { name: "Deploy" }).click();
	await routes
		.getByText(/no-such-model/)
		.first()
		.waitFor();
	await routes.getByText("deployed", { exact: true }).waitFor();
	expect(await faultsOf(page)).toEqual([]);
	await routes.getByRole("button", { name: "Edit the route support" }).click();
	await elements.fill(example.replace("llama-3.3-70b-instruct-fp8-fast", "llama-3.1-8b-instruct-fp8"));
	await routes.getByRole("button", { name: "Deploy" }).click();
	await expect.poll(() => elements.count()).toBe(0);
	expect(await prompt(token, "To a route", {}, "dynamic/support")).toBe(200);
	await routes.getByRole("button", { name: "Delete the route support" }).click();
	await page.getByRole("button", { name: "Delete the route", exact: true }).click();
	await routes.getByText(/^No dynamic routes\./).waitFor();

	const keys = page.getByRole("region", { name: "Keys of providers" });
	await keys.getByText(/^No keys\./).waitFor();
	await keys.getByRole("button", { name: "New key" }).click();
	await keys.getByLabel("Provider").fill("opnai");
	await keys.getByLabel("Key", { exact: true }).fill("sk-a-key-of-a-test-1234");
	await keys.getByRole("button", { name: "Store" }).click();
	await keys.getByText(/expected a provider's slug/).waitFor();
	await keys.getByLabel("Provider").fill("openai");
	await keys.getByRole("button", { name: "Store" }).click();
	await keys.getByText("…1234", { exact: true }).waitFor();
	expect(await keys.textContent()).toMatch(/openai.*used without an alias.*…1234.*none/);
	// A new text of a key keeps what the form does not show.
	const configs = `${SHOP}/provider_configs`;
	const limit = { rate_limit: 5, rate_limit_period: 60, default_config: true };
	await api("POST", configs, { provider_slug: "openai", secret: "sk-of-the-api-0000", ...limit });
	await keys.getByRole("button", { name: "New key" }).click();
	await keys.getByLabel("Provider").fill("openai");
	await keys.getByLabel("Key", { exact: true }).fill(token);
	await keys.getByRole("button", { name: "Store" }).click();
	await keys.getByText("Key: this is the token of this session").waitFor();
	await keys.getByLabel("Key", { exact: true }).fill("sk-a-key-of-a-test-5678");
	await keys.getByRole("button", { name: "Store" }).click();
	await keys.getByText("…5678", { exact: true }).waitFor();
	await keys.getByText("5 requests a minute", { exact: true }).waitFor();
	expect(await api("GET", configs)).toMatchObject([limit]);
	expect(await page.content()).not.toContain("sk-a-key");
	await keys.getByRole("button", { name: "Delete the key openai/default" }).click();
	await page.getByRole("button", { name: "Delete the key", exact: true }).click();
	await keys.getByText(/^No keys\./).waitFor();

	const headers = { "cf-aig-metadata": '{"team":"web"}' };
	expect(await prompt(token, "A first prompt", headers)).toBe(200);
	expect(await prompt(token, "A first prompt")).toBe(200);
	expect(await prompt(token, LONG)).toBe(200);
	await expect
		.poll(async () => (await api<object[]>("GET", `${SHOP}/logs`)).length, { timeout: 30_000 })
		.toBe(4);
	await page.reload();
	await page.getByRole("button", { name: "Empty the cache" }).click();
	// Of the route's prompt, the first and the long one.
	await page.getByText("3 answers deleted.").waitFor();
	const logs = page.getByRole("region", { name: "Logs" }).first();
	const rows = logs.locator("tbody tr");
	await expect.poll(() => rows.count()).toBe(4);
	expect(await rows.nth(1).textContent()).toMatch(/200.*Cached.*workers-ai.*llama-3\.1-8b-instruct-fp8/);
	await logs.getByLabel("Metadata").fill("web");
	await expect.poll(() => rows.count()).toBe(1);
	await page.waitForURL(/metadata=web/);
	await logs.getByLabel("Metadata").fill("");
	await logs.getByLabel("Model").fill("no such model");
	await logs.getByText("No log matches these filters.").waitFor();
	await logs.getByLabel("Model").fill("8B-instruct");
	await expect.poll(() => rows.count()).toBe(4);

	await rows.first().getByRole("button").click();
	const log = page.getByRole("region", { name: "Log", exact: true });
	const request = log.getByRole("region", { name: "Request" });
	await request.getByText(/"content": ?"long long/).waitFor();
	expect(await request.textContent()).not.toContain("end of the prompt");
	await log.getByRole("button", { name: "Show the complete request" }).click();
	await request.getByText(/end of the prompt/).waitFor();
	await log
		.getByRole("region", { name: "Response" })
		.getByText(/Simulated reply from Ganglion/)
		.waitFor();
	await log.getByLabel("Feedback").click();
	await page.getByRole("option", { name: "Bad" }).click();
	await expect
		.poll(async () => (await api<{ feedback?: number }[]>("GET", `${SHOP}/logs`))[0]?.feedback)
		.toBe(-1);
	expect(await faultsOf(page)).toEqual([]);
	await page.setViewportSize(NARROW);
	expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(360);
	await page.setViewportSize({ width: 1280, height: 1800 });
	await shoot(page, "gateway");

	await edit();
	await rowOf("shop").getByRole("button", { name: "Delete shop" }).click();
	await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
	await expect.poll(() => rowOf("shop").count()).toBe(0);
	await expect.poll(() => form.count()).toBe(0);
	expect((await api<{ id: string }[]>("GET", GATEWAYS)).map(({ id }) => id)).toEqual(["default"]);

	await page.goto(`${inject("serve")}/console/gateways?gateway=absent`);
	await page.getByText('Gateway not found: "absent"').waitFor();
	await tab.close();
});
