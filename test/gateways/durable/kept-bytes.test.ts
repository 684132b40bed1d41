/** The bytes that the gateways of an account keep on the disk: logs and cached answers. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Gateway } from "../../../src/gateways/durable/gateway.ts";
import type { ResponseCache } from "../../../src/gateways/durable/response-cache.ts";
import type { LogRetention } from "../../../src/gateways/logs/collection.ts";
import { batchOf } from "../../../src/gateways/logs/log-batch.ts";
import { DEFAULT_SETTINGS } from "../../../src/gateways/settings.ts";
import { newLog } from "../logs/rows.ts";

const MIB = 1024 * 1024;
const PAYLOAD = 50_000;
const KEEP: LogRetention = { max: 1_000_000, strategy: "DELETE_OLDEST" };
const ALL = { filters: [], orderBy: "created_at", direction: "asc", offset: 0, limit: 1_000 } as const;

const gatewayOf = (account: string, name: string): DurableObjectStub<Gateway> =>
	env.GATEWAY.getByName(`${account}/${name}`);
const bytesOf = (stub: DurableObjectStub<Gateway>): Promise<number> =>
	runInDurableObject(stub, (_, { storage }) => storage.sql.databaseSize);
const idsIn = async (stub: DurableObjectStub<Gateway>): Promise<string[]> =>
	(await stub.logs(ALL)).rows.map(({ id }) => id);
const newAccount = (): string => crypto.randomUUID();

/** Appends logs of 100 KB in batches of ten. Returns their ids, the oldest first. */
async function fill(
	stub: DurableObjectStub<Gateway>,
	{ logs, ...retention }: LogRetention & { logs: number },
): Promise<string[]> {
	const ids: string[] = [];
	const first = Date.now() - 60_000;
	for (let sent = 0; sent < logs; sent += 10) {
		const batch = Array.from({ length: 10 }, (_, n) => ({
			...newLog({}, first + sent + n),
			request: { text: "q".repeat(PAYLOAD), complete: true },
			response: { text: "a".repeat(PAYLOAD), complete: true },
		}));
		await stub.append(batchOf(batch), retention);
		ids.push(...batch.map(({ row }) => row.id));
	}
	return ids;
}

