import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Admission } from "../../../src/accounts/admission.ts";
import type { AccountStub } from "../../../src/accounts/client/account-calls.ts";
import { createLedgers } from "../../../src/accounts/client/accounts.ts";
import { DirectoryCache, type DirectoryCalls } from "../../../src/accounts/client/directory-cache.ts";
import type { Accounts, IsolateAccounts } from "../../../src/accounts/client/ledgers-services.ts";
import type { Account } from "../../../src/accounts/durable/account.ts";
import type { Revision } from "../../../src/accounts/durable/account-changes.ts";
import type { AccountCall, AccountMethod } from "../../../src/accounts/durable/account-methods.ts";
import type { LimitStatus } from "../../../src/accounts/durable/limit-status.ts";
import type { OpenAccount } from "../../../src/accounts/durable/open-account.ts";
import { AiError } from "../../../src/core/errors.ts";
import { OpenObjects } from "../../../src/core/open-objects.ts";
import { TestTimers } from "../../timers.ts";
import {
	type AccountCalls,
	admission,
	callsOf,
	callsTo,
	fixedCost,
	newAccount,
	settlement,
	tokenOf,
} from "../fixtures.ts";

/** What happens to a call: it is not delivered, its answer is lost, it never ends, or its answer takes 600 ms. */
type Fault = "none" | "lost" | "unanswered" | "hung" | "slow";

interface Isolate {
	accounts: IsolateAccounts;
	/** Calls of objects, in order: the method and the number of settlements that the call carried. */
	calls: [method: string, settlements: number][];
	fault: Fault;
	logged: AiError[];
	/** The remaining time of each wait, in milliseconds. */
	waits: number[];
	/** Advances the time, and runs all that is due. */
	pass(milliseconds: number): Promise<void>;
	/** Ends every I/O context that a request kept alive, with its waits. */
	endContexts(): void;
}

/** A directory in which every account exists. `shard`: the place of all of them. */
const everyAccount = (shard?: string) =>
	({
		find: async (account: string) => ({ id: account, recordedAt: 1, place: shard ?? account }),
		add: async (added: { id: string }[]) =>
			added.map(({ id }) => ({ id, recordedAt: 1, place: shard ?? id })),
		list: async () => ({ accounts: [] }),
	}) as unknown as DirectoryCalls;

interface IsolateOptions {
	longLeases?: boolean;
	maxOpen?: number;
	exact?: boolean;
	shard?: string;
}

/** The client in front of the real objects. The test sets the time. */
function isolate({
	longLeases = false,
	maxOpen = Number.POSITIVE_INFINITY,
	exact = true,
	shard,
}: IsolateOptions = {}): Isolate {
	let now = 1_000_000;
	const timers = new TestTimers(() => now);
	const running = new Set<Promise<unknown>>();
	const calls: Isolate["calls"] = [];
	const logged: AiError[] = [];

	const faulty = async <T>(method: string, settlements: number, call: () => Promise<T>): Promise<T> => {
		calls.push([method, settlements]);
		const { fault } = self;
		if (fault === "lost") throw new Error("overloaded");
		if (fault === "hung") return new Promise(() => {});
		const answer = await call();
		if (fault === "unanswered") throw new Error("network connection lost");
		if (fault === "slow") await timers.wait(600);
		return answer;
	};
	/** How a call of the object appears in `calls`; nothing for a report, which never fails. */
	const recorded: Partial<Record<AccountMethod, (parameters: never) => [name: string, settlements: number]>> =
		{
			admitAll: ([batch, settled]: Parameters<OpenAccount["admitAll"]>) => [
				batch.length === 1 ? "admit" : `admit ${batch.length}`,
				settled.length,
			],
			settle: ([settled]: Parameters<OpenAccount["settle"]>) => ["settle", settled.length],
			journal: ([batch]: Parameters<OpenAccount["journal"]>) => [
				`journal ${batch.requests.length}`,
				batch.settlements.length,
			],
			checkLeases: () => ["check", 0],
			verify: () => ["verify", 0],
		};
	const namespace = {
		getByName: (name: string) => {
			const stub: AccountStub = env.ACCOUNT.getByName(name);
			return {
				id: stub.id,
				call(account: string, method: AccountMethod, parameters: readonly unknown[]) {
					const call = async () => stub.call(account, method, parameters);
					const entry = recorded[method]?.(parameters as never);
					return entry ? faulty(...entry, call) : call();
				},
				callAll(batch: readonly AccountCall[], known?: Revision) {
					for (const { method, parameters } of batch) {
						const entry = recorded[method]?.(parameters as never);
						if (entry) calls.push(entry);
					}
					return stub.callAll(batch, known);
				},
			};
		},
	} as unknown as DurableObjectNamespace<Account>;

	const self: Isolate = {
		accounts: createLedgers({
			namespace,
			exact,
			longLeases,
			directory: new DirectoryCache({
				...{ directory: () => everyAccount(shard), now: () => now },
				...{ wait: async () => {}, waitUntil: () => {} },
			}),
			openObjects: new OpenObjects({ max: maxOpen, now: () => now }),
			now: () => now,
			wait: timers.wait,
			waitUntil: (promise) => {
				running.add(promise);
				promise.finally(() => running.delete(promise));
			},
			log: (error) => {
				logged.push(error);
			},
		}),
		calls,
		fault: "none",
		logged,
		get waits() {
			return timers.times.map((at) => at - now);
		},
		pass: async (milliseconds) => {
			const end = now + milliseconds;
			while (true) {
				await settled();
				const next = timers.dueBy(end);
				if (!next) break;
				now = next.at;
				next.fire();
			}
			now = end;
		},
		endContexts: () => {
			timers.clear();
			running.clear();
		},
	};

	/** Resolves when all running work has ended or waits for a timer. */
	async function settled(): Promise<void> {
		let before: string;
		do {
			before = `${running.size} ${timers.times.length} ${calls.length}`;
			// The real object answers calls in order.
			await callsTo(PACER).verify({ kind: "operator" }, "read");
		} while (before !== `${running.size} ${timers.times.length} ${calls.length}`);
	}
	return self;
}

