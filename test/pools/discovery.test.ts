import { describe, expect, it } from "vitest";
import { Discoveries } from "../../src/pools/discovery.ts";

const SETTINGS = { url: "http://registry/replicas", path: "/v1", refreshMs: 30_000 };
const BOTH = ["http://a:8000/v1", "http://b:8000/v1"];

function discovered() {
	const state = { now: 0, reads: 0, text: JSON.stringify(BOTH) as string | undefined };
	const background: Promise<unknown>[] = [];
	const waits: number[] = [];
	const discoveries = new Discoveries({
		now: () => state.now,
		wait: (ms) => {
			waits.push(ms);
			return new Promise(() => {});
		},
		waitUntil: (work) => background.push(work),
		async read() {
			state.reads++;
			if (state.text === undefined) throw new Error("not reachable");
			return state.text;
		},
	});
	const request = async (now: number) => {
		state.now = now;
		const reading = discoveries.refresh("vllm", SETTINGS);
		await Promise.all(background.splice(0));
		return reading !== undefined;
	};
	return { background, discoveries, request, state, waits };
}

describe("discovery", () => {
	it("is awaited by the first request, and refreshed in the background of later ones", async () => {
		const { discoveries, request, state } = discovered();
		expect(await request(0)).toBe(true);
		expect(discoveries.of("vllm")?.urls).toEqual(BOTH);
		const before = discoveries.of("vllm");
		expect(await request(29_999)).toBe(false);
		expect(state.reads).toBe(1);
		expect(await request(30_000)).toBe(false);
		expect(state.reads).toBe(2);
		expect(discoveries.of("vllm")).toBe(before);
		state.text = '["http://c/v1"]';
		await request(60_000);
		expect(discoveries.of("vllm")?.urls).toEqual(["http://c/v1"]);
	});

	it("delays the first request by two seconds at most, and reads once for several requests", async () => {
		const { background, discoveries, request, state, waits } = discovered();
		await request(0);
		expect(waits).toEqual([2_000]);
		state.now = 30_000;
		for (let i = 0; i < 3; i++) expect(discoveries.refresh("vllm", SETTINGS)).toBeUndefined();
		expect(state.reads).toBe(2);
		expect(background).toHaveLength(1);
		// That read belonged to a request that has ended.
		state.now = 35_000;
		discoveries.refresh("vllm", SETTINGS);
		expect(state.reads).toBe(3);
		expect(waits).toEqual([2_000]);
	});

	it("is read again after a failure when it is due, if that is sooner than five seconds", async () => {
		const { background, discoveries, state } = discovered();
		const often = { ...SETTINGS, refreshMs: 2_000 };
		state.text = undefined;
		for (const [now, reads] of [
			[0, 1],
			[1_999, 1],
			[2_000, 2],
		] as const) {
			state.now = now;
			void discoveries.refresh("vllm", often);
			await Promise.all(background.splice(0));
			expect(state.reads).toBe(reads);
		}
	});

	it("can be read at once, before the first request too", async () => {
		const { discoveries, request, state } = discovered();
		await discoveries.refreshNow("vllm", SETTINGS);
		expect(discoveries.of("vllm")?.urls).toEqual(BOTH);
		expect(await request(29_999)).toBe(false);
		await discoveries.refreshNow("vllm", SETTINGS);
		expect(state.reads).toBe(2);
		await request(30_000);
		expect(state.reads).toBe(2);
	});

	it("keeps the latest list if it cannot be read, or has a mistake", async () => {
		const { discoveries, request, state } = discovered();
		await request(0);
		state.text = undefined;
		await request(30_000);
		expect(discoveries.problemOf("vllm")).toBe("expected a list, found no answer of the service");
		state.text = '["nonsense"]';
		await request(35_000);
		expect(state.reads).toBe(3);
		expect(discoveries.problemOf("vllm")).toMatch(/^\[0\]: /);
		expect(discoveries.of("vllm")?.urls).toEqual(BOTH);
		state.text = JSON.stringify(BOTH);
		await request(40_000);
		expect(discoveries.problemOf("vllm")).toBeUndefined();
	});

	it("lets one request in five seconds wait while there is no list", async () => {
		const { discoveries, request, state } = discovered();
		state.text = undefined;
		expect(await request(0)).toBe(true);
		expect(await request(4_999)).toBe(false);
		expect(await request(5_000)).toBe(true);
		expect(discoveries.of("vllm")).toBeUndefined();
	});
});
