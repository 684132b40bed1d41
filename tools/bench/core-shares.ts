/** Gives groups of processes a share of a core each, with the CPU quotas of Linux (cgroup version 1). Needs root. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

const ROOT = "/sys/fs/cgroup/cpu";
/** Short, so that a process never stops for long. */
const PERIOD_MICROSECONDS = 20_000;
const POLL_MS = 50;
const REMOVE_TRIES = 200;

export const hasQuotas = (): boolean =>
	process.getuid?.() === 0 && existsSync(join(ROOT, "cpu.cfs_quota_us"));

/** A group of processes that together have `share` of one core. */
export class CoreShare {
	readonly #folder: string;

	constructor(name: string, share: number) {
		this.#folder = join(ROOT, `ganglion-bench-${process.pid}-${name}`);
		mkdirSync(this.#folder);
		this.#write("cpu.cfs_period_us", PERIOD_MICROSECONDS);
		this.#write("cpu.cfs_quota_us", Math.round(PERIOD_MICROSECONDS * share));
	}

	/** With all its threads. */
	add(pid: number): void {
		this.#write("cgroup.procs", pid);
	}

	/** Waits until its processes have ended. */
	async remove(): Promise<void> {
		for (let i = 0; readFileSync(this.#file("cgroup.procs"), "utf8") !== "" && i < REMOVE_TRIES; i++)
			await wait(POLL_MS);
		rmdirSync(this.#folder);
	}

	#write(file: string, value: number): void {
		writeFileSync(this.#file(file), String(value));
	}

	#file(name: string): string {
		return join(this.#folder, name);
	}
}
