/** Plays the scenarios, and compares the gateway's rows with the bills of what the engine has served. */
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Gateway, micro, type Row } from "./gateway.ts";
import { RecordingEngine } from "./recording-engine.ts";
import { costOfServed, SCENARIOS, type Scenario, type Sent, type World } from "./scenarios.ts";

export interface Played {
	name: string;
	requests: number;
	answered: number;
	/** Micro-neurons of all rows. */
	billed: number;
	/** Micro-neurons of what the engine served to answers that are billed, and what expired as it was reserved. */
	engine: number;
	calls: number;
	problems: string[];
}

const HOLD_MS = 6_000;
const ASK_MS = 20_000;
const CHAT_MODEL = {
	task: "Text Generation",
	context_window: 131_072,
	prices: [
		{ unit: "per M input tokens", neurons: 20_000 },
		{ unit: "per M output tokens", neurons: 130_001 },
	],
};
const CHAT_MODELS = ["soak/chat", "soak/hedge", "soak/passthrough", "soak/single-flight", "@cf/soak/rpc"];

function settingsOf(engine: string): Record<string, unknown> {
	const backends = ["fast", "slow-200", "slow-600"];
	const fast = { backend: "fast", model: "soak" };
	return {
		BACKENDS: Object.fromEntries(
			backends.map((name) => [name, { kind: "openai", url: `${engine}/${name}/v1` }]),
		),
		ROUTES: {
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

/** All of them, or those of one name. */
export async function play(only: string | undefined, progress: (name: string) => void): Promise<Played[]> {
	const chosen = SCENARIOS.filter(({ name }) => only === undefined || name === only);
	const played: Played[] = [];
	const shared = chosen.filter(({ limits }) => !limits);
	const groups = [shared, ...chosen.filter(({ limits }) => limits).map((scenario) => [scenario])];
	for (const group of groups) {
		const [first] = group;
		// The limits are set by a POSIX shell.
		if (first?.limits && process.platform === "win32") played.push(notRun(first.name));
		else if (first) played.push(...(await playAll(group, progress)));
	}
	return played;
}

const notRun = (name: string): Played => ({
	name,
	requests: 0,
	answered: 0,
	billed: 0,
	engine: 0,
	calls: 0,
	problems: ["not run: this system has no limits of files"],
});

async function playAll(scenarios: readonly Scenario[], progress: (name: string) => void): Promise<Played[]> {
	const engine = new RecordingEngine();
	const folder = mkdtempSync(join(tmpdir(), "ganglion-scenarios-"));
	const agent = new Agent({ keepAlive: true });
	const limits = scenarios[0]?.limits;
	const gateway = await Gateway.start(folder, settingsOf(await engine.listen()), {
		wrapper: "scenario-worker.ts",
		...limits,
	});
	try {
		const played: Played[] = [];
		for (const scenario of scenarios) {
			progress(scenario.name);
			const sent = await scenario.send(worldOf(gateway, agent));
			const { accounts = [scenario.name] } = scenario;
			for (const account of accounts) await settled(gateway, account);
			const rows = (await Promise.all(accounts.map((account) => rowsOf(gateway, account)))).flat();
			played.push(compare(scenario, sent, rows, engine.served(scenario.name)));
		}
		return played;
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
					timeout: ASK_MS,
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
		ask: (account, path, body, headers) => post(pathOf(account) + path, body, headers),
		rpc: (account, model, body) => post(`/soak/rpc/${account}/${model}`, body),
		converse: (account, path, sound) => converse(gateway.url + pathOf(account) + path, sound),
		setClock: async (ms) => {
			await post(`/soak/clock?ms=${ms}`, {});
		},
		restart: () => gateway.kill({ unlimited: true }),
		rows: (account) => rowsOf(gateway, account),
	};
}

const rowsOf = (gateway: Gateway, account: string): Promise<readonly Row[]> => gateway.rows(account);

/** Node's class takes headers, which the standard's does not. */
function converse(url: string, sound: Uint8Array): Promise<boolean> {
	const socket = new WebSocket(url.replace("http", "ws"), {
		headers: { authorization: Gateway.operator },
	} as unknown as string[]);
	return new Promise((resolve) => {
		socket.addEventListener("open", () => {
			for (let at = 0; at < sound.length; at += 8_000) socket.send(sound.slice(at, at + 8_000));
			socket.send('{"type":"CloseStream"}');
		});
		socket.addEventListener("error", () => resolve(false));
		socket.addEventListener("close", ({ code }) => resolve(code === 1000));
	});
}

/** Until nothing of the account is under way, or nothing can be any more. */
async function settled(gateway: Gateway, account: string): Promise<void> {
	const until = performance.now() + 3 * HOLD_MS;
	while (performance.now() < until) {
		const rows = await gateway.rows(account).catch(() => undefined);
		if (rows?.every(({ outcome }) => outcome !== "open")) return;
		await wait(100);
	}
}

/** Each row that is no failure takes the bill that is equal to it; what is left of either is a difference. */
export function compare(
	{ limits, mostCalls = 2, name }: Scenario,
	{ bills: more = [], problems: found = [], statuses }: Sent,
	rows: readonly Row[],
	served: readonly Parameters<typeof costOfServed>[0][],
): Played {
	const problems = [...found];
	const bills = [...served.filter(({ whole }) => whole).map(costOfServed), ...more];
	const answered = statuses.filter((status) => status === 200).length;
	const refused = statuses.length - answered;
	let engine = 0;
	let expired = 0;
	for (const row of rows) {
		const billed = micro(row.neurons);
		if (row.outcome === "expired" && limits) {
			expired++;
			engine += billed;
			if (row.neurons !== row.reserved_neurons) problems.push(`${row.id} expired at another price`);
			continue;
		}
		if (row.neurons > row.reserved_neurons) problems.push(`${row.id} costs more than was reserved`);
		const at = bills.indexOf(billed);
		if (at >= 0) {
			bills.splice(at, 1);
			engine += billed;
		} else if (row.outcome === "failed" ? billed !== 0 : !(billed === 0 && name === "single-flight"))
			problems.push(
				`${row.outcome} ${row.model}: ${billed} micro-neurons, which the engine's records do not explain`,
			);
	}
	// An answer that was served and not billed: of a request that was refused, or that is billed as reserved.
	if (bills.length > refused + expired)
		problems.push(
			`${bills.length} answers of the engine are not billed, at most ${refused + expired} may be so`,
		);
	const paid = rows.filter(({ outcome }) => outcome !== "failed").length;
	if (paid < answered) problems.push(`${answered} requests were answered, ${paid} are booked`);
	if (paid > answered && !limits) problems.push(`${paid} requests are booked, ${answered} were answered`);
	if (!limits && refused > 0 && name !== "midnight") problems.push(`statuses ${statuses.join(" ")}`);
	if (served.length > mostCalls * statuses.length)
		problems.push(`${served.length} calls of engines for ${statuses.length} requests`);
	const billed = rows.reduce((sum, { neurons }) => sum + micro(neurons), 0);
	if (billed !== engine) problems.push(`billed ${billed}, by the engine's records ${engine} micro-neurons`);
	return { name, requests: statuses.length, answered, billed, engine, calls: served.length, problems };
}

export function scenarioTable(played: readonly Played[]): string {
	const lines = [
		["scenario", "requests", "answered", "calls", "billed", "engine's records", "difference"],
		...played.map(({ answered, billed, calls, engine, name, requests }) => [
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
