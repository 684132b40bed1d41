import { expect, it } from "vitest";
import { metricsText } from "../../../src/surfaces/operations/metrics-text.ts";

it("reports stored objects by store, and work by kind and state", () => {
	const storage = {
		now: 10_000,
		stored: [
			{
				account: "acme",
				isComplete: false,
				stores: [{ store: "pieces" as const, objects: 2, bytes: 700, refusedPuts: 1 }],
			},
		],
		work: [
			{ account: "acme", kind: "line", state: "queued" as const, items: 3, firstAt: 4_000 },
			{ account: "acme", kind: "line", state: "dead" as const, items: 1, firstAt: 1_000 },
		],
	};
	const lines = metricsText({ accounts: [], storage }).split("\n");
	expect(lines.filter((line) => line.startsWith("ganglion_"))).toEqual([
		'ganglion_storage_up{account="acme"} 0',
		'ganglion_stored_bytes{account="acme",store="pieces"} 700',
		'ganglion_stored_objects{account="acme",store="pieces"} 2',
		'ganglion_refused_puts_total{account="acme",store="pieces"} 1',
		'ganglion_work_items{account="acme",kind="line",state="queued"} 3',
		'ganglion_work_items{account="acme",kind="line",state="dead"} 1',
		'ganglion_work_oldest_seconds{account="acme",kind="line"} 6',
	]);
});
