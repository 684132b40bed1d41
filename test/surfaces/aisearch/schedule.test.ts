/** Jobs of sources that start by themselves, every `sync_interval` seconds. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { syncItem, workInstance } from "../../../src/retrieval/search/work-items.ts";
import { holdAlarms, searchApi } from "./api.ts";

const HOUR_MS = 3_600_000;
const { LOGS_BUCKET: bucket } = env as unknown as { LOGS_BUCKET: R2Bucket };

beforeEach(async () => void (await holdAlarms()));
afterEach(() => {
	vi.useRealTimers();
	vi.restoreAllMocks();
});

async function scheduled(config: object = {}) {
	const started = Date.now();
	const prefix = `${crypto.randomUUID()}/`;
	const buckets = { manuals: { binding: "LOGS_BUCKET" } };
	const api = searchApi({
		vars: { DEFAULT_BACKEND: "simulator", LOGS_BUCKET: bucket, AI_SEARCH: { buckets } },
	});
	(api.services as { now(): number }).now = () => Date.now();
	await bucket.put(`${prefix}a.md`, "The first text.");
	await api.create("docs", { source: "manuals", source_params: { prefix }, ...config });
	const record = await api.services.searchInstances.find("local", "default", "docs");
	if (!record) throw new Error("no instance was created");
	const jobs = async (): Promise<{ id: string; source: string; ended_at?: string }[]> =>
		(await api.get("/instances/docs/jobs")).result;
	return {
		...api,
		prefix,
		jobs,
		/** An hour later. */
		alarm: () => {
			vi.useFakeTimers({ toFake: ["Date"], now: started + HOUR_MS });
			return runDurableObjectAlarm(env.SEARCH_INSTANCE.getByName(record.object));
		},
		run: (job: string) => api.runOne(syncItem(workInstance({ account: "local", record }), job)),
	};
}

it("a source is read again when its interval has passed", async () => {
	const api = await scheduled({ sync_interval: 900 });
	expect((await api.jobs()).map(({ source }) => source)).toEqual(["user"]);
	await bucket.put(`${api.prefix}b.md`, "The second text.");
	await api.alarm();
	const [job, ...others] = await api.jobs();
	expect([job?.source, job?.ended_at, others.length]).toEqual(["schedule", undefined, 1]);
	// While it is read, no other one starts.
	await api.alarm();
	expect(await api.jobs()).toHaveLength(2);
	await api.run(job?.id ?? "");
	expect((await api.jobs())[0]?.ended_at).toBeDefined();
	expect((await api.get("/instances/docs/items")).result_info.total_count).toBe(2);
});

it("a paused instance and one without a source start no job", async () => {
	const paused = await scheduled({ sync_interval: 900 });
	await paused.put("/instances/docs", { paused: true });
	await paused.alarm();
	expect(await paused.jobs()).toHaveLength(1);
	const removed = await scheduled({ sync_interval: 900 });
	expect((await removed.put("/instances/docs", { source: null })).result).toMatchObject({
		type: null,
		source: null,
	});
	await removed.alarm();
	expect(await removed.jobs()).toHaveLength(1);
});
