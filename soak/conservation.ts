/**
 * One run: the gateway under plain workerd, an engine with faults behind it, callers with moods before it, and an end at
 * which all books must agree.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type AccountBooks, Audit, type Circumstances, type Evidence, type Verdict } from "./audit.ts";
import { ask, type Heard } from "./caller.ts";
import { Engine } from "./engine.ts";
import { agentOf, Gateway, type Kill, type ObjectFault, type Row } from "./gateway.ts";
import { ACCOUNTS, type Planned, planOf, tightAccounts } from "./plan.ts";
import { Questions } from "./question.ts";
import { Random } from "./random.ts";
import { budgetedNeurons, RATE_PER_MINUTE, settingsOf, totalMsOf } from "./settings.ts";
import { Steps } from "./steps.ts";
import { type Eye, type Watched, watch } from "./watch.ts";

export interface RunOptions {
	seed: number;
	requests: number;
	/** How often workerd is killed on the way. */
	kills: number;
	/** Callers at once. */
	callers: number;
	/** Milliseconds after which a request that nobody settles is billed: above what any of the run takes. */
	holdMs: number;
	/** Shares of the calls of the accounts' objects that fail; those of `OBJECT_FAULTS` where absent. */
	objectFaults?: typeof OBJECT_FAULTS;
	/** Called as the run goes on. */
	progress?(done: number, of: number, what: string): void;
}

export interface Run {
	verdict: Verdict;
	watched: Watched;
	/** What befell the calls of the accounts' objects. */
	objectFaults: readonly ObjectFault[];
	killed: readonly Kill[];
	seconds: number;
	/** What was held against each other. */
	evidence: readonly Evidence[];
	books: readonly AccountBooks[];
	options: RunOptions;
}

/** Shares of the calls of an account's object. */
const OBJECT_FAULTS = { lost: 0.01, unanswered: 0.01, evicted: 0.006 };
/** Of the callers who would have to wait for a killed Worker, those who do not. */
const IMPATIENT = 0.2;
const POLL_MS = 50;
const MINUTE_MS = 60_000;

export async function conserve(options: RunOptions): Promise<Run> {
	const { callers, holdMs, kills, progress = () => {}, requests, seed } = options;
	const begun = performance.now();
	const plan = withLastOnes(planOf(seed, requests), requests);
	const steps = new Steps();
	const engine = new Engine(plan, steps);
	const folder = mkdtempSync(join(tmpdir(), "ganglion-soak-"));
	const settings = settingsOf(await engine.listen(), requests, { holdMs });
	const gateway = await Gateway.start(folder, settings, {
		wrapper: "faulty-account.ts",
		faults: { seed, ...(options.objectFaults ?? OBJECT_FAULTS) },
	});
	const agent = agentOf();
	const over = new AbortController();
	try {
		const authorizations: Record<Planned["credential"], string> = {
			operator: Gateway.operator,
			token: await persist(() => gateway.createToken("keyed")),
			budgeted: await persist(() =>
				gateway.createToken("keyed", { daily_neurons: budgetedNeurons(requests) }),
			),
		};
		const questions = new Questions();
		const asked = plan.map((planned) => questions.put(planned));
		const accounts = [...Object.keys(ACCOUNTS), ...tightAccounts(requests)];
		const eyes: Eye[] = accounts.map((account) =>
			account === "keyed" ? { account, authorization: authorizations.budgeted } : { account },
		);
		const watching = watch(gateway, eyes, over.signal);

		const heards: Heard[] = [];
		const random = new Random(seed);
		let next = 0;
		const askNext = async (until: number): Promise<void> => {
			while (next < until) {
				const planned = plan[next++];
				const question = planned && asked[planned.index];
				if (!planned || !question) return;
				if (!random.chance(IMPATIENT)) while (!gateway.isUp) await wait(POLL_MS);
				const authorization = authorizations[planned.credential];
				const url = `${gateway.url}/client/v4/accounts/${planned.account}/ai`;
				const heard = await ask(planned, question, { url, agent, authorization, steps });
				heards.push(heard);
				if (heard.end === "unreachable") while (!gateway.isUp) await wait(POLL_MS);
				progress(heards.length, plan.length, gateway.isUp ? "asking" : "killed");
			}
		};
		const killing = killAt(gateway, () => next / requests, kills, over.signal);
		await Promise.all(Array.from({ length: callers }, () => askNext(requests)));
		await killing;
		// Whoever comes last takes along what could not be delivered.
		for (let left = requests; left < plan.length; left++) await askNext(left + 1);

		const evidence = heards.flatMap((heard): Evidence[] => {
			const planned = plan[heard.index];
			const question = asked[heard.index];
			return planned && question ? [{ planned, question, heard, calls: engine.callsOf(heard.index) }] : [];
		});
		progress(plan.length, plan.length, "waiting for what was killed to expire");
		await Promise.all(accounts.map((account) => settled(gateway, account, holdMs)));
		over.abort();
		const watched = await watching;
		progress(plan.length, plan.length, "auditing");
		const objectFaults = gateway.objectFaults();
		const audit = new Audit(circumstancesOf({ killed: gateway.kills, objectFaults, options }));
		const books: AccountBooks[] = [];
		for (const account of accounts) {
			const rows = await persist(() => gateway.rows(account));
			const book = { account, rows, totals: await persist(() => gateway.totals(account)) };
			books.push(book);
			audit.account(
				book,
				evidence.filter(({ planned }) => planned.account === account),
			);
			if (account === "rated") watched.overshoots.push(...overRate(rows));
		}
		return {
			verdict: audit.close(),
			watched,
			objectFaults,
			killed: gateway.kills,
			seconds: (performance.now() - begun) / 1000,
			evidence,
			books,
			options,
		};
	} finally {
		over.abort();
		agent.destroy();
		await gateway.stop();
		engine.close();
		rmSync(folder, { recursive: true, force: true });
	}
}

