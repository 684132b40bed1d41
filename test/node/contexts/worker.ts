/** A request takes a place and leaves, and others wait for the place: with parts of the gateway, and with promises of other kinds. */
import { RunningRequests } from "../../../src/core/running-requests.ts";
import { awaitedElsewhere, settledElsewhere } from "../../../src/core/settled-elsewhere.ts";
import { PoolGate } from "../../../src/pools/pool-gate.ts";

interface Place {
	leave(): void;
}

/** How often each kind runs before its test, so that V8 optimizes it. */
const RUNS = 2_000;
/** The runtime ends a request that has nothing under way. */
const ALIVE_MS = 1_500;
const PIECE = new Uint8Array(16);

const wait = (milliseconds: number, signal?: AbortSignal): Promise<void> =>
	scheduler.wait(milliseconds, { ...(signal && { signal }) }) as Promise<void>;

/** One place. `turn`: a promise, and what settles it. */
function turns(turn: () => { promise: Promise<void>; resolve(): void }): () => Promise<Place> {
	const waiting: (() => void)[] = [];
	let isTaken = false;
	const leave = (): void => {
		const next = waiting.shift();
		if (next) next();
		else isTaken = false;
	};
	return async () => {
		if (isTaken) {
			const { promise, resolve } = turn();
			waiting.push(resolve);
			await promise;
		}
		isTaken = true;
		return { leave };
	};
}

function constructed() {
	let resolve = () => {};
	const promise = new Promise<void>((settle) => {
		resolve = settle;
	});
	return { promise, resolve };
}

/** The first request does the work, which ends when it leaves. The others await `common(work)`. */
function works(common: (work: Promise<string>) => Promise<string>): () => Promise<Place> {
	let current: Promise<string> | undefined;
	const work = async (left: Promise<void>): Promise<string> => {
		await left;
		return "done";
	};
	return async () => {
		if (current) {
			await current;
			return { leave() {} };
		}
		const left = Promise.withResolvers<void>();
		current = common(work(left.promise));
		return {
			leave() {
				current = undefined;
				left.resolve();
			},
		};
	};
}

function running(): () => Promise<Place> {
	const requests = new RunningRequests(1, () => Date.now());
	return async () => {
		const { promise, resolve } = Promise.withResolvers<void>();
		await requests.begin("acme", promise, wait);
		return { leave: resolve };
	};
}

function gate(): () => Promise<Place> {
	const pool = new PoolGate({ maxRequests: 1, maxWaiting: 10, maxWaitMs: 5_000 }, () => ({
		replicas: 1,
		mayGrow: false,
	}));
	const request = { account: "acme", priority: "interactive", cost: 1, mayWait: true } as const;
	return () =>
		pool.enter({ ...request, signal: new AbortController().signal }, { now: () => Date.now(), wait });
}

const KINDS: Record<string, () => Promise<Place>> = {
	constructed: turns(constructed),
	elsewhere: turns(settledElsewhere),
	"async function": works((work) => work),
	awaited: works(awaitedElsewhere),
	running: running(),
	gate: gate(),
};

async function repeat(enter: () => Promise<Place>): Promise<Response> {
	for (let run = 0; run < RUNS; run++) {
		const first = await enter();
		const next = enter();
		first.leave();
		(await next).leave();
		await Promise.resolve();
	}
	return new Response();
}

async function stay(enter: () => Promise<Place>): Promise<Response> {
	const { leave } = await enter();
	const body = new ReadableStream<Uint8Array>({
		async pull(controller) {
			controller.enqueue(PIECE);
			await wait(10);
		},
		cancel: leave,
	});
	return new Response(body);
}

/** Uses its place for a call, in its own context or in another one. */
async function use(enter: () => Promise<Place>, request: Request, url: string): Promise<Response> {
	void wait(ALIVE_MS);
	const { leave } = await enter();
	const answer = await fetch(url, { method: "POST", body: await request.text() });
	const text = await answer.text();
	leave();
	return new Response(text);
}

export default {
	fetch(request: Request, { UPSTREAM }: { UPSTREAM: string }): Promise<Response> {
		const enter = KINDS[decodeURIComponent(new URL(request.url).pathname.slice(1))];
		if (!enter) throw new Error("no such kind");
		if (request.method === "PUT") return repeat(enter);
		return request.method === "GET" ? stay(enter) : use(enter, request, UPSTREAM);
	},
};
