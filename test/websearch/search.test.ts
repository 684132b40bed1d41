import { expect, it } from "vitest";
import type { Settlement } from "../../src/accounts/admission.ts";
import { configure } from "../../src/config/index.ts";
import { AiError } from "../../src/core/errors.ts";
import type { PipelineServices } from "../../src/pipeline/services.ts";
import { search } from "../../src/websearch/search.ts";
import { simulatedProvider } from "../../src/websearch/settings.ts";

/** A search outside of a gateway, whose request waits until `place` resolves, because the process has none free. */
function searchThatWaits(place: Promise<void>) {
	const admitted: string[] = [];
	const settled: Settlement[] = [];
	const services = {
		limits: configure({}).limits,
		ledgers: {
			of: () => ({
				admitFromLease: () => undefined,
				admit: async ({ ticket }: { ticket: string }) => {
					admitted.push(ticket);
					return {};
				},
				settle: (settlement: Settlement) => void settled.push(settlement),
			}),
		},
		now: () => 0,
		waitUntil: () => place,
		observers: [],
	} as unknown as PipelineServices;
	const request = {
		id: "search",
		caller: { account: "search-places", credential: { kind: "operator" as const } },
		query: "Durable Objects",
		limit: 2,
		signal: new AbortController().signal,
	};
	const items = search(request, { provider: simulatedProvider(), isOwnKey: false }, services);
	return { admitted, items, settled };
}

it("waits for a place before the account is asked, and is settled", async () => {
	const place = Promise.withResolvers<void>();
	const { admitted, items, settled } = searchThatWaits(place.promise);
	await scheduler.wait(10);
	expect(admitted).toEqual([]);
	place.resolve();
	expect(await items).toHaveLength(2);
	expect(admitted).toEqual(["search"]);
	expect(settled).toMatchObject([{ ticket: "search", outcome: "ok" }]);
});

it("is refused without a place, and the account is not asked", async () => {
	const { admitted, items, settled } = searchThatWaits(Promise.reject(new AiError("outOfCapacity")));
	await expect(items).rejects.toMatchObject({ key: "outOfCapacity" });
	expect(admitted).toEqual([]);
	expect(settled).toEqual([]);
});
