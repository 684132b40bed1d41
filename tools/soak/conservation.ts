/**
 * One run: the gateway in plain workerd, an engine with faults, and callers that may disconnect. At the end the ledger, the engine's records and
 * the callers' records must agree.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type AccountBooks, Audit, type Circumstances, type Evidence, type Verdict } from "./audit.ts";
import { type CallerRecord, send } from "./caller.ts";
import { CallerRequests } from "./caller-request.ts";
import { Engine } from "./engine.ts";
import { agentOf, Gateway, type Kill, type ObjectFault, type Row } from "./gateway.ts";
import type { Pause } from "./pauses.ts";
import { ACCOUNTS, type Planned, type PlanSize, planOf, tightAccounts } from "./plan.ts";
import { Random } from "./random.ts";
import { budgetedNeurons, type LedgerMode, RATE_PER_MINUTE, settingsOf, totalMsOf } from "./settings.ts";
import { Steps } from "./steps.ts";
import { type AccountAccess, type Observations, watch } from "./watch.ts";

export interface RunOptions {
	seed: number;
	requests: number;
	/** Number of kills of workerd during the run. */
	kills: number;
	/** Number of pauses of workerd, each for longer than `holdMs`. Default: none. */
	pauses?: number;
	/** Concurrent callers. */
	callers: number;
	/** Milliseconds after which a request without a settlement is charged. Longer than any request of the run. */
	holdMs: number;
	/** Default: `exact`. */
	ledger?: LedgerMode;
	/** Objects that all accounts share, with leases of up to two minutes. Default: each account has its own. */
	shards?: number;
	/** With shards: the number of accounts with small budgets. With few accounts, leases are valid for four seconds. Default: 40. */
	tight?: number;
	/** Shares of the calls of the accounts' objects that fail. Default: `OBJECT_FAULTS`. */
	objectFaults?: typeof OBJECT_FAULTS;
	/** Called after each request. */
	progress?(done: number, total: number, label: string): void;
}

export interface Run {
	verdict: Verdict;
	observations: Observations;
	/** Faults of calls of the accounts' objects. */
	objectFaults: readonly ObjectFault[];
	killed: readonly Kill[];
	paused: readonly Pause[];
	/** Requests that were settled after their reservations had expired. */
	late: number;
	seconds: number;
	/** The records that were compared. */
	evidence: readonly Evidence[];
	books: readonly AccountBooks[];
	options: RunOptions;
}

/** Shares of the calls of an account's object. */
const OBJECT_FAULTS = { lost: 0.01, unanswered: 0.01, evicted: 0.006 };
/** Share of the callers that do not wait while the gateway restarts. */
const NOT_WAITING = 0.2;
const POLL_MS = 50;
/** The length of a pause, as a part of `holdMs`. Leases of a second are overdue by then, and callers still wait. */
const PAUSE_SHARE = 1.3;
/** Between two samples of an account whose last requests and leases expire, which takes seconds. */
const SETTLED_POLL_MS = 250;
const MINUTE_MS = 60_000;
/** A lease that is not returned is charged within this time. */
const LEASE_CHARGED_MS = 27_000;
/** In shards, with many accounts. */
const LONG_LEASE_MS = 120_000;
/** In shards, with so many accounts at most. */
const KEPT_LEASE_MS = 4_000;
const FEW_ACCOUNTS = 12;
const LONG_LEASE_CHARGED_MS = LONG_LEASE_MS + 20_000;
/** With this setting the gateway has long leases in shards, as `ganglion serve`. */
const OPEN_FILES = 4_096;

const accountsOf = (size: PlanSize): string[] => [...Object.keys(ACCOUNTS), ...tightAccounts(size)];

