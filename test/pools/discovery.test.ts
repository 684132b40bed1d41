import { describe, expect, it } from "vitest";
import { Discoveries, parseReplicaList } from "../../src/pools/discovery.ts";

const SETTINGS = { url: "http://registry/replicas", path: "/v1", refreshMs: 30_000 };
const BOTH = ["http://a:8000/v1", "http://b:8000/v1"];

describe("a list of replicas", () => {
	it.each([
		["addresses", ["http://a:8000/v1", "http://b:8000/v1/"]],
		["objects", [{ url: "http://a:8000", weight: 1 }, { url: "http://b:8000/" }]],
		["an object with replicas", { replicas: [{ url: "http://a:8000/v1" }, "http://b:8000/v1"] }],
		[
			"SGLang's workers",
			{
				workers: [
					{ id: "1", url: "http://a:8000" },
					{ id: "2", url: "http://b:8000" },
				],
				total: 2,
			},
		],
		["Prometheus's targets", [{ targets: ["a:8000", "b:8000"], labels: { job: "vllm" } }]],
		["repeated addresses", [...BOTH, ...BOTH]],
	])("may be %s", (_, list) => {
		expect(parseReplicaList(JSON.stringify(list), "/v1")).toEqual(BOTH);
	});

	it.each([
		["no JSON", "<html>"],
		["another shape", '{"items": []}'],
		["an address of another scheme", '["http://a", "file:///etc/passwd"]'],
		["an address with credentials", '["http://user:secret@a/v1"]'],
		["an address with a user", '["http://user@a/v1"]'],
		["an address with a password", '["http://:secret@a/v1"]'],
		["an address with a query", '["http://a/v1?b=1"]'],
		["an address with a fragment", '["http://a/v1#b"]'],
		["too many addresses", JSON.stringify(Array.from({ length: 2_001 }, (_, i) => `http://${i}`))],
	])("is refused with %s", (_, text) => {
		expect(parseReplicaList(text, "/v1")).toBeUndefined();
	});
});

it("a list may have 2,000 addresses, with https and with paths of their own", () => {
	const urls = Array.from({ length: 2_000 }, (_, i) => `https://a/${i}`);
	expect(parseReplicaList(JSON.stringify(urls), "/v1")).toEqual(urls);
});

function discovered() {
	const state = { now: 0, reads: 0, text: JSON.stringify(BOTH) as string | undefined };
	const background: Promise<unknown>[] = [];
	const discoveries = new Discoveries({
		now: () => state.now,
		wait: () => new Promise(() => {}),
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
	return { discoveries, request, state };
}

describe("discovery", () => {
	it("is awaited by the first request, and refreshed in the background of later ones", async () => {
		const { discoveries, request, state } = discovered();
		expect(await request(0)).toBe(true);
		expect(discoveries.of("vllm")).toEqual(BOTH);
		const before = discoveries.of("vllm");
		expect(await request(29_999)).toBe(false);
		expect(state.reads).toBe(1);
		expect(await request(30_000)).toBe(false);
		expect(state.reads).toBe(2);
		expect(discoveries.of("vllm")).toBe(before);
		state.text = '["http://c/v1"]';
		await request(60_000);
		expect(discoveries.of("vllm")).toEqual(["http://c/v1"]);
	});

	it("keeps the latest list if it cannot be read, or has a mistake", async () => {
		const { discoveries, request, state } = discovered();
		await request(0);
		state.text = undefined;
		await request(30_000);
		state.text = '["nonsense"]';
		await request(35_000);
		expect(state.reads).toBe(3);
		expect(discoveries.of("vllm")).toEqual(BOTH);
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
