import { expect, it } from "vitest";
import { Turns } from "../../../engine/turns.ts";

const nextRound = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it("gives turns in the order of the calls, eight in each round of the event loop", async () => {
	const turns = new Turns();
	const order: number[] = [];
	const take = async (number: number): Promise<void> => {
		await turns.next();
		order.push(number);
	};
	const numbers = Array.from({ length: 20 }, (_, number) => number);
	const all = Promise.all(numbers.map(take));
	await Promise.resolve();
	const counts = [order.length];
	while (order.length < numbers.length && counts.length < numbers.length) {
		await nextRound();
		counts.push(order.length);
	}
	await all;
	expect(order).toEqual(numbers);
	expect(counts).toEqual([8, 16, 20]);
});

it("gives turns again after a pause", async () => {
	const turns = new Turns();
	let count = 0;
	const take = async (): Promise<void> => {
		await turns.next();
		count += 1;
	};
	for (const expected of [8, 16, 24]) {
		await nextRound();
		await nextRound();
		const taken = Array.from({ length: 8 }, take);
		await Promise.resolve();
		expect(count).toBe(expected);
		await Promise.all(taken);
	}
});
