import { env } from "cloudflare:workers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Admission, Settlement } from "../../../src/accounts/admission.ts";
import { type Accounts, createLedgers } from "../../../src/accounts/client/accounts.ts";
import { type DirectoryCalls, KnownAccounts } from "../../../src/accounts/client/known-accounts.ts";
import { OpenObjects } from "../../../src/accounts/client/open-objects.ts";
import type { Account } from "../../../src/accounts/durable/account.ts";
import { AiError } from "../../../src/core/errors.ts";
import { admission, fixedCost, newAccount, settlement, stubOf, TASK } from "../ask.ts";

/** What happens to a call: it is not delivered, its answer is lost, it never ends, or its answer takes 600 ms. */
type Fault = "none" | "lost" | "unanswered" | "hung" | "slow";

interface Isolate {
	accounts: Accounts;
	/** Calls of objects, in order: the method and how many settlements it took along. */
	calls: [method: string, settlements: number][];
	fault: Fault;
	logged: AiError[];
	/** Waits that have begun and not ended, in milliseconds. */
	waits: number[];
	/** Lets so much time pass, and what then runs come to rest. */
	pass(milliseconds: number): Promise<void>;
	/** Ends every context that a request kept alive: nothing that waits there goes on. */
	endContexts(): void;
}

/** A directory that has every account. */
const EVERY_ACCOUNT = {
	has: async () => true,
	add: async () => {},
	list: async () => ({ accounts: [] }),
} as unknown as DirectoryCalls;

