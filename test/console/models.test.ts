/** The catalogue in both runtimes. */
import { describe, expect, it } from "vitest";
import { openSession } from "./browser.ts";

const MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

describe.each(["dev", "serve"] as const)("models on npm run %s", (runtime) => {
	it("are searched and filtered, and the address keeps it", async () => {
		const tab = await openSession(runtime, "/console/models");
		const { page } = tab;
		await page.getByText("70 models").waitFor();
		await page.getByLabel("Search").fill("llama-3.3");
		await page.getByText("1 model", { exact: true }).waitFor();
		await page.reload();
		await page.getByRole("link", { name: MODEL }).waitFor();
		expect(new URL(page.url()).search).toBe("?search=llama-3.3");
		await tab.close();
	});

	it("have a page with prices, engines, an example and the schema", async () => {
		const tab = await openSession(runtime, `/console/models/${MODEL}`);
		const { page } = tab;
		await page.getByText("26,668 neurons").waitFor();
		expect(await page.getByText("24,000 tokens").count()).toBe(1);
		await page
			.getByRole("region", { name: "Engines" })
			.getByRole("cell", { name: "simulator" })
			.first()
			.waitFor();
		expect(await page.getByLabel("curl", { exact: true }).textContent()).toContain(`/ai/run/${MODEL}`);
		await page.getByText("Input", { exact: true }).click();
		expect(await page.getByLabel("Input schema", { exact: true }).textContent()).toContain('"messages"');
		await tab.close();
	});
});
