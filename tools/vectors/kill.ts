/**
 * `npm run kill:vectors`: writes mutations of an index, and kills the runtime with SIGKILL while they are under way. After each kill it reads the
 * index: what was confirmed is there, and a mutation that was not confirmed is there whole or not at all. The vectors are embeddings of the
 * simulator, and at the end none is billed twice. It fails if one of these is not true.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { modulesIn } from "../../miniflare/modules.ts";
import { freePort } from "../../scripts/free-port.ts";
import { readOptions } from "../../scripts/options.ts";
import { DIST } from "../../scripts/root.ts";
import { runtimeSettings } from "../../scripts/settings.ts";
import { type Served, serve } from "../../scripts/workerd.ts";
import { Lane } from "./lane.ts";
import { LostConnection, VectorClient } from "./vector-client.ts";

const { mutations: mutationsText = "10000", kills: killsText = "10" } = readOptions(
	{ mutations: { type: "string" }, kills: { type: "string" } },
	`npm run kill:vectors -- [options]

  --mutations N  of the index (10000)
  --kills N      with SIGKILL (10)`,
);
const mutations = Number(mutationsText);
const kills = Number(killsText);
const LANES = 4;
const ADMIN_TOKEN = "kill-vectors-admin-token-of-32-characters";
/** A kill comes in the middle of a mutation. */
const LONGEST_MUTATION_MS = 40;

const folder = mkdtempSync(join(tmpdir(), "ganglion-kill-"));
const port = await freePort();
let runs = 0;
const start = (): Promise<Served> => {
	const configFolder = join(folder, String(runs++));
	mkdirSync(configFolder);
	return serve(
		{
			name: "ganglion",
			modules: modulesIn(join(DIST, "worker")),
			vars: {
				ADMIN_TOKEN,
				DEFAULT_BACKEND: "simulator",
				LEDGER: "exact",
				LIMITS: { requests_per_minute: "none" },
			},
			...runtimeSettings(),
			state: join(folder, "state"),
		},
		port,
		configFolder,
	);
};

const faults: string[] = [];
let served = await start();
try {
	const client = new VectorClient(served.url, ADMIN_TOKEN);
	await client.create();
	const lanes = Array.from({ length: LANES }, (_, number) => new Lane(number, client));
	let confirmed = 0;
	for (let kill = 0; kill <= kills; kill++) {
		const until = Math.floor((mutations * (kill + 1)) / (kills + 1));
		const isKilled = kill < kills;
		const ended = Promise.all(
			lanes.map(async (lane) => {
				// The lanes that are not at their end when the first one is are killed in the middle.
				while (confirmed < until || (isKilled && !client.isLost)) {
					try {
						await lane.mutate();
						confirmed++;
					} catch (error) {
						if (error instanceof LostConnection) return;
						throw error;
					}
				}
			}),
		);
		if (isKilled) {
			while (confirmed < until) await wait(1);
			await wait(Math.random() * LONGEST_MUTATION_MS);
			process.kill(served.pid, "SIGKILL");
			await served.ended;
		}
		await ended;
		if (isKilled) {
			served = await start();
			client.isLost = false;
		}
		const found = await client.all();
		for (const lane of lanes) faults.push(...lane.audit(found));
		const known = lanes.reduce((sum, lane) => sum + lane.size, 0);
		if (found.size !== known) faults.push(`${found.size} vectors, expected ${known}`);
		console.log(
			`${confirmed} mutations, ${kill + Number(isKilled)} kills, ${found.size} vectors, ${faults.length} faults`,
		);
	}
	const billed = await client.billed();
	const difference = billed - client.embeddings;
	// An answer that arrived just before a kill may not be settled: its reservation is charged when it expires.
	if (difference < -kills * LANES || difference > client.lostEmbeddings)
		faults.push(`${billed} embeddings are billed, and ${client.embeddings} were answered`);
	console.log(
		`${billed} embeddings billed, ${client.embeddings} answered; ${client.lostEmbeddings} in flight at a kill; ${Math.max(0, -difference)} answered and not settled at a kill`,
	);
	console.log(`${lanes.reduce((sum, lane) => sum + lane.unconfirmed, 0)} mutations were in flight at a kill`);
} finally {
	await served.stop();
	rmSync(folder, { recursive: true, force: true });
}
for (const fault of faults) console.error(fault);
process.exit(faults.length > 0 ? 1 : 0);