/** The Worker's side in front of the real objects, in a world whose time the test lets pass. */
function isolate({ maxOpen = Number.POSITIVE_INFINITY } = {}): Isolate {
	let now = 1_000_000;
	let timers: { at: number; ring(): void }[] = [];
	const running = new Set<Promise<unknown>>();
	const calls: Isolate["calls"] = [];
	const logged: AiError[] = [];

	const wait = (milliseconds: number): Promise<void> =>
		new Promise((resolve) => {
			timers.push({ at: now + milliseconds, ring: resolve });
		});

	const faulty = async <T>(method: string, settlements: number, ask: () => Promise<T>): Promise<T> => {
		calls.push([method, settlements]);
		const { fault } = self;
		if (fault === "lost") throw new Error("overloaded");
		if (fault === "hung") return new Promise(() => {});
		const answer = await ask();
		if (fault === "unanswered") throw new Error("network connection lost");
		if (fault === "slow") await wait(600);
		return answer;
	};
	const namespace = {
		getByName: (name: string) => {
			const stub = env.ACCOUNT.getByName(name);
			return {
				id: stub.id,
				admit: (asked: Admission, settled: Settlement[]) =>
					faulty("admit", settled.length, async () => stub.admit(asked, settled)),
				admitAll: (asked: Admission[], settled: Settlement[]) =>
					faulty(`admit ${asked.length}`, settled.length, async () => stub.admitAll(asked, settled)),
				settle: (settled: Settlement[]) => faulty("settle", settled.length, async () => stub.settle(settled)),
				verify: (...asked: Parameters<Account["verify"]>) =>
					faulty("verify", 0, async () => stub.verify(...asked)),
			};
		},
	} as unknown as DurableObjectNamespace<Account>;

	const self: Isolate = {
		accounts: createLedgers({
			namespace,
			known: new KnownAccounts({ directory: () => EVERY_ACCOUNT, now: () => now }),
			open: new OpenObjects({ max: maxOpen, now: () => now }),
			now: () => now,
			wait,
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
			return timers.map(({ at }) => at - now);
		},
		pass: async (milliseconds) => {
			const end = now + milliseconds;
			while (true) {
				await settled();
				const [next] = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
				if (!next) break;
				now = next.at;
				timers = timers.filter((timer) => timer !== next);
				next.ring();
			}
			now = end;
		},
		endContexts: () => {
			timers = [];
			running.clear();
		},
	};

	/** Resolves when all that runs waits for a timer, or has ended. */
	async function settled(): Promise<void> {
		let before: string;
		do {
			before = `${running.size} ${timers.length} ${calls.length}`;
			// A call of the real object takes a few turns; it answers before one that is made after it.
			await stubOf(PACER).verify({ kind: "operator" }, "read");
		} while (before !== `${running.size} ${timers.length} ${calls.length}`);
	}
	return self;
}

const PACER = "pacer";

const settledOf = async (
	account: string,
): Promise<{ requests: number; microNeurons: number; open: number }> => {
	const { requests, microNeurons } = (await stubOf(account).usage({ by: [] })).total;
	const { open } = await stubOf(account).standing({
		credential: { kind: "operator" },
		rates: [],
		budgets: [],
	});
	return { requests, microNeurons, open };
};

describe("gathered settlements", () => {
	it("make N requests N calls, and one more after the last", async () => {
		const account = newAccount();
		const { accounts, calls, pass } = isolate();
		for (let i = 0; i < 20; i++) {
			const asked = admission({ cost: fixedCost(10) });
			await accounts.of(account).admit(asked);
			await pass(4);
			accounts.of(account).settle(settlement(asked.ticket, { microNeurons: 3 }));
		}
		expect(calls).toEqual([["admit", 0], ...Array.from({ length: 19 }, () => ["admit", 1])]);
		expect(await settledOf(account)).toEqual({ requests: 19, microNeurons: 57, open: 1 });
		await pass(100);
		expect(calls.slice(20)).toEqual([["settle", 1]]);
		expect(await settledOf(account)).toEqual({ requests: 20, microNeurons: 60, open: 0 });
		await pass(60_000);
		expect(calls).toHaveLength(21);
	});

	it("wait 100 ms at most, and have one flush for all", async () => {
		const account = newAccount();
		const world = isolate();
		const tickets = await admitted(world.accounts, account, 3);
		// The waits of those who came together.
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

	it("go at once when 100 wait", async () => {
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

	it("are their own account's", async () => {
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

describe("admissions at once", () => {
	it("share the calls, and pass exactly as many as there is room for", async () => {
		const account = newAccount();
		const { accounts, calls } = isolate();
		const budgets: Admission["budgets"] = [{ key: "account", microNeurons: 100, failure: "budgetExceeded" }];
		const asked = await Promise.allSettled(
			Array.from({ length: 500 }, () =>
				accounts.of(account).admit(admission({ budgets, cost: fixedCost(1) })),
			),
		);
		expect(asked.filter(({ status }) => status === "fulfilled")).toHaveLength(100);
		for (const each of asked)
			if (each.status === "rejected") expect(each.reason).toMatchObject({ key: "budgetExceeded" });
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

	it("that nobody answers are settled as failed, each of them", async () => {
		const account = newAccount();
		const world = isolate();
		world.fault = "unanswered";
		const asked = [1, 2, 3].map(() => world.accounts.of(account).admit(admission({ cost: fixedCost(10) })));
		for (const each of await Promise.allSettled(asked))
			expect(each).toMatchObject({ reason: { key: "ledgerUnavailable" } });
		expect(world.calls.map(([method]) => method)).toEqual(["admit", "admit 2"]);
		world.fault = "none";
		await world.pass(100);
		expect(await settledOf(account)).toEqual({ requests: 3, microNeurons: 0, open: 0 });
	});
});

describe("an object that cannot be asked", () => {
	it("admits nobody, and keeps every settlement until it can", async () => {
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
		// The object's id is the name of its file: an operator finds a damaged one by it.
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

	it("is tried four times with growing waits, then by whoever comes next", async () => {
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

	it("is not asked at every settlement while it fails", async () => {
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

	it("that booked what it could not answer for books nothing twice, and frees what nobody got", async () => {
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
	it("holds nothing up: the next admission takes its settlements", async () => {
		const account = newAccount();
		const world = isolate();
		const [ticket = ""] = await admitted(world.accounts, account, 1);
		world.accounts.of(account).settle(settlement(ticket));
		world.endContexts();
		await world.accounts.of(account).admit(admission());
		expect(world.calls.at(-1)).toEqual(["admit", 1]);
	});

	it("in the middle of a call loses nothing: another call sends the same again, after 10 seconds", async () => {
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

describe("what the object answers", () => {
	it("is an error that says why not and when again", async () => {
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

	it("is the output that the budget pays for", async () => {
		const { accounts } = isolate();
		const asked = admission({
			budgets: [{ key: "account", microNeurons: 70, failure: "accountLimited" }],
			cost: { fixedMicroNeurons: 10, microNeuronsPerOutputToken: 20, outputTokens: 9, outputUnbounded: true },
		});
		expect(await accounts.of(newAccount()).admit(asked)).toEqual({ outputTokens: 3 });
	});

	it("is not asked for the operator's permission", async () => {
		const { accounts, calls } = isolate();
		await accounts.of(newAccount()).verify({ kind: "operator" }, "tokens-write");
		expect(calls).toEqual([]);
		await expect(
			accounts.of(newAccount()).verify({ kind: "token", hash: "00" }, "read"),
		).rejects.toMatchObject({ key: "authentication", status: 401 });
	});
});

it("settles every request once, whatever befalls the calls", { timeout: 60_000 }, async () => {
	const step = fc.oneof(
		{ weight: 4, arbitrary: fc.record({ kind: fc.constant("admit" as const) }) },
		{ weight: 4, arbitrary: fc.record({ kind: fc.constant("settle" as const), which: fc.nat() }) },
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
						const asked = admission({ cost: fixedCost(100) });
						const admitted = await world.accounts
							.of(account)
							.admit(asked)
							.catch(() => undefined);
						if (admitted) open.push(asked.ticket);
						break;
					}
					case "settle": {
						const [ticket] = open.splice(step.which % Math.max(1, open.length), 1);
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
			const { microNeurons, open: left } = await settledOf(account);
			expect({ microNeurons, left }).toEqual({ microNeurons: served, left: open.length });
		}),
		{ numRuns: 40 },
	);
});

async function admitted(accounts: Accounts, account: string, count: number): Promise<string[]> {
	const asked = Array.from({ length: count }, () => admission({ cost: fixedCost(100) }));
	await Promise.all(asked.map((one) => accounts.of(account).admit(one)));
	return asked.map(({ ticket }) => ticket);
}

describe("ahead of the object's answer", () => {
	const rates = [{ key: `task:${TASK}`, perMinute: 300 }];

	it("goes who asks like one that was let in a moment ago, and is admitted all the same", async () => {
		const account = newAccount();
		const { accounts, calls, pass } = isolate();
		const ledger = accounts.of(account);
		expect(ledger.ahead(admission({ rates }))).toBeUndefined();
		await ledger.admit(admission({ rates }));
		const others = Array.from({ length: 5 }, () => ledger.ahead(admission({ rates })));
		expect(others.map((ahead) => ahead?.expected)).toEqual([{}, {}, {}, {}, {}]);
		for (const ahead of others) ahead?.needed();
		// The first found no call under way.
		await others[0]?.word;
		await pass(10);
		expect(await Promise.all(others.map((ahead) => ahead?.word))).toEqual([{}, {}, {}, {}, {}]);
		expect(calls).toEqual([
			["admit", 0],
			["admit", 0],
			["admit 4", 0],
		]);
		expect((await settledOf(account)).open).toBe(6);
	});

	it("goes nobody where there is little room, or for long after", async () => {
		const account = newAccount();
		const { accounts, pass } = isolate();
		const ledger = accounts.of(account);
		const few = [{ key: `task:${TASK}`, perMinute: 8 }];
		await ledger.admit(admission({ rates: few }));
		expect(ledger.ahead(admission({ rates: few }))).toBeUndefined();
		await ledger.admit(admission({ rates }));
		await pass(1_000);
		expect(ledger.ahead(admission({ rates }))).toBeUndefined();
	});

	it("goes nobody later than a second after a slow call began", async () => {
		const account = newAccount();
		const world = isolate();
		const ledger = world.accounts.of(account);
		world.fault = "slow";
		const admitted = ledger.admit(admission({ rates }));
		await world.pass(600);
		await admitted;
		await world.pass(399);
		expect(ledger.ahead(admission({ rates }))).toBeDefined();
		await world.pass(1);
		expect(ledger.ahead(admission({ rates }))).toBeUndefined();
	});

	it("hears of a refusal without asking, and nothing is held for it", async () => {
		const account = newAccount();
		const [mine, theirs] = [isolate(), isolate()];
		await mine.accounts.of(account).admit(admission({ rates }));
		for (let i = 1; i < 300; i++) await theirs.accounts.of(account).admit(admission({ rates }));
		await mine.pass(10);
		const ahead = mine.accounts.of(account).ahead(admission({ rates }));
		await expect(ahead?.word).rejects.toMatchObject({ key: "rateLimited" });
		expect((await settledOf(account)).open).toBe(300);
		expect(mine.accounts.of(account).ahead(admission({ rates }))).toBeUndefined();
	});

	it("goes nobody with less output than was asked for: a budget's last room is the object's to give", async () => {
		const account = newAccount();
		const { accounts, pass } = isolate();
		const ledger = accounts.of(account);
		const open = {
			fixedMicroNeurons: 0,
			microNeuronsPerOutputToken: 1,
			outputTokens: 100,
			outputUnbounded: true,
		};
		const asked = () =>
			admission({
				cost: open,
				budgets: [{ key: "account", microNeurons: 1_650, failure: "budgetExceeded" }],
			});
		expect(await ledger.admit(asked())).toEqual({ outputTokens: 100 });
		const ahead = ledger.ahead(asked());
		expect(ahead?.expected).toEqual({ outputTokens: 100 });
		ahead?.needed();
		expect(await ahead?.word).toEqual({ outputTokens: 100 });
		await pass(10);
		// Room for 14 like it: one may go ahead, and two not.
		const next = ledger.ahead(asked());
		expect(next).toBeDefined();
		expect(ledger.ahead(asked())).toBeUndefined();
		next?.needed();
		await next?.word;
		for (let i = 0; i < 13; i++) await ledger.admit(asked());
		expect(await ledger.admit(asked())).toEqual({ outputTokens: 50 });
		expect(ledger.ahead(asked())).toBeUndefined();
	});

	it("settles as never served what the object may have let in unheard", async () => {
		const account = newAccount();
		const world = isolate();
		const ledger = world.accounts.of(account);
		await ledger.admit(admission({ rates }));
		await world.pass(10);
		world.fault = "unanswered";
		const ahead = ledger.ahead(admission({ rates }));
		await expect(ahead?.word).rejects.toMatchObject({ key: "ledgerUnavailable" });
		expect((await settledOf(account)).open).toBe(2);
		world.fault = "none";
		await world.pass(1_000);
		expect((await settledOf(account)).open).toBe(1);
	});
});

describe("open objects", () => {
	it("are at most as many as the process has files for", async () => {
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
