/** The contenders: the floor, a second floor (the error of the method), Ganglion, and Portkey's gateway. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { modulesIn } from "../../miniflare/modules.ts";
import { stop } from "../../scripts/child.ts";
import { freePort } from "../../scripts/free-port.ts";
import { runtimeSettings, V8_FLAGS } from "../../scripts/settings.ts";
import { listening, serve, type WorkerSpec } from "../../scripts/workerd.ts";
import { floorSpec } from "./floor.ts";
import type { Ask } from "./load.ts";
import { installPeer } from "./peer.ts";
import { ADMIN_TOKEN, createToken } from "./token.ts";

const ROOT = join(import.meta.dirname, "../..");
export const BUILT = join(ROOT, "dist/worker");
/** All contenders share one core. The load and the engine use the other. */
export const CONTENDERS_CPU = 0;
export const LOAD_CPU = 1;

/** The engine's kinds of answers: tools/bench/upstream.ts. */
const MODES = [
	...(["json", "late", "bulk", "stepped", "steady", "detailed", "paced", "slow", "embeddings"] as const),
	...(["responses", "responses-bulk"] as const),
] as const;
export type Mode = (typeof MODES)[number];
/** Modes whose engine has only OpenAI's Responses API. */
const RESPONSES_MODES: readonly Mode[] = ["responses", "responses-bulk"];
/** Milliseconds of a stream that a route reads together. */
export const COALESCE_MS = 24;
/**
 * Modes that also have a route with `passthrough`, ones whose model has another name at the engine (read at once, or together), and one
 * with a second engine.
 */
const STREAMED_MODES: readonly Mode[] = ["bulk", "stepped", "steady", "paced", "slow"];
/** Models whose native frames differ from OpenAI's. */
const NATIVE_MODELS = {
	bulk: "@cf/meta/llama-3.3-70b-instruct-fp8-fast",
	stepped: "@cf/meta/llama-3.1-8b-instruct-fast",
	steady: "@cf/meta/llama-3.1-8b-instruct-fp8",
};

/**
 * The route of a request to Ganglion: OpenAI's, Workers AI's native route, a route that passes streams through, a route whose
 * engine has another name of the model, the same with `coalesce_ms`, a route with mid-stream failover, another dialect's route, or one
 * with shared answers.
 */
export type How =
	| "openai"
	| "native"
	| "passthrough"
	| "renamed"
	| "coalesced"
	| "two engines"
	| "responses"
	| "messages"
	| "single-flight";

export interface Contender {
	name: string;
	pid: number;
	/** A request for a chat or for embeddings. `account`: of Ganglion, one that `addAccounts` made. */
	ask(mode: Mode, body: object, how?: How, account?: string): Ask;
	/** Makes a token for each. Only Ganglion has accounts. */
	addAccounts?(names: readonly string[], callers?: number): Promise<void>;
	stop(): Promise<void>;
}

export interface Field {
	folder: string;
	upstream: { url: string; pid: number };
	/** Starts a contender. The caller stops it. */
	start(name: ContenderName, options?: GanglionOptions): Promise<Contender | undefined>;
	close(): Promise<void>;
}
/**
 * `operator`: Ganglion with the operator's token. `unlimited`: the same, without any limits. `exact`: Ganglion whose account admits
 * each request.
 */
export type ContenderName =
	| "floor"
	| "floor again"
	| "ganglion"
	| "operator"
	| "unlimited"
	| "exact"
	| "portkey";

/** Variants of Ganglion's configuration. */
export interface GanglionOptions {
	/** The folder with its modules. */
	folder?: string;
	inspectorPort?: number;
	/** Uses the operator's token, which needs no account object. */
	asOperator?: boolean;
	/** Sets no limits. */
	unlimited?: boolean;
	/** `LEDGER`. Absent: the default. */
	ledger?: "exact" | "leased";
	/** The address of another engine than the bench's. */
	upstream?: string;
	/** A command that starts the runtime. */
	wrapper?: readonly string[];
	/** More exact routes than those of the bench. */
	extraRoutes?: number;
	/** More backends and routes than those of the bench. */
	backends?: object;
	routes?: object;
	/** Variables that backends name. */
	secrets?: Record<string, string>;
	/** `JOBS`. */
	jobs?: object;
	/** Each engine is a pool of so many addresses, which all are the bench's engine. Absent: it has one address. */
	replicas?: number;
}

