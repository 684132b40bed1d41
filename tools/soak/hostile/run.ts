/**
 * The hostile population: strangers, and callers with tokens that only run models, attack a gateway with 1,024 open files while normal callers use
 * it. Everything is measured from outside: the callers, their engine, the memory and the disk of the processes.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "../../../scripts/free-port.ts";
import { serve } from "../../../scripts/workerd.ts";
import { floorSpec } from "../../bench/floor.ts";
import type { AttackResult } from "./attack.ts";
import type { Pattern } from "./attacker.ts";
import type { CallerResults } from "./callers.ts";
import { unreleasedRequests } from "./held-requests.ts";
import { Attackers, NormalCallers } from "./processes.ts";
import { ranShare } from "./schedule.ts";
import { type Memory, ServedGateway } from "./served.ts";
import { type BudgetedToken, createWorld, NORMAL_ACCOUNT, settingsOf } from "./world.ts";

export interface HostileOptions {
	patterns: readonly Pattern[];
	/** Each pattern has a phase of its own. */
	alone: boolean;
	/** Processes of the gateway that serve requests. */
	workers: number;
	/** Of an attack. */
	milliseconds: number;
	/** Attackers of each pattern. */
	attackers: number;
	progress?(label: string): void;
}

/** What an attack did. */
export interface Phase extends AttackResult {
	name: string;
	callers: CallerResults;
	/** The part of the time with work in which the gateway's runtime ran, and of the whole time. */
	runtime: { ran: number; busy: number };
	/** Bytes. */
	peakMemory: Memory;
	diskGrowth: number;
	/** Refusals of the gateway by class. */
	refused: Record<string, number>;
	/** How the process ended. */
	ended?: string | undefined;
}

/** Patterns whose attempts are all refused, without other callers, before the attack. */
export interface Refusals {
	count: number;
	/** By mistake: their bytes are not those of refusals. */
	answered: number;
	/** Bytes. */
	storedGrowth: number;
}

export interface HostileRun {
	quiet: CallerResults;
	/** After the start, before the first caller. */
	coldMemory: Memory;
	/** After the quiet time with its callers: the process is warm. */
	idleMemory: Memory;
	phases: Phase[];
	refusals: Refusals;
	/** The least after the attack. */
	memoryAfter: Memory;
	/** Differences between the books of the gateway, of the callers and of their engine. */
	differences: string[];
	output: string;
}

/** Times the idle memory: the bar after the attack. */
export const MEMORY_AFTER = 1.2;
const WARM_UP_MS = 6_000;
const QUIET_MS = 15_000;
const FIRST_REFUSALS_MS = 5_000;
const REFUSALS_MS = 12_000;
/** Callers go on this long after the attackers have left. */
const REST_MS = 3_000;
const SETTLED_MS = 60_000;
const SAMPLE_MS = 250;
const NS_PER_MS = 1_000_000;
const IDLE_MS = 4_000;

export async function attackGateway(options: HostileOptions): Promise<HostileRun> {
	const { alone, milliseconds, attackers, patterns: chosen, progress = () => {}, workers } = options;
	const folder = mkdtempSync(join(tmpdir(), "ganglion-hostile-"));
	const callers = new NormalCallers();
	const attackersProcess = new Attackers();
	const engine = await attackersProcess.engine();
	const { engine: normalEngine, floorEngine } = await callers.engines();
	const gateway = await ServedGateway.start(folder, settingsOf(normalEngine, engine), workers);
	const floor = await serve(floorSpec(floorEngine), await freePort(), join(folder, "floor"));
	try {
		progress("creating accounts and gateways");
		const { target, normalToken, budgeted } = await createWorld(gateway, engine);
		const normal = { url: gateway.url, floor: floor.url, token: normalToken };
		const order = (patterns: readonly string[], count: number, time: number): Promise<AttackResult> =>
			attackersProcess.attack({ target, patterns, attackers: count, milliseconds: time });
		const coldMemory = gateway.memory();
		progress("warming up");
		const warmUp = await callers.callFor(WARM_UP_MS, normal);
		progress("quiet");
		const quiet = await callers.callFor(QUIET_MS, normal);
		await wait(IDLE_MS);
		const idleMemory = gateway.memory();
		const refusing = alone ? [] : chosen.filter(({ isRefused }) => isRefused).map(({ name }) => name);
		const refusals =
			refusing.length > 0
				? await measureRefusals(gateway, (time) => order(refusing, 2, time))
				: { count: 0, answered: 0, storedGrowth: 0 };
		const groups = alone ? chosen.map((one) => [one]) : [chosen];
		const phases: Phase[] = [];
		for (const [index, group] of groups.entries()) {
			if (gateway.ended !== undefined) break;
			const name = alone ? (group[0]?.name ?? "") : `${group.length} patterns at once`;
			progress(`${index + 1} of ${groups.length}: ${name}`);
			const disk = gateway.disk();
			const refusedBefore = await gateway.refusals();
			const memory = watchMemory(gateway);
			callers.start(normal);
			const schedule = gateway.schedule();
			const startedAt = performance.now();
			const result = await order(
				group.map((one) => one.name),
				attackers,
				milliseconds,
			);
			const scheduleNow = gateway.schedule();
			const runtime = {
				ran: ranShare(schedule, scheduleNow),
				busy: (scheduleNow.running - schedule.running) / NS_PER_MS / (performance.now() - startedAt),
			};
			await wait(alone ? 0 : REST_MS);
			const results = await callers.stop();
			const peakMemory = memory.stop();
			const refusedNow = Object.entries(await gateway.refusals());
			phases.push({
				...{ ...result, name, callers: results, peakMemory, runtime },
				refused: Object.fromEntries(
					refusedNow.map(([key, count]) => [key, count - (refusedBefore[key] ?? 0)]),
				),
				diskGrowth: gateway.disk() - disk,
				ended: gateway.ended,
			});
		}
		progress("waiting until it is idle again");
		let memoryAfter = gateway.memory();
		const until = performance.now() + SETTLED_MS;
		while (performance.now() < until && memoryAfter.total > MEMORY_AFTER * idleMemory.total) {
			await wait(SAMPLE_MS);
			const memory = gateway.memory();
			if (memory.total < memoryAfter.total) memoryAfter = memory;
		}
		// Streams that can be resumed go on without their callers. Without their engine they end after the bytes that wait in sockets.
		attackersProcess.kill();
		const all = [warmUp, quiet, ...phases.map(({ callers }) => callers)];
		const differences =
			gateway.ended === undefined
				? [...(await compareBooks(gateway, all, callers.served)), ...(await overspent(gateway, budgeted))]
				: ["the gateway ended"];
		return {
			...{ quiet, coldMemory, idleMemory, phases, refusals, memoryAfter, differences },
			output: gateway.output,
		};
	} finally {
		attackersProcess.kill();
		await gateway.stop();
		await floor.stop();
		callers.kill();
		rmSync(folder, { recursive: true, force: true });
	}
}

