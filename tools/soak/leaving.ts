/**
 * Callers that disconnect during a stream: the time until the engine's connection closes, and the bill. Over REST in plain workerd, for each API, and
 * alternating through a control Worker that only forwards, which measures the machine and the runtime.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "../../scripts/free-port.ts";
import { serve } from "../../scripts/workerd.ts";
import { floorSpec } from "../bench/floor.ts";
import { quantile } from "../bench/statistics.ts";
import { Audit, type Evidence, type Violation } from "./audit.ts";
import { send } from "./caller.ts";
import { CallerRequests } from "./caller-request.ts";
import { Engine } from "./engine.ts";
import { agentOf, Gateway } from "./gateway.ts";
import type { Api, Planned } from "./plan.ts";
import { settingsOf, totalMsOf } from "./settings.ts";
import { Steps } from "./steps.ts";

/** From the caller's disconnect to the end of the engine's connection. */
export const CANCELLED_MS = 100;

const APIS = ["native", "chat", "responses", "messages", "ollama", "pair"] as const satisfies Api[];
const CONTROL = "a Worker that only forwards";
/** The event after which a caller disconnects. */
const LEAVES_AT = 3;
const PACE_MS = 10;
const ENDLESS_EVENTS = 5_000;
const ACCOUNT = "roomy";
const CLOSE_MS = 10_000;
const TIMES = { holdMs: 60_000 };

export interface DisconnectResults {
	way: string;
	/** Milliseconds, ascending. */
	closedAfter: number[];
	/** Number of rows with outcome `cancelled`. Absent for the control. */
	billed?: number;
}

export interface Leaving {
	results: DisconnectResults[];
	violations: Violation[];
}

export async function leave(tries: number, progress = (_done: number) => {}): Promise<Leaving> {
	const ways = [...APIS, CONTROL];
	const plan = Array.from({ length: tries * ways.length }, (_, index) =>
		leavingEarly(index, APIS[index % ways.length] ?? "chat"),
	);
	const steps = new Steps();
	const engine = new Engine(plan, steps);
	const folder = mkdtempSync(join(tmpdir(), "ganglion-leaving-"));
	const url = await engine.listen();
	const gateway = await Gateway.start(folder, settingsOf(url, plan.length, TIMES));
	const control = await serve(floorSpec(url), await freePort(), join(folder, "control"));
	const agent = agentOf();
	try {
		const callerRequests = new CallerRequests();
		const evidence: Evidence[] = [];
		const once = async (planned: Planned, way: string): Promise<void> => {
			const callerRequest = callerRequests.create(planned);
			const direct = { ...callerRequest, path: "/primary/v1/chat/completions" };
			const received = await send(planned, way === CONTROL ? direct : callerRequest, {
				url: way === CONTROL ? control.url : `${gateway.url}/client/v4/accounts/${ACCOUNT}/ai`,
				agent,
				authorization: Gateway.operator,
				steps,
			});
			const calls = engine.callsOf(planned.index);
			const until = performance.now() + CLOSE_MS;
			while (calls.some(({ closedAt }) => closedAt === undefined) && performance.now() < until) await wait(1);
			evidence.push({ planned, callerRequest, received, calls });
		};
		for (let round = 0; round < tries; round++) {
			for (const [i, way] of ways.entries()) {
				const planned = plan[round * ways.length + i];
				if (planned) await once(planned, way);
			}
			progress(round + 1);
		}
		const wayOf = ({ planned }: Evidence): string => ways[planned.index % ways.length] ?? CONTROL;
		const ofGateway = evidence.filter((each) => wayOf(each) !== CONTROL);
		while ((await gateway.limitStatus(ACCOUNT)).openRequests > 0) await wait(50);
		const rows = await gateway.rows(ACCOUNT);
		const audit = new Audit({
			kills: [],
			objectFaults: [],
			totalMs: totalMsOf(TIMES),
			isLimited: () => false,
		});
		audit.account({ account: ACCOUNT, rows, totals: await gateway.totals(ACCOUNT) }, ofGateway);
		const cancelled = new Set(rows.filter(({ outcome }) => outcome === "cancelled").map(({ id }) => id));
		const results = ways.map((way): DisconnectResults => {
			const ofWay = evidence.filter((each) => wayOf(each) === way);
			const closedAfter = ofWay
				.map(({ calls, received }) => (calls.at(-1)?.closedAt ?? Number.POSITIVE_INFINITY) - received.endedAt)
				.sort((a, b) => a - b);
			const billed = ofWay.filter(({ received }) => cancelled.has(received.id ?? "")).length;
			return { way, closedAfter, ...(way !== CONTROL && { billed }) };
		});
		return { results, violations: audit.close().violations };
	} finally {
		agent.destroy();
		await control.stop();
		await gateway.stop();
		engine.close();
		rmSync(folder, { recursive: true, force: true });
	}
}

const leavingEarly = (index: number, api: Api): Planned => ({
	index,
	account: ACCOUNT,
	credential: "operator",
	api,
	stream: true,
	// No two reservations are the same.
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

export function leavingTable(results: readonly DisconnectResults[]): string {
	const width = Math.max(...results.map(({ way }) => way.length));
	const ms = (value: number) => value.toFixed(1).padStart(7);
	return [
		`${"disconnected during a stream".padEnd(width)}      p50     p99     max ms   within ${CANCELLED_MS} ms   billed`,
		...results.map(({ billed, closedAfter, way }) => {
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