const PACER = "pacer";

const statusOf = (calls: AccountCalls): Promise<LimitStatus> =>
	calls.limitStatus({ credential: { kind: "operator" }, budgets: [], rates: [] });

const leasesOf = async (account: string, calls = callsTo(account)): Promise<number> =>
	(await statusOf(calls)).leases;

const settledOf = async (
	account: string,
	calls = callsTo(account),
): Promise<{ requests: number; microNeurons: number; open: number }> => {
	const { requests, microNeurons } = (await calls.usage({ by: [] })).total;
	const { open } = await statusOf(calls);
	return { requests, microNeurons, open };
};

/** The second request in a short time requests a lease, also with many accounts. */
async function admitTwice(accounts: Accounts, account: string): Promise<void> {
	for (let i = 0; i < 2; i++) await accounts.of(account).admit(admission());
}

describe("leases", () => {
	it("admit most requests without a call, and are reported in batches", async () => {
		const account = newAccount();
		const { accounts, calls, pass } = isolate({ exact: false });
		for (let i = 0; i < 40; i++) {
			const request = admission({ cost: fixedCost(10) });
			const ledger = accounts.of(account);
			if (!ledger.admitFromLease(request)) await ledger.admit(request);
			await pass(4);
			ledger.settle(settlement(request.ticket, { microNeurons: 3 }));
		}
		expect(calls).toEqual([
			["admit", 0],
			["admit", 0],
			["admit", 0],
			["admit", 0],
		]);
		await pass(5_000);
		expect(calls[4]).toEqual(["journal 36", 4]);
		expect(calls.slice(5).every(([method]) => method === "journal 0")).toBe(true);
		expect(calls.length).toBeLessThan(10);
		expect(await settledOf(account)).toEqual({ requests: 40, microNeurons: 120, open: 0 });
		expect(await leasesOf(account)).toBe(0);
	});

	it.each(["usage", "requests", "limitStatus"] as const)(
		"are reported and returned before %s is read",
		async (method) => {
			const account = newAccount();
			const { accounts, calls } = isolate({ exact: false });
			const ledger = accounts.of(account);
			const [first, second, open] = [1, 2, 3].map((cost) => admission({ cost: fixedCost(cost) }));
			if (!first || !second || !open) throw new Error();
			await ledger.admit(first);
			for (const leased of [second, open]) {
				if (!ledger.admitFromLease(leased)) await ledger.admit(leased);
			}
			ledger.settle(settlement(first.ticket, { microNeurons: 1 }));
			ledger.settle(settlement(second.ticket, { microNeurons: 2 }));
			const reads = {
				usage: async () =>
					expect((await ledger.usage({ by: [] })).total).toMatchObject({ requests: 2, microNeurons: 3 }),
				requests: async () => {
					const { requests } = await ledger.requests({});
					const outcomes = requests.map(({ outcome, ticket }) => [ticket, outcome]);
					expect(new Map(outcomes as [string, string][])).toEqual(
						new Map([
							[first.ticket, "ok"],
							[second.ticket, "ok"],
							[open.ticket, "open"],
						]),
					);
				},
				limitStatus: async () => {
					const budgets = [{ key: "account", microNeurons: 10, failure: "budgetExceeded" as const }];
					const status = await ledger.limitStatus({ credential: { kind: "operator" }, rates: [], budgets });
					expect(status).toMatchObject({
						...{ open: 1, leases: 0 },
						budgets: [{ spentMicroNeurons: 3, reservedMicroNeurons: 3 }],
					});
				},
			};
			await reads[method]();
			expect(calls.filter(([name]) => name.startsWith("journal"))).toHaveLength(1);
			expect(ledger.admitFromLease(admission())).toBeUndefined();
		},
	);

	it("are returned before a request of their isolate is refused", async () => {
		const account = newAccount();
		const { accounts } = isolate({ exact: false });
		const ledger = accounts.of(account);
		const rates = [{ key: "task:a", perMinute: 40 }];
		let admitted = 0;
		const refused: unknown[] = [];
		for (let i = 0; i < 50; i++) {
			const request = admission({ model: `model-${i % 3}`, rates });
			try {
				if (!ledger.admitFromLease(request)) await ledger.admit(request);
				admitted++;
			} catch (error) {
				refused.push(error);
			}
		}
		expect(admitted).toBe(40);
		expect(refused).toHaveLength(10);
		expect((await ledger.refusals({ by: [] })).requests).toBe(10);
	});

	it("are returned before requests of one call are refused, each of which gets its own answer", async () => {
		const { accounts } = isolate({ exact: false });
		const ledger = accounts.of(newAccount());
		const rates = [{ key: "task:a", perMinute: 40 }];
		const requests = Array.from({ length: 50 }, (_, i) => admission({ model: `model-${i % 3}`, rates }));
		const [first, second, third, ...others] = requests.map((request) => () => ledger.admit(request));
		for (const admit of [first, second, third]) await admit?.();
		const results = await Promise.allSettled(others.map((admit) => admit()));
		expect(results.map(({ status }) => status)).toEqual([
			...Array(37).fill("fulfilled"),
			...Array(10).fill("rejected"),
		]);
	});

	describe("of one of 50 accounts in an isolate", () => {
		/** After a request from a lease. A batch follows after 2 seconds, and a lease is valid for 4. */
		const inUse = async () => {
			const { accounts, calls, pass } = isolate({ exact: false });
			for (let i = 0; i < 49; i++) await admitTwice(accounts, newAccount());
			const account = newAccount();
			const ledger = accounts.of(account);
			const credential = await tokenOf(account);
			const admit = async (): Promise<"lease" | "object"> => {
				const request = admission({ credential, cost: fixedCost(1) });
				const leased = ledger.admitFromLease(request);
				if (!leased) await ledger.admit(request);
				ledger.settle(settlement(request.ticket, { microNeurons: 1 }));
				return leased ? "lease" : "object";
			};
			// The second request in a short time requests the lease.
			expect([await admit(), await admit(), await admit()]).toEqual(["object", "object", "lease"]);
			const named = (method: string) => calls.filter(([name]) => name === method).length;
			return { account, accounts, admit, named, pass };
		};

		it("are reported every two seconds, and checked once a second without an admission by the object", async () => {
			const { account, admit, named, pass } = await inUse();
			await pass(1_000);
			const before = named("admit");
			expect(await admit()).toBe("object");
			expect([named("check"), named("admit") - before]).toEqual([1, 0]);
			expect([await admit(), await admit()]).toEqual(["object", "lease"]);
			expect([named("check"), named("admit") - before]).toEqual([1, 1]);
			await pass(999);
			expect(named("journal 3")).toBe(0);
			await pass(1);
			expect(named("journal 3")).toBe(1);
			await pass(20_000);
			expect(await settledOf(account)).toEqual({ requests: 6, microNeurons: 6, open: 0 });
			expect(await leasesOf(account)).toBe(0);
		});

		it.each([
			["is deleted", true],
			["has other limits", false],
		])("are not used a second after their token %s", async (_, isDeleted) => {
			const { account, admit, named, pass } = await inUse();
			const maker = { kind: "operator" } as const;
			const all = {
				kind: "list",
				maker,
				page: 1,
				perPage: 1,
				direction: "asc",
				includeExpired: true,
			} as const;
			const listed = await callsTo(account).tokens(all);
			const token = listed.ok && listed.tokens[0];
			if (!token) throw new Error("no token");
			await callsTo(account).tokens(
				isDeleted
					? { kind: "delete", maker, id: token.id }
					: { kind: "update", maker, id: token.id, fields: { ...token, limits: { requestsPerMinute: 9 } } },
			);
			await pass(1_000);
			const before = named("admit");
			if (isDeleted) await expect(admit()).rejects.toMatchObject({ key: "authentication" });
			else expect(await admit()).toBe("object");
			expect(named("check")).toBe(1);
			expect(named("admit")).toBeGreaterThan(before);
		});

		it("are reported at once when the gateway stops, and later requests soon", async () => {
			const { account, accounts, pass } = await inUse();
			await accounts.flush();
			expect(await settledOf(account)).toEqual({ requests: 3, microNeurons: 3, open: 0 });
			const request = admission();
			await accounts.of(account).admit(request);
			accounts.of(account).settle(settlement(request.ticket, { microNeurons: 5 }));
			await pass(250);
			expect(await settledOf(account)).toEqual({ requests: 4, microNeurons: 8, open: 0 });
		});
	});

	describe("of one of 50 accounts of a shard", () => {
		const OPERATOR = { kind: "operator" } as const;
		/** A batch follows after 2 seconds, and a lease is valid for 4. */
		const inUse = async ({ longLeases = false } = {}) => {
			const shard = `shard/${crypto.randomUUID()}`;
			const { accounts, calls, endContexts, pass } = isolate({ exact: false, shard, longLeases });
			const calledDirectly = (account: string) => callsOf(env.ACCOUNT.getByName(shard), account);
			const others = Array.from({ length: 49 }, newAccount);
			const askAnother = () => accounts.of(others.at(-1) ?? "").admit(admission({ holdMs: 60_000 }));
			for (const other of others) await admitTwice(accounts, other);
			const account = newAccount();
			const ledger = accounts.of(account);
			const credential = await tokenOf(account, {}, {}, calledDirectly(account));
			const admit = async (): Promise<"lease" | "object"> => {
				const request = admission({ credential, cost: fixedCost(1) });
				const leased = ledger.admitFromLease(request);
				if (!leased) await ledger.admit(request);
				ledger.settle(settlement(request.ticket, { microNeurons: 1 }));
				return leased ? "lease" : "object";
			};
			// The second request in a short time requests the lease, which is for two requests. The next one is for more.
			expect([await admit(), await admit(), await admit(), await admit()]).toEqual([
				...["object", "object"],
				...["lease", "lease"],
			]);
			// The first answer named the account as changed, because its token is new.
			await pass(1);
			expect(await admit()).toBe("object");
			const named = (method: string) => calls.filter(([name]) => name === method).length;
			return { account, admit, askAnother, calledDirectly, endContexts, named, pass, shard };
		};
		const tokenIn = async (calls: AccountCalls) => {
			const all = { kind: "list", page: 1, perPage: 1, direction: "asc", includeExpired: true } as const;
			const listed = await calls.tokens({ ...all, maker: OPERATOR });
			const token = listed.ok && listed.tokens[0];
			if (!token) throw new Error("no token");
			return token;
		};

		it("are used without a check for a second after any call of the shard", async () => {
			const { admit, askAnother, named, pass } = await inUse();
			await pass(900);
			await askAnother();
			await pass(900);
			expect([await admit(), named("check")]).toEqual(["lease", 0]);
		});

		it("are checked if no account of the shard was called for a second", async () => {
			const { admit, endContexts, named, pass } = await inUse();
			// So that no batch calls the shard.
			endContexts();
			await pass(1_000);
			expect([await admit(), named("check")]).toEqual(["object", 1]);
			expect([await admit(), named("check")]).toEqual(["lease", 1]);
		});

		it.each(["is deleted", "has other limits", "is rolled"])(
			"are checked if an answer to another account names theirs, because the token %s",
			async (change) => {
				const { account, admit, askAnother, calledDirectly, named, pass } = await inUse();
				const calls = calledDirectly(account);
				const { id, ...fields } = await tokenIn(calls);
				const by = { maker: OPERATOR, id };
				const limits = { requestsPerMinute: 9 };
				if (change === "is deleted") await calls.tokens({ kind: "delete", ...by });
				else if (change === "is rolled") await calls.tokens({ kind: "roll", ...by, hash: "0".repeat(64) });
				else await calls.tokens({ kind: "update", ...by, fields: { ...fields, limits } });
				await pass(900);
				await askAnother();
				await pass(900);
				if (change === "has other limits") expect(await admit()).toBe("object");
				else await expect(admit()).rejects.toMatchObject({ key: "authentication" });
				expect(named("check")).toBe(1);
			},
		);

		it.each([
			["4 seconds", 2_000, false],
			["120 seconds in an isolate that lives on without requests", 60_000, true],
		])(
			"are valid for %s, and returned after half of it without a request",
			async (_, unusedMs, longLeases) => {
				const { account, admit, askAnother, calledDirectly, pass } = await inUse({ longLeases });
				const leases = () => leasesOf(account, calledDirectly(account));
				await pass(unusedMs - 900);
				await askAnother();
				expect(await admit()).toBe("lease");
				await pass(unusedMs - 900);
				expect(await leases()).toBeGreaterThan(0);
				// The next batch but one, at the latest.
				await pass(900 + 4_000);
				expect(await leases()).toBe(0);
				expect(await settledOf(account, calledDirectly(account))).toEqual({
					...{ requests: 6, microNeurons: 6, open: 0 },
				});
			},
		);

		it("need no call for further requests of an account within a minute", async () => {
			const { admit, askAnother, named, pass } = await inUse({ longLeases: true });
			const before = named("admit");
			for (let i = 0; i < 5; i++) {
				await pass(40_000);
				await askAnother();
				expect(await admit()).toBe("lease");
			}
			// The checks are those of the other account.
			expect([named("check"), named("admit") - before]).toEqual([5, 0]);
		});

		it("are checked after a restart of the shard", async () => {
			const { admit, askAnother, named, pass, shard } = await inUse();
			await evictDurableObject(env.ACCOUNT.getByName(shard));
			await pass(900);
			await askAnother();
			await pass(900);
			expect([await admit(), named("check")]).toEqual(["object", 1]);
		});
	});

	it("are returned when the gateway stops", async () => {
		const [a, b] = [newAccount(), newAccount()];
		const { accounts } = isolate({ exact: false });
		for (const account of [a, b]) {
			const request = admission({ cost: fixedCost(10) });
			await accounts.of(account).admit(request);
			accounts.of(account).settle(settlement(request.ticket, { microNeurons: 3 }));
		}
		await accounts.flush();
		for (const account of [a, b])
			expect([await settledOf(account), await leasesOf(account)]).toEqual([
				{ requests: 1, microNeurons: 3, open: 0 },
				0,
			]);
	});

	it("are not requested without the setting", async () => {
		const { accounts, calls } = isolate();
		const account = newAccount();
		await accounts.of(account).admit(admission());
		expect(accounts.of(account).admitFromLease(admission())).toBeUndefined();
		expect(calls).toEqual([["admit", 0]]);
	});

	it("end within a second after a token is deleted", async () => {
		const account = newAccount();
		const { accounts, pass } = isolate({ exact: false });
		const credential = await tokenOf(account);
		const ledger = accounts.of(account);
		await ledger.admit(admission({ credential }));
		await callsTo(account).tokens({ kind: "delete", maker: { kind: "operator" }, id: "token-1" });
		expect(ledger.admitFromLease(admission({ credential }))).toEqual({});
		await pass(1_000);
		expect(ledger.admitFromLease(admission({ credential }))).toBeUndefined();
		await expect(ledger.admit(admission({ credential }))).rejects.toMatchObject({ key: "authentication" });
	});
});

