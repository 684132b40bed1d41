/**
 * The results of the last runs, in `results.json`, from which the tables of the documentation are written. A result belongs to one client,
 * scenario and model. A run replaces the results of its own scenarios and models; another version of a client replaces all of its results.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import type { Row } from "./table.ts";

export const RESULTS_FILE = join(import.meta.dirname, "results.json");

const date = z.iso.date();
/** `date`: the day of the run. `failure`: absent if the scenario passed. */
const RecordedResult = z.strictObject({ date, failure: z.string().optional() });
const RecordedClient = z.strictObject({
	version: z.string(),
	/** The day on which npm got the version. */
	published: date,
	/** By scenario, then by model. */
	scenarios: z.record(z.string(), z.record(z.string(), RecordedResult)),
});
export type RecordedClient = z.output<typeof RecordedClient>;
/** By the name of the client's file. */
const RecordedResults = z.record(z.string(), RecordedClient);
export type RecordedResults = z.output<typeof RecordedResults>;

export const readResults = (): RecordedResults =>
	existsSync(RESULTS_FILE) ? RecordedResults.parse(JSON.parse(readFileSync(RESULTS_FILE, "utf8"))) : {};

export function writeResults(results: RecordedResults): void {
	writeFileSync(RESULTS_FILE, `${JSON.stringify(results, null, "\t")}\n`);
}

/** `day`: of the run, as YYYY-MM-DD. A client that could not be installed keeps its results. */
export function mergeResults(before: RecordedResults, rows: readonly Row[], day: string): RecordedResults {
	const results = { ...before };
	for (const { date: published, name, played, version } of rows) {
		if (version === "") continue;
		const earlier = results[name];
		const scenarios = structuredClone(earlier?.version === version ? earlier.scenarios : {});
		for (const { failure, model, scenario } of played) {
			scenarios[scenario] ??= {};
			scenarios[scenario][model] = { date: day, ...(failure !== undefined && { failure: lineOf(failure) }) };
		}
		results[name] = { version, published, scenarios };
	}
	return Object.fromEntries(Object.entries(results).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The first line. The others have addresses and output of one run. */
const lineOf = (text: string): string => text.split("\n")[0] ?? "";
