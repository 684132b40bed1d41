import { listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createLedgers } from "../../src/accounts/client/accounts.ts";
import { DirectoryCache, type DirectoryCalls } from "../../src/accounts/client/directory-cache.ts";
import { OpenObjects } from "../../src/core/open-objects.ts";
import { admission, newAccount } from "../accounts/fixtures.ts";
import { ADMIN, closedGateway, failureOf, json, UNAUTHENTICATED } from "../http/access.ts";

const SECRET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg";

/** Whether the account's object was opened and has stored data. */
async function wasOpened(account: string): Promise<boolean> {
	const ids = await listDurableObjectIds(env.ACCOUNT);
	return ids.some((id) => id.equals(env.ACCOUNT.idFromName(account)));
}

describe("a token of an account that does not exist", () => {
	const calls: [string, string, RequestInit?][] = [
		["inference", "/ai/run/@cf/meta/llama-3.1-8b-instruct", json("POST", { prompt: "hi" })],
		["the catalogue", "/ai/models/search"],
		["usage", "/ai/usage"],
		["explain", "/ai/explain/@cf/meta/llama-3.1-8b-instruct", json("POST", { prompt: "hi" })],
		["the list of tokens", "/tokens"],
		["a new token", "/tokens", json("POST", { name: "a" })],
		["its own verification", "/tokens/verify"],
		["a user's verification", "http://gateway/client/v4/user/tokens/verify"],
		["metrics", "http://gateway/metrics"],
	];
	it.each(calls)("is refused without opening the object: %s", async (_, path, init) => {
		const { send, account } = closedGateway();
		const response = await send(path, `glt_${account}_${SECRET}`, init);
		expect(await failureOf(response)).toBe(`401 10000: ${UNAUTHENTICATED}`);
		expect(await wasOpened(account)).toBe(false);
	});
});

it("finds the account once the operator has made a call for it", async () => {
	const { send, account, services } = closedGateway();
	await send("/ai/usage", ADMIN);
	expect(await wasOpened(account)).toBe(true);
	const listed = await services.directory.list({ after: account.slice(0, -1), limit: 100 });
	expect(listed.accounts.map(({ id }) => id)).toContain(account);
});

it("answers 502 while the directory is unreachable, and opens no object", async () => {
	const account = newAccount();
	const calls = { has: () => Promise.reject(new Error("overloaded")) } as unknown as DirectoryCalls;
	const world = { now: () => 0, wait: async () => {}, waitUntil: () => {}, log: () => {} };
	const directory = new DirectoryCache({ ...world, directory: () => calls });
	const openObjects = new OpenObjects({ max: 1, now: () => 0 });
	const { of } = createLedgers({ ...world, directory, openObjects, namespace: env.ACCOUNT });
	const credential = { kind: "token", hash: "0".repeat(64) } as const;
	await expect(of(account).verify(credential, "run")).rejects.toMatchObject({ status: 502, code: 7009 });
	await expect(of(account).admit(admission({ credential }))).rejects.toMatchObject({
		status: 502,
		code: 7009,
	});
	expect(await wasOpened(account)).toBe(false);
});