describe("batched settlements", () => {
	it("need one call for each request, and one after the last", async () => {
		const account = newAccount();
		const { accounts, calls, pass } = isolate();
		for (let i = 0; i < 20; i++) {
			const request = admission({ cost: fixedCost(10) });
			await accounts.of(account).admit(request);
			await pass(4);
			accounts.of(account).settle(settlement(request.ticket, { microNeurons: 3 }));
		}
		expect(calls).toEqual([["admit", 0], ...Array.from({ length: 19 }, () => ["admit", 1])]);
		expect(await settledOf(account)).toEqual({ requests: 19, microNeurons: 57, open: 1 });
		await pass(100);
		expect(calls.slice(20)).toEqual([["settle", 1]]);
		expect(await settledOf(account)).toEqual({ requests: 20, microNeurons: 60, open: 0 });
		await pass(60_000);
		expect(calls).toHaveLength(21);
	});

	it("wait at most 100 ms, and share one flush", async () => {
		const account = newAccount();
		const world = isolate();
		const tickets = await admitted(world.accounts, account, 3);
		// The waits of the concurrent admissions.
		await world.pass(100);
		for (const ticket of tickets) {
			world.accounts.of(account).settle(settlement(ticket));
			expect(world.waits).toHaveLength(1);
			await world.pass(30);
		}
		expect(world.calls.filter(([method]) => method === "settle")).toEqual([]);
		await world.pass(10);
		expect(world.calls.at(-1)).toEqual(["settle", 3]);
		expect(world.waits).toEqual([]);
	});

	it("are sent at once when 100 wait", async () => {
		const account = newAccount();
		const { accounts, calls, pass } = isolate();
		const tickets = await admitted(accounts, account, 105);
		for (const ticket of tickets) accounts.of(account).settle(settlement(ticket));
		await pass(0);
		expect(calls.at(-1)).toEqual(["settle", 100]);
		await pass(100);
		expect(calls.at(-1)).toEqual(["settle", 5]);
		expect(await settledOf(account)).toMatchObject({ requests: 105, open: 0 });
	});

	it("go only with a call of their account", async () => {
		const [a, b] = [newAccount(), newAccount()];
		const { accounts, calls, pass } = isolate();
		const [ticket = ""] = await admitted(accounts, a, 1);
		accounts.of(a).settle(settlement(ticket));
		await accounts.of(b).admit(admission());
		expect(calls.at(-1)).toEqual(["admit", 0]);
		await pass(100);
		expect(await settledOf(a)).toMatchObject({ requests: 1, open: 0 });
	});
});