describe("the logs of a gateway", () => {
	it("lose the oldest beyond the bytes of the gateway", async () => {
		const stub = gatewayOf(newAccount(), "a");
		const ids = await fill(stub, { ...KEEP, logs: 60, maxBytes: 2 * MIB });
		const kept = await idsIn(stub);
		expect(await bytesOf(stub)).toBeLessThanOrEqual(2 * MIB);
		// Each has 100 KB. Some are deleted before the bound is reached.
		expect(kept.length).toBeGreaterThanOrEqual(12);
		expect(kept).toEqual(ids.slice(-kept.length));
	});

	it("are not written beyond the bytes if they stop inserting", async () => {
		const stub = gatewayOf(newAccount(), "a");
		const ids = await fill(stub, { ...KEEP, strategy: "STOP_INSERTING", logs: 60, maxBytes: 2 * MIB });
		const kept = await idsIn(stub);
		expect(kept).toEqual(ids.slice(0, kept.length));
		// A batch is complete.
		expect(await bytesOf(stub)).toBeLessThanOrEqual(2 * MIB + 10 * 2 * PAYLOAD + MIB / 2);
	});

	it("of all gateways of an account have a bound: the largest loses its oldest", async () => {
		const account = newAccount();
		const retention = { ...KEEP, maxBytes: 100 * MIB, accountMaxBytes: 4 * MIB };
		const [a, b] = [gatewayOf(account, "a"), gatewayOf(account, "b")];
		const first = await fill(a, { ...retention, logs: 60 });
		expect(await bytesOf(a)).toBeLessThanOrEqual(4 * MIB);
		const second = await fill(b, { ...retention, logs: 60 });
		const sizes = [await bytesOf(a), await bytesOf(b)] as const;
		// A gateway reports when its bytes have changed by a 64th.
		expect(sizes[0] + sizes[1]).toBeLessThanOrEqual(4 * MIB * (1 + 2 / 64));
		expect(Math.min(...sizes)).toBeGreaterThan(1.5 * MIB);
		const [keptFirst, keptSecond] = [await idsIn(a), await idsIn(b)];
		expect(keptFirst).toEqual(first.slice(-keptFirst.length));
		expect(keptSecond).toEqual(second.slice(-keptSecond.length));
		// Other accounts have their own bound.
		const other = gatewayOf(newAccount(), "a");
		await fill(other, { ...retention, logs: 30 });
		expect(await idsIn(other)).toHaveLength(30);
		expect(await idsIn(a)).toEqual(keptFirst);
	});

	it("that stop inserting lose none for another gateway of the account", async () => {
		const account = newAccount();
		const retention = { ...KEEP, maxBytes: 100 * MIB, accountMaxBytes: 4 * MIB };
		const [a, b] = [gatewayOf(account, "a"), gatewayOf(account, "b")];
		const first = await fill(a, { ...retention, strategy: "STOP_INSERTING", logs: 30 });
		await fill(b, { ...retention, logs: 60 });
		expect(await idsIn(a)).toEqual(first);
		expect(await bytesOf(b)).toBeLessThanOrEqual(2 * MIB + (4 * MIB) / 64);
	});

	it("that are deleted leave their bytes to other gateways", async () => {
		const account = newAccount();
		const retention = { ...KEEP, maxBytes: 100 * MIB, accountMaxBytes: 4 * MIB };
		const [a, b] = [gatewayOf(account, "a"), gatewayOf(account, "b")];
		await fill(a, { ...retention, logs: 60 });
		await a.clear();
		await fill(b, { ...retention, logs: 60 });
		expect(await bytesOf(b)).toBeGreaterThan(3 * MIB);
	});

	it("of a gateway that is deleted no longer count", async () => {
		const account = newAccount();
		const registry = env.GATEWAYS.getByName(account);
		await registry.create("a", DEFAULT_SETTINGS);
		for (const name of ["a", "b"])
			await fill(gatewayOf(account, name), { ...KEEP, logs: 10, accountMaxBytes: 4 * MIB });
		await registry.delete("a");
		const counted = await runInDurableObject(registry, (_, { storage }) =>
			storage.sql.exec("SELECT class, gateway FROM kept_bytes").toArray(),
		);
		expect(counted).toEqual([{ class: "logs", gateway: "b" }]);
	});
});

describe("the cached answers", () => {
	const cacheOf = (account: string, name: string): DurableObjectStub<ResponseCache> =>
		env.RESPONSE_CACHE.getByName(`${account}/${name}`) as DurableObjectStub<ResponseCache>;
	const bytesIn = (stub: DurableObjectStub<ResponseCache>): Promise<number> =>
		runInDurableObject(
			stub,
			(_, { storage }) =>
				storage.sql.exec<{ bytes: number }>("SELECT coalesce(sum(bytes), 0) AS bytes FROM answers").one()
					.bytes,
		);

	it("of all gateways of an account have a bound", async () => {
		const account = newAccount();
		const caches = [cacheOf(account, "a"), cacheOf(account, "b"), cacheOf(account, "c")];
		for (const cache of caches)
			for (let n = 0; n < 60; n++)
				await cache.write({
					...{ key: `k${n}`, headers: {}, body: new Uint8Array(100_000) },
					...{ ttlSeconds: 60, purges: 0, maxBytes: 100 * MIB, accountMaxBytes: 4 * MIB },
				});
		const sizes = await Promise.all(caches.map(bytesIn));
		expect(sizes.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(
			4 * MIB * (1 + 3 / 64) + 100_000,
		);
		expect(Math.min(...sizes)).toBeGreaterThan(MIB);
	});
});
