/** The page of the vector indexes: creation, queries by text, by vector, by id and with a filter, the picture, deletion. */
import { expect, it } from "vitest";
import { api, createToken } from "./api.ts";
import { faultsOf } from "./axe.ts";
import { openSession, shoot } from "./browser.ts";

const MODEL = "@cf/baai/bge-small-en-v1.5";
/** Instances of AI Search, which other tests create, have indexes too. */
const ACCOUNT = "vectors-a";
const INDEX = `/accounts/${ACCOUNT}/vectorize/v2/indexes/pages`;
const SUBJECTS = {
	account: ["reset a password", "change a password", "choose a safe password", "forget a password"],
	billing: ["pay an invoice", "download an invoice", "a wrong invoice", "the invoice of a month"],
	shipping: ["track a parcel", "a parcel is lost", "send a parcel back", "the weight of a parcel"],
};

async function upload(): Promise<void> {
	const texts = Object.entries(SUBJECTS).flatMap(([subject, all]) => all.map((text) => ({ subject, text })));
	const run = `/accounts/${ACCOUNT}/ai/run/${MODEL}`;
	const { data } = (await api("POST", run, { text: texts.map(({ text }) => text) })) as { data: number[][] };
	await api("POST", `${INDEX}/metadata_index/create`, { propertyName: "subject", indexType: "string" });
	const vectors = texts.map(({ subject, text }, at) => ({
		...{ id: text.replaceAll(" ", "-"), values: data[at], namespace: subject, metadata: { subject, text } },
	}));
	await api("POST", `${INDEX}/insert`, { vectors });
}

it("an index is created, searched in four ways, shown as a picture and deleted", async () => {
	const groups = ["Workers AI Read", "Workers AI Write", "Vectorize Read", "Vectorize Write"];
	const { value: token } = await createToken(ACCOUNT, "all", groups);
	const tab = await openSession("serve", "/console/vectors", { token, expected: /401|400/ });
	const { page } = tab;
	await page.getByText("This account has no vector indexes.").waitFor();
	await page.getByRole("button", { name: "New index" }).click();
	const form = page.getByRole("region", { name: "New index" });
	await form.getByLabel("Name").fill("pages");
	await form.getByLabel("Dimensions").fill("384");
	await form.getByRole("button", { name: "Create" }).click();
	await page.waitForURL(/\?index=pages$/);
	await page.getByText("A picture needs three vectors.").waitFor();

	await upload();
	await page.reload();
	const facts = page.getByRole("region", { name: "pages", exact: true });
	await facts.getByText("subject (string)").waitFor();
	expect(await facts.textContent()).toMatch(/Vectors12.*Dimensions384.*Metriccosine.*Storein the gateway/);

	const query = page.getByRole("region", { name: "Query" });
	const results = query.getByRole("region", { name: "Results" });
	const ids = async (): Promise<(string | null)[]> =>
		results
			.locator("tbody button")
			.evaluateAll((buttons: { textContent: string }[]) => buttons.map(({ textContent }) => textContent));
	// The first model that is served and has the width of the index.
	expect(await query.getByLabel("Embedding model").inputValue()).toBe(MODEL);
	await query.getByLabel("Text").fill("reset a password");
	await query.getByLabel("Results").fill("4");
	await query.getByRole("button", { name: "Search" }).click();
	await results.getByText("1.0000").waitFor();
	expect((await ids())[0]).toBe("reset-a-password");
	expect(await ids()).toHaveLength(4);

	const picture = page.getByRole("region", { name: "Picture" });
	const points = picture.locator("circle");
	expect(await points.count()).toBe(12);
	expect(await picture.locator("circle.found").count()).toBe(4);
	expect(await picture.locator("path.query").count()).toBe(1);
	expect(await picture.getByRole("list", { name: "Namespaces" }).textContent()).toBe(
		"accountbillingshipping",
	);
	expect(await faultsOf(page)).toEqual([]);
	await page.setViewportSize({ width: 1280, height: 1800 });
	await shoot(page, "vectors");

	await query.getByLabel("Filter").fill('{"subject": "shipping"}');
	await query.getByRole("button", { name: "Search" }).click();
	await expect.poll(async () => (await ids()).every((id) => id?.includes("parcel"))).toBe(true);
	expect(await ids()).toHaveLength(4);
	await query.getByLabel("Filter").fill("{");
	await query.getByRole("button", { name: "Search" }).click();
	await query.getByText("The filter is not JSON").waitFor();
	await query.getByLabel("Filter").fill('{"author": "x"}');
	await query.getByRole("button", { name: "Search" }).click();
	await query.getByText('the property "author" has no metadata index').waitFor();
	await query.getByLabel("Filter").fill("");

	await points.first().dispatchEvent("click");
	await results.getByText("1.0000").waitFor();
	expect(await ids()).toHaveLength(10);

	await query.getByLabel("Search by").click();
	await page.getByRole("option", { name: "Vector", exact: true }).click();
	await query.getByRole("textbox", { name: "Vector" }).fill("[1, 2]");
	await query.getByRole("button", { name: "Search" }).click();
	await query.getByText("invalid query vector, expected 384 dimensions, and got 2 dimensions").waitFor();

	const today = new Date().toISOString().slice(0, 10);
	const usage = await openSession("serve", `/console/usage?from=${today}&to=${today}`, {
		token,
		expected: /401/,
	});
	const row = usage.page.getByRole("region", { name: "Vector indexes" }).locator("tbody tr").first();
	await row.getByText("pages").waitFor();
	// Twelve vectors of 384 dimensions.
	expect(await row.textContent()).toMatch(/^pages[1-9]\d*[\d,]+4,608\$0/);
	expect(await faultsOf(usage.page)).toEqual([]);
	await usage.close();

	await page.getByRole("button", { name: "Delete pages" }).click();
	await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
	await page.getByText("This account has no vector indexes.").waitFor();
	await tab.close();
});
