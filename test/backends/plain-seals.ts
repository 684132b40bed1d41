/** Seals that a test can write and read: the JSON of the value. */
import type { CallReport } from "../../src/backends/backend.ts";
import { DROPPED_SEAL, type Seals } from "../../src/backends/seals.ts";

const MARK = "sealed:";

export const sealed = (value: unknown): string => `${MARK}${JSON.stringify(value)}`;

export const plainSeals = (report: CallReport): Seals => ({
	seal: sealed,
	open(text) {
		const [unsealed, ...seals] = text.split(MARK);
		if (unsealed) report.dropped.push(DROPPED_SEAL);
		return seals.map((json): unknown => JSON.parse(json));
	},
});
