import { describe, expect, it } from "vitest";
import { GatewayLimits } from "../../../src/gateways/client/gateway-limits.ts";

const GATEWAY = { account: "a", settings: { id: "g", created_at: "2026-11-21T12:00:00.000Z" } };
const WINDOW = { key: "rule", windowMs: 60_000, technique: "fixed" } as const;

/** `failures`: calls of the object that fail, before others succeed. */
function newLimits(failures: number) {
	const calls: { cost: number; now: number }[] = [];
	const failed: unknown[] = [];
	const work: Promise<unknown>[] = [];
	let now = 1_000;
	const object = {
		take: async () => undefined,
		spend: async (_: unknown, cost: number, at: number) => {
			calls.push({ cost, now: at });
			if (calls.length <= failures) throw new Error("the object is broken");
		},
	};
	const limits = new GatewayLimits({
		object: () => object,
		now: () => now,
		wait: async (milliseconds) => {
			now += milliseconds;
		},
		waitUntil: (promise) => void work.push(promise),
		failed: (cause) => failed.push(cause),
	});
	const settled = () => Promise.all(work);
	return { limits, calls, failed, object, settled, pass: (ms: number) => (now += ms) };
}

describe("a cost of a gateway's limits", () => {
	it("is sent again after a failure, with its time", async () => {
		const { limits, calls, failed, settled } = newLimits(2);
		limits.spend(GATEWAY, [WINDOW], 0.25);
		await settled();
		expect(calls).toEqual(Array.from({ length: 3 }, () => ({ cost: 0.25, now: 1_000 })));
		expect(failed).toEqual([]);
	});

	it("is not sent again while its call hangs", async () => {
		const { limits, calls, failed, object, pass, settled } = newLimits(0);
		const { promise, resolve } = Promise.withResolvers<void>();
		const { spend } = object;
		object.spend = async (...parameters) => {
			await spend(...parameters);
			if (calls.length === 1) await promise;
		};
		limits.spend(GATEWAY, [WINDOW], 0.25);
		expect(calls).toHaveLength(1);
		pass(60_000);
		limits.spend(GATEWAY, [WINDOW], 0.5);
		resolve();
		await settled();
		expect(calls.map(({ cost }) => cost)).toEqual([0.25, 0.5]);
		expect(failed).toEqual([]);
	});

	it("that is lost is reported with its amount and gateway", async () => {
		const { limits, calls, failed, settled } = newLimits(Number.POSITIVE_INFINITY);
		limits.spend(GATEWAY, [WINDOW], 0.25);
		await settled();
		expect(calls).toHaveLength(4);
		expect(failed).toMatchObject([
			{
				message: "A cost of 0.25 US dollars is missing in the limits of the gateway a/g",
				cause: new Error("the object is broken"),
			},
		]);
	});
});
