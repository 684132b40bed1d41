import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Policy, PoolRequest } from "../../src/pools/choice.ts";
import type { Flight } from "../../src/pools/flight.ts";
import { Pool, type PoolOptions } from "../../src/pools/pool.ts";

const URLS = ["http://1", "http://2", "http://3", "http://4"];

const request = (more: Partial<PoolRequest> = {}): PoolRequest => ({
	inputTokens: 1_000,
	blocks: [],
	blockTokens: 512,
	streamed: true,
	...more,
});
/** A prompt of 512-token blocks. */
const prompt = (blocks: number[], more: Partial<PoolRequest> = {}) =>
	request({ inputTokens: blocks.length * 512 + 100, blocks, ...more });

/** A pool, and its requests in progress. */
function started(options: PoolOptions = {}, urls: readonly string[] = URLS) {
	const pool = new Pool(urls, options);
	const send = (one: PoolRequest, now = 0): Flight => {
		const choice = pool.choose(one, now);
		if (!choice) throw new Error("no replica");
		return pool.start(choice, one, now);
	};
	const replica = (url: string) => {
		const found = [...pool.replicas].find((one) => one.url === url);
		if (!found) throw new Error(`no replica ${url}`);
		return found;
	};
	return { pool, send, replica, chosen: (one: PoolRequest, now = 0) => pool.choose(one, now)?.replica.url };
}

describe("loads", () => {
	it("counts a request as prefill until its first token, then as decode until its end", () => {
		const { send, replica } = started();
		const flight = send(request({ maxOutputTokens: 50 }));
		const { url } = flight.replica;
		// Each request counts 64 tokens more than its prompt.
		expect(replica(url)).toMatchObject({ requests: 1, prefillTokens: 1_064, decodeTokens: 0 });
		flight.firstToken(10);
		flight.firstToken(11);
		expect(replica(url)).toMatchObject({ requests: 1, prefillTokens: 0, decodeTokens: 1_050 });
		flight.end(20, { inputTokens: 1_000, outputTokens: 50 });
		flight.end(21);
		expect(replica(url)).toMatchObject({ requests: 0, prefillTokens: 0, decodeTokens: 0 });
	});

	it("expects the mean output of the requests before, if a request has no limit", () => {
		const { send, replica } = started({}, ["http://1"]);
		// The expectation was 256 tokens, and a request has a weight of a twentieth.
		send(request()).end(1, { inputTokens: 1_000, outputTokens: 1_256 });
		const flight = send(request());
		flight.firstToken(2);
		expect(replica("http://1").decodeTokens).toBe(1_000 + 306);
		flight.end(3, { inputTokens: 1_000, outputTokens: 6 });
		send(request()).firstToken(4);
		expect(replica("http://1").decodeTokens).toBe(1_000 + 291);
	});

	it("releases the prompt of a request that fails before its first token", () => {
		const { send, replica } = started();
		const flight = send(request());
		flight.end(5);
		expect(replica(flight.replica.url)).toMatchObject({ requests: 0, prefillTokens: 0, decodeTokens: 0 });
	});

	it("releases the prompt at the expected time if the first token is not observed", () => {
		const { pool, send, replica } = started();
		const { url } = send(request({ streamed: false, inputTokens: 7_936 })).replica;
		// 8,000 tokens at 8 tokens per millisecond.
		pool.choose(request(), 999);
		expect(replica(url).prefillTokens).toBe(8_000);
		pool.choose(request(), 1_000);
		expect(replica(url)).toMatchObject({ prefillTokens: 0, requests: 1 });
	});

	it("keeps the prompt of a streamed request until its first token, however late that is", () => {
		const { pool, send, replica } = started();
		const flight = send(request({ inputTokens: 7_936, maxOutputTokens: 10 }));
		const { url } = flight.replica;
		pool.choose(request(), 60_000);
		expect(replica(url)).toMatchObject({ prefillTokens: 8_000, decodeTokens: 0 });
		flight.firstToken(60_001);
		expect(replica(url)).toMatchObject({ prefillTokens: 0, decodeTokens: 7_946 });
	});

	it("adds the tokens that an engine reports beyond the pool's own, for two seconds", () => {
		const { pool, chosen } = started({}, ["http://1", "http://2"]);
		pool.report("http://1", { running: 0, waiting: 1, waitingTokens: 9_000 }, { at: 0, validMs: 2_000 });
		expect(chosen(request(), 100)).toBe("http://2");
		pool.report("http://2", { running: 0, waiting: 1, waitingTokens: 20_000 }, { at: 100, validMs: 2_000 });
		expect(chosen(request(), 200)).toBe("http://1");
		expect(chosen(request(), 2_050)).toBe("http://1");
		expect(pool.meanQueuedTokens).toBe(10_000);
		pool.choose(request(), 2_100);
		expect(pool.meanQueuedTokens).toBe(0);
	});

	it("returns to zero, whatever happens to the requests", () => {
		const event = fc.constantFrom("first", "end", "fail", "drain", "add");
		const step = fc.record({ event, at: fc.nat(30), tokens: fc.nat(9_000), streamed: fc.boolean() });
		fc.assert(
			fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
				const { pool, send } = started();
				const flights: Flight[] = [];
				for (const [now, { event, at, tokens, streamed }] of steps.entries()) {
					const url = URLS[at % URLS.length] ?? "";
					if (event === "drain" && pool.members.length > 1) pool.drain(url);
					if (event === "add") pool.add(url);
					flights.push(send(prompt([at, at + 100], { inputTokens: tokens, streamed }), now));
					const flight = flights[at % flights.length];
					if (event === "first") flight?.firstToken(now);
					if (event === "end") flight?.end(now, { inputTokens: 1, outputTokens: 1, cachedTokens: 0 });
					if (event === "fail") flight?.end(now);
				}
				for (const flight of flights) flight.end(1_000);
				for (const one of pool.replicas)
					expect(one).toMatchObject({ requests: 0, prefillTokens: 0, decodeTokens: 0 });
				// A sum of many decimal fractions.
				expect(pool.meanQueuedTokens).toBeCloseTo(0, 6);
			}),
		);
	});
});

