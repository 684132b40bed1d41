/** Waits that end by a clock, and a clock that is set back by an hour meanwhile: without a wait of an hour. */
import { describe, expect, it } from "vitest";
import { BatchQueue } from "../../src/accounts/client/batch-queue.ts";
import { DirectoryCache } from "../../src/accounts/client/directory-cache.ts";
import {
	type AdapterLoads,
	RefusedAdapter,
	ReplicaAdapters,
} from "../../src/backends/openai/adapters/replica-adapters.ts";
import { hasPassed, SetBackClock } from "../../src/core/elapsed.ts";
import { AiError } from "../../src/core/errors.ts";
import { OpenObjects } from "../../src/core/open-objects.ts";
import { Background } from "../../src/http/background.ts";
import { VerifiedTokens } from "../../src/http/verified-tokens.ts";
import { SingleFlight } from "../../src/pipeline/dispatch/single-flight.ts";
import { UnchangedStreams } from "../../src/pipeline/unchanged-streams.ts";
import { Discoveries } from "../../src/pools/discovery.ts";
import { EnginePolls } from "../../src/pools/engine-polls.ts";
import { LoadExchange } from "../../src/pools/load-exchange.ts";
import { Pool } from "../../src/pools/pool.ts";
import { WakeCalls } from "../../src/pools/wake-calls.ts";

const HOUR_MS = 3_600_000;
/** The clock of a request may stand so far behind that of another. */
const SKEW_MS = 1_000;

describe("a wait", () => {
	it("has passed after its time, or if the clock was set back", () => {
		const passed = [0, 99, 100, HOUR_MS, -SKEW_MS, -SKEW_MS - 1].map((ms) =>
			hasPassed(100, 5_000, 5_000 + ms),
		);
		expect(passed).toEqual([false, false, true, true, false, true]);
		expect(hasPassed(100, Number.NEGATIVE_INFINITY, 0)).toBe(true);
	});

	it("of many is forgotten once for each time that the clock was set back", () => {
		const clock = new SetBackClock();
		const times = [0, 5_000, 4_000, 5_000, 3_999, 3_999, 4_500, 4_000, -HOUR_MS];
		expect(times.map((now) => clock.notices(now))).toEqual([
			...[false, false, false, false, true, false, false, false, true],
		]);
	});
});

interface Clock {
	now(): number;
	/** Sets the clock back. */
	setBack(): void;
}
const never = () => new Promise<never>(() => {});
const inBackground = () => {
	const work: Promise<unknown>[] = [];
	return { waitUntil: (promise: Promise<unknown>) => void work.push(promise), work };
};
/** Of a caller who does not leave. */
const STAYING = new AbortController().signal;
const loadsOf = (now: () => number, load: () => Promise<void>): AdapterLoads => ({
	...{ load, now, left: STAYING, unload: async () => {} },
	...{ waitMs: 60_000, late: () => new AiError("outOfCapacity") },
	startTimer: () => ({ cancel: () => {} }),
	waitUntil: () => {},
});

