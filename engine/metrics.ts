/** Counters in Prometheus' text format (https://prometheus.io/docs/instrumenting/exposition_formats). */
import { monitorEventLoopDelay } from "node:perf_hooks";

/** Milliseconds. Node counts it as a part of each delay. */
const LOOP_INTERVAL_MS = 10;
const NANOSECONDS = 1e9;

const HELP: Readonly<Record<string, string>> = {
	requests_total: "Answered requests",
	items_total: "Texts, images and recordings that were answered",
	seconds_total: "Seconds from a request to its answer, with the time in the queue",
	failures_total: "Requests that failed",
	batches_total: "Runs of a model",
	batch_items_total: "Items of the runs",
	loads_total: "Models that were loaded",
	evictions_total: "Models that were unloaded to make room for another one",
	ends_total: "Processes of models that ended while they ran",
};

export class Metrics {
	readonly #values = new Map<string, Map<string, number>>();
	/** Of this process. It starts with the first reading, because it wakes the process. */
	#loop: ReturnType<typeof monitorEventLoopDelay> | undefined;

	answered(model: string, items: number, milliseconds: number): void {
		this.#add("requests_total", { model });
		this.#add("items_total", { model }, items);
		this.#add("seconds_total", { model }, milliseconds / 1_000);
	}

	failed(model: string, code: string): void {
		this.#add("failures_total", { model, code });
	}

	batch(model: string, items: number): void {
		this.#add("batches_total", { model });
		this.#add("batch_items_total", { model }, items);
	}

	loaded(model: string): void {
		this.#add("loads_total", { model });
	}

	evicted(model: string): void {
		this.#add("evictions_total", { model });
	}

	ended(model: string, wasStuck: boolean): void {
		this.#add("ends_total", { model, reason: wasStuck ? "stuck" : "crash" });
	}

	text(gauges: readonly { name: string; loaded: boolean; memory: number; waiting: number }[]): string {
		const counters = [...this.#values].flatMap(([name, rows]) => [
			`# HELP ganglion_engine_${name} ${HELP[name]}`,
			`# TYPE ganglion_engine_${name} counter`,
			...[...rows].map(([labels, value]) => `ganglion_engine_${name}{${labels}} ${value}`),
		]);
		const gauge = (
			name: string,
			help: string,
			numberOf: (row: (typeof gauges)[number]) => number,
		): string[] => [
			`# HELP ganglion_engine_${name} ${help}`,
			`# TYPE ganglion_engine_${name} gauge`,
			...gauges.map((row) => `ganglion_engine_${name}{${labelsOf({ model: row.name })}} ${numberOf(row)}`),
		];
		const lines = [
			...counters,
			...this.#loopDelay(),
			...gauge("waiting_items", "Items that wait or run", ({ waiting }) => waiting),
			...gauge("memory_bytes", "Estimated memory of a loaded model", ({ loaded, memory }) =>
				loaded ? memory : 0,
			),
		];
		return `${lines.join("\n")}\n`;
	}

	/** Of the server's event loop, since the reading before. */
	#loopDelay(): string[] {
		const loop = this.#loop;
		if (!loop) {
			this.#loop = monitorEventLoopDelay({ resolution: LOOP_INTERVAL_MS });
			this.#loop.enable();
			return [];
		}
		const seconds = Math.max(0, loop.percentile(99) / NANOSECONDS - LOOP_INTERVAL_MS / 1_000);
		loop.reset();
		return [
			"# HELP ganglion_engine_loop_delay_seconds How long the server let requests wait, since the reading before",
			"# TYPE ganglion_engine_loop_delay_seconds gauge",
			`ganglion_engine_loop_delay_seconds{quantile="0.99"} ${seconds}`,
		];
	}

	#add(name: string, labels: Record<string, string>, value = 1): void {
		const rows = this.#values.get(name) ?? new Map<string, number>();
		this.#values.set(name, rows);
		const key = labelsOf(labels);
		rows.set(key, (rows.get(key) ?? 0) + value);
	}
}

const labelsOf = (labels: Record<string, string>): string =>
	Object.entries(labels)
		.map(([name, value]) => `${name}="${value.replaceAll(/[\\"\n]/g, "\\$&")}"`)
		.join(",");