describe("expected", () => {
	it("spreads requests of equal cost, also one after the other", () => {
		const { send } = started();
		expect(new Set(URLS.map(() => send(request()).replica.url)).size).toBe(4);
		const oneByOne = URLS.map(() => {
			const flight = send(request());
			flight.end(1);
			return flight.replica.url;
		});
		expect(new Set(oneByOne).size).toBe(4);
	});

	it("goes where the prompt is cached, until the queue there costs more than it saves", () => {
		const { send, chosen } = started();
		const home = send(prompt([1, 2, 3, 4])).replica.url;
		expect(chosen(prompt([1, 2, 3, 4]))).not.toBe(home);
		const { send: resend, chosen: again } = started();
		const first = resend(prompt([1, 2, 3, 4]));
		first.end(1);
		expect(again(prompt([1, 2, 3, 4, 5]))).toBe(first.replica.url);
	});

	it("skips replicas that are not usable", () => {
		const { pool, send } = started();
		const first = send(prompt([1, 2]));
		first.end(1);
		const choice = pool.choose(prompt([1, 2]), 2, ({ url }) => url !== first.replica.url);
		expect(choice?.replica.url).not.toBe(first.replica.url);
		expect(pool.choose(prompt([1, 2]), 2, () => false)).toBeUndefined();
	});

	it("keeps a session whose prompt has no complete block, unless the replica is busy", () => {
		const { send, chosen } = started();
		const short = request({ inputTokens: 40, session: "account s" });
		const first = send(short);
		first.end(1);
		for (let i = 0; i < 3; i++) {
			const flight = send(short);
			expect(flight.replica.url).toBe(first.replica.url);
			flight.end(2);
		}
		const { session: _, ...anonymous } = short;
		for (const _url of URLS) send({ ...anonymous, inputTokens: 10 });
		const busy = send(request({ ...short, inputTokens: 4_000 }));
		expect(busy.replica.url).toBe(first.replica.url);
		expect(chosen(short)).not.toBe(first.replica.url);
	});

	it("keeps a session although another replica has one block more of its prompt", () => {
		const { pool, chosen } = started({}, ["http://1", "http://2"]);
		const sendTo = (url: string, one: PoolRequest) => {
			const choice = pool.choose(one, 0, (replica) => replica.url === url);
			if (!choice) throw new Error("no replica");
			pool.start(choice, one, 0).end(0);
		};
		sendTo("http://1", request({ session: "a s" }));
		sendTo("http://2", prompt([1, 2]));
		expect(chosen(prompt([1, 9], { session: "a s" }))).toBe("http://1");
		expect(chosen(prompt([1, 2], { session: "a s" }))).toBe("http://2");
	});

	it("counts the previous prompt of a conversation as cached to its end, which is no complete block", () => {
		const { pool, send, chosen, replica } = started();
		const turn = (inputTokens: number, opening: number) =>
			request({ inputTokens, opening, session: "account s" });
		const first = send(turn(1_500, 7));
		first.end(1);
		const home = first.replica.url;
		const other = pool.choose(request(), 1, ({ url }) => url === home);
		if (!other) throw new Error("no replica");
		pool.start(other, request(), 1);
		// 1,064 tokens wait there. The next turn has 100 uncached tokens there, and 1,600 elsewhere.
		expect(chosen(turn(1_600, 7))).toBe(home);
		// Another conversation of the same session has nothing cached.
		expect(chosen(turn(1_600, 9))).not.toBe(home);
		send(turn(1_600, 7));
		expect(replica(home).prefillTokens).toBe(1_064 + 164);
	});

	it("starts a session at the same replica in every isolate", () => {
		for (let i = 0; i < 20; i++) {
			const session = `account session-${i}`;
			const [a, b] = [URLS, URLS.toReversed()].map((urls) => started({}, urls).chosen(request({ session })));
			expect(a).toBe(b);
		}
	});

	it("prefers a replica that has proved faster", () => {
		const { pool, chosen } = started({}, ["http://slow", "http://fast"]);
		const big = request({ inputTokens: 20_000 });
		for (let i = 0; i < 40; i++)
			for (const [url, ms] of [
				["http://slow", 10_000],
				["http://fast", 1_000],
			] as const) {
				const now = i * 100_000;
				const choice = pool.choose(big, now, (replica) => replica.url === url);
				if (!choice) throw new Error("no replica");
				const flight = pool.start(choice, big, now);
				flight.firstToken(now + ms);
				flight.end(now + ms, { inputTokens: 20_000, outputTokens: 10 });
			}
		const after = 9_000_000;
		for (let i = 0; i < 5; i++) {
			const choice = pool.choose(big, after);
			expect(choice?.replica.url).toBe("http://fast");
			if (choice) pool.start(choice, big, after);
		}
		expect(chosen(request({ inputTokens: 100 }), after)).toBe("http://slow");
	});

	it("adapts the size of a cache to the tokens that the engine reports", () => {
		const { send, replica } = started({}, ["http://1"]);
		const blocks = Array.from({ length: 20 }, (_, i) => i);
		const usage = { inputTokens: 10_340, outputTokens: 5 };
		send(prompt(blocks)).end(1, { ...usage, cachedTokens: 0 });
		expect(replica("http://1").cacheBlocks).toBe(1_000);
		send(prompt(blocks)).end(2, { ...usage, cachedTokens: 0 });
		expect(replica("http://1").cacheBlocks).toBe(950);
		// The engine omits a count of zero.
		send(prompt(blocks)).end(3, usage);
		expect(replica("http://1").cacheBlocks).toBe(903);
		send(prompt(blocks)).end(4, { ...usage, cachedTokens: 10_240 });
		expect(replica("http://1").cacheBlocks).toBe(903);
		send(prompt([77, 78])).end(5, { inputTokens: 1_124, outputTokens: 5, cachedTokens: 1_024 });
		expect(replica("http://1").cacheBlocks).toBe(948);
	});

	it("measures each prompt from the first token of the one before it", () => {
		const { pool, send } = started({}, ["http://1"]);
		const flights = [send(request({ inputTokens: 936 })), send(request({ inputTokens: 936 }))];
		for (const [i, flight] of flights.entries()) flight.firstToken(125 * (i + 1));
		expect(pool.speed).toBeCloseTo(8, 9);
	});

	it("ignores missing counts of an engine that never reports any", () => {
		const { send, replica } = started({}, ["http://1"]);
		for (let i = 0; i < 3; i++) send(prompt([1, 2, 3])).end(i, { inputTokens: 1_636, outputTokens: 5 });
		expect(replica("http://1").cacheBlocks).toBe(1_000);
	});
});