describe("concurrent admissions", () => {
	it("share calls, and never exceed the budget", async () => {
		const account = newAccount();
		const { accounts, calls } = isolate();
		const budgets: Admission["budgets"] = [{ key: "account", microNeurons: 100, failure: "budgetExceeded" }];
		const results = await Promise.allSettled(
			Array.from({ length: 500 }, () =>
				accounts.of(account).admit(admission({ budgets, cost: fixedCost(1) })),
			),
		);
		expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(100);
		for (const each of results)
			if (each.status === "rejected") expect(each.reason).toMatchObject({ key: "budgetReserved" });
		expect(calls.map(([method]) => method)).toEqual([
			"admit",
			"admit 100",
			"admit 100",
			"admit 100",
			"admit 100",
			"admit 99",
		]);
		expect(await settledOf(account)).toMatchObject({ open: 100 });
	});

	it("are each settled as failed if their answer is lost", async () => {
		const account = newAccount();
		const world = isolate();
		world.fault = "unanswered";
		const admissions = [1, 2, 3].map(() =>
			world.accounts.of(account).admit(admission({ cost: fixedCost(10) })),
		);
		for (const each of await Promise.allSettled(admissions))
			expect(each).toMatchObject({ reason: { key: "ledgerUnavailable" } });
		expect(world.calls.map(([method]) => method)).toEqual(["admit", "admit 2"]);
		world.fault = "none";
		await world.pass(100);
		expect(await settledOf(account)).toEqual({ requests: 3, microNeurons: 0, open: 0 });
	});
});

