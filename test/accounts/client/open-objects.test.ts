import { expect, it } from "vitest";
import { OpenObjects } from "../../../src/accounts/client/open-objects.ts";

it("lets no further object be opened while as many as the maximum are open", () => {
	let time = 1_000_000;
	const open = new OpenObjects({ max: 2, now: () => time });
	expect(open.mayCall("a")).toBe(true);
	time += 6_000;
	expect(open.mayCall("b")).toBe(true);
	expect(open.mayCall("c")).toBe(false);
	expect(open.mayCall("a")).toBe(true);
	// Twelve seconds after its latest call the runtime has closed an object.
	time += 11_999;
	expect(open.mayCall("c")).toBe(false);
	time += 1;
	expect(open.mayCall("c")).toBe(true);
	expect(open.mayCall("d")).toBe(true);
	expect(open.mayCall("a")).toBe(false);
});

it("counts a call that had to be made beyond the maximum", () => {
	const open = new OpenObjects({ max: 1, now: () => 0 });
	open.note("a");
	open.note("b");
	expect(open.mayCall("b")).toBe(true);
	expect(open.mayCall("c")).toBe(false);
});