describe("other policies", () => {
	it("may be a function", () => {
		const policy: Policy = ({ members: [, second] }) =>
			second && { replica: second, cachedTokens: 7, expectedMs: 3 };
		const { pool } = started({ policy });
		expect(pool.choose(request(), 0)).toMatchObject({ replica: { url: "http://2" }, cachedTokens: 7 });
	});

	it("round-robin takes the replicas in turn", () => {
		const { send } = started({ policy: "round-robin" });
		const turns = Array.from({ length: 8 }, () => send(prompt([1, 2])).replica.url);
		expect(turns).toEqual([...URLS, ...URLS]);
	});

	it("least-tokens ignores the caches", () => {
		const { send, chosen } = started({ policy: "least-tokens" });
		const first = send(prompt([1, 2, 3]));
		first.end(1);
		expect(chosen(prompt([1, 2, 3]))).not.toBe(first.replica.url);
	});

	it("sticky keeps a session within a bound of tokens", () => {
		const { send, chosen } = started({ policy: "sticky" });
		const one = request({ inputTokens: 3_000, session: "account s" });
		const first = send(one).replica.url;
		expect(send(one).replica.url).toBe(first);
		// 6,128 tokens wait, and the mean is 1,532.
		expect(chosen(one)).not.toBe(first);
		const { session: _, ...anonymous } = one;
		expect(chosen(anonymous)).not.toBe(first);
	});
});

