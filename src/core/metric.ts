/** The metrics of `/metrics`, before they are text. */

type Labels = Record<string, string>;
/** `suffix`: that of a histogram's sample. */
export type MetricSample = readonly [labels: Labels, value: number, suffix?: "_bucket" | "_sum" | "_count"];

export interface Metric {
	/** Without the prefix `ganglion_`. */
	name: string;
	type: "counter" | "gauge" | "histogram";
	help: string;
	samples: readonly MetricSample[];
}

const metric =
	(type: Metric["type"]) =>
	(name: string, help: string, samples: readonly MetricSample[]): Metric => ({ name, type, help, samples });
export const counter = metric("counter");
export const gauge = metric("gauge");
export const histogram = metric("histogram");
