/** What the connection guard tells the gateway. */
import { createExecutionContext, env } from "cloudflare:test";
import { afterEach, expect, it, vi } from "vitest";
import { RuntimeDelay } from "../../../src/core/runtime-delay.ts";
import { acceptedTokens, type NewTokens } from "../../../src/http/accepted-tokens.ts";
import { connections, GuardCounts } from "../../../src/surfaces/operations/guard-counts.ts";

const COUNT = { name: "connections", used: 3, limit: 144, refused: 2 };

const post = async (counts: GuardCounts, report: unknown, path = "/"): Promise<number> => {
	const Connections = connections(counts, new RuntimeDelay(Date.now));
	const entrypoint = new Connections(createExecutionContext(), env);
	const request = new Request(`http://guard${path}`, { method: "POST", body: JSON.stringify(report) });
	return (await entrypoint.fetch(request)).status;
};

afterEach(() => vi.unstubAllGlobals());

it("the gateway has the latest counts of the guard, also after those of the disk", async () => {
	const counts = new GuardCounts();
	const separated = { separatesLarge: true, large: 5, small: 6 };
	expect([counts.latest(), counts.separated()]).toEqual([[], undefined]);
	expect(await post(counts, { counts: [COUNT], separated })).toBe(204);
	expect([counts.latest(), counts.separated()]).toEqual([[COUNT], separated]);
	await expect(post(counts, { counts: [{ name: "connections" }] })).rejects.toThrow();
	const disk = { name: "disk_bytes", used: 1, limit: Number.MAX_SAFE_INTEGER, refused: 0 };
	expect(await post(counts, { counts: [disk] })).toBe(204);
	expect([counts.latest(), counts.separated()]).toEqual([[COUNT], separated]);
});

it("the runtime collects its garbage when the guard says so, if it can", async () => {
	const gc = vi.fn();
	vi.stubGlobal("gc", gc);
	expect(await post(new GuardCounts(), { counts: [] })).toBe(204);
	expect(gc).not.toHaveBeenCalled();
	await post(new GuardCounts(), { counts: [] }, "/collect-garbage");
	expect(gc.mock.calls).toEqual([[{ type: "major", execution: "sync", flavor: "last-resort" }]]);
	vi.stubGlobal("gc", undefined);
	expect(await post(new GuardCounts(), { counts: [] }, "/collect-garbage")).toBe(204);
});

it("a probe says how late the one before was, which counts for five seconds", async () => {
	let now = 1_000;
	const delay = new RuntimeDelay(() => now);
	const Connections = connections(new GuardCounts(), delay);
	const entrypoint = new Connections(createExecutionContext(), env);
	const probe = async (query: string): Promise<boolean> => {
		expect((await entrypoint.fetch(new Request(`http://guard/probe${query}`))).status).toBe(200);
		return delay.isBehind;
	};
	expect(delay.isBehind).toBe(false);
	expect(await probe("?late=15")).toBe(false);
	expect(await probe("?late=16")).toBe(true);
	now += 4_999;
	expect(delay.isBehind).toBe(true);
	now += 1;
	expect(delay.isBehind).toBe(false);
	expect(await probe("?late=16")).toBe(true);
	expect(await probe("?late=x")).toBe(false);
	expect(await probe("")).toBe(false);
});

it("the answer to a probe names the tokens that were accepted after a position, to each of several guards", async () => {
	const Connections = connections(new GuardCounts(), new RuntimeDelay(Date.now));
	const entrypoint = new Connections(createExecutionContext(), env);
	const probe = async (after: number): Promise<NewTokens> =>
		(await entrypoint.fetch(new Request(`http://guard/probe?after=${after}`))).json();
	const accept = (hash: string): void =>
		acceptedTokens.add({ credential: { kind: "token", hash }, account: "guard-counts" });
	const { position: start } = await probe(0);
	for (const hash of ["a", "b", "a"]) accept(hash);
	acceptedTokens.add({ credential: { kind: "operator" } });
	const { hashes, position } = await probe(start);
	expect(hashes).toEqual(["b", "a"]);
	expect(await probe(start)).toEqual({ hashes, position });
	expect(await probe(position)).toEqual({ hashes: [], position });
	accept("b");
	expect((await probe(position)).hashes).toEqual(["b"]);
	for (let token = 0; token <= 1_000; token++) accept(String(token));
	const last = Array.from({ length: 1_000 }, (_, token) => String(token + 1));
	expect((await probe(position)).hashes).toEqual(last);
});
