/** A gateway with little to do: few requests a second, many requests at once after a silence, and accounts that are seldom used. */
import { setTimeout as wait } from "node:timers/promises";
import type { Contender } from "./contenders.ts";
import { CHAT, type Context } from "./context.ts";
import { type Answered, type Ask, agentOf, ask, warmUp } from "./load.ts";
import { asksOfNewAccounts } from "./many.ts";
import { exactCpuMicroseconds } from "./process.ts";
import { withBoth } from "./ratios.ts";
import { quantile, spread } from "./statistics.ts";
import type { Row } from "./table.ts";

const RATES = [1, 10];
/** Requests of one round. */
const ANSWERS = 20;
const BURST = 100;
/** The runtime closes an object that is idle for 10 seconds. */
const SILENCE_MS = 15_000;
/** Each is asked again after more than a minute: a request after a shorter time may get a lease. */
const SPARSE_ACCOUNTS = 1_500;
const SPARSE_RATE = 20;
const SPARSE_ANSWERS = 200;
const WARM_UP_ANSWERS = 3_000;
const WARM_UP_MS = 60_000;

export async function quietLoad(context: Context): Promise<Row[]> {
	return [...(await lowRates(context)), ...(await bursts(context)), ...(await sparseAccounts(context))];
}

type Pair = readonly [Contender, Contender];
const PAIRS = [
	["floor again", "floor"],
	["ganglion", "floor"],
] as const;

const chat = (contender: Contender): Ask => contender.ask("json", CHAT);

const warm = (pair: Pair) =>
	warmUp(
		pair.map((contender) => ({ ask: chat(contender), connections: 8 })),
		WARM_UP_ANSWERS,
		WARM_UP_MS,
	);

interface Work {
	/** Microseconds of CPU an answer, with what the process does between the requests. */
	cpu: number;
	/** Median milliseconds of an answer. */
	ms: number;
}

/** The first of both over the second in each round. */
interface Compared {
	cpu: number[];
	ms: number[];
	/** Of both, in the last round. */
	last: [Work, Work];
}

async function lowRates(context: Context): Promise<Row[]> {
	const rows: Row[] = [];
	for (const perSecond of RATES) {
		const compared: Compared[] = [];
		for (const names of PAIRS)
			compared.push(
				await withBoth(context, names, async (pair) => {
					await warm(pair);
					return compare(context, pair, (contender) =>
						atRate([chat(contender)], { perSecond, count: ANSWERS }),
					);
				}),
			);
		const [error, own] = compared;
		if (!error || !own) continue;
		const label = `${perSecond === 1 ? "one request" : `${perSecond} requests`} a second`;
		const [of, floor] = own.last;
		rows.push(
			{
				label: `${label}: CPU a request / floor`,
				measured: spread(own.cpu),
				unit: "x",
				error: spread(error.cpu),
				note: `${of.cpu.toFixed(0)} us, floor ${floor.cpu.toFixed(0)} us; with the work between requests`,
			},
			{
				label: `${label}: added p50 above the floor`,
				measured: spread(own.ms),
				unit: "ms",
				error: spread(error.ms),
				note: `floor ${floor.ms.toFixed(2)} ms`,
			},
		);
	}
	return rows;
}

/** `load`: of one contender; both run at the same time. */
async function compare(
	{ rounds }: Context,
	pair: Pair,
	load: (contender: Contender) => Promise<Answered[]>,
): Promise<Compared> {
	const compared: Compared = {
		cpu: [],
		ms: [],
		last: [
			{ cpu: 0, ms: 0 },
			{ cpu: 0, ms: 0 },
		],
	};
	for (let round = 0; round < rounds; round++) {
		const [first, second] = await Promise.all([workOf(pair[0], load), workOf(pair[1], load)]);
		compared.cpu.push(first.cpu / second.cpu);
		compared.ms.push(first.ms - second.ms);
		compared.last = [first, second];
	}
	return compared;
}

async function workOf(
	contender: Contender,
	load: (contender: Contender) => Promise<Answered[]>,
): Promise<Work> {
	const before = exactCpuMicroseconds(contender.pid);
	const answers = await load(contender);
	const cpu = (exactCpuMicroseconds(contender.pid) - before) / answers.length;
	return { cpu, ms: spread(answers.map(({ totalMs }) => totalMs)).median };
}

