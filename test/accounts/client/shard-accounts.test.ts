/** The accounts of a shard: shared calls, and moves while requests are under way. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { AccountStub } from "../../../src/accounts/client/account-calls.ts";
import { moveAccount } from "../../../src/accounts/client/account-moves.ts";
import { createLedgers } from "../../../src/accounts/client/accounts.ts";
import { DirectoryCache } from "../../../src/accounts/client/directory-cache.ts";
import type { Account } from "../../../src/accounts/durable/account.ts";
import type { Revision } from "../../../src/accounts/durable/account-changes.ts";
import type { AccountCall, AccountMethod } from "../../../src/accounts/durable/account-methods.ts";
import { newPlace } from "../../../src/accounts/places.ts";
import { OpenObjects } from "../../../src/core/open-objects.ts";
import { admission, callsOf, fixedCost, newAccount, settlement, stubOf, tokenOf } from "../fixtures.ts";

/** An isolate in front of a directory and of shards of its own, with the real clock. */
function world({ shards = 2, exact = false } = {}) {
	const id = crypto.randomUUID();
	/** The calls of objects: the method, and for how many accounts. */
	const calls: [method: string, accounts: number][] = [];
	const namespace = {
		getByName(place: string) {
			// Other tests have shards of these names.
			const stub = env.ACCOUNT.getByName(place.startsWith("shard/") ? `${place}/${id}` : place);
			const counted: AccountStub = {
				id: stub.id,
				call: async (account: string, method: AccountMethod, parameters: readonly unknown[]) => {
					calls.push([method, 1]);
					return stub.call(account, method, parameters);
				},
				callAll: async (batch: readonly AccountCall[], known?: Revision) => {
					calls.push(["callAll", batch.length]);
					return stub.callAll(batch, known);
				},
			};
			return new Proxy(stub, {
				get: (target, name) => Reflect.get(Object.hasOwn(counted, name) ? counted : target, name),
			});
		},
	} as unknown as DurableObjectNamespace<Account>;
	const now = () => Date.now();
	const isolate = (options: { isOnlyProcess?: boolean; longLeases?: boolean } = {}) => {
		const directory = new DirectoryCache({
			...{ now, shards, directory: () => env.DIRECTORY.getByName(id) },
			...{ wait: (ms) => scheduler.wait(ms), waitUntil: () => {} },
		});
		const ledgers = createLedgers({
			...{ namespace, directory, exact, now, ...options },
			openObjects: new OpenObjects({ max: 1, now }),
			wait: (ms) => scheduler.wait(ms),
			waitUntil: () => {},
			log: (error) => {
				throw error;
			},
		});
		return { directory, ledgers };
	};
	return { calls, isolate, namespace, directoryStub: env.DIRECTORY.getByName(id) };
}

const OPERATOR = { kind: "operator" } as const;

describe("accounts of a shard", () => {
	it("are admitted together in few calls, and need one open object", async () => {
		const { calls, isolate } = world({ shards: 1, exact: true });
		const { ledgers } = isolate();
		const accounts = Array.from({ length: 60 }, newAccount);
		await Promise.all(accounts.map((account) => ledgers.of(account).admit(admission())));
		// The first is alone. The others wait for its call, and share the next ones; a slow call is not waited for.
		expect(calls[0]).toEqual(["callAll", 1]);
		expect(calls.reduce((sum, [, count]) => sum + count, 0)).toBe(60);
		expect(calls.length).toBeLessThan(20);
	});

	it("get their tokens together in few calls, and few commits", async () => {
		const { calls, isolate } = world({ shards: 1 });
		const { ledgers } = isolate();
		const accounts = Array.from({ length: 60 }, newAccount);
		const tokens = await Promise.all(
			accounts.map((account) => tokenOf(account, {}, {}, ledgers.of(account))),
		);
		expect(calls.reduce((sum, [, count]) => sum + count, 0)).toBe(60);
		expect(calls.length).toBeLessThan(20);
		for (const [i, account] of accounts.entries()) {
			const [own, other] = [tokens[i], tokens[(i + 1) % tokens.length]];
			if (own?.kind !== "token" || other?.kind !== "token") throw new Error("No token");
			const verified = (hash: string) => isolate().ledgers.of(account).tokens({ kind: "verify", hash });
			expect(await verified(own.hash)).toMatchObject({ ok: true });
			expect(await verified(other.hash)).toMatchObject({ ok: false });
		}
	});

	it("keep their budgets with all of 500 requests at once from two isolates", async () => {
		const { isolate } = world({ shards: 1 });
		const isolates = [isolate(), isolate()];
		const accounts = Array.from({ length: 5 }, newAccount);
		const budgets = [{ key: "account", microNeurons: 30, failure: "accountLimited" } as const];
		const admitted = new Map(accounts.map((account) => [account, 0]));
		await Promise.allSettled(
			Array.from({ length: 500 }, async (_, i) => {
				const account = accounts[i % 5] ?? "";
				const ledger = isolates[i % 2]?.ledgers.of(account);
				const request = admission({ budgets, cost: fixedCost(1) });
				if (!ledger?.admitFromLease(request)) await ledger?.admit(request);
				admitted.set(account, (admitted.get(account) ?? 0) + 1);
			}),
		);
		for (const count of admitted.values()) {
			expect(count).toBeGreaterThan(0);
			expect(count).toBeLessThanOrEqual(30);
		}
		await Promise.all(isolates.map(({ ledgers }) => ledgers.flush()));
	});

	it("report what leases admitted, each to its own books", async () => {
		const { isolate } = world({ shards: 1 });
		const { ledgers } = isolate();
		const accounts = Array.from({ length: 8 }, newAccount);
		for (const [i, account] of accounts.entries()) {
			const ledger = ledgers.of(account);
			for (let n = 0; n <= i; n++) {
				const request = admission({ cost: fixedCost(2) });
				if (!ledger.admitFromLease(request)) await ledger.admit(request);
				ledger.settle(settlement(request.ticket, { microNeurons: 1 }));
			}
		}
		for (const [i, account] of accounts.entries())
			expect((await ledgers.of(account).usage({ by: [] })).total).toMatchObject({
				...{ requests: i + 1, microNeurons: i + 1 },
			});
	});
});

