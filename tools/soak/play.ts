/** Runs the scenarios, and compares the gateway's rows with bills from the engine's records. */
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Gateway, micro, type Row } from "./gateway.ts";
import { RecordingEngine } from "./recording-engine.ts";
import { costOfServed, SCENARIOS, type Scenario, type Sent, type World } from "./scenarios.ts";

export interface ScenarioResult {
	name: string;
	requests: number;
	answered: number;
	/** Micro-neurons of all rows. */
	billed: number;
	/** Expected micro-neurons: the engine's records of billed answers, and the reservations of expired requests. */
	engine: number;
	calls: number;
	problems: string[];
}

const HOLD_MS = 6_000;
const REQUEST_MS = 20_000;
const CHAT_MODEL = {
	task: "Text Generation",
	context_window: 131_072,
	prices: [
		{ unit: "per M input tokens", neurons: 20_000 },
		{ unit: "per M output tokens", neurons: 130_001 },
	],
};
/** The engine's name of its model is `soak`. */
const CHAT_MODELS = [
	"soak",
	"soak/chat",
	"soak/hedge",
	"soak/passthrough",
	"soak/single-flight",
	"@cf/soak/rpc",
];

function settingsOf(
	engine: string,
	{ ledger = "leased", shards }: Pick<Scenario, "ledger" | "shards"> = {},
): Record<string, unknown> {
	const backends = ["fast", "slow-200", "slow-600"];
	const fast = { backend: "fast", model: "soak" };
	return {
		LEDGER: ledger,
		...(shards !== undefined && { SHARDS: shards }),
		BACKENDS: Object.fromEntries(
			backends.map((name) => [name, { kind: "openai", url: `${engine}/${name}/v1` }]),
		),
		ROUTES: {
			soak: [fast],
			"soak/chat": [fast],
			"@cf/soak/rpc": [fast],
			"soak/hedge": { targets: [{ backend: "slow-600", model: "soak" }, fast], hedge_ms: 50 },
			"soak/passthrough": { targets: [fast], passthrough: true },
			"soak/single-flight": [{ backend: "slow-200", model: "soak" }],
			"@cf/deepgram/flux": [{ backend: "simulator" }],
			"@cf/*": [fast],
		},
		MODELS: Object.fromEntries(CHAT_MODELS.map((id) => [id, CHAT_MODEL])),
		LIMITS: {
			hold_ms: HOLD_MS,
			requests_per_minute: "none",
			accounts: { midnight: { daily_neurons: 24 } },
		},
	};
}

/** Runs all scenarios, or the one with this name. */
export async function play(
	only: string | undefined,
	progress: (name: string) => void,
): Promise<ScenarioResult[]> {
	const chosen = SCENARIOS.filter(({ name }) => only === undefined || name === only);
	const results: ScenarioResult[] = [];
	const shared = chosen.filter(({ limits }) => !limits);
	const groups = [shared, ...chosen.filter(({ limits }) => limits).map((scenario) => [scenario])];
	for (const group of groups) {
		const [first] = group;
		// A POSIX shell sets the limits.
		if (first?.limits && process.platform === "win32") results.push(notRun(first.name));
		else if (first) results.push(...(await playAll(group, progress)));
	}
	return results;
}

const notRun = (name: string): ScenarioResult => ({
	name,
	requests: 0,
	answered: 0,
	billed: 0,
	engine: 0,
	calls: 0,
	problems: ["not run: this system has no limits of files"],
});

async function playAll(
	scenarios: readonly Scenario[],
	progress: (name: string) => void,
): Promise<ScenarioResult[]> {
	const engine = new RecordingEngine();
	const folder = mkdtempSync(join(tmpdir(), "ganglion-scenarios-"));
	const agent = new Agent({ keepAlive: true });
	const [first] = scenarios;
	const gateway = await Gateway.start(folder, settingsOf(await engine.listen(), first), {
		wrapper: "scenario-worker.ts",
		...first?.limits,
	});
	try {
		const results: ScenarioResult[] = [];
		for (const scenario of scenarios) {
			progress(scenario.name);
			const sent = await scenario.send(worldOf(gateway, agent));
			const { accounts = [scenario.name] } = scenario;
			for (const account of accounts) await settled(gateway, account);
			const rows = (await Promise.all(accounts.map((account) => rowsOf(gateway, account)))).flat();
			results.push(compare(scenario, sent, rows, engine.served(scenario.name)));
		}
		return results;
	} finally {
		agent.destroy();
		await gateway.stop();
		engine.close();
		rmSync(folder, { recursive: true, force: true });
	}
}

