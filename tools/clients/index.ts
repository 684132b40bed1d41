/**
 * `npm run clients`: runs published client libraries and coding agents, in their newest versions, against the built gateway in workerd, in
 * front of scripted hosts that refuse what the real hosts refuse. npm installs the clients into a folder outside the project. They get none
 * of the user's keys and no internet access.
 *
 *     npm run clients -- --only openai-chat,codex --scenario turn,tools
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { exitOnSignals } from "../../scripts/exit-on-signal.ts";
import { readOptions } from "../../scripts/options.ts";
import { stopWith } from "../../scripts/stop-with.ts";
import { Hosts } from "../../test/hosts/server.ts";
import { Gateway } from "../soak/gateway.ts";
import { SCENARIO_NAMES } from "./agent/client.ts";
import { playAgent } from "./agent/play.ts";
import {
	allClients,
	type Client,
	detailsOf,
	installScriptsOf,
	KINDS,
	packagesOf,
	SCENARIOS_OF,
} from "./all.ts";
import { updateDocs } from "./docs.ts";
import { ACCOUNT, SETTINGS } from "./gateway.ts";
import { DEFAULT_CACHE, type Installed, install } from "./install.ts";
import { SCENARIOS } from "./library/client.ts";
import { mind } from "./library/mind.ts";
import { playLibrary } from "./library/run.ts";
import { mergeResults, readResults, writeResults } from "./results.ts";
import { type Played, type Row, resultsOf, table } from "./table.ts";

const ALL_SCENARIOS = [...new Set<string>([...SCENARIOS, ...SCENARIO_NAMES])];

const USAGE = `npm run clients -- [options]

  --only NAMES       clients, with commas between them; --list names them
  --kind KIND        library or agent
  --scenario NAMES   ${ALL_SCENARIOS.join(", ")}
  --model NAME       one model instead of all that a client's users type
  --cached           the versions that are installed, without asking the registry for newer ones
  --folder FOLDER    where the clients are installed (${DEFAULT_CACHE})
  --json FILE        write the results as JSON
  --update-docs      record the results in tools/clients/results.json, and write the tables of docs/clients.md and docs/agents.md
  --tables           write these tables from the recorded results, and run nothing
  --keep             keep the folders of the agents' runs, with all requests and answers
  --record FOLDER    write the agents' last requests of turn, tools and resume, for test/fixtures/agents
  --list             list the clients and their packages`;

const options = readOptions(
	{
		only: { type: "string" },
		kind: { type: "string" },
		scenario: { type: "string" },
		model: { type: "string" },
		cached: { type: "boolean", default: false },
		folder: { type: "string", default: DEFAULT_CACHE },
		json: { type: "string" },
		"update-docs": { type: "boolean", default: false },
		tables: { type: "boolean", default: false },
		keep: { type: "boolean", default: false },
		record: { type: "string" },
		list: { type: "boolean", default: false },
	},
	USAGE,
);

const clients = await allClients();

if (options.list) {
	for (const client of clients)
		console.log(`${client.kind.padEnd(8)} ${client.name.padEnd(26)} ${packagesOf(client).join(" ")}`);
	process.exit(0);
}
if (options.tables) {
	updateDocs(clients, readResults());
	process.exit(0);
}

const kinds = choose("--kind", options.kind, KINDS);
const scenarioNames = choose("--scenario", options.scenario, ALL_SCENARIOS);
const only = choose(
	"--only",
	options.only,
	clients.map(({ name }) => name),
);
const cache = resolve(options.folder);
mkdirSync(cache, { recursive: true });
exitOnSignals();
const runs = mkdtempSync(join(tmpdir(), "ganglion-clients-run-"));
process.once("exit", () => {
	if (!options.keep) rmSync(runs, { recursive: true, force: true, maxRetries: 5 });
});
const hosts = new Hosts(mind());
const outbound = new URL(await hosts.listen()).host;
const gateway = await Gateway.start(join(runs, "gateway"), SETTINGS, { outbound, guarded: true });
const token = (await gateway.createToken(ACCOUNT)).replace("Bearer ", "");
const rows: Row[] = [];

for (const client of clients)
	if (only.includes(client.name) && kinds.includes(client.kind)) {
		const row = await rowOf(client);
		rows.push(row);
		// After each client, so that an interrupted run keeps what it has.
		if (options["update-docs"]) writeResults(mergeResults(readResults(), [row], today()));
	}
await gateway.stop();
hosts.close();
if (options.keep) console.error(`the folders of the runs are in ${runs}`);
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(rows, null, "\t")}\n`);
if (options["update-docs"]) updateDocs(clients, readResults());
for (const kind of kinds) {
	const ofKind = rows.filter((row) => row.kind === kind);
	if (ofKind.length > 0) console.log(table(ofKind, SCENARIOS_OF[kind]));
}
process.exit(rows.some(({ results }) => results.some(({ outcome }) => outcome === "fail")) ? 1 : 0);

async function rowOf(client: Client): Promise<Row> {
	const { kind, name } = client;
	const packages = packagesOf(client);
	const { models: all, title, unsupported = {} } = detailsOf(client);
	const models = options.model === undefined ? all : [options.model];
	const scenarios = SCENARIOS_OF[kind].filter((scenario) => scenarioNames.includes(scenario));
	const row = { kind, name, title, package: packages[0] ?? "", models };
	const installScripts = installScriptsOf(client);
	const installed = await install(
		{
			client: name,
			packages,
			installScripts,
			version: client.kind === "agent" ? client.agent.version : undefined,
		},
		cache,
		options.cached,
	).catch(asError);
	if (installed instanceof Error) {
		console.error(`${title}: ${installed.message}`);
		const note = `not installed: ${installed.message}`;
		const results = scenarios.map((scenario) => ({ scenario, outcome: "fail", note }) as const);
		return { ...row, version: "", date: "", results, played: [] };
	}
	const { date, version } = installed;
	console.error(`${title}: ${row.package} ${version} of ${date}`);
	const played = await play(client, installed, models);
	for (const { failure, model, scenario } of played)
		if (failure !== undefined) console.error(`    ${scenario}, ${model}: ${failure}`);
	return { ...row, version, date, results: resultsOf(scenarios, unsupported, played), played };
}

function play(client: Client, { folder, version }: Installed, models: readonly string[]): Promise<Played[]> {
	if (client.kind === "library") {
		const { env, unsupported = {} } = client.library;
		hosts.follow(mind());
		return playLibrary(
			{
				file: client.file,
				folder,
				origin: gateway.url,
				account: ACCOUNT,
				token,
				scenarios: SCENARIOS.filter((one) => scenarioNames.includes(one) && unsupported[one] === undefined),
				models,
			},
			hosts,
			{ env, home: join(runs, client.name) },
		);
	}
	const { unsupported = {} } = client.agent;
	return playAgent(client.agent, {
		name: client.name,
		version,
		installed: folder,
		scenarios: SCENARIO_NAMES.filter((one) => scenarioNames.includes(one) && unsupported[one] === undefined),
		models,
		folder: runs,
		keep: options.keep,
		record: options.record,
		hosts,
		origin: gateway.url,
		token,
	});
}

function choose<Name extends string>(
	option: string,
	names: string | undefined,
	available: readonly Name[],
): Name[] {
	if (names === undefined) return [...available];
	const listed = names.split(",");
	const unknown = listed.filter((name) => !available.some((one) => one === name));
	if (unknown.length > 0) stopWith(`${option}: no ${unknown.join(", ")}; there are ${available.join(", ")}`);
	return available.filter((name) => listed.includes(name));
}

function today(): string {
	return new Date().toISOString().slice(0, "YYYY-MM-DD".length);
}

function asError(error: unknown): Error {
	return error instanceof Error ? error : new Error(String(error));
}