describe("an account of the only isolate", () => {
	it("has a lease from the second request on", async () => {
		const { isolate } = world({ shards: 1 });
		const ledger = isolate({ isOnlyProcess: true, longLeases: true }).ledgers.of(newAccount());
		const isLeased = async (): Promise<boolean> => {
			const request = admission();
			const leased = ledger.admitFromLease(request) !== undefined;
			if (!leased) await ledger.admit(request);
			return leased;
		};
		expect([await isLeased(), await isLeased(), await isLeased()]).toEqual([false, false, true]);
	});
});

describe("an account that moves", () => {
	it("is served on, and loses no request, in isolates that know its old place", async () => {
		const { isolate, namespace } = world({ shards: 2 });
		const [one, other] = [isolate(), isolate()];
		const account = newAccount();
		const own = account;
		let admitted = 0;
		let isMoving = true;
		const traffic = async ({ ledgers }: typeof one) => {
			const ledger = ledgers.of(account);
			do {
				const request = admission({ cost: fixedCost(3) });
				if (!ledger.admitFromLease(request)) await ledger.admit(request);
				admitted++;
				ledger.settle(settlement(request.ticket, { microNeurons: 2 }));
			} while (isMoving);
		};
		await one.ledgers.of(account).admit(admission());
		await other.ledgers.of(account).admit(admission());
		const running = [traffic(one), traffic(other)];
		const mover = isolate();
		const services = { directory: mover.directory, namespace };
		for (const to of [own, newPlace(account, 2), "shard/0", "shard/1", own])
			await moveAccount(account, to, services);
		isMoving = false;
		await Promise.all(running);
		await Promise.all([one.ledgers.flush(), other.ledgers.flush()]);
		expect(await mover.directory.lookUp(account)).toBe(own);
		const { total } = await callsOf(stubOf(own), account).usage({ by: [] });
		expect(total).toMatchObject({ requests: admitted, microNeurons: 2 * admitted });
		expect(admitted).toBeGreaterThan(5);
	});

	it("moves at its first call, if an earlier version has recorded it", async () => {
		const { directoryStub, isolate } = world({ shards: 2 });
		const account = newAccount();
		await callsOf(stubOf(account), account).admit(admission({ cost: fixedCost(4) }), []);
		await directoryStub.add([{ id: account }]);
		const { directory, ledgers } = isolate();
		const { requests } = await ledgers.of(account).requests({});
		expect(requests).toMatchObject([{ outcome: "open", reservedMicroNeurons: 4 }]);
		expect(directory.known(account)).toBe(newPlace(account, 2));
		expect(await isolate().directory.find(account)).toBe(newPlace(account, 2));
	});

	it("stays where it is without shards", async () => {
		const { directoryStub, isolate } = world({ shards: 0 });
		const account = newAccount();
		await directoryStub.add([{ id: account }]);
		const { directory, ledgers } = isolate();
		await ledgers.of(account).limitStatus({ credential: OPERATOR, rates: [], budgets: [] });
		expect(directory.known(account)).toBe(account);
	});
});
