/** The page of the LoRA adapters: upload by drop and by choice, a file that is refused, deletion. */
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { loraConfig, loraWeights } from "../jobs/adapters/adapter-files.ts";
import { api } from "./api.ts";
import { faultsOf } from "./axe.ts";
import { openSession } from "./browser.ts";
import { OPERATOR_ACCOUNT } from "./gateways.ts";

const BASE = "@cf/mistral/mistral-7b-instruct-v0.2-lora";

const upload = (name: string, content: string | Uint8Array) => ({
	name,
	mimeType: "application/octet-stream",
	buffer: Buffer.from(content),
});

/** As a browser does with files of the desktop. */
const drop = (page: Page, files: readonly { name: string; buffer: Buffer }[]): Promise<void> =>
	page.evaluate(
		`{
			const transfer = new DataTransfer();
			for (const { name, base64 } of ${JSON.stringify(files.map(({ name, buffer }) => ({ name, base64: buffer.toString("base64") })))})
				transfer.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], name));
			document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
		}`,
	);

it("an adapter is uploaded, completed after a refusal, listed and deleted", async () => {
	const tab = await openSession("serve", "/console/adapters", { expected: /401|400/ });
	const { page } = tab;
	await page.getByText("This account has no LoRA adapters.").waitFor();
	await page.getByRole("button", { name: "New adapter" }).click();
	const form = page.getByRole("region", { name: "New adapter" });
	await form.getByLabel("Name").fill("support");
	await form.getByLabel("Base model").fill(BASE);
	expect(
		await form
			.locator("option")
			.evaluateAll((options: { value: string }[]) => options.map(({ value }) => value)),
	).toContain(BASE);
	await drop(page, [upload("notes.txt", "x"), upload("adapter_config.json", loraConfig({ r: 4 }))]);
	await form.getByText(/adapter_config\.json: \d+ B/).waitFor();
	await form.getByText("adapter_model.safetensors: missing").waitFor();
	expect(await form.getByRole("button", { name: "Upload" }).isDisabled()).toBe(true);
	expect(await faultsOf(page)).toEqual([]);
	await form.getByLabel("Files").setInputFiles([upload("adapter_model.safetensors", loraWeights())]);
	await form.getByRole("button", { name: "Upload" }).click();
	await form.getByText("expected a rank of at most 4, as adapter_config.json declares, found 8").waitFor();
	await form.getByRole("button", { name: "Cancel" }).click();

	const table = page.getByRole("region", { name: "Adapters" });
	await table.getByText("lacks files").waitFor();
	await page.getByRole("button", { name: "Upload files of support" }).click();
	const files = page.getByRole("region", { name: "Files of support" });
	await files.getByText("adapter_config.json: stored").waitFor();
	await drop(page, [
		upload("adapter_config.json", loraConfig()),
		upload("adapter_model.safetensors", loraWeights()),
	]);
	await files.getByRole("button", { name: "Upload" }).click();
	await table.getByText("complete", { exact: true }).waitFor();
	expect(await api("GET", `/accounts/${OPERATOR_ACCOUNT}/ai/finetunes`)).toMatchObject([
		{ name: "support", model: BASE, rank: 8, files: [{ name: "adapter_config.json" }, {}] },
	]);

	await page.getByRole("button", { name: "Delete support" }).click();
	await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
	await page.getByText("This account has no LoRA adapters.").waitFor();
	await tab.close();
});
