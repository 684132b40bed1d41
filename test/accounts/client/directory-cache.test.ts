import { describe, expect, it } from "vitest";
import { DirectoryCache, type DirectoryCalls } from "../../../src/accounts/client/directory-cache.ts";

/** A directory in memory. It records the calls. */
function world(...recorded: string[]) {
	const accounts = new Set(recorded);
	const calls: string[] = [];
	const state = { time: 1_000_000, fails: false };
	const call = <T>(name: string, result: () => T) => {
		calls.push(name);
		return state.fails ? Promise.reject(new Error("overloaded")) : Promise.resolve(result());
	};
	const directory = {
		has: (account: string) => call(`has ${account}`, () => accounts.has(account)),
		add: (account: string) => call(`add ${account}`, () => void accounts.add(account)),
		list: () => call("list", () => ({ accounts: [] })),
	} as unknown as DirectoryCalls;
	const isOlder = (account: string): boolean => account === "of-an-older-version";
	const cache = new DirectoryCache({ directory: () => directory, now: () => state.time, isOlder });
	return { accounts, calls, cache, state };
}

describe("accounts that exist", () => {
	it("are looked up once", async () => {
		const { calls, cache } = world("team-a");
		expect(cache.isCached("team-a")).toBe(false);
		expect(await cache.exists("team-a")).toBe(true);
		expect(await cache.exists("team-a")).toBe(true);
		expect(cache.isCached("team-a")).toBe(true);
		expect(calls).toEqual(["has team-a"]);
	});

	it("are recorded at their first request, if an older version has created them", async () => {
		const { accounts, calls, cache } = world("team-a");
		expect(await cache.exists("of-an-older-version")).toBe(true);
		expect(await cache.exists("of-an-older-version")).toBe(true);
		expect([...accounts]).toEqual(["team-a", "of-an-older-version"]);
		expect(calls).toEqual(["has of-an-older-version", "add of-an-older-version"]);
	});

	it("are recorded once", async () => {
		const { accounts, calls, cache } = world();
		await cache.record("team-a");
		await cache.record("team-a");
		expect([...accounts]).toEqual(["team-a"]);
		expect(calls).toEqual(["add team-a"]);
	});
});

describe("accounts that do not exist", () => {
	it("are looked up again after two seconds", async () => {
		const { accounts, calls, cache, state } = world();
		expect(await cache.exists("guess")).toBe(false);
		accounts.add("guess");
		state.time += 1_999;
		expect(await cache.exists("guess")).toBe(false);
		state.time += 1;
		expect(await cache.exists("guess")).toBe(true);
		expect(calls).toEqual(["has guess", "has guess"]);
	});

	it("exist at once when this isolate records them", async () => {
		const { cache } = world();
		expect(await cache.exists("team-a")).toBe(false);
		await cache.record("team-a");
		expect(await cache.exists("team-a")).toBe(true);
	});
});

it("keeps at most 10,000 accounts of each kind", async () => {
	const { calls, cache } = world();
	for (let i = 0; i < 10_001; i++) await cache.record(`real-${i}`);
	expect(cache.isCached("real-9999")).toBe(false);
	expect(cache.isCached("real-10000")).toBe(true);
	for (let i = 0; i < 10_001; i++) await cache.exists(`guess-${i}`);
	calls.length = 0;
	await cache.exists("guess-10000");
	await cache.exists("guess-0");
	expect(calls).toEqual(["has guess-0"]);
});

it("caches nothing if the directory cannot be called", async () => {
	const { cache, state } = world("team-a");
	state.fails = true;
	await expect(cache.exists("team-a")).rejects.toThrow("overloaded");
	await expect(cache.record("team-b")).rejects.toThrow("overloaded");
	state.fails = false;
	expect(await cache.exists("team-a")).toBe(true);
	expect(cache.isCached("team-b")).toBe(false);
});