describe("an unreachable object", () => {
	it("admits no request, and gets every settlement later", async () => {
		const account = newAccount();
		const world = isolate();
		const [first = "", second = ""] = await admitted(world.accounts, account, 2);
		world.fault = "lost";
		world.accounts.of(account).settle(settlement(first, { microNeurons: 1 }));
		const refused = await world.accounts
			.of(account)
			.admit(admission())
			.catch((error: unknown) => error);
		expect(refused).toBeInstanceOf(AiError);
		expect(refused).toMatchObject({ key: "ledgerUnavailable", status: 502, retryable: false });
		// The object's id is the name of its file, so the operator can find a damaged file.
		expect(refused).toHaveProperty("place", {
			account,
			object: expect.stringMatching(/^[0-9a-f]{64}$/),
		});
		await expect(
			world.accounts.of(account).verify({ kind: "token", hash: "00" }, "run"),
		).rejects.toMatchObject({ key: "ledgerUnavailable" });
		world.accounts.of(account).settle(settlement(second, { microNeurons: 2 }));
		await world.pass(100);
		world.fault = "none";
		await world.pass(400);
		expect(world.calls.at(-1)).toEqual(["settle", 3]);
		expect(await settledOf(account)).toEqual({ requests: 2, microNeurons: 3, open: 0 });
	});

	it("is called four times with growing waits, then by the next request", async () => {
		const account = newAccount();
		const world = isolate();
		const [ticket = ""] = await admitted(world.accounts, account, 1);
		world.fault = "lost";
		world.accounts.of(account).settle(settlement(ticket, { microNeurons: 7 }));
		const times: number[] = [];
		for (let time = 0; time < 9_000; time += 100) {
			const before = world.calls.length;
			await world.pass(100);
			if (world.calls.length > before) times.push(time + 100);
		}
		expect(times).toEqual([100, 500, 2_100, 8_500]);
		await world.pass(600_000);
		expect(world.calls).toHaveLength(5);
		expect(world.logged.map(({ key }) => key)).toEqual(["ledgerUnavailable"]);
		world.fault = "none";
		await world.accounts.of(account).admit(admission());
		expect(world.calls.at(-1)).toEqual(["admit", 1]);
		expect(await settledOf(account)).toEqual({ requests: 1, microNeurons: 7, open: 1 });
	});

	it.each<["a settlement" | "an admission"]>([["a settlement"], ["an admission"]])(
		"is reported once while it cannot be reached, and when %s reaches it again",
		async (recovery) => {
			const account = newAccount();
			const world = isolate();
			const tickets = await admitted(world.accounts, account, 5);
			const settle = () => settleOne(world.accounts, account, tickets.shift());
			const reached = loggedLines();
			world.fault = "lost";
			for (let i = 0; i < 2; i++) {
				settle();
				await world.pass(30_000);
			}
			expect(world.logged.map(({ key }) => key)).toEqual(["ledgerUnavailable"]);
			expect(reached).toEqual([]);
			world.fault = "none";
			if (recovery === "a settlement") settle();
			else await world.accounts.of(account).admit(admission());
			await world.pass(30_000);
			const message = "The object of an account is reached again";
			expect(reached).toEqual([{ message, account, failed_flushes: 2 }]);
			settle();
			await world.pass(30_000);
			expect(reached).toHaveLength(1);
			world.fault = "lost";
			settle();
			await world.pass(30_000);
			expect(world.logged).toHaveLength(2);
		},
	);

	it("is reported once for the settlements of its leases and for the others", async () => {
		const account = newAccount();
		const world = isolate({ exact: false });
		const leased = admission();
		await world.accounts.of(account).admit(leased);
		const reached = loggedLines();
		world.fault = "lost";
		settleOne(world.accounts, account, leased.ticket);
		const refused = world.accounts.of(account).admit(admission({ model: "other" }));
		await expect(refused).rejects.toMatchObject({ key: "ledgerUnavailable" });
		// The journal begins within four seconds. Both have made their four tries, and the journal not its next one.
		await world.pass(16_000);
		expect(world.logged.map(({ key }) => key)).toEqual(["ledgerUnavailable"]);
		world.fault = "none";
		await world.pass(60_000);
		expect(reached).toEqual([expect.objectContaining({ account, failed_flushes: 2 })]);
	});

	it("is not reported as reached after its account is forgotten", async () => {
		const account = newAccount();
		const world = isolate();
		const [ticket] = await admitted(world.accounts, account, 1);
		const reached = loggedLines();
		world.fault = "lost";
		settleOne(world.accounts, account, ticket);
		await world.pass(30_000);
		expect(world.logged).toHaveLength(1);
		world.accounts.forget(account);
		world.fault = "none";
		await world.accounts.of(account).admit(admission());
		expect(reached).toEqual([]);
	});

	it("is not called at every settlement while it fails", async () => {
		const account = newAccount();
		const world = isolate();
		const tickets = await admitted(world.accounts, account, 130);
		world.fault = "lost";
		const before = world.calls.length;
		for (const ticket of tickets) world.accounts.of(account).settle(settlement(ticket));
		await world.pass(399);
		expect(world.calls.slice(before)).toEqual([["settle", 100]]);
		await world.pass(1);
		expect(world.calls.slice(before)).toEqual([
			["settle", 100],
			["settle", 100],
		]);
		world.fault = "none";
		await world.pass(10_000);
		expect(await settledOf(account)).toMatchObject({ requests: 130, open: 0 });
	});

	it("refuses all requests of a failed call, with or without a request for a lease", async () => {
		const account = newAccount();
		const world = isolate({ exact: false });
		world.fault = "lost";
		// The first is sent at once, and the others with the next call. Alike requests ask for one lease.
		const results = await Promise.allSettled(
			[1, 2, 3].map(() => world.accounts.of(account).admit(admission())),
		);
		const cause = expect.objectContaining({ message: "overloaded" });
		const reason = expect.objectContaining({ key: "ledgerUnavailable", cause });
		const refused = { status: "rejected", reason };
		expect(results).toEqual([refused, refused, refused]);
		expect(world.calls.map(([method]) => method)).toContain("admit 2");
	});

	it("books no settlement twice, and releases a reservation whose answer was lost", async () => {
		const account = newAccount();
		const world = isolate();
		const [ticket = ""] = await admitted(world.accounts, account, 1);
		world.fault = "unanswered";
		world.accounts.of(account).settle(settlement(ticket, { microNeurons: 7 }));
		await expect(world.accounts.of(account).admit(admission({ cost: fixedCost(50) }))).rejects.toMatchObject({
			key: "ledgerUnavailable",
		});
		expect(await settledOf(account)).toEqual({ requests: 1, microNeurons: 7, open: 1 });
		world.fault = "none";
		await world.pass(500);
		expect(await settledOf(account)).toEqual({ requests: 2, microNeurons: 7, open: 0 });
	});
});

