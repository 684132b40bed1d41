/** A worker of `ganglion serve` that ends by itself is started again. */
import { expect, it, vi } from "vitest";
import { Restarts } from "../../../cli/restarts.ts";
import { untilEnd } from "../../../cli/stop.ts";
import type { WorkerProcess } from "../../../cli/workers.ts";

/** Two workers whose processes a test ends. */
function gateway() {
	const exits: ((exit: number | NodeJS.Signals) => void)[][] = [[], []];
	const start = (index: number): WorkerProcess["served"] => {
		const { promise: ended, resolve } = Promise.withResolvers<number | NodeJS.Signals>();
		exits[index]?.push(resolve);
		const stop = async (): Promise<void> => resolve("SIGKILL");
		return { name: "ganglion", url: "", pid: 0, ended, stop };
	};
	const workers = [0, 1].map(
		(index) =>
			({ number: index + 1, drainSocket: "/nowhere/drain.sock", served: start(index) }) as WorkerProcess,
	);
	const lines: string[] = [];
	const first = Promise.withResolvers<void>();
	const stopping = { isRequested: false, first: first.promise, again: new Promise<void>(() => {}) };
	const restart = vi.fn(async (worker: WorkerProcess) => {
		worker.served = start(worker.number - 1);
	});
	const log = { error: (line: string) => lines.push(line), info: (line: string) => lines.push(line) };
	const end = untilEnd({ workers, restart, stopping, log: log as never });
	return {
		...{ end, lines, restart },
		kill: (index: number) => exits[index]?.at(-1)?.("SIGKILL"),
		/** Processes of the second worker. */
		starts: () => exits[1]?.length,
		stop() {
			stopping.isRequested = true;
			first.resolve();
		},
	};
}

it("five times a minute", () => {
	let now = 0;
	const restarts = new Restarts(() => now);
	const begin = (times: number): boolean[] => Array.from({ length: times }, () => restarts.begin());
	expect(begin(6)).toEqual([true, true, true, true, true, false]);
	now = 59_999;
	expect(begin(1)).toEqual([false]);
	now = 60_000;
	expect(begin(6)).toEqual([true, true, true, true, true, false]);
});

it("until it ends again and again, which ends the gateway", async () => {
	const { end, kill, lines, restart, starts } = gateway();
	for (let processes = 1; processes <= 5; processes++) {
		await expect.poll(starts).toBe(processes);
		kill(1);
	}
	await expect.poll(starts).toBe(6);
	kill(1);
	await expect
		.poll(() => lines.at(-1))
		.toBe("Worker 2 has stopped by itself again and again, the last time with SIGKILL. The gateway stops.");
	kill(0);
	expect(await end).toBe(false);
	expect(restart).toHaveBeenCalledTimes(5);
	expect(lines.slice(0, 2)).toEqual([
		"Worker 2 has stopped by itself (SIGKILL) and is started again. Its requests were interrupted.",
		"Worker 2 serves requests again.",
	]);
});

it("also if its start fails once", async () => {
	const { kill, lines, restart } = gateway();
	restart.mockRejectedValueOnce(new Error("it ended with 1 before it listened"));
	kill(1);
	await expect.poll(() => lines.at(-1)).toBe("Worker 2 serves requests again.");
	expect(lines[1]).toBe("Worker 2 cannot be started: it ended with 1 before it listened");
});

it("not the first one, which has the objects, and none while the gateway stops", async () => {
	const killed = gateway();
	killed.kill(0);
	expect(await killed.end).toBe(false);
	expect(killed.restart).not.toHaveBeenCalled();

	const stopped = gateway();
	stopped.stop();
	await Promise.resolve();
	stopped.kill(1);
	stopped.kill(0);
	expect(await stopped.end).toBe(false);
	expect(stopped.restart).not.toHaveBeenCalled();
});

it("and a process that was being started when the gateway stopped ends too", async () => {
	const { end, kill, lines, restart, stop, starts } = gateway();
	const started = Promise.withResolvers<void>();
	const begin = restart.getMockImplementation();
	restart.mockImplementationOnce(async (worker) => {
		await started.promise;
		await begin?.(worker);
	});
	kill(1);
	await expect.poll(() => restart.mock.calls.length).toBe(1);
	stop();
	kill(0);
	started.resolve();
	expect(await end).toBe(false);
	expect(starts()).toBe(2);
	expect(lines).not.toContain("Worker 2 serves requests again.");
});
