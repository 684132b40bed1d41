import { expect, it } from "vitest";
import { CancelledTickets } from "../../../src/accounts/durable/cancelled-tickets.ts";

it("keeps a ticket for a minute", () => {
	const withdrawn = new CancelledTickets();
	withdrawn.add("a", 0);
	withdrawn.add("b", 59_999);
	expect(["a", "b", "c"].map((ticket) => withdrawn.has(ticket))).toEqual([true, true, false]);
	withdrawn.add("c", 60_000);
	expect(["a", "b", "c"].map((ticket) => withdrawn.has(ticket))).toEqual([false, true, true]);
});

it("counts the minute from the latest cancellation", () => {
	const withdrawn = new CancelledTickets();
	withdrawn.add("a", 0);
	withdrawn.add("a", 50_000);
	withdrawn.add("b", 70_000);
	expect(withdrawn.has("a")).toBe(true);
});

it("keeps the newest thousand tickets", () => {
	const withdrawn = new CancelledTickets();
	for (let n = 0; n < 1001; n++) withdrawn.add(`${n}`, 0);
	expect(["0", "1", "1000"].map((ticket) => withdrawn.has(ticket))).toEqual([false, true, true]);
});
