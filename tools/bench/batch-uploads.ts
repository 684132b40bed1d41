/** The memory of the process while a large file of lines is uploaded and validated. */
import { type BatchApi, batchApi, linesOf } from "./batch-api.ts";
import { type Context, start } from "./context.ts";
import { residentBytes } from "./process.ts";
import { spread } from "./statistics.ts";
import type { Row } from "./table.ts";

const LINES = 50_000;
/** 200 MiB together. */
const LINE_BYTES = 4_194;
const WARM_UP_LINES = 100;
const SAMPLE_MS = 10;
const MB = 1024 * 1024;

export async function batchUploads(context: Context): Promise<Row[]> {
	const grown: number[] = [];
	const notes: string[] = [];
	for (let round = 0; round < context.rounds; round++) {
		// A new process: memory that it has freed does not hide new memory.
		const contender = await start(context, "ganglion");
		try {
			const api = batchApi(contender);
			// Loads the modules, and opens the objects.
			await uploadAndValidate(api, WARM_UP_LINES, () => {});
			const before = residentBytes(contender.pid);
			let peak = before;
			const timer = setInterval(() => {
				peak = Math.max(peak, residentBytes(contender.pid));
			}, SAMPLE_MS);
			const begun = performance.now();
			let uploaded = 0;
			await uploadAndValidate(api, LINES, () => {
				uploaded = peak - before;
			});
			clearInterval(timer);
			grown.push((peak - before) / MB);
			const seconds = (performance.now() - begun) / 1_000;
			notes.push(`+${(uploaded / MB).toFixed(0)} MB at the end of the upload, ${seconds.toFixed(0)} s`);
			context.say(`  +${grown.at(-1)?.toFixed(0)} MB: ${notes.at(-1)}`);
		} finally {
			await contender.stop();
		}
	}
	return [
		{
			label: `memory while a file of 200 MB with ${LINES} lines is uploaded and validated, above before`,
			...{ measured: spread(grown), unit: "MB", bar: 100, stretch: 40 },
			note: notes.join("; "),
		},
	];
}

async function uploadAndValidate(api: BatchApi, lines: number, uploaded: () => void): Promise<void> {
	const input = await api.upload(linesOf(lines, LINE_BYTES));
	uploaded();
	const id = await api.create(input);
	const { status } = await api.reached(id, (state) => state.status !== "validating");
	if (status === "in_progress") await api.cancel(id);
}
