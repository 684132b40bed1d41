import { expect, it } from "vitest";
import { FreshCache } from "../../src/core/fresh-cache.ts";

const ROWS = [{ alias: "fast", model: "m", modified_on: 1 }];

it("keeps a value for its time, also if the clock goes back", () => {
	let now = 1_000_000;
	const cache = new FreshCache<object>({ now: () => now, freshMs: 10_000 });
	expect(cache.get("a")).toBeUndefined();
	cache.set("a", ROWS);
	now += 9_999;
	expect(cache.get("a")).toEqual(ROWS);
	now += 1;
	expect(cache.get("a")).toBeUndefined();
	now -= 20_001;
	expect(cache.get("a")).toBeUndefined();
});

it("deletes a value, and all values at the bound", () => {
	const cache = new FreshCache<object>({ now: () => 0, freshMs: 10_000 });
	cache.set("a", ROWS);
	cache.delete("a");
	expect(cache.get("a")).toBeUndefined();
	for (let i = 0; i <= 1_000; i++) cache.set(String(i), ROWS);
	expect(cache.get("0")).toBeUndefined();
	expect(cache.get("1000")).toEqual(ROWS);
});

it("loads a value once within its time, also if there is none, and keeps no failure", async () => {
	let now = 0;
	const cache = new FreshCache<string | undefined>({ now: () => now, freshMs: 5_000 });
	const loads: string[] = [];
	const load = (key: string) =>
		cache.read(key, async () => {
			loads.push(key);
			if (key === "failing") throw new Error("unreachable");
			return key === "absent" ? undefined : `value of ${key}`;
		});
	expect([await load("a"), await load("a"), await load("absent"), await load("absent")]).toEqual([
		"value of a",
		"value of a",
		undefined,
		undefined,
	]);
	expect(loads).toEqual(["a", "absent"]);
	await expect(load("failing")).rejects.toThrow("unreachable");
	await expect(load("failing")).rejects.toThrow("unreachable");
	expect(loads).toEqual(["a", "absent", "failing", "failing"]);
	now = 5_000;
	await load("a");
	cache.clear();
	await load("a");
	expect(loads.slice(4)).toEqual(["a", "a"]);
});

it.each<[string, (cache: FreshCache<string>) => void]>([
	["deletion", (cache) => cache.delete("a")],
	["deletion of all values", (cache) => cache.clear()],
])("keeps no value that was loaded before its %s", async (_, forget) => {
	const cache = new FreshCache<string>({ now: () => 0, freshMs: 10_000 });
	const { promise, resolve } = Promise.withResolvers<string>();
	const reading = cache.read("a", () => promise);
	forget(cache);
	resolve("former");
	expect(await reading).toBe("former");
	expect(await cache.read("a", async () => "present")).toBe("present");
});
