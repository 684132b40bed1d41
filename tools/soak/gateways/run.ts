/**
 * One run through gateways: callers with caches, fallbacks, retries, guardrails and resumable streams, some of which disconnect, and kills of
 * the Worker. At the end the logs, the ledger, the engines' records and the callers' records must agree.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { type CallerRecord, send } from "../caller.ts";
import { interrupt, settled, withRetries } from "../conservation.ts";
import { Engine } from "../engine.ts";
import { agentOf, Gateway, type Kill, type Row } from "../gateway.ts";
import type { Planned } from "../plan.ts";
import { Steps } from "../steps.ts";
import { type AccountBooks, audit, type GatewayVerdict } from "./audit.ts";
import { measureDelays } from "./delays.ts";
import { GuardEngine } from "./guard-engine.ts";
import { type LogRow, logsOf } from "./logs.ts";
import { ACCOUNTS, GATEWAYS, type GatewayPlan, type GatewayRequest, gatewayPlanOf } from "./plan.ts";
import { gatewaySettings, MODEL } from "./settings.ts";

export interface GatewayRunOptions {
	seed: number;
	requests: number;
	/** Kills of the Worker during the run. */
	kills: number;
	/** Concurrent callers. */
	callers: number;
	/** Milliseconds after which a request without a settlement is charged. Longer than any request of the run. */
	holdMs: number;
	/** Called after each request. */
	progress?(done: number, total: number, label: string): void;
}

export interface GatewayRun {
	verdict: GatewayVerdict;
	books: AccountBooks;
	killed: readonly Kill[];
	seconds: number;
}

const POLL_MS = 50;

export async function conserveThroughGateways(options: GatewayRunOptions): Promise<GatewayRun> {
	const { callers, holdMs, kills, progress = () => {}, requests, seed } = options;
	const startedAt = performance.now();
	const plan = gatewayPlanOf(seed, requests);
	const steps = new Steps();
	const engine = new Engine(plan.answers, steps);
	const guard = new GuardEngine();
	const folder = mkdtempSync(join(tmpdir(), "ganglion-soak-"));
	const addresses = { engine: await engine.listen(), guard: await guard.listen() };
	const gateway = await Gateway.start(folder, gatewaySettings(addresses, holdMs));
	const agent = agentOf();
	const finished = new AbortController();
	try {
		await Promise.all(ACCOUNTS.map((account) => createGateways(gateway, account)));
		const records: CallerRecord[] = [];
		let next = 0;
		const sendNext = async (): Promise<void> => {
			for (let request = plan.requests[next++]; request; request = plan.requests[next++]) {
				while (!gateway.isUp) await wait(POLL_MS);
				records.push(await sendRequest(request, plan, { url: gateway.url, agent, steps }));
				progress(records.length, requests, gateway.isUp ? "running" : "restarting");
			}
		};
		const answered = new AbortController();
		const measuring = measureDelays(gateway, AbortSignal.any([answered.signal, finished.signal]));
		const killing = interrupt(gateway, () => next / requests, { kills }, finished.signal);
		await Promise.all(Array.from({ length: callers }, sendNext));
		await killing;
		answered.abort();
		const delays = await measuring;
		progress(requests, requests, "waiting until killed requests expire");
		await Promise.all(ACCOUNTS.map((account) => settled(gateway, account, holdMs)));
		const books: AccountBooks = {
			plan,
			records,
			calls: plan.answers.map(({ index }) => engine.callsOf(index)),
			guardCalls: guard.calls,
			ledger: await byAccount((account) => gateway.rows(account)),
			logs: await byAccount((account) => allLogs(gateway, account)),
			kills: gateway.kills,
			delays,
			holdMs,
		};
		return {
			verdict: audit(books),
			books,
			killed: gateway.kills,
			seconds: (performance.now() - startedAt) / 1000,
		};
	} finally {
		finished.abort();
		agent.destroy();
		await gateway.stop();
		engine.close();
		guard.close();
		rmSync(folder, { recursive: true, force: true });
	}
}

async function byAccount<T extends Row | LogRow>(
	read: (account: string) => Promise<T[]>,
): Promise<Map<string, T[]>> {
	const pairs = ACCOUNTS.map(async (account) => [account, await withRetries(() => read(account))] as const);
	return new Map(await Promise.all(pairs));
}

const allLogs = async (gateway: Gateway, account: string): Promise<LogRow[]> =>
	(
		await Promise.all(Object.keys(GATEWAYS).map((id) => logsOf(gateway.url, { account, gateway: id })))
	).flat();

async function createGateways({ url }: Gateway, account: string): Promise<void> {
	for (const [id, settings] of Object.entries(GATEWAYS)) {
		const response = await fetch(`${url}/client/v4/accounts/${account}/ai-gateway/gateways`, {
			method: "POST",
			headers: { authorization: Gateway.operator, "content-type": "application/json" },
			body: JSON.stringify({
				id,
				retry_delay: 20,
				...settings,
			}),
		});
		if (!response.ok) throw new Error(`creating the gateway ${id}: HTTP ${response.status}`);
	}
}

function sendRequest(
	{ index, account, attempts, cacheKey, gateway, leaving, resumable, stream, steps }: GatewayRequest,
	{ answers }: GatewayPlan,
	world: Pick<Parameters<typeof send>[2], "url" | "agent" | "steps">,
): Promise<CallerRecord> {
	const planned = steps.flatMap((step) => answers[step] ?? []);
	const bodies = planned.map((answer) => bodyOf(answer));
	const [tokensPerEvent = 1] = planned.map((answer) => answer.tokensPerEvent);
	const headers = {
		"cf-aig-metadata": JSON.stringify({ request: index }),
		"cf-aig-max-attempts": String(attempts),
		...(cacheKey !== undefined && { "cf-aig-cache-key": cacheKey }),
		...(resumable && { "cf-aig-resumable": "true" }),
	};
	const endpoint = "v1/chat/completions";
	const isUniversal = bodies.length > 1;
	const body = isUniversal
		? bodies.map((query) => ({ provider: "workers-ai", endpoint, headers: {}, query }))
		: (bodies[0] ?? {});
	const path = `/v1/${account}/${gateway}${isUniversal ? "" : `/workers-ai/${endpoint}`}`;
	return send(
		{ index, leaving, stream, tokensPerEvent },
		{ path, body, headers },
		{ ...world, authorization: Gateway.operator },
	);
}

const bodyOf = ({ maxTokens, prompt, stream }: Planned): object => ({
	model: MODEL,
	messages: [{ role: "user", content: prompt }],
	stream,
	max_tokens: maxTokens,
});
