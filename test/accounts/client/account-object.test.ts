import { describe, expect, it } from "vitest";
import type { Credential } from "../../../src/accounts/admission.ts";
import { AccountObject } from "../../../src/accounts/client/account-object.ts";
import { AccountShards } from "../../../src/accounts/client/account-shards.ts";
import { DirectoryCache, type DirectoryCalls } from "../../../src/accounts/client/directory-cache.ts";
import type { Account } from "../../../src/accounts/durable/account.ts";
import { OpenObjects } from "../../../src/core/open-objects.ts";

const OPERATOR: Credential = { kind: "operator" };
const TOKEN: Credential = { kind: "token", hash: "h" };

interface Options {
	exists?: boolean;
	directoryFails?: boolean;
	objectFails?: boolean;
	maxOpen?: number;
}

function objectOf({ exists = true, directoryFails = false, maxOpen = 1, objectFails = false }: Options = {}) {
	const calls: string[] = [];
	const changed: string[] = [];
	const call = async <T>(name: string, answer: T): Promise<T> => {
		calls.push(name);
		if (directoryFails) throw new Error("overloaded");
		return answer;
	};
	const directory = {
		find: (account: string) =>
			call(`find ${account}`, exists ? { id: account, recordedAt: 1, place: account } : undefined),
		add: (added: { id: string; place: string }[]) =>
			call(
				`add ${added.map(({ id }) => id).join(", ")}`,
				added.map((account) => ({ ...account, recordedAt: 1 })),
			),
	} as unknown as DirectoryCalls;
	const namespace = {
		getByName: (name: string) => ({
			id: `id of ${name}`,
			call: async (account: string, method: string) => {
				if (objectFails) throw new Error("network connection lost");
				return { value: `${method} of ${account} at ${name}` };
			},
		}),
	} as unknown as DurableObjectNamespace<Account>;
	const services = {
		namespace,
		accountShards: new AccountShards({
			now: () => 0,
			wait: async () => {},
			waitUntil: () => {},
			onChanged: (accounts) => void changed.push(...accounts),
		}),
		directory: new DirectoryCache({
			...{ directory: () => directory, now: () => 0 },
			...{ wait: async () => {}, waitUntil: () => {} },
		}),
		openObjects: new OpenObjects({ max: maxOpen, now: () => 0 }),
		wait: async () => {},
	};
	return { calls, changed, object: (account: string) => new AccountObject(account, services), services };
}

describe("a call that may change the account", () => {
	it.each([false, true])("is recorded, with failures %s", async (objectFails) => {
		const { changed, object } = objectOf({ objectFails });
		await object("a")
			.call("usage", { by: [] })
			.catch(() => {});
		expect(changed).toEqual([]);
		await object("a")
			.call("setBoundGateway", undefined)
			.catch(() => {});
		expect(changed).toEqual(["a"]);
	});
});

it("only another isolate must name the changes of a shard's accounts", () => {
	const confirmedAt = (isOnlyProcess: boolean) =>
		new AccountShards({
			...{ isOnlyProcess, now: () => 7, wait: async () => {} },
			...{ waitUntil: () => {}, onChanged: () => {} },
		}).confirmedAt("shard/0");
	expect([confirmedAt(true), confirmedAt(false)]).toEqual([7, Number.NEGATIVE_INFINITY]);
});

describe("the check before a call", () => {
	it("finds the account of a token once", async () => {
		const { calls, object } = objectOf();
		expect(object("a").mayCall).toBe(false);
		await object("a").check(TOKEN);
		await object("a").check(TOKEN);
		expect(object("a").mayCall).toBe(true);
		expect(calls).toEqual(["find a"]);
	});

	it("records the operator's account once", async () => {
		const { calls, object } = objectOf({ exists: false });
		await object("a").check(OPERATOR);
		await object("a").check(TOKEN);
		expect(calls).toEqual(["add a"]);
	});

	it("refuses a token of an account that does not exist", async () => {
		const { object } = objectOf({ exists: false });
		await expect(object("a").check(TOKEN)).rejects.toMatchObject({ key: "authentication" });
		expect(object("a").mayCall).toBe(false);
	});

	it("fails without the directory", async () => {
		const { object } = objectOf({ directoryFails: true });
		for (const credential of [TOKEN, OPERATOR])
			await expect(object("a").check(credential)).rejects.toMatchObject({
				key: "ledgerUnavailable",
				cause: { message: "overloaded" },
			});
	});

	it("refuses another account if all objects are in use, also after a report", async () => {
		const { object } = objectOf();
		await object("a").report("settle", []);
		await object("a").check(TOKEN);
		await expect(object("b").check(TOKEN)).rejects.toMatchObject({ key: "outOfCapacity", retryAfter: 5 });
		expect([object("a").mayCall, object("b").mayCall]).toEqual([true, false]);
	});
});

describe("a call", () => {
	it("is made at the place of the account", async () => {
		const { object } = objectOf();
		expect(await object("a").call("aliases")).toBe("aliases of a at a");
	});

	it("fails with the account and the object, for the log", async () => {
		const { object } = objectOf({ objectFails: true });
		await expect(object("a").call("aliases")).rejects.toMatchObject({
			key: "ledgerUnavailable",
			place: { account: "a", object: "id of a" },
			cause: { message: "network connection lost" },
		});
	});
});
