/** Batches under kills, jumps of the clock, a full disk and a full queue. Each line is answered once and billed once. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { settled } from "../conservation.ts";
import { Gateway } from "../gateway.ts";
import { auditBatch, type BatchBooks, type BatchVerdict, DISCOUNT, PRICES } from "./audit.ts";
import { BatchClient, type BatchState, ENDED, linesOf, MODEL } from "./client.ts";
import { LineEngine } from "./engine.ts";

export interface BatchOptions {
	lines: number;
	/** Kills of the process, at equal distances of finished lines. */
	kills: number;
	/** Milliseconds by which the clock is ahead, at equal distances. */
	jumps?: readonly number[];
	/** The limit of each file's size, in blocks of 512 bytes, until the first failure. Then the process restarts without it. */
	fileBlocks?: number;
	/** Every so many calls the engine answers 429. */
	busyEvery?: number;
	progress?(done: number, total: number, label: string): void;
}

export interface BatchRunResult extends BatchVerdict {
	kills: number;
	/** Of the engine. */
	refused: number;
	/** Why the batch waited. */
	waited: readonly string[];
	seconds: number;
	output: string;
}

const ACCOUNT = "acme";
const ENGINE_MS = 5;
const CONCURRENCY = 32;
/** Without a further line. */
const STUCK_MS = 120_000;
/** Without a further line, so that the disk is full. */
const FULL_MS = 5_000;
const SETTLED_MS = 5_000;
const POLL_MS = 25;

export const settingsOf = (engine: string): Record<string, unknown> => ({
	LEDGER: "exact",
	BACKENDS: { engine: { kind: "openai", url: engine } },
	ROUTES: { [MODEL]: { targets: [{ backend: "engine", model: MODEL }] } },
	MODELS: {
		[MODEL]: {
			task: "Text Generation",
			context_window: 131_072,
			prices: [
				{ unit: "per M input tokens", neurons: PRICES.input },
				{ unit: "per M output tokens", neurons: PRICES.output },
			],
		},
	},
	LIMITS: { requests_per_minute: "none" },
	JOBS: { concurrency: CONCURRENCY, discount: DISCOUNT },
});

interface Fault {
	/** Of the finished lines. */
	share: number;
	cause(): Promise<void>;
}

export async function runBatch(options: BatchOptions): Promise<BatchRunResult> {
	const { lines } = options;
	const engine = new LineEngine(ENGINE_MS);
	engine.busyEvery = options.busyEvery ?? 0;
	const folder = mkdtempSync(join(tmpdir(), "ganglion-batches-"));
	const gateway = await Gateway.start(folder, settingsOf(await engine.listen()), {
		...(options.jumps && { wrapper: "batches/shifted-worker.ts" as const }),
		...(options.fileBlocks !== undefined && { fileBlocks: options.fileBlocks }),
	});
	const startedAt = performance.now();
	try {
		const client = new BatchClient(gateway, await gateway.createToken(ACCOUNT));
		const { id } = await client.create(linesOf(lines));
		const { state, waited } = await play(id, {
			client,
			faults: faultsOf(gateway, options),
			gateway,
			options,
		});
		await settled(gateway, ACCOUNT, SETTLED_MS);
		const verdict = auditBatch(lines, engine, await booksOf(gateway, client, state));
		return {
			...verdict,
			...{ kills: gateway.kills.length, refused: engine.refused, waited },
			...{ seconds: (performance.now() - startedAt) / 1000, output: gateway.output() },
		};
	} finally {
		await gateway.stop();
		engine.close();
		rmSync(folder, { recursive: true, force: true });
	}
}

function faultsOf(gateway: Gateway, { kills, jumps = [] }: BatchOptions): Fault[] {
	return [
		...Array.from({ length: kills }, (_, kill) => ({
			share: (kill + 1) / (kills + 1),
			cause: () => gateway.kill(),
		})),
		...jumps.map((ms, jump) => ({
			share: (jump + 0.5) / jumps.length,
			cause: async () => void (await fetch(`${gateway.url}/soak/clock?ms=${ms}`)),
		})),
	].sort((one, other) => one.share - other.share);
}

interface Played {
	client: BatchClient;
	faults: Fault[];
	gateway: Gateway;
	options: BatchOptions;
}

/** Follows the batch to its end, and causes the faults. */
async function play(
	id: string,
	{ client, faults, gateway, options }: Played,
): Promise<{ state: BatchState; waited: readonly string[] }> {
	const { fileBlocks, lines, progress = () => {} } = options;
	const waited = new Set<string>();
	let isFull = fileBlocks !== undefined;
	let finished = -1;
	let since = performance.now();
	for (;;) {
		const state = await client.state(id);
		if (state && ENDED.has(state.status)) return { state, waited: [...waited] };
		const completed = state?.request_counts.completed ?? finished;
		if (completed > finished) {
			finished = completed;
			since = performance.now();
		}
		if (state?.waiting) waited.add(state.waiting.message);
		progress(finished, lines, state?.status ?? "no answer");
		const next = faults[0];
		if (next && finished >= next.share * lines) {
			faults.shift();
			await next.cause();
		}
		const still = performance.now() - since;
		if (isFull && still > FULL_MS) {
			isFull = false;
			await gateway.kill({ unlimited: true });
		} else if (still > STUCK_MS)
			throw new Error(`no line has ended for ${STUCK_MS} ms: ${JSON.stringify(state)}\n${gateway.output()}`);
		await wait(POLL_MS);
	}
}

async function booksOf(gateway: Gateway, client: BatchClient, state: BatchState): Promise<BatchBooks> {
	const [output, errors] = [
		await client.results(state.output_file_id),
		await client.results(state.error_file_id),
	];
	return {
		...{ state, output, errors },
		rows: await gateway.rows(ACCOUNT),
		totals: await gateway.totals(ACCOUNT),
		openRequests: (await gateway.limitStatus(ACCOUNT)).openRequests,
		repeatedLines: await gateway.metric(ACCOUNT, "repeated_lines_total"),
	};
}
