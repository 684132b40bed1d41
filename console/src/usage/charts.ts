/** The values that the chart of the usage page can show. */
import type { UsageRow } from "../api/types.ts";
import { decimal, dollars, dollarsOf, integer, milliseconds } from "../parts/format.ts";

export interface Chart {
	title: string;
	/** `null`: the day has no such value. */
	value(row: UsageRow): number | null;
	format(value: number): string;
}

export const CHARTS = {
	neurons: { title: "Neurons", value: ({ neurons }) => neurons, format: decimal },
	dollars: { title: "US dollars", value: ({ neurons }) => dollarsOf(neurons), format: dollars },
	requests: { title: "Requests", value: ({ requests }) => requests, format: integer },
	failed: { title: "Failed requests", value: ({ failed }) => failed, format: integer },
	tokens: { title: "Tokens", value: (row) => row.input_tokens + row.output_tokens, format: integer },
	first_token: {
		title: "Time to the first token",
		value: (row) => row.average_time_to_first_token_ms,
		format: milliseconds,
	},
	latency: { title: "Latency", value: (row) => row.average_latency_ms, format: milliseconds },
} as const satisfies Readonly<Record<string, Chart>>;

export const CHART_TITLES = Object.fromEntries(
	Object.entries(CHARTS).map(([name, { title }]) => [name, title]),
);
