/** Usage, requests and tokens: the numbers of the API, and only those of the own account. */
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { api, createToken } from "./api.ts";
import { openSession, sharedSession, signIn } from "./browser.ts";
import { ADMIN_TOKEN, ENGINE_MODEL, SPARE } from "./gateways.ts";

const MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const EMBEDDINGS = "@cf/baai/bge-base-en-v1.5";
const RERANKER = "@cf/baai/bge-reranker-base";
const moment = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const shownInstant = (text: string): string => moment.format(new Date(text));
/** The period of the page. */
const FOLLOW_MS = 2_000;

interface UsageCounts {
	average_latency_ms: number;
	average_time_to_first_token_ms: number;
	neurons: number;
	input_tokens: number;
	output_tokens: number;
}

const run = (account: string, model: string, input: object): Promise<unknown> =>
	api("POST", `/accounts/${account}/ai/run/${model}`, input);

/** Sends a request from the page, to the account of its session. */
async function runOnDev(page: Page, model: string, input: object): Promise<void> {
	const send = `fetch("/client/v4/accounts/local/ai/run/${model}", {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: ${JSON.stringify(JSON.stringify(input))},
	}).then(async (response) => response.status + " " + await response.text())`;
	expect(await page.evaluate(send)).toMatch(/^200 /);
}

describe("usage", () => {
	it("has the numbers of the API, as a table and as CSV, and no other account's", async () => {
		await run("usage-a", MODEL, { prompt: "One" });
		await run("usage-a", MODEL, { prompt: "Two" });
		await run("usage-b", EMBEDDINGS, { text: ["Three"] });
		// Settlements arrive in batches.
		await expect
			.poll(() => api<unknown[]>("GET", "/accounts/usage-a/ai/usage/requests?outcome=ok"))
			.toHaveLength(2);
		const [row] = await api<UsageCounts[]>("GET", "/accounts/usage-a/ai/usage?group_by=model");
		const { value } = await createToken("usage-a", "reader", ["Workers AI Metadata Read"]);
		const tab = await openSession("serve", "/console/usage", { token: value });
		const { page } = tab;
		const table = page.getByRole("region", { name: "Usage" });
		await table.waitFor();
		const cells = await table.getByRole("row").nth(1).getByRole("cell").allTextContents();
		expect(cells).toEqual([
			MODEL,
			"2",
			"0",
			String(row?.input_tokens),
			String(row?.output_tokens),
			String(Math.round((row?.neurons ?? 0) * 100) / 100),
			`${row?.average_time_to_first_token_ms} ms`,
			`${row?.average_latency_ms} ms`,
		]);
		await page.getByText(/^[\d.]+ of 1,000,000 neurons$/).waitFor();

		const download = page.waitForEvent("download");
		await page.getByRole("button", { name: "Save as CSV" }).click();
		const csv = await text(await (await download).createReadStream());
		expect(csv.split("\r\n")[0]).toBe(
			"day,model,requests,failed,input_tokens,cached_tokens,output_tokens,neurons,average_latency_ms,average_time_to_first_token_ms",
		);
		expect(csv).toContain(`,${MODEL},2,0,`);

		await page.getByRole("link", { name: "Requests" }).click();
		const requests = page.getByRole("region", { name: "Requests" });
		await requests.waitFor();
		expect(await requests.getByRole("row").count()).toBe(3);
		// The first column is the order of the rows.
		const shown = requests.getByRole("columnheader").or(requests.getByRole("cell"));
		const texts = await shown.allTextContents();
		const columns = texts.indexOf("Neurons") + 1;
		expect(texts.slice(0, 2)).toEqual(["Ended", "Started"]);
		const listed = await api<{ settled_at: string; started_at: string }[]>(
			"GET",
			"/accounts/usage-a/ai/usage/requests",
		);
		for (const [nth, { settled_at, started_at }] of listed.entries())
			expect(texts.slice((nth + 1) * columns).slice(0, 2)).toEqual(
				[settled_at, started_at].map(shownInstant),
			);
		expect(await requests.getByText(EMBEDDINGS).count()).toBe(0);
		await tab.close();
	});
});

describe("requests", () => {
	it("follow live, and one shows its bill", async () => {
		const tab = await sharedSession("dev", "/console/requests");
		const { page } = tab;
		const follow = page.getByRole("switch", { name: "Follow" });
		await follow.click();
		await expect.poll(() => follow.getAttribute("aria-checked")).toBe("true");
		await runOnDev(page, EMBEDDINGS, { text: ["Four"] });
		const row = page.getByRole("row").filter({ hasText: EMBEDDINGS }).first();
		await row.waitFor();
		await row.getByRole("button").click();
		const details = page.getByRole("region", { name: "Request", exact: true });
		expect(await details.textContent()).toMatch(/Charged[\d.]+ neurons/);
		await details.getByRole("region", { name: "Engines" }).getByText("simulator").waitFor();
		await tab.close();
	});
});

