/** The catalogue in both runtimes. */
import { describe, expect, it } from "vitest";
import { createToken } from "./api.ts";
import { follow, openSession } from "./browser.ts";

const MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

describe.each(["dev", "serve"] as const)("models on npm run %s", (runtime) => {
	it("are searched and filtered, and the address keeps it", async () => {
		const tab = await openSession(runtime, "/console/models");
		const { page } = tab;
		await page.getByText("70 models").waitFor();
		await page.getByLabel("Search models").fill("llama-3.3");
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

describe("a gateway that serves few models", () => {
	const SERVED = "@cf/meta/llama-3.2-3b-instruct";

	it("lists them first, opens the playground on one, and sends a system prompt", async () => {
		const tab = await openSession("dev", "/console/tokens");
		const { page } = tab;
		await page.route(/\/ai\/v1\/models$/, (route) =>
			route.fulfill({ json: { object: "list", data: [{ id: SERVED, object: "model" }] } }),
		);
		await follow(page, "/console/models");
		await page.getByText("70 models", { exact: true }).waitFor();
		const unserved = page.getByText("69 models of the catalogue that no route of this gateway serves");
		expect(await page.getByRole("listitem").getByRole("link").first().textContent()).toBe(SERVED);
		expect(await page.getByRole("link", { name: MODEL }).isVisible()).toBe(false);
		await unserved.click();
		await page.getByRole("link", { name: MODEL }).waitFor();

		await follow(page, "/console/playground");
		await page.getByRole("combobox", { name: "Model" }).getByText(SERVED, { exact: true }).waitFor();
		await page.getByLabel("System prompt").fill("Answer in French.");
		await page.getByLabel("Message").fill("Hello");
		const [request] = await Promise.all([
			page.waitForRequest(/chat\/completions$/),
			page.getByRole("button", { name: "Send" }).click(),
		]);
		expect(request.postDataJSON().messages).toEqual([
			{ role: "system", content: "Answer in French." },
			{ role: "user", content: "Hello" },
		]);
		await tab.close();
	});
});

describe("an operator", () => {
	it("makes an account, sees names of tokens, reasons of failures and dollars", async () => {
		const tab = await openSession("serve", "/console/tokens");
		const { page } = tab;
		await page.getByRole("combobox", { name: "Account" }).click();
		await page.getByRole("option", { name: "New account…" }).click();
		await page.getByLabel("Id of the new account").fill("models-new");
		await page.getByRole("button", { name: "Create" }).click();
		await page.getByText("This account has no tokens.").waitFor();
		const { id } = await createToken("models-new", "the web shop", ["Workers AI Run"]);
		const row = {
			...{
				id: "6f2c",
				outcome: "failed",
				code: 3046,
				message: "Request timeout",
				model: MODEL,
				task: "Text Generation",
			},
			...{ token: id, backend: "engine", attempts: 1, started_at: "2026-11-26T10:00:00Z", latency_ms: 10 },
			...{ settled_at: "2026-11-26T10:00:01Z", input_tokens: 1, cached_tokens: 0, output_tokens: 0 },
			...{ neurons: 1_000, reserved_neurons: 2, estimated: false },
		};
		await page.route(/\/ai\/usage\/requests/, (route) =>
			route.fulfill({ json: { success: true, result: [row], errors: [], messages: [], result_info: {} } }),
		);
		await follow(page, "/console/requests");
		await page.getByRole("cell", { name: "3046: Request timeout" }).waitFor();
		await page.getByRole("row").nth(1).getByRole("button").click();
		const details = page.getByRole("region", { name: "Request", exact: true });
		await details.getByText(`the web shop (${id.slice(0, 8)})`).waitFor();
		const text = await details.textContent();
		expect(text).toContain("failed (3046): Request timeout");
		expect(text).toContain("$0.011");
		await tab.close();
	});
});
