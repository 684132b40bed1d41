/** Batches at the ends of their time and of the rights of their token, and in gateways. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { diskSpace } from "../../../src/core/disk-space.ts";
import { AiError } from "../../../src/core/errors.ts";
import { completion, ENGINE_VARS, upstream } from "../../gateway.ts";
import { batches, chat, jsonLines } from "./batch-runs.ts";

const HOUR_MS = 3_600_000;

afterEach(() => {
	vi.useRealTimers();
	diskSpace.set(undefined);
});

describe("a batch", () => {
	it("expires after 24 hours: answers stay, and lines that did not start are errors", async () => {
		let calls = 0;
		const { fetch } = upstream(() =>
			++calls === 1
				? Response.json(completion("Hello"))
				: Response.json({ error: { message: "busy" } }, { status: 429 }),
		);
		const { create, openai, runOnce, lines, services } = batches({
			vars: { ...ENGINE_VARS, JOBS: { concurrency: 1 } },
			fetch,
		});
		const batch = await create(jsonLines([chat("a"), chat("b")]));
		await runOnce();
		vi.useFakeTimers({ toFake: ["Date"] });
		vi.setSystemTime(Date.now() + 24 * HOUR_MS + 1_000);
		await runOnce();
		const done = await openai.batches.retrieve(batch.id);
		expect(done).toMatchObject({
			status: "expired",
			expired_at: expect.any(Number),
			request_counts: { total: 2, completed: 1, failed: 0 },
		});
		expect(await lines(done.output_file_id)).toMatchObject([{ custom_id: "a" }]);
		expect(await lines(done.error_file_id)).toMatchObject([
			{ custom_id: "b", response: null, error: { code: "batch_expired" } },
		]);
		expect(await services.jobs.usage("local")).toMatchObject({
			...{ finishedLines: 1, discardedLines: 1, openLines: 0, oldestSeconds: 0 },
		});
	});

	it("starts no line outside of its hours", async () => {
		vi.useFakeTimers({ toFake: ["Date"] });
		// Ahead of the machine's clock, by which alarms run. So late that the numbers of stored contents must stay exact.
		vi.setSystemTime("2099-11-27T12:00:00Z");
		const { fetch, requests } = upstream(() => Response.json(completion("Hello")));
		const gateway = batches({
			vars: { ...ENGINE_VARS, JOBS: { hours: { from: "22:00", to: "06:00" } } },
			fetch,
		});
		const batch = await gateway.create(jsonLines([chat("a")]));
		expect(await gateway.runOnce()).toBe(10 * HOUR_MS);
		expect(requests).toHaveLength(0);
		vi.setSystemTime("2099-11-27T22:00:00Z");
		await gateway.runAll();
		expect((await gateway.openai.batches.retrieve(batch.id)).status).toBe("completed");
	});

	it("starts no line while the disk has no room for its result", async () => {
		const { fetch, requests } = upstream(() => Response.json(completion("Hello")));
		const gateway = batches({ vars: ENGINE_VARS, fetch });
		const batch = await gateway.create(jsonLines([chat("a")]));
		diskSpace.set({ name: "disk_bytes", used: 2, limit: 1, refused: 0 });
		expect(await gateway.runOnce()).toBeGreaterThan(10_000);
		expect(requests).toHaveLength(0);
		expect(await gateway.openai.batches.retrieve(batch.id)).toMatchObject({
			status: "in_progress",
			waiting: {
				code: 7009,
				message: "The disk of the gateway is full or cannot be written: its accounts cannot be written",
			},
		});
		diskSpace.set(undefined);
		await gateway.runAll();
		expect((await gateway.openai.batches.retrieve(batch.id)).status).toBe("completed");
	});

	it("starts no line while the results of the account have as many bytes as it may store", async () => {
		const { fetch, requests } = upstream(() => Response.json(completion("Hello")));
		const gateway = batches({ vars: ENGINE_VARS, fetch });
		const batch = await gateway.create(jsonLines([chat("a")]));
		const { blobs } = gateway.services.storage;
		gateway.services.storage.blobs = (account) =>
			Object.defineProperty(blobs(account), "maxBytes", { value: 1 });
		expect(await gateway.runOnce()).toBeGreaterThan(10_000);
		expect(requests).toHaveLength(0);
		expect(await gateway.openai.batches.retrieve(batch.id)).toMatchObject({
			waiting: { code: 3006, message: expect.stringContaining("STORAGE.account_bytes") },
		});
		gateway.services.storage.blobs = blobs;
		await gateway.runAll();
		expect((await gateway.openai.batches.retrieve(batch.id)).status).toBe("completed");
	});

	it("is run again if the account of its token cannot be read", async () => {
		const { fetch } = upstream(() => Response.json(completion("Hello")));
		const gateway = batches({ vars: ENGINE_VARS, fetch });
		const batch = await gateway.create(jsonLines([chat("a")]));
		const { ledgers } = gateway.services;
		const verify = async (): Promise<never> => {
			throw new AiError("ledgerUnavailable");
		};
		gateway.services.ledgers = {
			...ledgers,
			of: (account) => Object.assign(ledgers.of(account), { verify }),
		};
		await expect(gateway.runOnce()).rejects.toMatchObject({ key: "ledgerUnavailable" });
		gateway.services.ledgers = ledgers;
		await gateway.runAll();
		expect(await gateway.openai.batches.retrieve(batch.id)).toMatchObject({
			status: "completed",
			request_counts: { completed: 1, failed: 0 },
		});
	});
});