export interface Clock {
	/** Milliseconds. */
	now(): number;
	wait(milliseconds: number): Promise<unknown>;
}

const CLOCK: Clock = { now: () => performance.now(), wait };

/** Sends so many requests with the same distance, whether the one before is answered or not. */
export async function atRate(
	asks: readonly Ask[],
	{ perSecond, count, clock = CLOCK }: { perSecond: number; count: number; clock?: Clock },
): Promise<Answered[]> {
	const agent = agentOf(count);
	const begun = clock.now();
	const answers: Promise<Answered>[] = [];
	for (let sent = 0; sent < count; sent++) {
		await clock.wait(Math.max(0, begun + (sent * 1000) / perSecond - clock.now()));
		const next = asks[sent % asks.length];
		if (next) answers.push(ask(next, agent));
	}
	const all = await Promise.all(answers);
	// The pause after the last request belongs to it.
	await clock.wait(1000 / perSecond);
	agent.destroy();
	return all;
}

/** One contender after the other, because both share a core. */
async function bursts(context: Context): Promise<Row[]> {
	const over: { slowest: number; cpu: number; floor: number }[][] = [];
	for (const names of PAIRS)
		over.push(
			await withBoth(context, names, async (pair) => {
				await warm(pair);
				const rounds: (typeof over)[number] = [];
				for (let round = 0; round < context.rounds; round++) {
					await wait(SILENCE_MS);
					const [first, floor] = [await burst(pair[0]), await burst(pair[1])];
					rounds.push({
						slowest: first.slowest - floor.slowest,
						cpu: first.cpu / floor.cpu,
						floor: floor.slowest,
					});
				}
				return rounds;
			}),
		);
	const [error = [], own = []] = over;
	const label = `${BURST} requests at once after ${SILENCE_MS / 1000} s of silence`;
	return [
		{
			label: `${label}: p99 above the floor`,
			measured: spread(own.map(({ slowest }) => slowest)),
			unit: "ms",
			error: spread(error.map(({ slowest }) => slowest)),
			note: `floor ${spread(own.map(({ floor }) => floor)).median.toFixed(0)} ms`,
		},
		{
			label: `${label}: CPU a request / floor`,
			measured: spread(own.map(({ cpu }) => cpu)),
			unit: "x",
			error: spread(error.map(({ cpu }) => cpu)),
		},
	];
}

async function burst(contender: Contender): Promise<{ slowest: number; cpu: number }> {
	const agent = agentOf(BURST);
	const before = exactCpuMicroseconds(contender.pid);
	const answers = await Promise.all(Array.from({ length: BURST }, () => ask(chat(contender), agent)));
	const cpu = exactCpuMicroseconds(contender.pid) - before;
	agent.destroy();
	return {
		slowest: quantile(
			answers.map(({ totalMs }) => totalMs),
			0.99,
		),
		cpu,
	};
}

/** Requests of accounts that were idle for more than a minute, over as many of one account at the same time. */
async function sparseAccounts(context: Context): Promise<Row[]> {
	return withBoth(context, ["ganglion", "ganglion"], async (pair) => {
		const [sparse] = pair;
		const accounts = await asksOfNewAccounts(sparse, SPARSE_ACCOUNTS);
		await warm(pair);
		let next = 0;
		const { cpu, ms, last } = await compare(context, pair, (contender) => {
			const rate = { perSecond: SPARSE_RATE, count: SPARSE_ANSWERS };
			if (contender !== sparse) return atRate([chat(contender)], rate);
			const from = next;
			next = (next + SPARSE_ANSWERS) % SPARSE_ACCOUNTS;
			const turn = [...accounts.slice(from), ...accounts.slice(0, from)];
			return atRate(turn, rate);
		});
		const [of, one] = last;
		const label = `requests of accounts that are idle for a minute, ${SPARSE_RATE} a second, over one account`;
		return [
			{
				label: `${label}: CPU a request`,
				measured: spread(cpu),
				unit: "x",
				note: `${of.cpu.toFixed(0)} us, one account ${one.cpu.toFixed(0)} us`,
			},
			{
				label: `${label}: added p50`,
				measured: spread(ms),
				unit: "ms",
				note: `one account ${one.ms.toFixed(2)} ms`,
			},
		];
	});
}
