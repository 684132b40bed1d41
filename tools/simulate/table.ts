/** The results of a simulation as a table. */
import type { Outcome } from "./cluster.ts";

/** The value that this share of the values does not exceed. `values` ascend. */
export const percentile = (values: readonly number[], share: number): number =>
	values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;

export const mean = (values: readonly number[]): number =>
	values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

const HEADER = ["policy", "hit", "mean", "p50", "p90", "p99 ms", "<= 2 s", "imbalance", "choice"];
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** Times to the first token in milliseconds; microseconds for one choice. */
export function tableRow(policy: string, outcome: Outcome): string[] {
	const { firstTokenMs, hitRate, imbalance, choiceUs } = outcome;
	const fast = firstTokenMs.filter((ms) => ms <= 2_000).length / Math.max(1, firstTokenMs.length);
	return [
		policy,
		percent(hitRate),
		mean(firstTokenMs).toFixed(0),
		...[0.5, 0.9, 0.99].map((share) => percentile(firstTokenMs, share).toFixed(0)),
		percent(fast),
		imbalance.toFixed(2),
		`${choiceUs.toFixed(1)} us`,
	];
}

export function table(rows: readonly string[][]): string {
	const all = [HEADER, HEADER.map(() => "---"), ...rows];
	const widths = HEADER.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
	return all
		.map((row) => `| ${widths.map((width, column) => (row[column] ?? "").padEnd(width)).join(" | ")} |`)
		.join("\n");
}