function worldOf(gateway: Gateway, agent: Agent): World {
	const post = (path: string, body: object, headers: Record<string, string> = {}): Promise<number> =>
		new Promise((resolve) => {
			const sent = request(
				gateway.url + path,
				{
					method: "POST",
					agent,
					timeout: REQUEST_MS,
					headers: { authorization: Gateway.operator, "content-type": "application/json", ...headers },
				},
				(response) => {
					response.resume();
					response.on("close", () => resolve(response.complete ? (response.statusCode ?? 0) : 0));
				},
			);
			sent.on("timeout", () => sent.destroy());
			sent.on("error", () => resolve(0));
			sent.end(JSON.stringify(body));
		});
	const pathOf = (account: string) => `/client/v4/accounts/${account}/ai`;
	return {
		call: (account, path, body, headers) => post(pathOf(account) + path, body, headers),
		rpc: (account, model, body) => post(`/soak/rpc/${account}/${model}`, body),
		liveSession: (account, path, audio) => liveSession(gateway.url + pathOf(account) + path, audio),
		setClock: async (ms) => {
			await post(`/soak/clock?ms=${ms}`, {});
		},
		restart: () => gateway.kill({ unlimited: true }),
		rows: (account) => rowsOf(gateway, account),
	};
}

const rowsOf = (gateway: Gateway, account: string): Promise<readonly Row[]> => gateway.rows(account);

/** Node's class accepts headers; the standard's class does not. */
function liveSession(url: string, audio: Uint8Array): Promise<boolean> {
	const socket = new WebSocket(url.replace("http", "ws"), {
		headers: { authorization: Gateway.operator },
	} as unknown as string[]);
	return new Promise((resolve) => {
		socket.addEventListener("open", () => {
			for (let at = 0; at < audio.length; at += 8_000) socket.send(audio.slice(at, at + 8_000));
			socket.send('{"type":"CloseStream"}');
		});
		socket.addEventListener("error", () => resolve(false));
		socket.addEventListener("close", ({ code }) => resolve(code === 1000));
	});
}

/** Waits until the account has no open request, or all must have expired. */
async function settled(gateway: Gateway, account: string): Promise<void> {
	const until = performance.now() + 3 * HOLD_MS;
	while (performance.now() < until) {
		const rows = await gateway.rows(account).catch(() => undefined);
		if (rows?.every(({ outcome }) => outcome !== "open")) return;
		await wait(100);
	}
}

/** Matches each row that did not fail with a bill of the same amount. Rows and bills without a match are differences. */
export function compare(
	{ limits, maxCalls = 2, name }: Scenario,
	{ bills: extraBills = [], problems: earlierProblems = [], statuses }: Sent,
	rows: readonly Row[],
	served: readonly Parameters<typeof costOfServed>[0][],
): ScenarioResult {
	const problems = [...earlierProblems];
	const bills = [...served.filter(({ complete }) => complete).map(costOfServed), ...extraBills];
	const answered = statuses.filter((status) => status === 200).length;
	const refused = statuses.length - answered;
	let engine = 0;
	let expired = 0;
	for (const row of rows) {
		const billed = micro(row.neurons);
		if (row.outcome === "expired" && limits) {
			expired++;
			engine += billed;
			if (row.neurons !== row.reserved_neurons) problems.push(`${row.id} expired with another price`);
			continue;
		}
		if (row.neurons > row.reserved_neurons) problems.push(`${row.id} costs more than its reservation`);
		const at = bills.indexOf(billed);
		if (at >= 0) {
			bills.splice(at, 1);
			engine += billed;
		} else if (row.outcome === "failed" ? billed !== 0 : !(billed === 0 && name === "single-flight"))
			problems.push(
				`${row.outcome} ${row.model}: ${billed} micro-neurons, which the engine's records do not explain`,
			);
	}
	// A served answer without a bill belongs to a request that was refused, or that is charged its reservation.
	if (bills.length > refused + expired)
		problems.push(
			`${bills.length} answers of the engine are not billed, at most ${refused + expired} are allowed`,
		);
	const recorded = rows.filter(({ outcome }) => outcome !== "failed").length;
	if (recorded < answered) problems.push(`${answered} requests were answered, ${recorded} are recorded`);
	if (recorded > answered && !limits)
		problems.push(`${recorded} requests are recorded, ${answered} were answered`);
	if (!limits && refused > 0 && name !== "midnight") problems.push(`statuses ${statuses.join(" ")}`);
	if (served.length > maxCalls * statuses.length)
		problems.push(`${served.length} calls of engines for ${statuses.length} requests`);
	const billed = rows.reduce((sum, { neurons }) => sum + micro(neurons), 0);
	if (billed !== engine) problems.push(`billed ${billed}, by the engine's records ${engine} micro-neurons`);
	return { name, requests: statuses.length, answered, billed, engine, calls: served.length, problems };
}

export function scenarioTable(results: readonly ScenarioResult[]): string {
	const lines = [
		["scenario", "requests", "answered", "calls", "billed", "engine's records", "difference"],
		...results.map(({ answered, billed, calls, engine, name, requests }) => [
			name,
			...[requests, answered, calls, billed / 1e6, engine / 1e6, (billed - engine) / 1e6].map((value) =>
				value.toLocaleString("en-US", { maximumFractionDigits: 6 }),
			),
		]),
	];
	const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
	return lines
		.map((line) =>
			line
				.map((cell, column) =>
					column === 0 ? cell.padEnd(widths?.[0] ?? 0) : cell.padStart(widths?.[column] ?? 0),
				)
				.join("  "),
		)
		.join("\n");
}
