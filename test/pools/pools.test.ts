import { describe, expect, it } from "vitest";
import { Pools } from "../../src/pools/pools.ts";

const URLS = ["http://1", "http://2", "http://3"];
const membersOf = (pool: ReturnType<Pools["of"]>) => pool?.replicas.members.map(({ url }) => url);
const pools = (random = 0) => new Pools({ random: () => random });

describe("Pools", () => {
	it("has no pool for one address, unless it has settings", () => {
		expect(pools().of({ backend: "a", urls: ["http://1"] })).toBeUndefined();
		expect(membersOf(pools().of({ backend: "a", urls: ["http://1"], pool: {} }))).toEqual(["http://1"]);
	});

	it("has one pool for each backend", () => {
		const all = pools();
		const first = all.of({ backend: "a", urls: URLS });
		expect(all.of({ backend: "a", urls: URLS })).toBe(first);
		expect(all.of({ backend: "b", urls: URLS })).not.toBe(first);
		expect([...all.all].map(([name]) => name)).toEqual(["a", "b"]);
	});

	it("begins with a random replica", () => {
		expect(membersOf(pools(0.4).of({ backend: "a", urls: URLS }))).toEqual([
			"http://2",
			"http://3",
			"http://1",
		]);
	});

	it("keeps the replicas that a new configuration has, with what was learned about them", () => {
		const all = pools();
		const before = all.of({ backend: "a", urls: URLS });
		const [kept] = before?.replicas.members.filter(({ url }) => url === "http://2") ?? [];
		const after = all.of({ backend: "a", urls: ["http://2", "http://4"] });
		expect(membersOf(after)).toEqual(["http://2", "http://4"]);
		expect(after?.replicas.members[0]).toBe(kept);
		expect(after?.urls).toEqual(["http://2", "http://4"]);
	});

	it("starts anew with another policy", () => {
		const all = pools();
		const before = all.of({ backend: "a", urls: URLS });
		const after = all.of({ backend: "a", urls: URLS, pool: { policy: "round-robin" } });
		expect(after?.replicas).not.toBe(before?.replicas);
	});
});
