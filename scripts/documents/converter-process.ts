/** A process that converts one document at a time. It is killed if a conversion takes too much time or memory. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { freePort } from "../free-port.ts";
import { request } from "../http.ts";
import { type Served, serve, type WorkerSpec } from "../workerd.ts";

/** Of one conversion. */
const MAX_CPU_MS = 4_000;
/** A process on a busy machine does not get a core at once. Where the CPU time is not known, this is the limit. */
const MAX_MS = process.platform === "linux" ? 20_000 : 5_000;
/** Of the process. A process that has loaded all parsers has 110 MB, so that a file may take about 64 MB. */
const MAX_BYTES = 176 * 1024 * 1024;
/** Of V8's heap. The buffers of files are beside it. */
const HEAP_MB = 96;
/** Of the part of new objects. By default it grows to 16 MB and its garbage stays: a document of 300 pages then took 60 MB more. */
const YOUNG_MB = 2;
/** A process that has become larger is replaced. */
const REUSED_BYTES = 128 * 1024 * 1024;
/** The converter needs no later one. */
const COMPATIBILITY_DATE = "2026-08-01";
const CHECK_MS = 25;
/** Below the gateway's: requests for models come first. On a busy machine it still gets the CPU time of one conversion in {@link MAX_MS}. */
const PRIORITY = 5;
/** A process that waits holds about 100 MB. A start takes some tenths of a second. */
const IDLE_MS = 10_000;

/** The conversion was stopped. The message is for the caller. */
export class StoppedConversion extends Error {}

export interface ConversionBounds {
	/** CPU time of one conversion. */
	maxCpuMs?: number;
	/** A process without a file ends after this time. */
	idleMs?: number;
}

interface Consumption {
	cpuMs: number;
	bytes: number;
}

export class ConverterProcess {
	readonly #served: Promise<Served>;
	readonly #folder = mkdtempSync(join(tmpdir(), "ganglion-documents-"));
	readonly #ended: (process: ConverterProcess) => void;
	#idleTimer: NodeJS.Timeout | undefined;
	readonly #maxCpuMs: number;
	readonly #idleMs: number;
	#isStopped = false;
	#bytes = 0;

	/** `ended`: called when it has stopped because it was not used. */
	constructor(
		modules: () => Promise<WorkerSpec["modules"]>,
		ended: (process: ConverterProcess) => void,
		{ maxCpuMs = MAX_CPU_MS, idleMs = IDLE_MS }: ConversionBounds,
	) {
		this.#idleMs = idleMs;
		this.#maxCpuMs = maxCpuMs;
		this.#ended = ended;
		this.#served = this.#start(modules);
	}

	/** False if the next conversion needs another process. */
	get isUsable(): boolean {
		return !this.#isStopped && this.#bytes <= REUSED_BYTES;
	}

	/** `signal`: fires when the answer is no longer needed. Throws a `StoppedConversion`. */
	async convert(message: Buffer, signal: AbortSignal): Promise<Buffer> {
		clearTimeout(this.#idleTimer);
		const { url, pid } = await this.#served;
		const stopping = new AbortController();
		const before = consumptionOf(pid);
		const startedAt = performance.now();
		const timer = setInterval(() => {
			const reason = this.#excess(before, consumptionOf(pid), performance.now() - startedAt);
			if (reason !== undefined) stopping.abort(new StoppedConversion(reason));
		}, CHECK_MS);
		try {
			return await post(url, message, AbortSignal.any([signal, stopping.signal]));
		} catch (error) {
			await this.stop();
			if (stopping.signal.aborted) throw stopping.signal.reason;
			// V8 ends a process whose heap is full.
			throw signal.aborted ? error : new StoppedConversion(TOO_MUCH_MEMORY);
		} finally {
			clearInterval(timer);
			this.#bytes = consumptionOf(pid)?.bytes ?? 0;
			if (!this.#isStopped) this.#stopLater();
		}
	}

	async stop(): Promise<void> {
		clearTimeout(this.#idleTimer);
		if (this.#isStopped) return;
		this.#isStopped = true;
		const served = await this.#served.catch(() => undefined);
		await served?.stop();
		rmSync(this.#folder, { recursive: true, force: true });
	}

	#excess(
		before: Consumption | undefined,
		now: Consumption | undefined,
		elapsedMs: number,
	): string | undefined {
		const cpuMs = before && now ? now.cpuMs - before.cpuMs : 0;
		if (cpuMs > this.#maxCpuMs || elapsedMs > MAX_MS) return "The file takes too much time to convert";
		if (now && now.bytes > MAX_BYTES) return TOO_MUCH_MEMORY;
		return undefined;
	}

	#stopLater(): void {
		this.#idleTimer = setTimeout(() => {
			this.#ended(this);
			void this.stop();
		}, this.#idleMs);
		this.#idleTimer.unref();
	}

	async #start(modules: () => Promise<WorkerSpec["modules"]>): Promise<Served> {
		const served = await serve(
			{
				name: "documents",
				modules: await modules(),
				compatibilityDate: COMPATIBILITY_DATE,
				// For `node:buffer`.
				compatibilityFlags: ["nodejs_compat"],
				isOffline: true,
				isBackground: true,
				v8Flags: [`--max-old-space-size=${HEAP_MB}`, `--max-semi-space-size=${YOUNG_MB}`],
				temporary: this.#folder,
				detached: true,
				// The gateway reports the failures of files.
				onOutput: (...streams) => {
					for (const stream of streams) {
						stream.resume();
						if (stream instanceof Socket) stream.unref();
					}
				},
			},
			await freePort(),
			this.#folder,
		);
		try {
			setPriority(served.pid, PRIORITY);
		} catch {
			// It has exited.
		}
		return served;
	}
}

const TOO_MUCH_MEMORY = "The file takes too much memory to convert";

/** The unit of `stat`, on all architectures of Linux. */
const TICK_MS = 10;
const PAGE_BYTES = 4_096;

/** `undefined`: it has exited, or the system is not Linux. */
function consumptionOf(pid: number): Consumption | undefined {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
		// The name of the process may contain spaces and parentheses.
		const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
		const cpuMs = (Number(fields[11]) + Number(fields[12])) * TICK_MS;
		return { cpuMs, bytes: Number(fields[21]) * PAGE_BYTES };
	} catch {
		return undefined;
	}
}

const post = (url: string, message: Buffer, signal: AbortSignal): Promise<Buffer> =>
	new Promise((resolve, reject) => {
		const sent = request(url, { method: "POST", signal, agent: false }, (response) => {
			buffer(response).then((body) => {
				if (response.statusCode === 200) resolve(body);
				else reject(new Error(`status ${response.statusCode}`));
			}, reject);
		});
		sent.once("error", reject).end(message);
	});
