import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";

const newDirectory = () => env.DIRECTORY.getByName(`test ${crypto.randomUUID()}`);

it("has only the added accounts", async () => {
	const directory = newDirectory();
	await directory.add([{ id: "team-a", place: "shard/1" }]);
	expect(await directory.find("team-a")).toMatchObject({ id: "team-a", place: "shard/1" });
	expect((await directory.find("team-b")) ?? undefined).toBeUndefined();
	expect((await directory.find("TEAM-A")) ?? undefined).toBeUndefined();
});

it("lists each account once, sorted by id, in pages", async () => {
	const directory = newDirectory();
	const before = Date.now();
	await directory.add(["c", "a", "b", "a"].map((id) => ({ id, place: id })));
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

it("keeps the place of an account until it moves", async () => {
	const directory = newDirectory();
	for (const place of ["shard/1", "shard/0"])
		expect(await directory.add([{ id: "team-a", place }])).toMatchObject([{ place: "shard/1" }]);
	await directory.setPlace("team-a", "team-a");
	expect(await directory.find("team-a")).toMatchObject({ place: "team-a" });
	expect((await directory.list({ limit: 1 })).accounts).toMatchObject([{ id: "team-a", place: "team-a" }]);
});

it("records no account that is deleted, and those that come with it", async () => {
	const directory = newDirectory();
	await directory.beginDeletion("team-a");
	const added = await directory.add(["team-a", "team-b"].map((id) => ({ id, place: "shard/1" })));
	expect(added.map((account) => account?.id)).toEqual([undefined, "team-b"]);
	expect((await directory.list({ limit: 9 })).accounts.map(({ id }) => id)).toEqual(["team-b"]);
});

it("has no place of an account of an earlier version", async () => {
	const directory = newDirectory();
	await runInDurableObject(directory, (_, { storage: { sql } }) => {
		sql.exec("DROP TABLE accounts");
		sql.exec("CREATE TABLE accounts (id TEXT PRIMARY KEY, recorded_at INTEGER NOT NULL) WITHOUT ROWID");
		sql.exec("INSERT INTO accounts VALUES ('team-a', 1)");
	});
	await evictDurableObject(directory);
	expect(await directory.find("team-a")).toEqual({ id: "team-a", recordedAt: 1 });
});
