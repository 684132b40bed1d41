import { expect, it } from "vitest";
import { reportedOnce } from "../../../src/accounts/client/outage.ts";

it("an object that cannot be reached is reported once, and when it is reached again", async () => {
	const reports: string[] = [];
	const failure = new Error("overloaded");
	let fails = false;
	let answered = 0;
	const work = reportedOnce(
		{
			step: async () => {
				if (fails) throw failure;
				answered++;
				return 100;
			},
			onGiveUp: (cause) => void reports.push(String(cause)),
			onEnd: () => void reports.push("end"),
		},
		{ answered: () => answered, onReached: (givenUp) => void reports.push(`reached after ${givenUp}`) },
	);
	expect(await work.step()).toBe(100);
	for (const times of [3, 1]) {
		fails = true;
		for (let i = 0; i < times; i++) {
			await expect(work.step()).rejects.toBe(failure);
			work.onGiveUp(failure);
			work.onEnd();
		}
		fails = false;
		expect([await work.step(), await work.step()]).toEqual([100, 100]);
	}
	expect(reports).toEqual([
		...["Error: overloaded", "end", "end", "end", "reached after 3"],
		...["Error: overloaded", "end", "reached after 1"],
	]);
});

it("a step that makes no call does not say that the object is reached", async () => {
	const reports: string[] = [];
	let answered = 3;
	const work = reportedOnce(
		{ step: async () => 100, onGiveUp: () => void reports.push("unreachable"), onEnd: () => {} },
		{ answered: () => answered, onReached: (givenUp) => void reports.push(`reached after ${givenUp}`) },
	);
	for (let i = 0; i < 2; i++) {
		work.onGiveUp(undefined);
		await work.step();
	}
	expect(reports).toEqual(["unreachable"]);
	answered++;
	await work.step();
	expect(reports).toEqual(["unreachable", "reached after 2"]);
});
