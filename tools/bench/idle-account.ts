/** Waits for the disk of one request of an account that is idle, beside a bare object that stores one row for each request. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "../../scripts/free-port.ts";
import { serve, singleModule } from "../../scripts/workerd.ts";
import type { Contender } from "./contenders.ts";
import { CHAT, type Context, start } from "./context.ts";
import { type Ask, agentOf, ask } from "./load.ts";
import { asksOfNewAccounts } from "./many.ts";
import { spread } from "./statistics.ts";
import { countSyncs, type SyncCounter } from "./syncs.ts";
import type { Row } from "./table.ts";

/** Each is asked once. */
const ACCOUNTS = 10;
/** In which the writes of the start and of new tokens end. */
const SETTLE_MS = 10_000;
/** Settlements leave the process four times a second. */
const AFTER_REQUEST_MS = 3_000;
/** The longest pause is for commits that come later than {@link AFTER_REQUEST_MS}. */
const AFTER_ALL_MS = 10_000;

export async function idleAccount(context: Context): Promise<Row[]> {
	const { folder } = context.field;
	const counters = ["idle-account", "bare-object"].map((name) => countSyncs(folder, name));
	const [counter, floorCounter] = counters;
	if (!counter || !floorCounter) {
		context.say("  neither strace nor a C compiler is installed: waits for the disk are not counted");
		return [];
	}
	const floor = await inTurn(() => bareObject(context, floorCounter), floorCounter, storedAlready);
	const own = await inTurn(
		() => start(context, "ganglion", { wrapper: counter.wrapper }),
		counter,
		(contender) => asksOfNewAccounts(contender, ACCOUNTS),
	);
	return [
		{
			label: "waits for the disk of one request of an idle account",
			measured: spread(own.each),
			unit: "",
			...{ bar: 2, stretch: 1 },
			note: `${own.all} of ${ACCOUNTS} requests, ${own.atRest} in ${AFTER_ALL_MS / 1000} s before them; a bare object that stores a row for each: ${floor.all}`,
		},
	];
}

interface Counted {
	/** Of each request, until {@link AFTER_REQUEST_MS} later. */
	each: number[];
	/** Of all requests, with what comes later. */
	all: number;
	/** Before the requests. */
	atRest: number;
}

/** One request after the other, so that none shares a commit. */
async function inTurn(
	starting: () => Promise<Contender>,
	counter: SyncCounter,
	asksOf: (contender: Contender) => Ask[] | Promise<Ask[]>,
): Promise<Counted> {
	const contender = await starting();
	const agent = agentOf(1);
	try {
		const asks = await asksOf(contender);
		await wait(SETTLE_MS);
		const before = counter.count();
		await wait(AFTER_ALL_MS);
		const first = counter.count();
		const each: number[] = [];
		for (const one of asks) {
			const counted = counter.count();
			await ask(one, agent);
			await wait(AFTER_REQUEST_MS);
			each.push(counter.count() - counted);
		}
		await wait(AFTER_ALL_MS);
		return { each, all: counter.count() - first, atRest: first - before };
	} finally {
		agent.destroy();
		counter.stop(contender.pid);
		await contender.stop();
	}
}

/** A Worker that passes a request on after an object of its account has stored a row. */
async function bareObject({ field }: Context, { wrapper }: SyncCounter): Promise<Contender> {
	const folder = join(field.folder, "bare-object");
	mkdirSync(folder);
	const served = await serve(
		{
			name: "bare object",
			modules: singleModule(join(import.meta.dirname, "bare-object.js")),
			vars: { UPSTREAM: field.upstream.url },
			objects: [{ name: "ACCOUNT", class_name: "Account" }],
			compatibilityDate: "2026-11-01",
			wrapper,
		},
		await freePort(),
		folder,
	);
	return {
		...served,
		ask: (mode, body, _how, account = "bench") => ({
			url: `${served.url}/${mode}/v1/chat/completions?account=${account}`,
			body: JSON.stringify({ model: "bench", ...body }),
		}),
	};
}

/** Each object has its table and a row, as an account has its token. */
async function storedAlready(contender: Contender): Promise<Ask[]> {
	const asks = Array.from({ length: ACCOUNTS }, (_, i) =>
		contender.ask("json", CHAT, "openai", `account-${i}`),
	);
	const agent = agentOf(ACCOUNTS);
	await Promise.all(asks.map((one) => ask(one, agent)));
	agent.destroy();
	return asks;
}
