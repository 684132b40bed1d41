import { expect, it } from "vitest";
import { AliasCache } from "../../../src/accounts/client/alias-cache.ts";

const ROWS = [{ alias: "fast", model: "m", modified_on: 1 }];

it("keeps rows for ten seconds, also if the clock goes back", () => {
	let now = 1_000_000;
	const cache = new AliasCache(() => now);
	expect(cache.get("a")).toBeUndefined();
	cache.set("a", ROWS);
	now += 9_999;
	expect(cache.get("a")).toEqual(ROWS);
	now += 1;
	expect(cache.get("a")).toBeUndefined();
	now -= 20_001;
	expect(cache.get("a")).toBeUndefined();
});

it("deletes an account, and all accounts at the bound", () => {
	const cache = new AliasCache(() => 0);
	cache.set("a", ROWS);
	cache.delete("a");
	expect(cache.get("a")).toBeUndefined();
	for (let i = 0; i <= 1_000; i++) cache.set(String(i), ROWS);
	expect(cache.get("0")).toBeUndefined();
	expect(cache.get("1000")).toEqual(ROWS);
});
