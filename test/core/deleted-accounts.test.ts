import { describe, expect, it } from "vitest";
import { type AccountDeletion, DeletedAccounts } from "../../src/core/deleted-accounts.ts";

const HOUR_MS = 3_600_000;

/** An isolate's copy, and the directory that it reads. */
function copied(isOnlyProcess: boolean) {
	const state = { time: 1_000_000, reads: 0, fails: false };
	const listed = new Map<string, AccountDeletion>();
	const accounts = new DeletedAccounts({
		isOnlyProcess,
		now: () => state.time,
		waitUntil: () => {},
		directory: () => ({
			beginDeletion: async (account) => {
				const deletion = { begunAt: state.time };
				listed.set(account, deletion);
				return deletion;
			},
			endDeletion: async (account, until) => void listed.set(account, { begunAt: state.time, until }),
			forgetDeletion: async (account) => void listed.delete(account),
			deletion: async (account) => listed.get(account),
			deletions: async () => {
				state.reads++;
				if (state.fails) throw new Error("overloaded");
				return {
					revision: String(state.reads),
					accounts: [...listed].map(([id, deletion]) => ({ id, ...deletion })),
				};
			},
		}),
	});
	return { accounts, listed, state };
}

describe("an isolate's copy of the deleted accounts", () => {
	it("is stale after three seconds, if others change the list", async () => {
		const { accounts, listed, state } = copied(false);
		await accounts.check("a");
		state.time += 2_999;
		expect(accounts.isFresh).toBe(true);
		state.time += 3_001;
		expect(accounts.isFresh).toBe(false);
		listed.set("a", { begunAt: state.time });
		await expect(accounts.check("a")).rejects.toMatchObject({ key: "accountDeleted" });
	});

	it("is read once by the only isolate, and after each change of it", async () => {
		const { accounts, listed, state } = copied(true);
		listed.set("before", { begunAt: 1 });
		await expect(accounts.check("before")).rejects.toMatchObject({ key: "accountDeleted" });
		state.time += HOUR_MS;
		expect(accounts.isFresh).toBe(true);
		await accounts.check("a");
		expect(state.reads).toBe(1);
		await accounts.begin("a");
		state.time += HOUR_MS;
		await expect(accounts.check("a")).rejects.toMatchObject({ key: "accountDeleted" });
		await accounts.end("a", state.time);
		await accounts.forget("a");
		state.time += HOUR_MS;
		await accounts.check("a");
		expect(state.reads).toBe(4);
	});

	it("is read again until the only isolate has received it", async () => {
		const { accounts, listed, state } = copied(true);
		listed.set("a", { begunAt: 1 });
		state.fails = true;
		await accounts.check("a");
		state.fails = false;
		state.time += 3_001;
		await expect(accounts.check("a")).rejects.toMatchObject({ key: "accountDeleted" });
		expect(state.reads).toBe(2);
	});
});
