/** Scenarios that measure times: of requests one after the other, of admission, and of a start. */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DIST } from "../../scripts/root.ts";
import { bundleWorker } from "../../scripts/worker.ts";
import { leftOutByDefault } from "./bundle.ts";
import type { Contender, ContenderName, Mode } from "./contenders.ts";
import { CHAT, type Context, start, stopAll } from "./context.ts";
import { agentOf, ask } from "./load.ts";
import { cpuRatios, noteOf, withBoth } from "./ratios.ts";
import { spread } from "./statistics.ts";
import type { Row } from "./table.ts";

const TURNS = 300;

/** One request at a time, on one connection per contender: with an engine that answers at once, and with a slower one. */
export async function addedLatency(context: Context): Promise<Row[]> {
	return [
		await inTurn(context, "json", {
			label: "small JSON: added p50 above the floor, one connection",
			bar: 0.6,
			stretch: 0.35,
		}),
		await inTurn(context, "late", {
			label: "small JSON of an engine that takes 20 ms: added p50 above the floor, one connection",
		}),
	];
}

const ADDED = ["floor", "floor again", "ganglion"] as const;

/** Median milliseconds of the last contender over the first; and of the second over the first, the error of the method. */
async function inTurn(
	context: Context,
	mode: Mode,
	row: Pick<Row, "label" | "bar" | "stretch">,
	names: readonly [base: ContenderName, again: ContenderName, measured: ContenderName] = ADDED,
): Promise<Row> {
	const contenders: Contender[] = [];
	const agents = names.map(() => agentOf(1));
	const rounds: number[][] = [];
	try {
		for (const name of names) contenders.push(await start(context, name));
		for (let round = 0; round <= context.rounds; round++) {
			const times: number[][] = contenders.map(() => []);
			for (let turn = 0; turn < TURNS; turn++)
				for (const [i, contender] of contenders.entries()) {
					const agent = agents[i];
					if (agent) times[i]?.push((await ask(contender.ask(mode, CHAT), agent)).totalMs);
				}
			// The first round is the warm-up.
			if (round > 0) rounds.push(times.map((each) => spread(each).median));
		}
	} finally {
		for (const agent of agents) agent.destroy();
		await stopAll(contenders);
	}
	const over = (which: number) => spread(rounds.map((round) => (round[which] ?? 0) - (round[0] ?? 0)));
	return {
		...row,
		measured: over(2),
		unit: "ms",
		error: over(1),
		note: `${names[0]} ${spread(rounds.map(([floor = 0]) => floor)).median.toFixed(2)} ms`,
	};
}

/** A way of admission over another one: CPU, and the median time of one connection. */
export async function admission(
	context: Context,
	label: string,
	[first, second]: readonly [ContenderName, ContenderName],
): Promise<Row[]> {
	const ratios = await withBoth(context, [first, second], (pair) =>
		cpuRatios(context, pair, (contender) => contender.ask("json", CHAT)),
	);
	const measured = spread(ratios.map(({ ratio }) => ratio));
	const rows: Row[] = [{ label: `${label}: CPU a request`, measured, unit: "x", note: noteOf(ratios) }];
	const names = [second, second, first] as const;
	for (const [mode, engine] of [
		["json", "an immediate engine"],
		["late", "an engine that takes 20 ms"],
	] as const)
		rows.push(await inTurn(context, mode, { label: `${label}: added time, ${engine}` }, names));
	return rows;
}

/** Time from the start of the process to its first answer. */
export async function coldStart(context: Context): Promise<Row[]> {
	const deployed = await deploymentFolder();
	const contenders = {
		floor: () => start(context, "floor"),
		deployed: () => start(context, "ganglion", { folder: deployed }),
		whole: () => start(context, "ganglion"),
	};
	const times = { floor: [] as number[], deployed: [] as number[], whole: [] as number[] };
	const names = ["floor", "deployed", "whole"] as const;
	try {
		for (let round = 0; round < context.rounds; round++)
			for (const name of names) {
				const begun = performance.now();
				const contender = await contenders[name]();
				const agent = agentOf(1);
				await ask(contender.ask("json", CHAT), agent);
				times[name].push(performance.now() - begun);
				agent.destroy();
				await contender.stop();
			}
	} finally {
		rmSync(deployed, { recursive: true });
	}
	const row = (label: string, ganglion: readonly number[]): Row => ({
		label,
		bar: 150,
		stretch: 80,
		measured: spread(ganglion.map((time, i) => time - (times.floor[i] ?? 0))),
		unit: "ms",
		note: `floor ${spread(times.floor).median.toFixed(0)} ms; with making a token`,
	});
	return [
		row("cold start of a default deployment to the first answer, above the floor", times.deployed),
		row("cold start with all parts to the first answer, above the floor", times.whole),
	];
}

async function deploymentFolder(): Promise<string> {
	const folder = mkdtempSync(join(DIST, ".deployment-"));
	await bundleWorker(folder, { without: leftOutByDefault() });
	return folder;
}
