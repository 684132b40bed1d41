import { expect, it } from "vitest";
import { OpenObjects } from "../../../src/accounts/client/open-objects.ts";

it("refuses a further object while the maximum is open", () => {
	let time = 1_000_000;
	const openObjects = new OpenObjects({ max: 2, now: () => time });
	expect(openObjects.mayCall("a")).toBe(true);
	time += 6_000;
	expect(openObjects.mayCall("b")).toBe(true);
	expect(openObjects.mayCall("c")).toBe(false);
	expect(openObjects.mayCall("a")).toBe(true);
	// Twelve seconds after its latest call the runtime has closed an object.
	time += 11_999;
	expect(openObjects.mayCall("c")).toBe(false);
	time += 1;
	expect(openObjects.mayCall("c")).toBe(true);
	expect(openObjects.mayCall("d")).toBe(true);
	expect(openObjects.mayCall("a")).toBe(false);
});

it("counts a call that is made beyond the maximum", () => {
	const openObjects = new OpenObjects({ max: 1, now: () => 0 });
	openObjects.recordCall("a");
	openObjects.recordCall("b");
	expect(openObjects.mayCall("b")).toBe(true);
	expect(openObjects.mayCall("c")).toBe(false);
});
