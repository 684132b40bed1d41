/** When deletions that failed are repeated. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { FailedDeletions } from "../../../src/jobs/durable/failed-deletions.ts";

const MINUTE = 60_000;

it("each failure of a deletion doubles its wait, up to an hour, until it succeeds", () =>
	runInDurableObject(env.RESPONSE_STORE.getByName(crypto.randomUUID()), (_, { storage }) => {
		const failed = new FailedDeletions(storage.sql);
		const now = 1_000;
		const waitOf = (id: string): number => ((failed.times(now).get(id) ?? now) - now) / MINUTE;
		const waits = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(() => {
			failed.add("a", now);
			return waitOf("a");
		});
		expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
		failed.add("b", now);
		expect(waitOf("b")).toBe(1);
		failed.delete("a");
		expect([waitOf("a"), waitOf("b")]).toEqual([0, 1]);
		failed.add("a", now);
		expect(waitOf("a")).toBe(1);
		// The clock was set back by more than an hour.
		failed.add("a", now + 61 * MINUTE);
		expect(failed.times(now).has("a")).toBe(false);
	}));