describe("a flush whose context has ended", () => {
	it("leaves its settlements to the next admission", async () => {
		const account = newAccount();
		const world = isolate();
		const [ticket = ""] = await admitted(world.accounts, account, 1);
		world.accounts.of(account).settle(settlement(ticket));
		world.endContexts();
		await world.accounts.of(account).admit(admission());
		expect(world.calls.at(-1)).toEqual(["admit", 1]);
	});

	it("loses no settlement: another call sends them again after 10 seconds", async () => {
		const account = newAccount();
		const world = isolate();
		const [ticket = ""] = await admitted(world.accounts, account, 1);
		world.accounts.of(account).settle(settlement(ticket, { microNeurons: 7 }));
		world.fault = "hung";
		await world.pass(100);
		world.endContexts();
		world.fault = "none";
		await world.accounts.of(account).admit(admission());
		expect(world.calls.slice(1)).toEqual([
			["settle", 1],
			["admit", 0],
		]);
		await world.pass(10_000);
		await world.accounts.of(account).admit(admission());
		expect(world.calls.at(-1)).toEqual(["admit", 1]);
		expect(await settledOf(account)).toMatchObject({ requests: 1, microNeurons: 7 });
	});

	it("is replaced by the next settlement, after 10 seconds", async () => {
		const account = newAccount();
		const world = isolate();
		const tickets = await admitted(world.accounts, account, 2);
		const [first = "", second = ""] = tickets;
		world.accounts.of(account).settle(settlement(first));
		world.endContexts();
		await world.pass(10_000);
		world.accounts.of(account).settle(settlement(second));
		await world.pass(100);
		expect(world.calls.at(-1)).toEqual(["settle", 2]);
	});
});

