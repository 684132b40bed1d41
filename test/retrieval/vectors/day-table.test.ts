/** The days of an account's vector indexes, in its registry. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { VectorRegistryObject } from "../../../src/retrieval/vectors/durable/registry.ts";
import type { VectorIndexRecord } from "../../../src/retrieval/vectors/records.ts";

function inRegistry(use: (registry: VectorRegistryObject) => Promise<void>): Promise<void> {
	return runInDurableObject(env.VECTOR_REGISTRY.getByName(crypto.randomUUID()), use);
}

const docs: VectorIndexRecord = {
	...{ name: "docs", dimensions: 10, store: "builtin", object: "local/x" },
	...{ createdAt: 0, modifiedAt: 0, delayMs: 0 },
	metric: "cosine",
};
const row = (day: string, storedDimensions: number, queries = 0, queriedDimensions = 0) => ({
	...{ day, index: "docs", queries, queriedDimensions, storedDimensions },
});

it("count a report once, however often it arrives", () =>
	inRegistry(async (registry) => {
		const counts = [{ index: "docs", day: "2026-11-21", queries: 2, dimensions: 6 }];
		for (const id of ["r1", "r1", "r2", "r1"]) registry.countQueries({ id, counts });
		const { rows } = registry.days({ from: "2026-11-21", to: "2026-11-22" });
		expect(rows).toEqual([row("2026-11-21", 0, 4, 12)]);
		expect(registry.usage()).toMatchObject({ queries: 4, queriedDimensions: 12 });
	}));

it("have the vectors of earlier days, the most of a day, and none of a deleted index", () =>
	inRegistry(async (registry) => {
		registry.create(docs, 10);
		const stored = (vectors: number, day: string) => registry.report("docs", { bytes: 1, vectors }, day);
		stored(3, "2026-11-15");
		stored(5, "2026-11-17");
		stored(1, "2026-11-17");
		registry.countQueries({
			id: "r",
			counts: [{ index: "docs", day: "2026-11-18", queries: 1, dimensions: 10 }],
		});
		await registry.delete("docs", "2026-11-19");
		const { rows, truncated } = registry.days({ from: "2026-11-16", to: "2026-11-25" });
		expect(rows).toEqual([
			row("2026-11-16", 30),
			row("2026-11-17", 50),
			row("2026-11-18", 10, 1, 10),
			// Until it was deleted.
			row("2026-11-19", 10),
		]);
		expect(truncated).toBe(false);
		// A report that is late.
		stored(9, "2026-11-20");
		expect(registry.days({ from: "2026-11-20", to: "2026-11-20" }).rows).toEqual([]);
	}));

it("are kept for 400 days, and the size of an index without mutations longer", () =>
	inRegistry(async (registry) => {
		registry.create(docs, 10);
		registry.create({ ...docs, name: "old" }, 10);
		registry.report("old", { bytes: 1, vectors: 2 }, "2024-01-02");
		registry.report("docs", { bytes: 1, vectors: 1 }, "2024-01-01");
		registry.report("docs", { bytes: 1, vectors: 4 }, "2025-10-30");
		registry.report("docs", { bytes: 1, vectors: 5 }, "2026-11-21");
		expect(registry.days({ from: "2024-01-01", to: "2024-01-01" }).rows).toEqual([]);
		expect(registry.days({ from: "2025-10-30", to: "2025-10-30" }).rows).toEqual([
			row("2025-10-30", 40),
			{ ...row("2025-10-30", 20), index: "old" },
		]);
	}));
