import type { Metric } from "../../../src/core/metric.ts";

/** What the metrics of logs or exports count as dropped. `kind`: of all kinds, if it is absent. */
export const droppedOf = (source: { metrics(): Metric[] }, kind?: string): number =>
	source
		.metrics()
		.flatMap(({ samples }) => samples)
		.filter(([labels]) => kind === undefined || labels.kind === kind)
		.reduce((total, [, count]) => total + count, 0);
