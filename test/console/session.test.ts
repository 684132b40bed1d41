/** Sign-in, its end, and what the console keeps. */
import { describe, expect, inject, it } from "vitest";
import { createToken } from "./api.ts";
import { openTab, signIn } from "./browser.ts";
import { ADMIN_TOKEN } from "./gateways.ts";

const UNAUTHORIZED = /401/;
const serve = inject("serve");

describe("sign-in", () => {
	it("is not needed on a gateway without credentials", async () => {
		const tab = await openTab(inject("dev"));
		await tab.page.getByRole("heading", { name: "Playground" }).waitFor();
		expect(await tab.page.getByRole("button", { name: "Sign out" }).count()).toBe(0);
		await tab.close();
	});

	it("begins with the account of the documentation, also if another is listed before it", async () => {
		const dev = inject("dev");
		await fetch(`${dev}/client/v4/accounts/a-first/ai/usage/requests`);
		const { result } = (await (await fetch(`${dev}/client/v4/accounts`)).json()) as {
			result: { id: string }[];
		};
		expect(result[0]?.id).toBe("a-first");
		const tab = await openTab(dev);
		await expect.poll(() => tab.page.getByRole("combobox", { name: "Account" }).textContent()).toBe("local");
		await tab.close();
	});

	it("refuses a text that is not a token", async () => {
		const tab = await openTab(serve, "/console", { expected: UNAUTHORIZED });
		await tab.page.getByLabel("Token").fill("glt_someone_else");
		await tab.page.getByRole("button", { name: "Sign in" }).click();
		await tab.page.getByText("The gateway does not accept this token.").waitFor();
		await tab.close();
	});

	it("lasts in its tab until sign-out, in no cookie and no address", async () => {
		const { value } = await createToken("session-a", "console", ["Workers AI Read"]);
		const tab = await openTab(serve, "/console/models", { expected: UNAUTHORIZED });
		await signIn(tab, value);
		await tab.page.reload();
		await tab.page.getByRole("heading", { name: "Models" }).waitFor();
		expect(await tab.page.getByTitle("Account").textContent()).toBe("session-a");

		expect(await tab.page.context().cookies()).toEqual([]);
		expect(await tab.page.evaluate("JSON.stringify(localStorage)")).toBe("{}");
		expect(tab.requests.filter((url) => url.includes(value))).toEqual([]);
		const other = await tab.page.context().newPage();
		await other.goto(`${serve}/console`);
		await other.getByLabel("Token").waitFor();

		await tab.page.getByRole("button", { name: "Sign out" }).click();
		await tab.page.getByLabel("Token").waitFor();
		expect(await tab.page.evaluate("JSON.stringify(sessionStorage)")).toBe("{}");
		await tab.close();
	});

	it("survives a reload while the gateway does not answer, and the address keeps the filters", async () => {
		const { value } = await createToken("session-c", "console", ["Workers AI Read"]);
		const tab = await openTab(serve, "/console/requests?outcome=failed", { expected: /401|503/ });
		const { page } = tab;
		await signIn(tab, value);
		await page.route("**/tokens/verify", (route) => route.fulfill({ status: 503, body: "" }));
		await page.reload();
		await page.getByText("The gateway answered 503.").waitFor();
		await page.unrouteAll();
		await page.getByRole("button", { name: "Try again" }).click();
		await page.getByText("No request matches these filters.").waitFor();
		await page.getByRole("button", { name: "Clear filters" }).click();
		await page.getByText("No requests in the last 7 days.").waitFor();
		expect(new URL(page.url()).search).toBe("");
		await page.getByRole("link", { name: "Usage" }).click();
		await page.getByRole("region", { name: "Neurons by day" }).waitFor();
		expect(await page.evaluate("document.activeElement.id")).toBe("content");
		await page.goBack();
		await page.getByRole("heading", { name: "Requests" }).waitFor();
		await tab.close();
	});

	it("lets the operator choose an account", async () => {
		await createToken("session-b", "console", ["Workers AI Read"]);
		const tab = await openTab(serve, "/console/models", { expected: UNAUTHORIZED });
		await signIn(tab, ADMIN_TOKEN);
		await tab.page.getByRole("combobox", { name: "Account" }).click();
		await tab.page.getByRole("option", { name: "session-b" }).click();
		const loaded = tab.page.waitForResponse(/accounts\/session-b\/ai\/models\/search/);
		await tab.page.reload();
		expect((await loaded).status()).toBe(200);
		await tab.close();
	});
});
