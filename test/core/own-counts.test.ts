import { expect, it } from "vitest";
import { SharedCount } from "../../src/core/shared-count.ts";
import { keepEarlier } from "../own-counts.ts";

it("what earlier files hold stays counted until the end of a file, and what the file takes does not", () => {
	const count = new SharedCount({ name: "places", title: "places", max: 100 });
	const used = (): number => count.report().used;
	count.add("earlier", 10);
	const end = keepEarlier(count);
	count.release("earlier", 4);
	expect(used()).toBe(10);
	expect(count.tryTake("own", 3)).toBe(true);
	count.take("earlier", 2);
	expect(used()).toBe(15);
	count.release("own", 3);
	count.release("earlier", 3);
	expect(used()).toBe(10);
	end();
	expect(used()).toBe(5);
	count.release("earlier", 5);
	expect(used()).toBe(0);
});
