import { describe, expect, it } from "vitest";
import type { Admission, Settlement } from "../../src/accounts/admission.ts";
import { AiError } from "../../src/core/errors.ts";
import { Catalog } from "../../src/models/catalog.ts";
import { Ticket } from "../../src/pipeline/ticket.ts";

const model = new Catalog().find("@cf/meta/llama-3.3-70b-instruct-fp8-fast");
if (!model) throw new Error("no model");
const ASKED: Admission = {
	ticket: "t-1",
	credential: { kind: "operator" },
	model: model.id,
	task: model.task,
	rates: [],
	budgets: [],
	worth: { fixedMicroNeurons: 0, microNeuronsPerOutputToken: 0, outputTokens: 0, open: false },
	holdMs: 1,
};
const SERVED = { backend: "engine", model: "m", attempts: 2, wasted: [] };
const USED = { quantities: { inputTokens: 3, outputTokens: 2 }, estimated: false };

function held(asked: Partial<Admission> = {}) {
	const settled: Settlement[] = [];
	const points: AnalyticsEngineDataPoint[] = [];
	const waiting: Promise<unknown>[] = [];
	let now = 1000;
	if (!model) throw new Error("no model");
	const ticket = new Ticket({
		asked: { ...ASKED, ...asked },
		account: "team-a",
		model,
		startedAt: now,
		ledger: {
			ahead: () => undefined,
			admit: async () => ({}),
			settle: (settlement) => settled.push(settlement),
			verify: async () => {},
		},
		services: {
			now: () => now,
			waitUntil: (promise) => waiting.push(promise),
			analytics: { writeDataPoint: (point) => points.push(point ?? {}) },
		},
	});
	const pass = (ms: number) => {
		now += ms;
	};
	let over = false;
	const released = async () => {
		await Promise.resolve();
		return over;
	};
	waiting[0]?.then(() => {
		over = true;
	});
	return { ticket, settled, points, pass, released };
}

describe("a ticket", () => {
	it("says how long it can be settled, and whether a budget limits it", () => {
		const { ticket, pass } = held({ holdMs: 3_600_000 });
		expect(ticket.leftMs).toBe(3_540_000);
		pass(3_539_000);
		expect(ticket.leftMs).toBe(1000);
		pass(3_539_000);
		expect(ticket.leftMs).toBe(0);
		expect(held({ holdMs: 1000 }).ticket.leftMs).toBe(900);

		expect(ticket.limited).toBe(false);
		ticket.limit();
		expect(ticket.limited).toBe(true);
		const budgets = [{ key: "account", microNeurons: 1, failure: "budgetExceeded" as const }];
		expect(held({ budgets }).ticket.limited).toBe(true);
	});

	it("settles with what was used, once, and lets its request end", async () => {
		const { ticket, settled, points, pass, released } = held();
		pass(20);
		ticket.begin();
		pass(5);
		ticket.begin();
		expect(await released()).toBe(false);
		expect(ticket.settle("ok", USED, SERVED)).toBe(3 * 26_668 + 2 * 204_805);
		ticket.settle("cut", USED, SERVED);
		ticket.fail(new AiError("executionFailed"), SERVED);
		expect(settled).toEqual([
			{
				ticket: "t-1",
				outcome: "ok",
				microNeurons: 489_614,
				inputTokens: 3,
				cachedTokens: 0,
				outputTokens: 2,
				estimated: false,
				backend: "engine",
				attempts: 2,
				latencyMs: 25,
				firstTokenMs: 20,
			},
		]);
		expect(points).toHaveLength(1);
		expect(points[0]?.indexes).toEqual(["team-a"]);
		expect(await released()).toBe(true);
	});

	it("costs nothing where there is no answer, and says why", () => {
		const { ticket, settled } = held();
		ticket.fail(new AiError("outOfCapacity"), { backend: "engine", attempts: 3 });
		expect(settled).toMatchObject([{ outcome: "failed", microNeurons: 0, code: 3040, attempts: 3 }]);
	});

	it("is dropped where the account said no", async () => {
		const { ticket, settled, released } = held();
		ticket.drop();
		ticket.settle("ok", USED, SERVED);
		expect(settled).toEqual([]);
		expect(await released()).toBe(true);
	});

	it("adds what a hedge used", () => {
		const { ticket, settled } = held();
		ticket.settle("ok", USED, SERVED, 1_000);
		expect(settled[0]?.microNeurons).toBe(490_614);
	});
});
