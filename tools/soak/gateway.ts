/** The built Worker in plain workerd. It can be killed and restarted with its state, and its API can be read. */
import { createWriteStream, mkdirSync, readFileSync } from "node:fs";
import { Agent } from "node:http";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { build } from "esbuild";
import { modulesIn } from "../../miniflare/modules.ts";
import { type ConnectionGuard, guardConnections } from "../../scripts/connections/guard.ts";
import { freePort } from "../../scripts/free-port.ts";
import { runtimeSettings } from "../../scripts/settings.ts";
import { type Served, serve, type WorkerSpec } from "../../scripts/workerd.ts";
import type { AccountFaults } from "./faulty-account.ts";
import { type Pause, processTree, signalAll } from "./pauses.ts";

const ROOT = join(import.meta.dirname, "../..");
const DAY_MS = 24 * 60 * 60_000;
const ADMIN = "the-admin-token-of-a-soak-on-loopback";
const WORKERS_AI_RUN_AND_READ = "a92d2450e05d4e7bb7d0a64968f83d11";

export interface Kill {
	at: number;
	/** When the gateway answered again. */
	upAt: number;
}

/** A fault of one call of an account's object: `lost settle`. */
export interface ObjectFault {
	kind: string;
	account: string;
	at: number;
}

/** A row of `GET …/ai/usage/requests`. */
export interface Row {
	id: string;
	outcome: string;
	code?: number;
	model: string;
	backend: string | null;
	attempts: number;
	started_at: string;
	settled_at?: string;
	latency_ms: number;
	input_tokens: number;
	cached_tokens: number;
	output_tokens: number;
	neurons: number;
	reserved_neurons: number;
	estimated: boolean;
}

export interface Totals {
	requests: number;
	failed: number;
	input_tokens: number;
	output_tokens: number;
	neurons: number;
}

/** The values of `/metrics` at one time, in micro-neurons. */
export interface LimitStatus {
	openRequests: number;
	openLeases: number;
	overruns: number;
	budgets: { key: string; quota: number; spent: number; reserved: number }[];
}

/** Settings of the Worker's process. */
export interface Conditions {
	wrapper?: "faulty-account.ts" | "scenario-worker.ts" | "storage-worker.ts" | "batches/shifted-worker.ts";
	/** Faults of the accounts' objects, with `faulty-account.ts`. */
	faults?: AccountFaults;
	/** Limit of open files. */
	openFiles?: number;
	/** Limit of each file's size, in blocks of 512 bytes. Writes above it fail, as on a full disk. */
	fileBlocks?: number;
	/** The address that receives all outgoing requests, instead of their hosts. */
	outbound?: string;
	/** Its connections pass the connection guard, as with `ganglion serve`. */
	guarded?: boolean;
}

/** Connections, and milliseconds without a byte, of the guard: more than a run needs. */
const GUARD = { host: "127.0.0.1", maxConnections: 1_000, idleMs: () => 600_000 };

export class Gateway {
	readonly kills: Kill[] = [];
	readonly pauses: Pause[] = [];
	#spec: WorkerSpec;
	readonly #folder: string;
	readonly #port: number;
	readonly #log: string;
	#served: Served | undefined;
	#guard: ConnectionGuard | undefined;

	private constructor(spec: WorkerSpec, folder: string, port: number) {
		this.#spec = spec;
		this.#folder = folder;
		this.#port = port;
		this.#log = join(folder, "workerd.log");
	}