describe("the answer of the object", () => {
	it("becomes an error with the reason and Retry-After", async () => {
		const account = newAccount();
		const { accounts } = isolate();
		const rates = [{ key: "task:x", perMinute: 1 }];
		expect(await accounts.of(account).admit(admission({ rates }))).toEqual({});
		const refused = await accounts
			.of(account)
			.admit(admission({ rates }))
			.catch((error: unknown) => error);
		expect(refused).toMatchObject({ key: "rateLimited", code: 3021, retryAfter: 60 });
		expect(refused).toBeInstanceOf(AiError);
	});

	it("has the output that the budget pays for", async () => {
		const { accounts } = isolate();
		const request = admission({
			budgets: [{ key: "account", microNeurons: 70, failure: "accountLimited" }],
			cost: { fixedMicroNeurons: 10, microNeuronsPerOutputToken: 20, outputTokens: 9, outputUnbounded: true },
		});
		expect(await accounts.of(newAccount()).admit(request)).toEqual({ outputTokens: 3 });
	});

	it("is not needed for the operator's permission", async () => {
		const { accounts, calls } = isolate();
		await accounts.of(newAccount()).verify({ kind: "operator" }, "tokens-write");
		expect(calls).toEqual([]);
		await expect(
			accounts.of(newAccount()).verify({ kind: "token", hash: "00" }, "read"),
		).rejects.toMatchObject({ key: "authentication", status: 401 });
	});
});

