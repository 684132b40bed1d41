/** The batches of `npm run soak -- --only batches`, and their table. */
import { type BatchOptions, type BatchRunResult, runBatch } from "./run.ts";

const HOUR_MS = 60 * 60_000;
/** 2 MB: the files of SQLite reach it within some hundred lines. */
const FULL_BLOCKS = 4_096;
const FAULTY_LINES = 2_000;

interface BatchScenario {
	name: string;
	options: BatchOptions;
}

const scenariosOf = (lines: number, kills: number): readonly BatchScenario[] => {
	const few = Math.min(lines, FAULTY_LINES);
	return [
		{ name: "kills", options: { lines, kills } },
		{
			name: "a clock that jumps, a busy engine",
			options: { lines: few, kills: 0, jumps: [2 * HOUR_MS, -HOUR_MS, HOUR_MS / 2], busyEvery: 50 },
		},
		{ name: "a full disk", options: { lines: few, kills: 0, fileBlocks: FULL_BLOCKS } },
	];
};

export interface BatchFigures extends BatchRunResult {
	name: string;
	lines: number;
}

export async function runBatches(
	lines: number,
	kills: number,
	progress: BatchOptions["progress"],
): Promise<BatchFigures[]> {
	const all: BatchFigures[] = [];
	for (const { name, options } of scenariosOf(lines, kills))
		all.push({
			...{ name, lines: options.lines },
			...(await runBatch({
				...options,
				progress: (done, total, label) => progress?.(done, total, `${name}: ${label}`),
			})),
		});
	return all;
}

export const batchTable = (all: readonly BatchFigures[]): string =>
	all
		.map(
			({ answered, billed, kills, lines, name, refused, repeated, seconds, waited }) =>
				`${name}: ${answered} of ${lines} lines answered once, ${billed} billed once, ${repeated} calls repeated; ` +
				`${kills} kills, ${refused} refusals of the engine, ${seconds.toFixed(1)} s${waited.map((reason) => `; waited: ${reason}`).join("")}`,
		)
		.join("\n");
