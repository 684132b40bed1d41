import { describe, expect, it } from "vitest";
import { DirectoryCache, type DirectoryCalls } from "../../../src/accounts/client/directory-cache.ts";

/** A directory in memory. It records the calls. */
function world(...recorded: string[]) {
	const accounts = new Map(recorded.map((account) => [account, account]));
	const calls: string[] = [];
	const state = { time: 1_000_000, fails: false };
	const call = <T>(name: string, result: () => T) => {
		calls.push(name);
		return state.fails ? Promise.reject(new Error("overloaded")) : Promise.resolve(result());
	};
	const recordOf = (id: string) =>
		accounts.has(id) ? { id, recordedAt: 1, place: accounts.get(id) } : undefined;
	const directory = {
		find: (account: string) => call(`find ${account}`, () => recordOf(account)),
		add: (added: { id: string; place: string }[]) =>
			call(`add ${added.map(({ id, place }) => `${id} at ${place}`).join(", ")}`, () =>
				added.map(({ id, place }) => {
					if (!accounts.has(id)) accounts.set(id, place);
					return recordOf(id);
				}),
			),
		list: () => call("list", () => ({ accounts: [] })),
	} as unknown as DirectoryCalls;
	const isOlder = (account: string): boolean => account === "of-an-older-version";
	const cache = new DirectoryCache({
		...{ directory: () => directory, now: () => state.time, isOlder },
		...{ wait: () => new Promise<void>(() => {}), waitUntil: () => {} },
	});
	return { accounts, calls, cache, state };
}

describe("accounts that exist", () => {
	it("are looked up once", async () => {
		const { calls, cache } = world("team-a");
		expect(cache.known("team-a")).toBeUndefined();
		expect(await cache.find("team-a")).toBe("team-a");
		expect(await cache.find("team-a")).toBe("team-a");
		expect(cache.known("team-a")).toBe("team-a");
		expect(calls).toEqual(["find team-a"]);
	});

	it("are recorded at their first request, if an older version has created them", async () => {
		const { accounts, calls, cache } = world("team-a");
		expect(await cache.find("of-an-older-version")).toBe("of-an-older-version");
		expect(await cache.find("of-an-older-version")).toBe("of-an-older-version");
		expect([...accounts.keys()]).toEqual(["team-a", "of-an-older-version"]);
		expect(calls).toEqual(["find of-an-older-version", "add of-an-older-version at undefined"]);
	});

	it("are recorded once", async () => {
		const { accounts, calls, cache } = world();
		await cache.record("team-a");
		await cache.record("team-a");
		expect([...accounts.keys()]).toEqual(["team-a"]);
		expect(calls).toEqual(["add team-a at team-a"]);
	});
});

it("are recorded together, while a call is under way", async () => {
	const { calls, cache } = world();
	const places = await Promise.all(["a", "b", "c"].map((account) => cache.record(account)));
	expect(places).toEqual(["a", "b", "c"]);
	expect(calls).toEqual(["add a at a", "add b at b, c at c"]);
});

describe("accounts that do not exist", () => {
	it("are looked up again after two seconds", async () => {
		const { accounts, calls, cache, state } = world();
		expect(await cache.find("guess")).toBeUndefined();
		accounts.set("guess", "guess");
		state.time += 1_999;
		expect(await cache.find("guess")).toBeUndefined();
		state.time += 1;
		expect(await cache.find("guess")).toBe("guess");
		expect(calls).toEqual(["find guess", "find guess"]);
	});

	it("exist at once when this isolate records them", async () => {
		const { cache } = world();
		expect(await cache.find("team-a")).toBeUndefined();
		await cache.record("team-a");
		expect(await cache.find("team-a")).toBe("team-a");
	});
});

it("keeps at most 100,000 places, and 10,000 accounts that do not exist", async () => {
	const { calls, cache } = world();
	for (let i = 0; i < 100_001; i++) await cache.record(`real-${i}`);
	expect(cache.known("real-99999")).toBeUndefined();
	expect(cache.known("real-100000")).toBe("real-100000");
	for (let i = 0; i < 10_001; i++) await cache.find(`guess-${i}`);
	calls.length = 0;
	await cache.find("guess-10000");
	await cache.find("guess-0");
	expect(calls).toEqual(["find guess-0"]);
});

it("caches nothing if the directory cannot be called", async () => {
	const { cache, state } = world("team-a");
	state.fails = true;
	await expect(cache.find("team-a")).rejects.toThrow("overloaded");
	await expect(cache.record("team-b")).rejects.toThrow("overloaded");
	state.fails = false;
	expect(await cache.find("team-a")).toBe("team-a");
	expect(cache.known("team-b")).toBeUndefined();
});