it("settles every request once, with any faults of the calls", { timeout: 60_000 }, async () => {
	const step = fc.oneof(
		{ weight: 4, arbitrary: fc.record({ kind: fc.constant("admit" as const) }) },
		{ weight: 4, arbitrary: fc.record({ kind: fc.constant("settle" as const), index: fc.nat() }) },
		{
			weight: 3,
			arbitrary: fc.record({
				kind: fc.constant("pass" as const),
				ms: fc.constantFrom(1, 60, 100, 700, 11_000),
			}),
		},
		{
			weight: 2,
			arbitrary: fc.record({
				kind: fc.constant("fault" as const),
				fault: fc.constantFrom<Fault>("none", "lost", "unanswered"),
			}),
		},
		{ weight: 1, arbitrary: fc.record({ kind: fc.constant("end" as const) }) },
	);
	await fc.assert(
		fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
			const account = newAccount();
			const world = isolate();
			const open: string[] = [];
			let served = 0;
			for (const step of steps) {
				switch (step.kind) {
					case "admit": {
						const request = admission({ cost: fixedCost(100) });
						const admitted = await world.accounts
							.of(account)
							.admit(request)
							.catch(() => undefined);
						if (admitted) open.push(request.ticket);
						break;
					}
					case "settle": {
						const [ticket] = open.splice(step.index % Math.max(1, open.length), 1);
						if (ticket === undefined) break;
						world.accounts.of(account).settle(settlement(ticket, { microNeurons: 7 }));
						served += 7;
						break;
					}
					case "pass":
						await world.pass(step.ms);
						break;
					case "fault":
						world.fault = step.fault;
						break;
					case "end":
						world.endContexts();
						break;
					default:
						step satisfies never;
				}
			}
			world.fault = "none";
			await world.pass(11_000);
			const last = admission();
			await world.accounts.of(account).admit(last);
			world.accounts.of(account).settle(settlement(last.ticket));
			await world.pass(1_000);
			const total = await settledOf(account);
			expect(total).toMatchObject({ microNeurons: served, open: open.length });
		}),
		{ numRuns: 40 },
	);
});

const settleOne = (accounts: Accounts, account: string, ticket = ""): void =>
	accounts.of(account).settle(settlement(ticket, { microNeurons: 7 }));

/** What `console.error` receives until the test ends. */
function loggedLines(): unknown[] {
	const lines: unknown[] = [];
	const console_ = vi.spyOn(console, "error").mockImplementation((line) => void lines.push(JSON.parse(line)));
	onTestFinished(() => console_.mockRestore());
	return lines;
}

async function admitted(accounts: Accounts, account: string, count: number): Promise<string[]> {
	const requests = Array.from({ length: count }, () => admission({ cost: fixedCost(100) }));
	await Promise.all(requests.map((one) => accounts.of(account).admit(one)));
	return requests.map(({ ticket }) => ticket);
}

describe("open objects", () => {
	it("are limited by the files of the process", async () => {
		const { accounts, calls, pass } = isolate({ maxOpen: 1 });
		const [first, second] = [newAccount(), newAccount()];
		for (let i = 0; i < 2; i++) await accounts.of(first).admit(admission());
		await expect(accounts.of(second).admit(admission())).rejects.toMatchObject({
			key: "outOfCapacity",
			retryAfter: 5,
		});
		expect(calls).toHaveLength(2);
		await pass(12_000);
		await accounts.of(second).admit(admission());
		expect(calls).toHaveLength(3);
	});
});

describe("the verification of a token that may run models", () => {
	const verifications = async (exact: boolean, then: (made: Isolate) => Promise<void>): Promise<number> => {
		const made = isolate({ exact });
		await then(made);
		return made.calls.filter(([method]) => method === "verify").length;
	};

	it("is kept for one second with leases, for each token", async () => {
		const account = newAccount();
		const [first, second] = [await tokenOf(account), await tokenOf(account)];
		const calls = verifications(false, async ({ accounts, pass }) => {
			const verify = (credential: typeof first) => accounts.of(account).verify(credential, "run");
			for (const credential of [first, second, first, second]) await verify(credential);
			await pass(999);
			await verify(first);
			await pass(1);
			await verify(first);
		});
		expect(await calls).toBe(3);
	});

	it("of the operator is kept for five seconds, with the gateway that the account binds", async () => {
		const account = newAccount();
		const gateways: (string | undefined)[] = [];
		const calls = verifications(true, async ({ accounts, pass }) => {
			const ask = async (): Promise<void> => {
				gateways.push((await accounts.of(account).verify({ kind: "operator" }, "run")).gateway?.id);
			};
			await ask();
			await callsTo(account).setBoundGateway({ id: "prod", mode: "required" });
			await pass(4_999);
			await ask();
			await pass(1);
			await ask();
		});
		expect([await calls, gateways]).toEqual([2, [undefined, undefined, "prod"]]);
	});

	it("is never kept for another permission, for a refusal, or if the object admits every request", async () => {
		const account = newAccount();
		const credential = await tokenOf(account);
		const twice = async (call: () => Promise<unknown>) => {
			for (let count = 0; count < 2; count++) await call().catch(() => {});
		};
		const calls = verifications(false, async ({ accounts }) => {
			await twice(() => accounts.of(account).verify(credential, "read"));
			await twice(() => accounts.of(account).verify({ kind: "token", hash: "00" }, "run"));
		});
		expect(await calls).toBe(4);
		const exact = verifications(true, ({ accounts }) =>
			twice(() => accounts.of(account).verify(credential, "run")),
		);
		expect(await exact).toBe(2);
	});
});
