/**
 * Callers who leave amid a stream: how soon the engine's connection closes, and what was billed. Over REST under plain
 * workerd, through every family of dialects, and in turn with them through a Worker that only passes on:
 * what that takes is the machine's and the runtime's.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "../bench/contenders.ts";
import { quantile } from "../bench/statistics.ts";
import { serve, singleModule } from "../scripts/workerd.ts";
import { Audit, type Evidence, type Violation } from "./audit.ts";
import { ask } from "./caller.ts";
import { Engine } from "./engine.ts";
import { agentOf, Gateway } from "./gateway.ts";
import type { Door, Planned } from "./plan.ts";
import { Questions } from "./question.ts";
import { settingsOf, totalMsOf } from "./settings.ts";
import { Steps } from "./steps.ts";

/** From the caller's leaving to the end of the engine's connection. */
export const CANCELLED_MS = 100;

const DOORS = ["native", "chat", "responses", "messages", "ollama", "pair"] as const satisfies Door[];
const CONTROL = "a Worker that passes on";
/** The event after which a caller leaves. */
const LEAVES_AT = 3;
const PACE_MS = 10;
const ENDLESS_EVENTS = 5_000;
const ACCOUNT = "roomy";
const CLOSE_MS = 10_000;
const TIMES = { holdMs: 60_000 };

export interface Departures {
	way: string;
	/** Milliseconds, ascending. */
	closedAfter: number[];
	/** Rows that say so, and what of the stream had passed. Absent of the control. */
	billed?: number;
}

export interface Leaving {
	departures: Departures[];
	violations: Violation[];
}

export async function leave(tries: number, progress = (_done: number) => {}): Promise<Leaving> {
	const ways = [...DOORS, CONTROL];
	const plan = Array.from({ length: tries * ways.length }, (_, index) =>
		leavingEarly(index, DOORS[index % ways.length] ?? "chat"),
	);
	const steps = new Steps();
	const engine = new Engine(plan, steps);
	const folder = mkdtempSync(join(tmpdir(), "ganglion-leaving-"));
	const url = await engine.listen();
	const gateway = await Gateway.start(folder, settingsOf(url, plan.length, TIMES));
	const control = await serve(
		{
			name: "control",
			modules: singleModule(join(import.meta.dirname, "../bench/floor.js")),
			vars: { UPSTREAM: url },
			compatibilityDate: "2026-11-01",
		},
		await freePort(),
		join(folder, "control"),
	);
	const agent = agentOf();
	try {
		const questions = new Questions();
		const evidence: Evidence[] = [];
		const once = async (planned: Planned, way: string): Promise<void> => {
			const question = questions.put(planned);
			const direct = { ...question, path: "/primary/v1/chat/completions" };
			const heard = await ask(planned, way === CONTROL ? direct : question, {
				url: way === CONTROL ? control.url : `${gateway.url}/client/v4/accounts/${ACCOUNT}/ai`,
				agent,
				authorization: Gateway.operator,
				steps,
			});
			const calls = engine.callsOf(planned.index);
			const until = performance.now() + CLOSE_MS;
			while (calls.some(({ closedAt }) => closedAt === undefined) && performance.now() < until) await wait(1);
			evidence.push({ planned, question, heard, calls });
		};
		for (let turn = 0; turn < tries; turn++) {
			for (const [i, way] of ways.entries()) {
				const planned = plan[turn * ways.length + i];
				if (planned) await once(planned, way);
			}
			progress(turn + 1);
		}
		const wayOf = ({ planned }: Evidence): string => ways[planned.index % ways.length] ?? CONTROL;
		const own = evidence.filter((each) => wayOf(each) !== CONTROL);
		while ((await gateway.standing(ACCOUNT)).openRequests > 0) await wait(50);
		const rows = await gateway.rows(ACCOUNT);
		const audit = new Audit({
			kills: [],
			objectFaults: [],
			totalMs: totalMsOf(TIMES),
			isLimited: () => false,
		});
		audit.account({ account: ACCOUNT, rows, totals: await gateway.totals(ACCOUNT) }, own);
		const cancelled = new Set(rows.filter(({ outcome }) => outcome === "cancelled").map(({ id }) => id));
		const departures = ways.map((way): Departures => {
			const these = evidence.filter((each) => wayOf(each) === way);
			const closedAfter = these
				.map(({ calls, heard }) => (calls.at(-1)?.closedAt ?? Number.POSITIVE_INFINITY) - heard.endedAt)
				.sort((a, b) => a - b);
			const billed = these.filter(({ heard }) => cancelled.has(heard.id ?? "")).length;
			return { way, closedAfter, ...(way !== CONTROL && { billed }) };
		});
		return { departures, violations: audit.close().violations };
	} finally {
		agent.destroy();
		await control.stop();
		await gateway.stop();
		engine.close();
		rmSync(folder, { recursive: true, force: true });
	}
}

const leavingEarly = (index: number, door: Door): Planned => ({
	index,
	account: ACCOUNT,
	credential: "operator",
	door,
	stream: true,
	// No two cost the same.
	maxTokens: ENDLESS_EVENTS + index,
	prompt: `soak-${index}- Go on and on.`,
	promptTokens: 7,
	cachedTokens: 0,
	outputEvents: ENDLESS_EVENTS,
	tokensPerEvent: 1,
	usage: "end",
	headerMs: 0,
	paceMs: PACE_MS,
	burst: 1,
	leaving: { when: "during", event: LEAVES_AT, inStep: false },
});

export function leavingTable(departures: readonly Departures[]): string {
	const width = Math.max(...departures.map(({ way }) => way.length));
	const ms = (value: number) => value.toFixed(1).padStart(7);
	return [
		`${"left amid a stream".padEnd(width)}      p50     p99     max ms   within ${CANCELLED_MS} ms   billed`,
		...departures.map(({ billed, closedAfter, way }) => {
			const within = closedAfter.filter((time) => time <= CANCELLED_MS).length;
			return [
				way.padEnd(width),
				` ${ms(quantile(closedAfter, 0.5))} ${ms(quantile(closedAfter, 0.99))} ${ms(closedAfter.at(-1) ?? Number.NaN)}`,
				`${within} of ${closedAfter.length}`.padStart(18),
				billed === undefined ? "" : String(billed).padStart(8),
			].join(" ");
		}),
	].join("\n");
}
