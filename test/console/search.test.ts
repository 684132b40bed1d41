/** The page of AI Search: an instance, uploads by drop, items with their errors, a question with its chunks and the answer. */
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { api } from "./api.ts";
import { faultsOf } from "./axe.ts";
import { openSession, shoot } from "./browser.ts";
import { OPERATOR_ACCOUNT } from "./gateways.ts";

const PAGES = {
	"passwords.md": "# Passwords\n\nTo reset a password, open the settings page and choose Security.",
	"invoices.md": "# Invoices\n\nAn invoice is sent on the first day of each month.",
	"empty.md": "",
	"tool.exe": "MZ",
};

/** As a browser does with files of the desktop. */
const drop = (page: Page, files: Readonly<Record<string, string>>): Promise<void> =>
	page.evaluate(
		`{
			const transfer = new DataTransfer();
			for (const [name, text] of Object.entries(${JSON.stringify(files)})) transfer.items.add(new File([text], name));
			document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
		}`,
	);

it("files are dropped, indexed, asked, indexed again and deleted with their instance", async () => {
	const tab = await openSession("serve", "/console/search", { expected: /401|400/ });
	const { page } = tab;
	await page.getByText("No instances of AI Search here.").waitFor();
	await page.getByRole("button", { name: "New instance" }).click();
	const form = page.getByRole("region", { name: "New instance" });
	await form.getByLabel("Name").fill("manual");
	expect(
		await form
			.locator("datalist")
			.first()
			.locator("option")
			.evaluateAll((options: { value: string }[]) => options.map(({ value }) => value)),
	).toContain("@cf/baai/bge-m3");
	await form.getByRole("button", { name: "Create" }).click();
	await page.waitForURL(/\?instance=manual$/);

	const items = page.getByRole("region", { name: "Items" }).first();
	await items.getByLabel("Folder").fill("guides/");
	await drop(page, PAGES);
	await items.getByText("tool.exe").waitFor();
	expect(await items.getByRole("alert").textContent()).toContain("guides/tool.exe: unsupported_file_type");
	await items.getByText("completed", { exact: true }).nth(1).waitFor();
	await items.getByText("file_content_empty").waitFor();
	await page.getByRole("region", { name: "manual", exact: true }).getByText("Indexed items").waitFor();
	await items.getByRole("button", { name: "guides/empty.md", exact: true }).click();
	await page.getByRole("region", { name: "guides/empty.md" }).getByText("The file is empty").waitFor();
	await page.getByRole("region", { name: "guides/empty.md" }).getByRole("button", { name: "Close" }).click();

	const question = page.getByRole("region", { name: "Question" });
	await question.getByLabel("Question").fill("reset password");
	await question.getByRole("button", { name: "Ask" }).click();
	const chunks = question.getByRole("list", { name: "Chunks" });
	await chunks.getByText("guides/passwords.md").waitFor();
	const text = await chunks.textContent();
	expect(text).toContain("To reset a password, open the settings page");
	expect(text).toMatch(/score 1\.000/);
	expect(text).toMatch(/Meaning.*0\.\d{3} rank 1/);
	expect(text).toMatch(/Keyword \(BM25\).*\d\.\d\S* rank 1/);
	await question.getByText("compare words and parts of words, not meanings").waitFor();
	await question.getByRole("region", { name: "Measurements" }).waitFor();
	expect((await question.getByRole("article", { name: "Answer" }).textContent())?.length).toBeGreaterThan(
		"Answer".length,
	);
	expect(await faultsOf(page)).toEqual([]);
	await page.setViewportSize({ width: 1280, height: 1500 });
	await shoot(page, "search");

	await question.getByLabel("Question").fill("zebra");
	await question.getByRole("button", { name: "Ask" }).click();
	await question.getByText("No chunk matches.").waitFor();

	await items.getByRole("button", { name: "Delete guides/empty.md" }).click();
	await items.getByRole("button", { name: "guides/empty.md", exact: true }).waitFor({ state: "detached" });
	await items.getByRole("button", { name: "Index again: guides/invoices.md" }).click();
	await expect
		.poll(() => api("GET", `/accounts/${OPERATOR_ACCOUNT}/ai-search/instances/manual/stats`), {
			timeout: 60_000,
		})
		.toMatchObject({ completed: 2, error: 0, queued: 0, running: 0 });

	await page.getByRole("button", { name: "Delete manual" }).click();
	await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
	await page.getByText("No instances of AI Search here.").waitFor();
	await tab.close();
});
