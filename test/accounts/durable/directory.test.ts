import { env } from "cloudflare:workers";
import { expect, it } from "vitest";

const newDirectory = () => env.DIRECTORY.getByName(`test ${crypto.randomUUID()}`);

it("has only the added accounts", async () => {
	const directory = newDirectory();
	await directory.add("team-a");
	expect(await directory.has("team-a")).toBe(true);
	expect(await directory.has("team-b")).toBe(false);
	expect(await directory.has("TEAM-A")).toBe(false);
});

it("lists each account once, sorted by id, in pages", async () => {
	const directory = newDirectory();
	const before = Date.now();
	for (const account of ["c", "a", "b", "a"]) await directory.add(account);
	const first = await directory.list({ limit: 2 });
	expect(first.accounts.map(({ id }) => id)).toEqual(["a", "b"]);
	expect(first.next).toBe("b");
	expect(first.accounts[0]?.recordedAt).toBeGreaterThanOrEqual(before);
	const second = await directory.list({ after: "b", limit: 2 });
	expect(second.accounts.map(({ id }) => id)).toEqual(["c"]);
	expect(second.next).toBeUndefined();
	const full = await directory.list({ after: "a", limit: 2 });
	expect(full.accounts.map(({ id }) => id)).toEqual(["b", "c"]);
	expect(full.next).toBeUndefined();
});