export async function conserve(options: RunOptions): Promise<Run> {
	const { callers, holdMs, kills, ledger, progress = () => {}, requests, seed, shards, tight } = options;
	const { pauses = 0 } = options;
	const startedAt = performance.now();
	const plan = withFinalRequests(planOf(seed, options), options);
	const steps = new Steps();
	const engine = new Engine(plan, steps);
	const folder = mkdtempSync(join(tmpdir(), "ganglion-soak-"));
	const settings = settingsOf(await engine.listen(), requests, { holdMs, ledger, shards, tight });
	const gateway = await Gateway.start(folder, settings, {
		wrapper: "faulty-account.ts",
		faults: { seed, ...(options.objectFaults ?? OBJECT_FAULTS) },
		...(shards && { openFiles: OPEN_FILES }),
	});
	const agent = agentOf();
	const answered = new AbortController();
	const finished = new AbortController();
	try {
		const authorizations: Record<Planned["credential"], string> = {
			operator: Gateway.operator,
			token: await withRetries(() => gateway.createToken("keyed")),
			budgeted: await withRetries(() =>
				gateway.createToken("keyed", { daily_neurons: budgetedNeurons(requests) }),
			),
		};
		const allRequests = new CallerRequests();
		const callerRequests = plan.map((planned) => allRequests.create(planned));
		const accounts = accountsOf(options);
		const accesses: AccountAccess[] = accounts.map((account) =>
			account === "keyed" ? { account, authorization: authorizations.budgeted } : { account },
		);
		const observing = watch(gateway, accesses, { answered: answered.signal, finished: finished.signal });

		const records: CallerRecord[] = [];
		const random = new Random(seed);
		let next = 0;
		const sendNext = async (until: number): Promise<void> => {
			while (next < until) {
				const planned = plan[next++];
				const callerRequest = planned && callerRequests[planned.index];
				if (!planned || !callerRequest) return;
				if (!random.chance(NOT_WAITING)) while (!gateway.isUp) await wait(POLL_MS);
				const authorization = authorizations[planned.credential];
				const url = `${gateway.url}/client/v4/accounts/${planned.account}/ai`;
				const received = await send(planned, callerRequest, { url, agent, authorization, steps });
				records.push(received);
				if (received.end === "unreachable") while (!gateway.isUp) await wait(POLL_MS);
				progress(records.length, plan.length, gateway.isUp ? "running" : "restarting");
			}
		};
		const pauseMs = holdMs * PAUSE_SHARE;
		const interrupting = interrupt(
			gateway,
			() => next / requests,
			{ kills, pauses, pauseMs },
			finished.signal,
		);
		await Promise.all(Array.from({ length: callers }, () => sendNext(requests)));
		await interrupting;
		// The last requests deliver settlements that could not be delivered before.
		for (let index = requests; index < plan.length; index++) await sendNext(index + 1);
		answered.abort();

		const evidence = records.flatMap((received): Evidence[] => {
			const planned = plan[received.index];
			const callerRequest = callerRequests[received.index];
			return planned && callerRequest
				? [{ planned, callerRequest, received, calls: engine.callsOf(received.index) }]
				: [];
		});
		progress(plan.length, plan.length, "waiting until killed requests expire");
		await Promise.all(
			accounts.map((account) =>
				settled(gateway, account, holdMs, shards ? LONG_LEASE_CHARGED_MS : LEASE_CHARGED_MS),
			),
		);
		finished.abort();
		const observations = await observing;
		progress(plan.length, plan.length, "auditing");
		// The eviction of a shard interrupts the calls of all its accounts.
		const objectFaults = gateway
			.objectFaults()
			.flatMap((fault) =>
				shards && fault.kind.startsWith("evicted")
					? accounts.map((account) => ({ ...fault, account }))
					: fault,
			);
		const audit = new Audit(
			circumstancesOf({ killed: gateway.kills, paused: gateway.pauses, objectFaults, options }),
		);
		const books: AccountBooks[] = [];
		for (const account of accounts) {
			const rows = await withRetries(() => gateway.rows(account));
			const book = { account, rows, totals: await withRetries(() => gateway.totals(account)) };
			books.push(book);
			audit.account(
				book,
				evidence.filter(({ planned }) => planned.account === account),
			);
			if (account === "rated") observations.overshoots.push(...overRate(rows));
		}
		return {
			verdict: audit.close(),
			observations,
			objectFaults,
			killed: gateway.kills,
			paused: gateway.pauses,
			late: books.reduce((count, { rows }) => count + rows.filter((row) => wasLate(row, holdMs)).length, 0),
			seconds: (performance.now() - startedAt) / 1000,
			evidence,
			books,
			options,
		};
	} finally {
		finished.abort();
		agent.destroy();
		await gateway.stop();
		engine.close();
		rmSync(folder, { recursive: true, force: true });
	}
}