	/** Without a wrapper, the built Worker runs unchanged. */
	static async start(
		folder: string,
		vars: Record<string, unknown>,
		{ faults, fileBlocks, guarded = false, openFiles, outbound, wrapper }: Conditions = {},
	): Promise<Gateway> {
		mkdirSync(folder, { recursive: true });
		const built = join(ROOT, "dist/worker");
		const gateway = new Gateway(
			{
				name: "ganglion",
				modules: wrapper ? await wrapped(built, folder, wrapper) : modulesIn(built),
				vars: {
					...vars,
					ADMIN_TOKEN: ADMIN,
					...(faults && { FAULTS: faults }),
					...(openFiles !== undefined && { OPEN_FILES: String(openFiles) }),
				},
				...runtimeSettings(),
				...(openFiles !== undefined && { openFiles }),
				...(fileBlocks !== undefined && { fileBlocks }),
				outbound,
				...(guarded && { unixSocket: join(folder, "http.sock") }),
			},
			folder,
			await freePort(),
		);
		await gateway.#up();
		const target = gateway.#spec.unixSocket;
		if (target !== undefined)
			gateway.#guard = await guardConnections({ ...GUARD, port: gateway.#port, target });
		return gateway;
	}

	get url(): string {
		return `http://127.0.0.1:${this.#port}`;
	}

	get isUp(): boolean {
		return this.#served !== undefined;
	}

	/** What the processes have printed so far. */
	output(): string {
		return readFileSync(this.#log, "utf8");
	}

	/** Reads the faults of the accounts' objects from the log. */
	objectFaults(): ObjectFault[] {
		const lines = this.output().matchAll(/^soak: (\S+ \S+) (\S*) (\d+)$/gm);
		return [...lines].map(([, kind = "", account = "", at]) => ({
			kind,
			account,
			at: Number(at) - performance.timeOrigin,
		}));
	}

	async #up(): Promise<void> {
		const log = createWriteStream(this.#log, { flags: "a" });
		await new Promise((resolve) => log.once("open", resolve));
		this.#served = await serve({ ...this.#spec, log }, this.#port, this.#folder);
	}

	/** Kills it, and restarts it with its state. `unlimited`: without limits of files. */
	async kill({ unlimited = false } = {}): Promise<void> {
		const served = this.#served;
		if (!served) return;
		this.#served = undefined;
		const at = performance.now();
		await served.stop();
		if (unlimited) {
			const { fileBlocks: _, openFiles: __, ...spec } = this.#spec;
			const { OPEN_FILES: ___, ...vars } = spec.vars ?? {};
			this.#spec = { ...spec, vars };
		}
		await this.#up();
		this.kills.push({ at, upAt: performance.now() });
	}

	/** Stops its processes for this time, or until `signal` fires. Not on Windows. */
	async pause(ms: number, signal: AbortSignal): Promise<void> {
		const served = this.#served;
		if (!served) return;
		// The list of processes blocks this process: a request of this moment is sent when the gateway is already stopped.
		const at = performance.now();
		const pids = processTree(served.pid);
		signalAll(pids, "SIGSTOP");
		try {
			await wait(ms, undefined, { signal }).catch(() => {});
		} finally {
			signalAll(pids.reverse(), "SIGCONT");
		}
		await fetch(`${this.url}/health`);
		this.pauses.push({ at, upAt: performance.now() });
	}

	async stop(): Promise<void> {
		this.#guard?.server.close();
		await this.#served?.stop();
		this.#served = undefined;
	}

	static readonly operator = `Bearer ${ADMIN}`;

	/** Creates a token of the account that may run models. */
	async createToken(account: string, limits: { daily_neurons?: number } = {}): Promise<string> {
		const { value } = await this.#api<{ value: string }>(`/client/v4/accounts/${account}/tokens`, {
			name: "soak",
			limits,
			policies: [
				{
					effect: "allow",
					resources: { [`com.cloudflare.api.account.${account}`]: "*" },
					permission_groups: [{ id: WORKERS_AI_RUN_AND_READ }],
				},
			],
		});
		return `Bearer ${value}`;
	}

	/** All rows of the account, newest first. */
	async rows(account: string): Promise<Row[]> {
		const rows: Row[] = [];
		let cursor: string | undefined;
		do {
			const query = `limit=100${cursor === undefined ? "" : `&cursor=${cursor}`}`;
			const page = await this.#get<{ result: Row[]; result_info: { cursor?: string } }>(
				`/client/v4/accounts/${account}/ai/usage/requests?${query}`,
			);
			rows.push(...page.result);
			cursor = page.result_info.cursor;
		} while (cursor !== undefined);
		return rows;
	}

	/** Of all days of a run: it may pass midnight, and its clock may be days ahead, or go back. */
	async totals(account: string): Promise<Totals> {
		const [from, to] = [-2, 5].map((days) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10));
		const { result_info } = await this.#get<{ result_info: { totals: Totals } }>(
			`/client/v4/accounts/${account}/ai/usage?from=${from}&to=${to}&group_by=model,backend`,
		);
		return result_info.totals;
	}

	/** With a token's authorization, it includes the token's own budget. */
	async limitStatus(account: string, authorization = Gateway.operator): Promise<LimitStatus> {
		const text = await this.#metrics(account, authorization);
		const sum = (name: string) => sampled(text, name).reduce((total, { value }) => total + value, 0);
		const of = (name: string) =>
			new Map(sampled(text, name).map(({ labels, value }) => [labels.budget, value]));
		const spent = of("daily_spent_neurons");
		const reserved = of("daily_reserved_neurons");
		return {
			openRequests: sum("open_requests"),
			openLeases: sum("open_leases"),
			overruns: sum("overruns_total"),
			budgets: [...of("daily_budget_neurons")].map(([key = "", quota]) => ({
				key,
				quota: micro(quota),
				spent: micro(spent.get(key) ?? 0),
				reserved: micro(reserved.get(key) ?? 0),
			})),
		};
	}

	/** The sum of the samples of a metric of the account. */
	async metric(account: string, name: string): Promise<number> {
		const samples = sampled(await this.#metrics(account, Gateway.operator), name);
		return samples.reduce((total, { value }) => total + value, 0);
	}

	async #metrics(account: string, authorization: string): Promise<string> {
		const response = await fetch(`${this.url}/metrics?account=${account}`, { headers: { authorization } });
		if (!response.ok) throw new Error(`/metrics: HTTP ${response.status}`);
		return response.text();
	}

	async #api<T>(path: string, body: object): Promise<T> {
		const response = await fetch(this.url + path, {
			method: "POST",
			headers: { authorization: Gateway.operator, "content-type": "application/json" },
			body: JSON.stringify(body),
		});
		const { result, errors } = (await response.json()) as { result: T; errors: unknown };
		if (!response.ok) throw new Error(`${path}: HTTP ${response.status} ${JSON.stringify(errors)}`);
		return result;
	}

	async #get<T>(path: string): Promise<T> {
		const response = await fetch(this.url + path, { headers: { authorization: Gateway.operator } });
		if (!response.ok) throw new Error(`${path}: HTTP ${response.status} ${await response.text()}`);
		return (await response.json()) as T;
	}
}