describe("a list of requests that takes longer than the period of following", () => {
	it("is shown, and followed by the next", async () => {
		const tab = await sharedSession("dev", "/console/requests");
		const { page } = tab;
		await page.getByRole("switch", { name: "Follow" }).waitFor();
		await page.route(/\/ai\/usage\/requests/, async (route) => {
			await sleep(1.5 * FOLLOW_MS);
			await route.continue().catch(() => {});
		});
		await page.getByRole("switch", { name: "Follow" }).click();
		const rows = page.getByRole("row").filter({ hasText: RERANKER });
		for (const count of [1, 2]) {
			await runOnDev(page, RERANKER, { query: "Five", contexts: [{ text: "Six" }] });
			await rows.nth(count - 1).waitFor();
		}
		await page.unrouteAll({ behavior: "ignoreErrors" });
		await tab.close();
	});
});

describe("tokens", () => {
	it("are created, shown once, limited and rolled; a revoked one is sent back to the sign-in", async () => {
		const operator = await sharedSession("serve", "/console/tokens");
		const { page } = operator;
		await page.getByRole("button", { name: "New token" }).click();
		await page.getByLabel("Name").fill("made-here");
		await page.getByLabel("Requests per minute").fill("50");
		await page.getByRole("button", { name: "Create" }).click();
		const shown = page.getByLabel("token", { exact: true });
		const first = await shown.textContent();
		await page.getByRole("button", { name: "Done" }).click();
		expect(await page.getByText(first ?? "").count()).toBe(0);
		await page.getByText("50 requests a minute").waitFor();

		await page.getByRole("button", { name: "Roll made-here" }).click();
		await page.getByRole("button", { name: "Roll", exact: true }).click();
		await shown.waitFor();
		const value = (await shown.textContent()) ?? "";
		expect(value).toMatch(/^glt_/);
		expect(value).not.toBe(first);

		const reader = await openSession("serve", "/console/models", { token: value });
		await reader.page.getByText("70 models").waitFor();
		expect(await reader.page.getByRole("link", { name: "Engines" }).count()).toBe(0);
		await page.getByRole("button", { name: "Revoke made-here" }).click();
		await page.getByRole("button", { name: "Revoke", exact: true }).click();
		await page.getByRole("row").filter({ hasText: "made-here" }).waitFor({ state: "detached" });
		await reader.page.getByRole("link", { name: "Usage" }).click();
		await reader.page.getByText("The gateway no longer accepts the token. Sign in again.").waitFor();
		await signIn(reader, ADMIN_TOKEN);
		await reader.close();
		await operator.close();
	});

	it("with few rights see only a refusal", async () => {
		const { value } = await createToken("rights-a", "runner", ["Workers AI Run"]);
		const tab = await openSession("serve", "/console/usage", { token: value, expected: /40[13]/ });
		const sentence =
			/^Authentication error: the token needs .*"Workers AI Read".*\. Sign in with another token\.$/;
		await tab.page.getByText(sentence).waitFor();
		await tab.close();
	});
});

describe("engines", () => {
	it("show their health, the routes, and the plan of a model; a replica is drained and gets requests again", async () => {
		await run("engines-a", EMBEDDINGS, { text: ["Five"] });
		const tab = await sharedSession("serve", "/console/engines");
		const { page } = tab;
		const health = page
			.getByRole("region", { name: "Health" })
			.getByRole("row")
			.filter({ hasText: EMBEDDINGS });
		await health.getByText("closed").waitFor();
		await page.getByRole("button", { name: `Explain ${ENGINE_MODEL}`, exact: true }).click();
		await page.getByRole("region", { name: "Plan of a model" }).getByRole("cell", { name: "slow" }).waitFor();

		const replica = page
			.getByRole("region", { name: "Replicas" })
			.getByRole("row")
			.filter({ hasText: `/${SPARE}/` });
		await replica.getByRole("button", { name: /^Drain/ }).click();
		await replica.getByText("draining").waitFor();
		const pool = await api<{ replicas: { state: string }[] }>("GET", `/pools/${SPARE}`);
		expect(pool.replicas.map(({ state }) => state)).toEqual(["draining"]);
		await replica.getByRole("button", { name: /^Undrain/ }).click();
		await replica.getByText("active").waitFor();
		await tab.close();
	});
});