/** Only the account `roomy` has neither budget nor rate. */
export const circumstancesOf = ({
	killed,
	paused,
	objectFaults,
	options,
}: Pick<Run, "killed" | "paused" | "objectFaults" | "options">): Circumstances => ({
	kills: killed,
	pauses: paused,
	objectFaults,
	totalMs: totalMsOf(options),
	ledger: options.ledger ?? "exact",
	...(options.shards && {
		leaseMs: accountsOf(options).length > FEW_ACCOUNTS ? LONG_LEASE_MS : KEPT_LEASE_MS,
	}),
	isLimited: (account) => account !== "roomy",
});

/** Adds one more request for each account at the end, without any fault. */
function withFinalRequests(plan: readonly Planned[], size: RunOptions): Planned[] {
	const { requests } = size;
	const last = accountsOf(size).map(
		(account, i): Planned => ({
			index: requests + i,
			account,
			credential: "operator",
			api: "chat",
			stream: false,
			maxTokens: 1,
			prompt: `soak-${requests + i}- the last one`,
			promptTokens: 5,
			cachedTokens: 0,
			outputEvents: 1,
			tokensPerEvent: 1,
			usage: "end",
			headerMs: 0,
			paceMs: 0,
			burst: 1,
			leaving: { when: "never" },
		}),
	);
	return [...plan, ...last];
}

interface Interruptions {
	kills: number;
	pauses?: number;
	/** The length of a pause. */
	pauseMs?: number;
}

/** Spreads the kills evenly over the requests, and the pauses too. A kill at the time of a pause follows it immediately. */
export async function interrupt(
	gateway: Gateway,
	share: () => number,
	{ kills, pauses = 0, pauseMs = 0 }: Interruptions,
	signal: AbortSignal,
): Promise<void> {
	const spread = (count: number, act: () => Promise<void>) =>
		Array.from({ length: count }, (_, i) => ({ at: (i + 1) / (count + 1), act }));
	const pausing = spread(pauses, () => gateway.pause(pauseMs, signal));
	const all = [...pausing, ...spread(kills, () => gateway.kill())].sort((one, other) => one.at - other.at);
	for (const { act, at } of all) {
		while (share() < at) {
			if (signal.aborted) return;
			await wait(POLL_MS / 5);
		}
		await act();
	}
}

/** An expired request is settled by its charge, and has no end. */
const wasLate = ({ outcome, settled_at, started_at }: Row, holdMs: number): boolean =>
	outcome !== "expired" &&
	settled_at !== undefined &&
	Date.parse(settled_at) - Date.parse(started_at) >= holdMs;

/** Waits until the account has no open request and no lease, or all must have expired. */
export async function settled(
	gateway: Gateway,
	account: string,
	holdMs: number,
	leaseChargedMs = LEASE_CHARGED_MS,
): Promise<void> {
	const until = performance.now() + 2 * holdMs + leaseChargedMs;
	while (performance.now() < until) {
		const limitStatus = await gateway.limitStatus(account).catch(() => undefined);
		if (limitStatus?.openRequests === 0 && limitStatus.openLeases === 0) return;
		await wait(SETTLED_POLL_MS);
	}
}

/** The objects fail at random, so calls of the API are retried. */
export async function withRetries<T>(callerRequest: () => Promise<T>): Promise<T> {
	for (let attempt = 1; ; attempt++)
		try {
			return await callerRequest();
		} catch (error) {
			if (attempt === 10) throw error;
			await wait(POLL_MS);
		}
}

/** Reports if more requests of a task were admitted in any minute than the rate allows. */
function overRate(rows: readonly Row[]): string[] {
	const tasks = new Map<string, number[]>();
	for (const { model, started_at } of rows) {
		const task = model === "soak/embed" ? "embeddings" : "generation";
		tasks.set(task, [...(tasks.get(task) ?? []), Date.parse(started_at)]);
	}
	return [...tasks].flatMap(([task, times]) => {
		times.sort((a, b) => a - b);
		const finished = times.some((time, i) => time - (times[i - RATE_PER_MINUTE] ?? -Infinity) < MINUTE_MS);
		return finished ? [`rated, ${task}: more than ${RATE_PER_MINUTE} were admitted within a minute`] : [];
	});
}
