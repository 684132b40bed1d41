/** The buffered bytes of runs that the runtime ends: their code does not continue, and releases nothing. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { BufferHold, bufferedBytes } from "../../../src/core/process-counts.ts";
import type { RunControl } from "../../../src/storage/queue/run-work.ts";
import type { WorkHandler } from "../../../src/storage/queue/work.ts";
import { workEntrypoint } from "../../../src/storage/queue/work-entrypoint.ts";
import type { WorkQueueObject } from "../../../src/storage/queue/work-queue.ts";
import type { WorkRow } from "../../../src/storage/queue/work-table.ts";

const BYTES = 1_000_000;
const ROW: WorkRow = {
	...{ id: 1, account: "acme", kind: "test", key: "one", payload: null, state: "running" },
	...{ createdAt: 0, startAt: 0, attempts: 0, interruptions: 0, failedRuns: null },
	...{ progress: null, error: null, cancelled: false },
};
const used = (): number => bufferedBytes.report().used;

/** A run that takes the bytes, and goes on until `end` is called. */
async function startRun() {
	const [begun, control] = [Promise.withResolvers<void>(), Promise.withResolvers<boolean>()];
	const ending = Promise.withResolvers<void>();
	const handler: WorkHandler = {
		async run() {
			// As a reply that is read whole: after an `await`, and not by the run itself.
			await Promise.resolve();
			new BufferHold("acme").grow(BYTES);
			begun.resolve();
			await ending.promise;
		},
	};
	const Work = workEntrypoint(async () => handler);
	const calls: RunControl = { cancelled: () => control.promise, progress: async () => {} };
	const outcome = new Work(createExecutionContext(), env).run(ROW, 1, calls);
	await begun.promise;
	return {
		async end() {
			ending.resolve();
			control.resolve(false);
			return outcome;
		},
	};
}

it("are released when the queue's object starts again, and those of others are not", async () => {
	const before = used();
	const run = await startRun();
	const other = new BufferHold("acme");
	other.grow(BYTES);
	expect(used()).toBe(before + 2 * BYTES);
	const namespace = env.WORK_QUEUE as unknown as DurableObjectNamespace<WorkQueueObject>;
	await namespace.getByName(crypto.randomUUID()).counts();
	expect(used()).toBe(before + BYTES);
	other.release();
	// The run has ended by itself after all: nothing is released twice.
	expect(await run.end()).toEqual({ kind: "complete" });
	expect(used()).toBe(before);
});

it("are released at the end of a run, also if its handler has not", async () => {
	const before = used();
	const run = await startRun();
	expect(used()).toBe(before + BYTES);
	await run.end();
	expect(used()).toBe(before);
});
