/** Shadows on the page of replays: their answers are shown and deleted. */
import { expect, inject, it } from "vitest";
import { api } from "./api.ts";
import { faultsOf, NARROW } from "./axe.ts";
import { sharedSession, shoot, WINDOW } from "./browser.ts";
import { ADMIN_TOKEN, OPERATOR_ACCOUNT, SHADOWED_MODEL } from "./gateways.ts";

const GATEWAY = "shadowed";

it("the answers of a shadow stand beside those of the log, and are deleted", async () => {
	const gateways = `/accounts/${OPERATOR_ACCOUNT}/ai-gateway/gateways`;
	await api("POST", gateways, { id: GATEWAY });
	for (const content of ['Reply with exactly: {"city": "Bonn"}', "Reply with exactly: good morning"]) {
		const response = await fetch(
			`${inject("serve")}/client/v4/accounts/${OPERATOR_ACCOUNT}/ai/v1/chat/completions`,
			{
				method: "POST",
				headers: {
					...{ authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
					"cf-aig-gateway-id": GATEWAY,
				},
				body: JSON.stringify({ model: SHADOWED_MODEL, messages: [{ role: "user", content }] }),
			},
		);
		expect(response.status).toBe(200);
		await response.text();
	}
	const shadows = `${gateways}/${GATEWAY}/shadows`;
	await expect
		.poll(async () => (await api<{ answers: number }[]>("GET", shadows))[0]?.answers, { timeout: 30_000 })
		.toBe(2);

	const tab = await sharedSession("serve", `/console/replays?gateway=${GATEWAY}`, { expected: /401|400/ });
	const { page } = tab;
	const table = page.getByRole("region", { name: "Shadows" }).last();
	await table.getByText("candidate", { exact: true }).waitFor();
	await table.getByText("100%").waitFor();
	await page.getByRole("button", { name: "Answers of the shadow candidate", exact: true }).click();
	const answers = page.getByRole("region", { name: "Answers of the shadow candidate" });
	const bonn = answers.getByText('{"city": "Bonn"}', { exact: true });
	await bonn.first().waitFor();
	expect(await bonn.count()).toBe(2);
	expect(await answers.getByText("same", { exact: true }).count()).toBe(2);
	expect(await faultsOf(page)).toEqual([]);
	await shoot(page, "shadow-answers");
	await page.setViewportSize(NARROW);
	expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(360);
	await page.setViewportSize(WINDOW);

	await page.getByRole("button", { name: "Delete the answers of the shadow candidate" }).click();
	await page.getByRole("alertdialog").getByRole("button", { name: "Delete the answers" }).click();
	await expect
		.poll(async () => (await api<{ answers: number }[]>("GET", shadows))[0]?.answers, { timeout: 30_000 })
		.toBe(0);
	await tab.close();
});
