/** The page of batches: a new one from a file, its progress, errors by kind, downloads and the end by cancellation. */
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { faultsOf } from "./axe.ts";
import { sharedSession } from "./browser.ts";
import { ENGINE_MODEL } from "./gateways.ts";

const SIMULATED = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const line = (id: string, model: string, messages: unknown): string =>
	`${JSON.stringify({ custom_id: id, method: "POST", url: "/v1/chat/completions", body: { model, messages } })}\n`;
const question = [{ role: "user", content: "One word for rain?" }];

it("a batch is created from a file, followed, downloaded and cancelled", async () => {
	const tab = await sharedSession("serve", "/console/batches", { expected: /401/ });
	const { page } = tab;
	await page.getByText("This account has no batches.").waitFor();
	const create = async (content: string): Promise<void> => {
		await page.getByRole("button", { name: "New batch" }).click();
		const form = page.getByRole("region", { name: "New batch" });
		await form
			.getByLabel("Requests")
			.setInputFiles([
				{ name: "requests.jsonl", mimeType: "application/jsonl", buffer: Buffer.from(content) },
			]);
		await form.getByRole("button", { name: "Create" }).click();
	};
	await create("no request");
	await page.getByText("The first line of the file is no request").waitFor();
	expect(await faultsOf(page)).toEqual([]);
	await page.getByRole("region", { name: "New batch" }).getByRole("button", { name: "Cancel" }).click();

	await create(line("1", SIMULATED, question) + line("2", SIMULATED, "none"));
	const table = page.getByRole("region", { name: "Batches" });
	await table.getByText("completed", { exact: true }).waitFor();
	await table.getByText("2 of 2").waitFor();
	await table.getByText("1 failed").waitFor();
	await table.getByRole("button", { name: /^Details of batch_/ }).click();
	const details = page.getByRole("region", { name: /^batch_/ });
	await details.getByText(/^HTTP 400, /).waitFor();
	expect(await faultsOf(page)).toEqual([]);
	for (const [button, id] of [
		["Download the answers", "1"],
		["Download the errors", "2"],
	] as const) {
		const [download] = await Promise.all([
			page.waitForEvent("download"),
			details.getByRole("button", { name: button }).click(),
		]);
		const saved = await text(await download.createReadStream());
		expect(JSON.parse(saved)).toMatchObject({ custom_id: id });
	}
	await details.getByRole("button", { name: "Close" }).click();

	// The engine does not answer before it is released.
	await create(line("1", ENGINE_MODEL, question));
	await table.getByText("running", { exact: true }).waitFor();
	await table.getByRole("button", { name: /^Cancel batch_/ }).click();
	await page.getByRole("alertdialog").getByRole("button", { name: "Cancel the batch" }).click();
	await table.getByText(/^cancell(?:ing|ed)$/).waitFor();
	await tab.close();
});
