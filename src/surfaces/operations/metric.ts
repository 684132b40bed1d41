/** The metrics of `/metrics`, before they are text. */

type Labels = Record<string, string>;
export type Sample = readonly [labels: Labels, value: number];

export interface Metric {
	/** Without the prefix `ganglion_`. */
	name: string;
	type: "counter" | "gauge";
	help: string;
	samples: readonly Sample[];
}

const metric =
	(type: Metric["type"]) =>
	(name: string, help: string, samples: readonly Sample[]): Metric => ({ name, type, help, samples });
export const counter = metric("counter");
export const gauge = metric("gauge");