/** Results that are refusals: any status from 400 on. */
export const refusalsIn = (tally: Record<string, number>): number =>
	Object.entries(tally).reduce((sum, [result, count]) => (/^[45]\d\d/.test(result) ? sum + count : sum), 0);

/** The first refusals create the databases of their gateways, so only later ones are counted. */
async function measureRefusals(
	gateway: ServedGateway,
	refuse: (milliseconds: number) => Promise<AttackResult>,
): Promise<Refusals> {
	await refuse(FIRST_REFUSALS_MS);
	const before = await gateway.storedBytes();
	const { tallies } = await refuse(REFUSALS_MS);
	const all = Object.values(tallies);
	return {
		count: all.reduce((sum, tally) => sum + refusalsIn(tally), 0),
		answered: all.reduce((sum, tally) => sum + (tally["200"] ?? 0), 0),
		storedGrowth: (await gateway.storedBytes()) - before,
	};
}

function watchMemory(gateway: ServedGateway): { stop(): Memory } {
	let peak = gateway.memory();
	const timer = setInterval(() => {
		const memory = gateway.memory();
		if (memory.total > peak.total) peak = memory;
	}, SAMPLE_MS);
	return {
		stop() {
			clearInterval(timer);
			return peak;
		},
	};
}

/** The count when it has become the expected one, or the last one when that takes too long. */
async function settled(expected: number, read: () => Promise<number>): Promise<number> {
	const deadline = performance.now() + SETTLED_MS;
	for (;;) {
		const count = await read();
		if (count === expected || performance.now() >= deadline) return count;
		await wait(SAMPLE_MS);
	}
}

/** The account of the normal callers: each answer is one row, and the engine's complete answers are those rows. */
async function compareBooks(
	gateway: ServedGateway,
	callers: readonly CallerResults[],
	served: number,
): Promise<string[]> {
	const answered = callers.reduce((sum, one) => sum + one.answered, 0);
	const recorded = await settled(served, async () => {
		const { requests, failed } = await gateway.totals(NORMAL_ACCOUNT);
		return requests - failed;
	});
	const differences: string[] = [];
	if (recorded !== served) differences.push(`${recorded} rows, and the engine served ${served}`);
	if (answered > recorded) differences.push(`${answered} answers, and ${recorded} rows`);
	const unreleased = await settled(0, async () => unreleasedRequests(await gateway.metrics()));
	if (unreleased !== 0)
		differences.push(`${unreleased} requests are held that neither a caller nor durable work has`);
	return differences;
}

/** Tokens that spent more than their budgets on this UTC day. */
async function overspent(gateway: ServedGateway, tokens: readonly BudgetedToken[]): Promise<string[]> {
	const differences: string[] = [];
	for (const { account, id, neurons } of tokens) {
		const spent = (await gateway.totals(account, id)).neurons;
		if (spent > neurons) differences.push(`a budget of ${neurons} neurons a day paid ${spent}`);
	}
	return differences;
}