export async function openField(): Promise<Field> {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-bench-"));
	const port = await freePort();
	const child = spawn(process.execPath, [join(import.meta.dirname, "upstream.ts"), String(port)], {
		stdio: ["ignore", "inherit", "inherit"],
	});
	await listening({ port }, child);
	if (process.platform === "linux")
		for (const pid of [process.pid, child.pid ?? 0])
			spawn("taskset", ["-a", "-c", "-p", String(LOAD_CPU), String(pid)], { stdio: "ignore" });
	const upstream = { url: `http://127.0.0.1:${port}`, pid: child.pid ?? 0 };
	let started = 0;
	return {
		folder,
		upstream,
		start(name, { upstream: engine = upstream.url, ...options } = {}) {
			const own = join(folder, String(started++));
			mkdirSync(own);
			switch (name) {
				case "floor":
				case "floor again":
					return floor(name, engine, own);
				case "ganglion":
					return ganglion(name, engine, own, options);
				case "operator":
					return ganglion(name, engine, own, { asOperator: true });
				case "unlimited":
					return ganglion(name, engine, own, { asOperator: true, unlimited: true });
				case "exact":
					return ganglion(name, engine, own, { ledger: "exact" });
				case "portkey":
					return portkey(engine);
				default:
					return name satisfies never;
			}
		},
		async close() {
			await stop(child);
			rmSync(folder, { recursive: true, force: true });
		},
	};
}

const pathOf = (mode: Mode): string =>
	`/${mode}/v1/${mode === "embeddings" ? "embeddings" : "chat/completions"}`;

async function floor(name: string, upstream: string, folder: string): Promise<Contender> {
	const served = await serve({ ...floorSpec(upstream), name }, await freePort(), folder, CONTENDERS_CPU);
	return {
		...served,
		ask: (mode, body) => ({
			url: served.url + pathOf(mode),
			body: JSON.stringify({ model: "bench", ...body }),
		}),
	};
}

