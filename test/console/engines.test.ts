/** The page of the engines: the plan of a route. */
import { describe, expect, it } from "vitest";
import { faultsOf } from "./axe.ts";
import { sharedSession } from "./browser.ts";
import { ENGINE_MODEL, PATTERN } from "./gateways.ts";

describe("the plan of a route", () => {
	it("is that of its model", async () => {
		const tab = await sharedSession("serve", "/console/engines");
		const { page } = tab;
		await page.getByRole("button", { name: `Explain ${ENGINE_MODEL}`, exact: true }).click();
		const plan = page.getByRole("region", { name: "Plan of a model" });
		await plan.getByRole("cell", { name: "engine openai" }).waitFor();
		await tab.close();
	});

	it("is that of a chosen model, for a route with a pattern, with the keyboard alone", async () => {
		const tab = await sharedSession("serve", "/console/engines");
		const { page } = tab;
		await page.getByRole("button", { name: `Explain ${PATTERN}`, exact: true }).focus();
		await page.keyboard.press("Enter");
		const plan = page.getByRole("region", { name: "Plan of a model" });
		await plan.getByText(/This route serves \d+ models of the catalogue/).waitFor();
		const field = plan.getByRole("combobox", { name: `Model of the route ${PATTERN}` });
		expect(await page.evaluate("document.activeElement.placeholder")).toBe(PATTERN);
		const offered = await plan
			.locator("option")
			.evaluateAll((options: { value: string }[]) => options.map(({ value }) => value));
		expect(offered).toContain("@cf/baai/bge-reranker-base");
		expect(offered.filter((model) => !model.startsWith("@cf/baai/"))).toEqual([]);
		expect(await faultsOf(page)).toEqual([]);
		await field.pressSequentially("@cf/baai/bge-reranker-base");
		await page.keyboard.press("Enter");
		await plan.getByRole("cell", { name: "@cf/baai/bge-reranker-base" }).waitFor();
		await plan.getByRole("cell", { name: "simulator" }).first().waitFor();
		await tab.close();
	});

	it("is that of a typed model, which the catalogue need not have", async () => {
		const tab = await sharedSession("serve", "/console/engines", { expected: /404|400/ });
		const { page } = tab;
		await page.getByRole("button", { name: `Explain ${PATTERN}`, exact: true }).click();
		const plan = page.getByRole("region", { name: "Plan of a model" });
		const field = plan.getByRole("combobox", { name: /Model/ });
		await field.fill("@cf/baai/of-tomorrow");
		await plan.getByRole("button", { name: "Explain" }).click();
		await plan.getByRole("cell", { name: "@cf/baai/of-tomorrow" }).waitFor();
		await field.fill(ENGINE_MODEL);
		await plan.getByRole("button", { name: "Explain" }).click();
		await plan.getByText(`${ENGINE_MODEL} does not match ${PATTERN}. Another route serves it.`).waitFor();
		await plan.getByRole("cell", { name: "engine openai" }).waitFor();
		await tab.close();
	});
});