/** Each returns the number of the calls that it made: one before the clock is set back, and another after it. */
const OWNERS: Record<string, (clock: Clock) => Promise<number>> = {
	"a call that others wait for": async ({ now, setBack }) => {
		let calls = 0;
		const queue = new BatchQueue<string, string>({ now, wait: never, waitUntil: () => {} });
		const add = () =>
			void queue.add("item", () => {
				calls++;
				return never();
			});
		add();
		setBack();
		add();
		return calls;
	},
	"an account that does not exist": async ({ now, setBack }) => {
		let calls = 0;
		const directory = () => ({ find: async () => void calls++ }) as never;
		const cache = new DirectoryCache({ directory, now, wait: never, waitUntil: () => {} });
		await cache.find("new");
		setBack();
		await cache.find("new");
		return calls;
	},
	"a load of an adapter": async ({ now, setBack }) => {
		let calls = 0;
		const adapters = new ReplicaAdapters();
		const loads = loadsOf(now, () => {
			calls++;
			return never();
		});
		const use = () => void adapters.use("a", 3, loads);
		use();
		await Promise.resolve();
		setBack();
		use();
		await Promise.resolve();
		return calls;
	},
	"an adapter that the engine has refused": async ({ now, setBack }) => {
		let calls = 0;
		const adapters = new ReplicaAdapters();
		const loads = loadsOf(now, async () => {
			calls++;
			throw new RefusedAdapter(new AiError("invalidInput"));
		});
		const use = async () => adapters.use("a", 3, loads);
		await expect(use()).rejects.toThrow(AiError);
		setBack();
		await expect(use()).rejects.toThrow(AiError);
		return calls;
	},
	"an open object": async ({ now, setBack }) => {
		const objects = new OpenObjects({ max: 1, now });
		const first = objects.mayCall("ACCOUNT/a", "a");
		setBack();
		return [first, objects.mayCall("ACCOUNT/b", "b")].filter(Boolean).length;
	},
	"a verified token": async ({ now, setBack }) => {
		let calls = 0;
		const verify = async () => {
			calls++;
			return {};
		};
		const tokens = new VerifiedTokens({ ledgers: { of: () => ({ verify }) } as never, now });
		const credential = { kind: "token", hash: "h" } as never;
		await tokens.verify("a", credential);
		setBack();
		await tokens.verify("a", credential);
		return calls;
	},
	"work whose request may have ended": async ({ now, setBack }) => {
		let calls = 0;
		const flights = new SingleFlight<string>();
		const timers: (() => void)[] = [];
		const wait = () => new Promise<void>((resolve) => void timers.push(resolve));
		const join = (signal: AbortSignal) =>
			flights.join("key", signal, { now, wait, waitUntil: () => {} }, () => {
				calls++;
				return never();
			});
		const caller = new AbortController();
		const first = join(caller.signal).catch(() => {});
		void join(STAYING);
		caller.abort();
		await first;
		setBack();
		for (const fire of timers.splice(0)) fire();
		for (let i = 0; i < 20; i++) await Promise.resolve();
		return calls;
	},
	"a stream that is read again": async ({ now, setBack }) => {
		const source = { backend: "b", engineModel: "m", model: "m" };
		const streams = new UnchangedStreams({ now });
		streams.record(source, { isUnchanged: true, toolCalls: 0 });
		setBack();
		return 1 + (streams.canPass(source, false) ? 0 : 1);
	},
	"a list of replicas": async ({ now, setBack }) => {
		let calls = 0;
		const { waitUntil, work } = inBackground();
		const read = async () => {
			calls++;
			return '["http://a/v1"]';
		};
		const discoveries = new Discoveries({ now, read, wait: never, waitUntil });
		const refresh = async () => {
			void discoveries.refresh("b", { url: "http://list", path: "/v1", refreshMs: 30_000 });
			await Promise.all(work);
		};
		await refresh();
		setBack();
		await refresh();
		return calls;
	},
	"the load of an engine, and one that reports nothing": async ({ now, setBack }) => {
		const calls: string[] = [];
		const { waitUntil, work } = inBackground();
		const pool = new Pool(["http://1", "http://2"]);
		const polls = new EnginePolls({
			...{ now, waitUntil },
			read: async ({ url }) => {
				calls.push(url);
				return url === "http://1" ? { source: "metrics", load: { running: 0, waiting: 0 } } : undefined;
			},
		});
		const start = async () => {
			polls.start(pool, 1_000, { headers: {} });
			await Promise.all(work);
		};
		await start();
		setBack();
		await start();
		return calls.length / 2;
	},
	"the loads of other isolates": async ({ now, setBack }) => {
		let calls = 0;
		const { waitUntil, work } = inBackground();
		const exchange = async () => {
			calls++;
			return { hints: [], isolates: 1, others: [], sequence: 0 };
		};
		const loads = new LoadExchange({ exchange, now, uuid: () => "isolate", waitUntil });
		const start = async () => {
			loads.start("pool", new Pool(["http://1"]));
			await Promise.all(work);
		};
		await start();
		setBack();
		await start();
		await start();
		return calls;
	},
	"a call that starts replicas": async ({ now, setBack }) => {
		let calls = 0;
		const wakes = new WakeCalls({ now, post: async () => ++calls, waitUntil: () => {} });
		const call = () => wakes.call("b", { url: "http://wake", cooldownMs: 60_000, waitMs: 0 });
		call();
		setBack();
		call();
		return calls;
	},
	"the end of the gateway": async ({ now, setBack }) => {
		let calls = 0;
		const wait = async () => {
			if (++calls === 2) setBack();
		};
		await new Background({ now, wait, waitUntil: () => {} }).whenIdle();
		return calls;
	},
};

it.each(Object.entries(OWNERS))("a clock that is set back ends the wait for %s", async (_, callsOf) => {
	let time = 10 * HOUR_MS;
	const setBack = () => {
		time -= HOUR_MS;
	};
	expect(await callsOf({ now: () => time, setBack })).toBe(2);
});
