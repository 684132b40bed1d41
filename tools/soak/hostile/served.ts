/** The gateway as an operator runs it: `ganglion serve` as built, its connection guard included, with a low limit of open files. Linux only. */
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "../../../scripts/free-port.ts";
import { type Schedule, scheduleOf } from "./schedule.ts";
import { bytesOnDisk, storedBytes } from "./stored-bytes.ts";

const CLI = join(import.meta.dirname, "../../../dist/cli/index.js");
const ADMIN = "the-admin-token-of-a-hostile-soak";
const PAGE_BYTES = 4_096;
const START_MS = 60_000;
const SETTLED_MS = 60_000;
/** Longer than the time between two writes of logs. */
const PAUSE_MS = 4_000;

/** Resident bytes. */
export interface Memory {
	/** Of the supervisor, with the connection guard. */
	guard: number;
	/** Of workerd. */
	runtime: number;
	total: number;
}

interface Totals {
	requests: number;
	failed: number;
	neurons: number;
}

export class ServedGateway {
	readonly port: number;
	readonly #state: string;
	readonly #process: ChildProcess;
	/** The process id of workerd. Later children of the supervisor convert documents. */
	#runtime: number | undefined;
	/** What it printed. */
	output = "";
	/** Its exit code or signal. `undefined`: it runs. */
	ended: string | undefined;

	private constructor(process: ChildProcess, port: number, state: string) {
		this.#process = process;
		this.port = port;
		this.#state = state;
		for (const stream of [process.stdout, process.stderr])
			stream?.on("data", (piece) => {
				this.output += piece;
			});
		process.once("exit", (code, signal) => {
			this.ended = String(signal ?? code);
		});
	}

	/** `variables`: settings, as JSON in the environment. */
	static async start(
		folder: string,
		variables: Record<string, unknown>,
		workers: number,
	): Promise<ServedGateway> {
		const port = await freePort();
		const state = join(folder, "state");
		const texts = Object.entries(variables).map(([name, value]) => [name, JSON.stringify(value)]);
		const options = ["--port", String(port), "--state", state, "--workers", String(workers)];
		if (workers > 1) options.push("--separate-large");
		const child = spawn(process.execPath, [CLI, "serve", ...options], {
			cwd: folder,
			stdio: ["ignore", "pipe", "pipe"],
			env: { ...process.env, ADMIN_TOKEN: ADMIN, ...Object.fromEntries(texts) },
		});
		const gateway = new ServedGateway(child, port, state);
		const until = performance.now() + START_MS;
		while (!gateway.output.includes("is ready") && gateway.ended === undefined && performance.now() < until)
			await new Promise((resolve) => setTimeout(resolve, 20));
		gateway.#runtime = gateway.#pids()[1];
		if (!gateway.output.includes("is ready")) throw new Error(`it did not start: ${gateway.output}`);
		return gateway;
	}

	get url(): string {
		return `http://127.0.0.1:${this.port}`;
	}

	/** A request of the operator. Returns `result`. */
	async api<T>(method: string, path: string, body?: object): Promise<T> {
		return (await this.#call<{ result: T }>(method, path, body)).result;
	}

	/** The usage of the account, or of one of its tokens on this UTC day. */
	async totals(account: string, token?: string): Promise<Totals> {
		const today = new Date().toISOString().slice(0, "YYYY-MM-DD".length);
		const filter = token === undefined ? "" : `&token=${token}&from=${today}`;
		const path = `/client/v4/accounts/${account}/ai/usage?group_by=model${filter}`;
		return (await this.#call<{ result_info: { totals: Totals } }>("GET", path)).result_info.totals;
	}

	async #call<T>(method: string, path: string, body?: object): Promise<T> {
		const response = await fetch(this.url + path, {
			method,
			headers: { authorization: `Bearer ${ADMIN}`, "content-type": "application/json", connection: "close" },
			...(body && { body: JSON.stringify(body) }),
		});
		const text = await response.text();
		if (!response.ok) throw new Error(`${method} ${path}: HTTP ${response.status} ${text}`);
		return JSON.parse(text) as T;
	}

	/** Without an account: of all, and of their work. */
	async metrics(account?: string): Promise<string> {
		const query = account === undefined ? "" : `?account=${account}`;
		const response = await fetch(`${this.url}/metrics${query}`, {
			headers: { authorization: `Bearer ${ADMIN}` },
		});
		return response.text();
	}

	/** The supervisor, which has the connection guard, and its runtimes. */
	#pids(): number[] {
		const { pid = 0 } = this.#process;
		const children = readdirSync("/proc").flatMap((name) => {
			if (!/^\d+$/.test(name)) return [];
			const fields = readOr(`/proc/${name}/stat`)
				.replace(/^.*\) /, "")
				.split(" ");
			return Number(fields[1]) === pid ? [Number(name)] : [];
		});
		return [pid, ...children];
	}

	/** Of the runtime's main thread, which runs all requests. */
	schedule(): Schedule {
		return scheduleOf(`/proc/${this.#runtime}/task/${this.#runtime}`);
	}

	memory(): Memory {
		const [guard = 0, ...runtimes] = this.#pids().map(
			(pid) => Number(readOr(`/proc/${pid}/statm`).split(" ")[1] ?? 0) * PAGE_BYTES,
		);
		const runtime = runtimes.reduce((sum, bytes) => sum + bytes, 0);
		return { guard, runtime, total: guard + runtime };
	}

	/** Refusals by class since the start (`ganglion_held_refused_total`). */
	async refusals(): Promise<Record<string, number>> {
		const page = await this.metrics("normal").catch(() => "");
		const lines = page.matchAll(/^ganglion_held_refused_total\{[^}]*class="(\w+)"[^}]*\} (\d+)/gm);
		return Object.fromEntries([...lines].map(([, name, count]) => [name, Number(count)]));
	}

	/** Bytes of the state on the disk. */
	disk(): number {
		return bytesOnDisk(this.#state);
	}

	/** When the writes of earlier requests, such as logs, have ended. */
	async storedBytes(): Promise<number> {
		const until = performance.now() + SETTLED_MS;
		let before = -1;
		let bytes = this.disk();
		while (bytes !== before && performance.now() < until) {
			await wait(PAUSE_MS);
			before = bytes;
			bytes = this.disk();
		}
		return storedBytes(this.#state);
	}

	async stop(): Promise<void> {
		if (this.ended !== undefined) return;
		const ended = new Promise((resolve) => this.#process.once("exit", resolve));
		this.#process.kill("SIGTERM");
		setTimeout(() => this.#process.kill("SIGKILL"), 3_000).unref();
		await ended;
	}
}

/** A process may have ended meanwhile. */
function readOr(path: string): string {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return "";
	}
}