describe("members", () => {
	it("drains a replica: its requests continue, and it gets no others", () => {
		const { pool, send, replica } = started({}, ["http://1", "http://2"]);
		const flight = send(prompt([1, 2], { session: "a s" }));
		const { url } = flight.replica;
		expect(pool.drain(url)).toBe(true);
		expect(pool.members.map((member) => member.url)).not.toContain(url);
		for (let i = 0; i < 5; i++) expect(send(prompt([1, 2], { session: "a s" })).replica.url).not.toBe(url);
		expect(replica(url)).toMatchObject({ draining: true, requests: 1 });
		flight.firstToken(1);
		flight.end(2, { inputTokens: 10, outputTokens: 10 });
		expect(replica(url).requests).toBe(0);
		pool.add(url);
		expect(pool.members.map((member) => member.url)).toContain(url);
	});

	it.each<[string, PoolOptions, PoolRequest]>([
		["in turn", { policy: "round-robin" }, request()],
		["as the one with the shortest queue", { policy: "least-tokens" }, request()],
		["for a prompt that it has processed", {}, prompt([1, 2])],
		["for a prompt that another isolate has sent to it", {}, prompt([8, 9])],
		["for its session", {}, request({ session: "a s" })],
		["for its session, although it sticks", { policy: "sticky" }, request({ session: "a s" })],
	])("is not chosen %s while it drains", (_, options, next) => {
		const { pool, send, replica } = started(options, ["http://1", "http://2"]);
		const first = send(prompt([1, 2], { session: "a s" }));
		first.end(1);
		const { url } = first.replica;
		pool.hints.learn(replica(url), { url, block: 9, blocks: 2, newBlocks: 2 });
		pool.drain(url);
		send(request({ inputTokens: 9_000 }));
		for (let i = 0; i < 3; i++) expect(send(next).replica.url).not.toBe(url);
	});

	it("is not the place of a new session while it drains", () => {
		const { pool, chosen } = started({ policy: "sticky" }, ["http://1", "http://2"]);
		pool.drain("http://1");
		for (let i = 0; i < 20; i++) expect(chosen(request({ session: `s${i}` }))).toBe("http://2");
	});

	it("adds nothing to the index for a replica that is draining", () => {
		const { pool, replica, send } = started({}, ["http://1", "http://2"]);
		const flight = send(prompt([7]));
		expect(flight.replica.url).toBe("http://1");
		pool.drain("http://1");
		for (const url of ["http://1", "http://2"]) {
			pool.report(url, { running: 0, waiting: 0, cacheTokens: 102_400 }, { at: 0, validMs: 1 });
			pool.index.add(replica(url), [1]);
			expect(replica(url).cacheBlocks).toBe(200);
		}
		flight.end(1, { inputTokens: 612, outputTokens: 1, cachedTokens: 0 });
		pool.index.add(replica("http://1"), [1]);
		expect(pool.index.longest([1], 4).map((holder) => holder.replica.url)).toEqual(["http://2"]);
	});

	it("removes a replica", () => {
		const { pool, chosen } = started({}, ["http://1", "http://2"]);
		expect(pool.remove("http://1")).toBe(true);
		expect(pool.remove("http://1")).toBe(false);
		expect(pool.drain("http://1")).toBe(false);
		expect([...pool.replicas].map(({ url }) => url)).toEqual(["http://2"]);
		expect(chosen(request())).toBe("http://2");
		pool.remove("http://2");
		expect(chosen(request())).toBeUndefined();
	});

	it("moves few sessions to a replica that joins", () => {
		const { pool, chosen } = started({ policy: "sticky" });
		const homes = () => Array.from({ length: 400 }, (_, i) => chosen(request({ session: `s${i}` })));
		const before = homes();
		pool.add("http://5");
		const moved = homes().filter((home, i) => home !== before[i]);
		expect(new Set(moved)).toEqual(new Set(["http://5"]));
		expect(moved.length).toBeLessThan(140);
	});

	it("makes the same choices for the same requests", () => {
		const run = () => {
			const { send } = started();
			return Array.from({ length: 50 }, (_, i) => {
				const flight = send(prompt([i % 5, 10 + (i % 7)]), i);
				if (i % 3 === 0) flight.end(i);
				return flight.replica.url;
			});
		};
		expect(run()).toEqual(run());
	});
});
