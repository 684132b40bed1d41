import { expect, it } from "vitest";
import { CancelledTickets } from "../../../src/accounts/durable/cancelled-tickets.ts";

it("keeps a ticket for a minute", () => {
	const cancelled = new CancelledTickets();
	cancelled.add("a", 0);
	cancelled.add("b", 59_999);
	expect(["a", "b", "c"].map((ticket) => cancelled.has(ticket))).toEqual([true, true, false]);
	cancelled.add("c", 60_000);
	expect(["a", "b", "c"].map((ticket) => cancelled.has(ticket))).toEqual([false, true, true]);
});

it("counts the minute from the latest cancellation", () => {
	const cancelled = new CancelledTickets();
	cancelled.add("a", 0);
	cancelled.add("a", 50_000);
	cancelled.add("b", 70_000);
	expect(cancelled.has("a")).toBe(true);
});

it("keeps the newest thousand tickets", () => {
	const cancelled = new CancelledTickets();
	for (let n = 0; n < 1001; n++) cancelled.add(`${n}`, 0);
	expect(["0", "1", "1000"].map((ticket) => cancelled.has(ticket))).toEqual([false, true, true]);
});