export const micro = (neurons: number): number => Math.round(neurons * 1_000_000);

export const agentOf = (): Agent => new Agent({ keepAlive: true });

function sampled(text: string, name: string): { labels: Record<string, string>; value: number }[] {
	return [...text.matchAll(new RegExp(`^ganglion_${name}\\{(.*)\\} (\\S+)$`, "gm"))].map(
		([, labels = "", value]) => ({
			labels: Object.fromEntries(
				[...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = "", of = ""]) => [key, of]),
			),
			value: Number(value),
		}),
	);
}

/** The built Worker with the wrapper around it. Only the wrapper is bundled: it imports the built modules. */
export async function wrapped(
	built: string,
	folder: string,
	wrapper: string,
): Promise<WorkerSpec["modules"]> {
	const file = join(folder, "wrapper.js");
	await build({
		entryPoints: [resolve(import.meta.dirname, wrapper)],
		outfile: file,
		bundle: true,
		format: "esm",
		target: "es2024",
		// Modules of nodejs_compat are not bundled.
		platform: "node",
		external: ["cloudflare:*"],
		logLevel: "error",
		plugins: [
			{
				name: "built worker",
				setup({ onResolve }) {
					onResolve({ filter: /src\/index\.ts$/ }, () => ({ path: "./index.js", external: true }));
				},
			},
		],
	});
	return [{ name: "wrapper.js", file }, ...modulesIn(built)];
}