/** Only the account `roomy` has neither budget nor rate. */
export const circumstancesOf = ({
	killed,
	objectFaults,
	options,
}: Pick<Run, "killed" | "objectFaults" | "options">): Circumstances => ({
	kills: killed,
	objectFaults,
	totalMs: totalMsOf(options),
	isLimited: (account) => account !== "roomy",
});

/** One more request for each account, at the very end and without any fault. */
function withLastOnes(plan: readonly Planned[], requests: number): Planned[] {
	const calm = [...Object.keys(ACCOUNTS), ...tightAccounts(requests)].map(
		(account, i): Planned => ({
			index: requests + i,
			account,
			credential: "operator",
			door: "chat",
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
	return [...plan, ...calm];
}

async function killAt(
	gateway: Gateway,
	share: () => number,
	kills: number,
	signal: AbortSignal,
): Promise<void> {
	for (let kill = 1; kill <= kills; kill++) {
		while (share() < kill / (kills + 1)) {
			if (signal.aborted) return;
			await wait(POLL_MS / 5);
		}
		await gateway.kill();
	}
}

/** Until the account has no request under way, or none can have one any more. */
async function settled(gateway: Gateway, account: string, holdMs: number): Promise<void> {
	const until = performance.now() + 2 * holdMs;
	while (performance.now() < until) {
		const standing = await gateway.standing(account).catch(() => undefined);
		if (standing?.openRequests === 0) return;
		await wait(POLL_MS);
	}
}

/** The objects fail now and then: so may these questions. */
async function persist<T>(question: () => Promise<T>): Promise<T> {
	for (let tries = 1; ; tries++)
		try {
			return await question();
		} catch (error) {
			if (tries === 10) throw error;
			await wait(POLL_MS);
		}
}

/** Requests of one task that were let in within any minute. */
function overRate(rows: readonly Row[]): string[] {
	const tasks = new Map<string, number[]>();
	for (const { model, started_at } of rows) {
		const task = model === "soak/embed" ? "embeddings" : "generation";
		tasks.set(task, [...(tasks.get(task) ?? []), Date.parse(started_at)]);
	}
	return [...tasks].flatMap(([task, times]) => {
		times.sort((a, b) => a - b);
		const over = times.some((time, i) => time - (times[i - RATE_PER_MINUTE] ?? -Infinity) < MINUTE_MS);
		return over ? [`rated, ${task}: more than ${RATE_PER_MINUTE} were let in within a minute`] : [];
	});
}
