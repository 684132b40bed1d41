/** The page of replays: logs are chosen, answered by another model, compared and deleted. */
import { expect, inject, it } from "vitest";
import { api } from "./api.ts";
import { faultsOf, NARROW } from "./axe.ts";
import { sharedSession, shoot, WINDOW } from "./browser.ts";
import { ADMIN_TOKEN, OPERATOR_ACCOUNT } from "./gateways.ts";

const LOGGED = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const NEW = "@cf/meta/llama-3.1-8b-instruct-fp8";
const LONG = `Reply with exactly: ${"a long answer ".repeat(40)}`;

async function log(content: string): Promise<void> {
	const base = `${inject("serve")}/client/v4/accounts/${OPERATOR_ACCOUNT}`;
	const response = await fetch(`${base}/ai/v1/chat/completions`, {
		method: "POST",
		headers: {
			...{ authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
			...{ "cf-aig-gateway-id": "default", "cf-aig-metadata": '{"page":"replays"}' },
		},
		body: JSON.stringify({ model: LOGGED, messages: [{ role: "user", content }] }),
	});
	expect(response.status).toBe(200);
	await response.text();
}

it("a replay is created, followed, compared and deleted", async () => {
	for (const content of ['Reply with exactly: {"city": "Bonn"}', "Reply with exactly: good morning", LONG])
		await log(content);
	const logs = `/accounts/${OPERATOR_ACCOUNT}/ai-gateway/gateways/default/logs?search=replays`;
	await expect.poll(async () => (await api<object[]>("GET", logs)).length, { timeout: 30_000 }).toBe(3);

	const tab = await sharedSession("serve", "/console/replays", { expected: /401|400/ });
	const { page } = tab;
	await page.getByText("This gateway has no replays.").waitFor();
	await page.getByRole("button", { name: "New replay" }).click();
	const form = page.getByRole("region", { name: "New replay" });
	await form.getByLabel("New model").fill(NEW);
	await form.getByLabel("Model of the logs").fill("unknown");
	await form.getByLabel("Metadata").fill("replays");
	await form.getByRole("button", { name: "Create" }).click();
	await form.getByText(/^No log of a text model with these filters/).waitFor();
	expect(await faultsOf(page)).toEqual([]);
	await shoot(page, "replay-form");
	await form.getByLabel("Model of the logs").fill(LOGGED);
	await form.getByLabel("Judge").fill(LOGGED);
	await form.getByRole("button", { name: "Create" }).click();

	const table = page.getByRole("region", { name: "Replays" });
	await table.getByText("completed", { exact: true }).waitFor();
	await table.getByText("3 of 3").waitFor();
	await table.getByRole("button", { name: /^Answers of the replay/ }).click();
	const answers = page.getByRole("region", { name: `Answers of ${NEW}` });
	const rows = answers.getByRole("region", { name: "Comparisons" });
	const bonn = rows.getByText('{"city": "Bonn"}', { exact: true });
	await bonn.first().waitFor();
	expect(await bonn.count()).toBe(2);
	expect(await rows.getByText("same", { exact: true }).count()).toBe(3);
	expect(await rows.getByRole("columnheader").allTextContents()).toContain("Score");
	await rows
		.getByText(/^a long answer/)
		.first()
		.click();
	expect(await faultsOf(page)).toEqual([]);
	await shoot(page, "replay-answers");
	await page.setViewportSize(NARROW);
	expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(360);
	await shoot(page, "replay-answers-360");
	await page.setViewportSize(WINDOW);
	await answers.getByRole("button", { name: "Close" }).click();

	await table.getByRole("button", { name: /^Delete the replay/ }).click();
	await page.getByRole("alertdialog").getByRole("button", { name: "Delete the replay" }).click();
	await page.getByText("This gateway has no replays.").waitFor();
	await tab.close();
});
