/** Requests of 1,000 accounts in turn over requests of one, while another process writes to the disk and waits for it in a loop. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { CHAT, type Context, start, startBoth, stopAll } from "./context.ts";
import { load } from "./load.ts";
import { asksOfNewAccounts } from "./many.ts";
import { cpuRatios, noteOf, WARM_UP_ANSWERS } from "./ratios.ts";
import { spread } from "./statistics.ts";
import type { Row } from "./table.ts";

const ACCOUNTS = 1_000;
const WARM_UP_MS = 240_000;

export async function accountsBesideWrites(context: Context): Promise<Row[]> {
	const pair = await startBoth(
		() => start(context, "ganglion"),
		() => start(context, "ganglion"),
	);
	const [many] = pair;
	try {
		const inTurn = await asksOfNewAccounts(many, ACCOUNTS);
		// The file is on the disk of the accounts.
		const writer = await startWriter(join(context.field.folder, "written"));
		const rates: number[] = [];
		try {
			const ratios = await cpuRatios(
				context,
				pair,
				(contender) => (contender === many ? inTurn : contender.ask("json", CHAT)),
				{
					warmUpAnswers: Math.max(WARM_UP_ANSWERS, 3 * ACCOUNTS),
					warmUpMs: WARM_UP_MS,
					async loader(loops, milliseconds) {
						const before = writer.count();
						const counts = await load(loops, milliseconds);
						rates.push((writer.count() - before) / (milliseconds / 1000));
						return counts;
					},
				},
			);
			return [
				{
					label: `${ACCOUNTS} accounts in turn, over one, beside writes to the disk: CPU a request`,
					measured: spread(ratios.map(({ ratio }) => ratio)),
					unit: "x",
					...{ bar: 2, stretch: 1.3 },
					note: `${noteOf(ratios)}; the other process writes and syncs 4 KB ${spread(rates).median.toFixed(0)} times a second`,
				},
			];
		} finally {
			await writer.stop();
		}
	} finally {
		await stopAll(pair);
	}
}

export interface DiskWriter {
	/** Writes so far, about a second ago. */
	count(): number;
	stop(): Promise<void>;
}

/** Resolves after the first write. */
export async function startWriter(file: string): Promise<DiskWriter> {
	const program = join(import.meta.dirname, "disk-writer.ts");
	const child: ChildProcess & { stdout: NonNullable<ChildProcess["stdout"]> } = spawn(
		process.execPath,
		[program, file],
		{ stdio: ["ignore", "pipe", "inherit"] },
	);
	const ended = once(child, "exit");
	let writes = 0;
	const lines = createInterface({ input: child.stdout }).on("line", (line) => {
		writes = Number(line);
	});
	await Promise.race([once(lines, "line"), ended]);
	if (writes === 0) throw new Error(`nothing was written to ${file}`);
	return {
		count: () => writes,
		async stop() {
			child.kill("SIGKILL");
			await ended;
		},
	};
}
