/** Many accounts and many routes, and the commits to the disk. */
import { readdirSync } from "node:fs";
import type { Contender } from "./contenders.ts";
import { CHAT, type Context, start } from "./context.ts";
import { type Ask, load, warmUp } from "./load.ts";
import { residentBytes } from "./process.ts";
import { cpuRatios, noteOf, WARM_UP_ANSWERS, withBoth } from "./ratios.ts";
import { exactly, spread } from "./statistics.ts";
import { countSyncs } from "./syncs.ts";
import type { Row } from "./table.ts";

const COMMIT_CONNECTIONS = 16;

/** Callers that make the tokens of the accounts. */
const TOKEN_CALLERS = 32;

/** Adds accounts with a token each. Returns a chat of each of them. */
export async function asksOfNewAccounts(contender: Contender, count: number): Promise<Ask[]> {
	const names = Array.from({ length: count }, (_, i) => `account-${i}`);
	await contender.addAccounts?.(names, TOKEN_CALLERS);
	return names.map((name) => contender.ask("json", CHAT, "openai", name));
}

const ACCOUNTS_IN_TURN = [
	{ count: 100, bar: 1.3, stretch: 1.1 },
	{ count: 1_000, bar: 1.3, stretch: 1.1 },
	{ count: 10_000, bar: 1.5, stretch: 1.2 },
] as const;

/** Requests of many accounts in turn, over requests of one. With the most of them: the rate of new tokens, memory and files, too. */
export async function accountsInTurn(context: Context): Promise<Row[]> {
	const rows: Row[] = [];
	for (const { count, bar, stretch } of ACCOUNTS_IN_TURN) {
		const ratios = await withBoth(context, ["ganglion", "ganglion"], async ([many, one]) => {
			const began = performance.now();
			const inTurn = await asksOfNewAccounts(many, count);
			const seconds = (performance.now() - began) / 1000;
			const asked = (each: Contender) => (each === many ? inTurn : each.ask("json", CHAT));
			const measured = await cpuRatios(context, [many, one], asked, {
				// Each account is asked three times, because its second request is the first that gets a lease.
				warmUpAnswers: Math.max(WARM_UP_ANSWERS, 3 * count),
				warmUpMs: 240_000,
			});
			if (count === ACCOUNTS_IN_TURN.at(-1)?.count) rows.push(...heldFor(count, many, seconds));
			return measured;
		});
		rows.push({
			label: `${count} accounts in turn, over one: CPU a request`,
			measured: spread(ratios.map(({ ratio }) => ratio)),
			unit: "x",
			...{ bar, stretch },
			note: noteOf(ratios),
		});
	}
	return rows;
}

/** What the process has for so many accounts. `seconds`: the time in which they were made. */
const heldFor = (count: number, { pid }: Contender, seconds: number): Row[] => [
	{
		label: `${count} accounts: memory of the process`,
		measured: exactly(residentBytes(pid) / 1e6),
		unit: "MB",
		...{ bar: 400, stretch: 300 },
	},
	{
		label: `${count} accounts: open files`,
		measured: exactly(readdirSync(`/proc/${pid}/fd`).length),
		unit: "",
		...{ bar: 200, stretch: 60 },
	},
	{
		label: `new accounts with a token a second, ${TOKEN_CALLERS} callers`,
		measured: exactly(count / seconds),
		unit: "",
		...{ bar: 500, stretch: 2_000, isMoreBetter: true },
	},
];

/** A configuration with a thousand more routes, over one without. */
export async function manyRoutes(context: Context): Promise<Row[]> {
	const ask = (contender: Contender) => contender.ask("json", CHAT);
	const ratios = await withBoth(
		context,
		["ganglion", "ganglion"],
		(pair) => cpuRatios(context, pair, ask),
		{ extraRoutes: 1_000 },
		{},
	);
	return [
		{
			label: "1,000 more routes, over none: CPU a request",
			measured: spread(ratios.map(({ ratio }) => ratio)),
			unit: "x",
			note: noteOf(ratios),
		},
	];
}

/** System calls that wait for the disk, counted under a steady load. */
export async function commits(context: Context): Promise<Row[]> {
	const counter = countSyncs(context.field.folder, "commits");
	if (!counter) {
		context.say("  neither strace nor a C compiler is installed: the commits are not counted");
		return [];
	}
	const contender = await start(context, "ganglion", { wrapper: counter.wrapper });
	try {
		const loops = [{ ask: contender.ask("json", CHAT), connections: COMMIT_CONNECTIONS }];
		await warmUp(loops, WARM_UP_ANSWERS, 10_000);
		const before = counter.count();
		const [answers = 0] = await load(loops, context.rounds * context.seconds * 1000);
		const syncs = counter.count() - before;
		return [
			{
				label: `commits a request, steady load of ${COMMIT_CONNECTIONS}`,
				measured: exactly(syncs / answers),
				unit: "",
				bar: 0.05,
				note: `${syncs} commits, ${answers} requests`,
			},
		];
	} finally {
		counter.stop(contender.pid);
		await contender.stop();
	}
}