/** By default with all features: a token, rates, a budget and the ledger. */
async function ganglion(
	name: string,
	upstream: string,
	folder: string,
	{
		folder: built = BUILT,
		inspectorPort,
		asOperator = false,
		unlimited = false,
		ledger,
		wrapper,
		extraRoutes = 0,
		jobs,
		replicas,
		backends: ownBackends = {},
		routes = {},
		secrets = {},
	}: GanglionOptions = {},
): Promise<Contender> {
	const addressesOf = (mode: Mode) =>
		replicas === undefined
			? { url: `${upstream}/${mode}/v1` }
			: {
					pool: {
						replicas: Array.from({ length: replicas }, (_, i) => `${upstream}/${mode}/replica-${i}/v1`),
					},
				};
	const backends = MODES.map((mode) => [
		mode,
		{
			...{ kind: "openai", ...addressesOf(mode) },
			...(RESPONSES_MODES.includes(mode) && { api: "responses" }),
		},
	]);
	const spec: WorkerSpec = {
		name,
		modules: modulesIn(built),
		vars: {
			BACKENDS: { ...Object.fromEntries(backends), ...ownBackends },
			ROUTES: {
				...Object.fromEntries(
					Array.from({ length: extraRoutes }, (_, i) => [`extra/model-${i}`, [{ backend: "json" }]]),
				),
				...Object.fromEntries(MODES.map((mode) => [`bench/${mode}`, [{ backend: mode }]])),
				...Object.fromEntries(
					STREAMED_MODES.flatMap((mode) => {
						const target = { backend: mode, model: `bench/${mode}` };
						return [
							[`renamed/${mode}`, [target]],
							[`coalesced/${mode}`, { targets: [target], coalesce_ms: COALESCE_MS }],
							[`passed/${mode}`, { targets: [target], passthrough: true }],
							[`paired/${mode}`, { targets: [target, { ...target, backend: "json" }] }],
						];
					}),
				),
				...routes,
				...Object.fromEntries(
					Object.entries(NATIVE_MODELS).map(([mode, model]) => [model, [{ backend: mode, model: "bench" }]]),
				),
			},
			MODELS: { "bench/embeddings": { task: "Text Embeddings" } },
			// Enforced, but above what a bench can reach.
			LIMITS: {
				plan: "paid",
				...(unlimited
					? { requests_per_minute: "none" }
					: {
							daily_neurons: 1e9,
							requests_per_minute: { "Text Generation": 10_000_000, "Text Embeddings": 10_000_000 },
						}),
			},
			// As `ganglion serve`.
			SHARDS: Number(process.env.BENCH_SHARDS ?? 1),
			// As `ganglion serve` sets it.
			OPEN_FILES: String(OPEN_FILES),
			...(ledger && { LEDGER: ledger }),
			...(jobs && { JOBS: jobs }),
			ADMIN_TOKEN,
			...secrets,
		},
		...runtimeSettings(),
		v8Flags: V8_FLAGS,
		...(inspectorPort !== undefined && { inspectorPort }),
		...(wrapper && { wrapper }),
	};
	const served = await serve(spec, await freePort(), folder, CONTENDERS_CPU);
	const token = asOperator
		? ADMIN_TOKEN
		: await createToken(served.url, ACCOUNT).catch(async (error) => {
				await served.stop();
				throw error;
			});
	const tokens = new Map([[ACCOUNT, token]]);
	return {
		...served,
		async addAccounts(names, callers = 1) {
			const remaining = names.values();
			const add = async () => {
				for (const name of remaining) tokens.set(name, await createToken(served.url, name));
			};
			await Promise.all(Array.from({ length: callers }, add));
		},
		ask(mode, body, how = "openai", account = ACCOUNT) {
			const model = `${FAMILIES[how] ?? "bench"}/${mode}`;
			const isRun = how === "native";
			const path = isRun
				? `run/${NATIVE_MODELS[mode === "stepped" || mode === "steady" ? mode : "bulk"]}`
				: `v1/${mode === "embeddings" ? "embeddings" : (ROUTES[how] ?? "chat/completions")}`;
			return {
				url: `${served.url}/client/v4/accounts/${account}/ai/${path}`,
				headers: {
					authorization: `Bearer ${tokens.get(account)}`,
					...(how === "single-flight" && { "x-ganglion-single-flight": "true" }),
				},
				body: JSON.stringify(isRun ? body : { model, ...body }),
			};
		},
	};
}

const ACCOUNT = "bench";
const OPEN_FILES = 65_536;

const FAMILIES: Partial<Record<How, string>> = {
	passthrough: "passed",
	renamed: "renamed",
	coalesced: "coalesced",
	"two engines": "paired",
};
const ROUTES: Partial<Record<How, string>> = { responses: "responses", messages: "messages" };

/** Started on Node as by its package. `undefined` if the package cannot be installed. */
async function portkey(upstream: string): Promise<Contender | undefined> {
	const file = installPeer((text) => console.error(text));
	if (file === undefined) return undefined;
	const port = await freePort();
	const child: ChildProcess = spawn(
		"taskset",
		["-c", String(CONTENDERS_CPU), process.execPath, file, "--headless", `--port=${port}`],
		{ stdio: "ignore", env: { ...process.env, NODE_ENV: "production" } },
	);
	await listening({ port }, child).catch(async (error) => {
		await stop(child);
		throw error;
	});
	const config = (mode: Mode) =>
		JSON.stringify({ provider: "openai", api_key: "sk-bench", custom_host: `${upstream}/${mode}/v1` });
	return {
		name: "portkey",
		pid: child.pid ?? 0,
		ask: (mode, body) => ({
			url: `http://127.0.0.1:${port}/v1/${mode === "embeddings" ? "embeddings" : "chat/completions"}`,
			headers: { "x-portkey-config": config(mode) },
			body: JSON.stringify({ model: "bench", ...body }),
		}),
		stop: () => stop(child),
	};
}
