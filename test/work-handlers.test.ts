/** The handlers of durable work, beside live requests. */
import { describe, expect, it } from "vitest";
import type { WorkRun } from "../src/storage/queue/work.ts";
import type { AppServices } from "../src/surfaces/services.ts";
import { workHandler } from "../src/work-handlers.ts";

describe("A run of durable work", () => {
	it("begins after the pause beside live requests", async () => {
		const calls: string[] = [];
		const services = {
			wait: async (milliseconds: number) => void calls.push(`wait ${milliseconds}`),
			jobPace: {
				giveWay: async (wait: (milliseconds: number) => Promise<void>) => {
					await wait(500);
					calls.push("waited");
				},
			},
			searchInstances: { find: async () => void calls.push("run") },
		} as unknown as AppServices;
		const handler = await workHandler("search", services);
		const payload = { task: "sync", namespace: "default", instance: "none", object: "none", job: "none" };
		await handler?.run({ account: "local", kind: "search", key: "none", payload } as WorkRun);
		expect(calls).toEqual(["wait 500", "waited", "run"]);
	});

	it("does not exist for a kind without a room", async () => {
		expect(await workHandler("none", {} as AppServices)).toBeUndefined();
	});
});
