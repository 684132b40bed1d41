import { describe, expect, it } from "vitest";
import type { Admission, Settlement } from "../../../src/accounts/admission.ts";
import type { AiError } from "../../../src/core/errors.ts";
import { HoldOwner } from "../../../src/core/process-counts.ts";
import { Pace } from "../../../src/jobs/batches/pace.ts";
import { type RunLine, runLine } from "../../../src/jobs/batches/run-line.ts";
import type { JobsServices } from "../../../src/jobs/services.ts";
import { admission, settlement } from "../../accounts/fixtures.ts";

const LINE = { line: 0, ticket: "first", customId: "[0,null]", attempts: 0 } as Parameters<typeof runLine>[0];

const SETTINGS = { backends: new Map(), others: { discount: 1, concurrency: 8 }, webhooks: new Map() };

/** Runs a line whose request is admitted and billed with 7 micro-neurons before `answer`. */
async function run(
	answer: () => Response,
	signal: AbortSignal,
	jobPace: Pick<Pace, "start"> = { start: () => ({ take: async () => {}, end: () => {} }) },
) {
	const line: RunLine = async (_, { ledgers }) => {
		const ledger = ledgers.of("account");
		const request: Admission = { ...admission(), ticket: "first" };
		try {
			await ledger.admit(request);
		} catch (thrown) {
			const failure = thrown as AiError;
			return { response: new Response(null, { status: failure.status }), failure };
		}
		ledger.settle(settlement("first", { microNeurons: 7 }));
		return { response: answer(), failure: undefined };
	};
	const services = {
		ledgers: { of: () => ({}) },
		wait: () => new Promise(() => {}),
		jobPace,
		jobSettings: SETTINGS,
		now: () => 1_000,
		observers: [],
	} as unknown as JobsServices;
	const context = {
		record: { api: "workers-ai", model: "m", endpoint: "/run" },
		caller: { account: "account", credential: { kind: "operator" } },
		headers: [],
		admissions: { add: async () => ({ ok: true }) },
		signal,
		addTicket: async () => {},
	} as unknown as Parameters<typeof runLine>[2];
	const { end } = await runLine(LINE, {}, context, { line, services });
	const paid = (settlements: readonly Settlement[]) => settlements.map(({ microNeurons }) => microNeurons);
	return { kind: end.outcome.kind, paid: paid(end.settlements) };
}

const brokenOff = () =>
	new Response(
		new ReadableStream({
			start: (controller) => controller.error(new Error("reset")),
		}),
	);

describe("a line whose work is cancelled", () => {
	it("keeps an answer that is complete, with its bill", async () => {
		expect(await run(() => Response.json({ response: "a" }), AbortSignal.abort())).toEqual({
			kind: "succeeded",
			paid: [7],
		});
	});

	it("runs again without an answer, and the account does not pay for this run", async () => {
		expect(await run(brokenOff, AbortSignal.abort())).toEqual({ kind: "again", paid: [0] });
	});
});

it("a line whose answer broke off runs again, and the account does not pay for this run", async () => {
	expect(await run(brokenOff, new AbortController().signal)).toEqual({ kind: "again", paid: [0] });
});

it("a line that is lost with its run while it waits for a place calls no engine, and keeps no turn", async () => {
	const pace = new Pace(() => 0);
	const places = Array.from({ length: 4 }, (_, index) => pace.start("m", `other ${index}`, SETTINGS));
	await Promise.all(places.map((place) => place.take(async () => {})));
	const owner = new HoldOwner();
	let calls = 0;
	const lost = owner.run(() =>
		run(() => Response.json({ calls: ++calls }), new AbortController().signal, pace),
	);
	await scheduler.wait(0);
	// The turn of the line comes at the same moment as the loss of its run.
	places[0]?.end({ backend: "", isBusy: false });
	owner.release();
	expect(await lost).toEqual({ kind: "again", paid: [0] });
	expect(calls).toBe(0);
	// The place of the line that has ended is free.
	await pace.start("m", "next", SETTINGS).take(() => new Promise(() => {}));
});
