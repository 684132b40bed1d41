import { describe, expect, it } from "vitest";
import { type DirectoryCalls, KnownAccounts } from "../../../src/accounts/client/known-accounts.ts";

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
	const known = new KnownAccounts({ directory: () => directory, now: () => state.time });
	return { accounts, calls, known, state };
}

describe("accounts that exist", () => {
	it("are looked up once", async () => {
		const { calls, known } = world("team-a");
		expect(known.isCached("team-a")).toBe(false);
		expect(await known.exists("team-a")).toBe(true);
		expect(await known.exists("team-a")).toBe(true);
		expect(known.isCached("team-a")).toBe(true);
		expect(calls).toEqual(["has team-a"]);
	});

	it("are recorded once", async () => {
		const { accounts, calls, known } = world();
		await known.record("team-a");
		await known.record("team-a");
		expect([...accounts]).toEqual(["team-a"]);
		expect(calls).toEqual(["add team-a"]);
	});
});

describe("accounts that do not exist", () => {
	it("are looked up again after two seconds", async () => {
		const { accounts, calls, known, state } = world();
		expect(await known.exists("guess")).toBe(false);
		accounts.add("guess");
		state.time += 1_999;
		expect(await known.exists("guess")).toBe(false);
		state.time += 1;
		expect(await known.exists("guess")).toBe(true);
		expect(calls).toEqual(["has guess", "has guess"]);
	});

	it("exist at once when this isolate records them", async () => {
		const { known } = world();
		expect(await known.exists("team-a")).toBe(false);
		await known.record("team-a");
		expect(await known.exists("team-a")).toBe(true);
	});
});

it("keeps at most 10,000 accounts of each kind", async () => {
	const { calls, known } = world();
	for (let i = 0; i < 10_001; i++) await known.record(`real-${i}`);
	expect(known.isCached("real-9999")).toBe(false);
	expect(known.isCached("real-10000")).toBe(true);
	for (let i = 0; i < 10_001; i++) await known.exists(`guess-${i}`);
	calls.length = 0;
	await known.exists("guess-10000");
	await known.exists("guess-0");
	expect(calls).toEqual(["has guess-0"]);
});

it("remembers nothing of a directory that cannot be asked", async () => {
	const { known, state } = world("team-a");
	state.fails = true;
	await expect(known.exists("team-a")).rejects.toThrow("overloaded");
	await expect(known.record("team-b")).rejects.toThrow("overloaded");
	state.fails = false;
	expect(await known.exists("team-a")).toBe(true);
	expect(known.isCached("team-b")).toBe(false);
});
