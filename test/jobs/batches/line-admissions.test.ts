import { describe, expect, it } from "vitest";
import type { Admission } from "../../../src/accounts/admission.ts";
import { LineAdmissions } from "../../../src/jobs/batches/line-admissions.ts";
import { admission } from "../../accounts/fixtures.ts";

const numbered = (index: number): Admission => ({ ...admission(), ticket: `t-${index}` });

function started() {
	const timers: (() => void)[] = [];
	const calls: string[][] = [];
	const admissions = new LineAdmissions({
		wait: () => new Promise((resolve) => timers.push(resolve)),
		gatherMs: () => 10,
	});
	const add = (index: number, answers = (count: number) => count) =>
		admissions.add(numbered(index), async (all) => {
			calls.push(all.map(({ ticket }) => ticket));
			return Array.from({ length: answers(all.length) }, () => ({ ok: true as const }));
		});
	return { add, admissions, calls, timers };
}

describe("the admissions of lines", () => {
	it("share a call if they arrive in a short time", async () => {
		const { add, calls, timers } = started();
		const all = [add(0), add(1), add(2)];
		expect(calls).toEqual([]);
		for (const fire of timers) fire();
		expect(await Promise.all(all)).toEqual([{ ok: true }, { ok: true }, { ok: true }]);
		expect(calls).toEqual([["t-0", "t-1", "t-2"]]);
	});

	it("are at most 64 in a call", async () => {
		const { add, calls, timers } = started();
		const all = Array.from({ length: 72 }, (_, index) => add(index));
		await Promise.all(all.slice(0, 64));
		expect(calls.map((tickets) => tickets.length)).toEqual([64]);
		for (const fire of timers) fire();
		await Promise.all(all);
		expect(calls.map((tickets) => tickets.length)).toEqual([64, 8]);
	});

	it("get the failure of their call, or a failure if it has no answer for them", async () => {
		const { add, admissions, timers } = started();
		const failing = admissions.add(numbered(0), async () => {
			throw new Error("unreachable");
		});
		const shared = add(1);
		timers.shift()?.();
		await expect(failing).rejects.toThrow();
		await expect(shared).rejects.toThrow();
		const unanswered = [add(2, (count) => count - 1), add(3)];
		timers.shift()?.();
		expect(await unanswered[0]).toEqual({ ok: true });
		await expect(unanswered[1]).rejects.toThrow("no answer");
	});
});
