/**
 * `npm run clients`: runs published client libraries and coding agents, in their newest versions, against the built gateway in workerd, in
 * front of scripted hosts that refuse what the real hosts refuse. npm installs the clients into a folder outside the project. They get none
 * of the user's keys and no internet access.
 *
 *     npm run clients -- --only openai-chat,codex --scenario turn,tools
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { readOptions } from "../scripts/options.ts";
import { stopWith } from "../scripts/settings.ts";
import { Gateway } from "../soak/gateway.ts";
import { Hosts } from "../test/hosts/server.ts";
import { type CodingAgent, SCENARIO_NAMES } from "./agent/client.ts";
import { playAgent } from "./agent/play.ts";
import { updateDocs } from "./docs.ts";
import { ACCOUNT, SETTINGS } from "./gateway.ts";
import { DEFAULT_CACHE, type Installed, install } from "./install.ts";
import { type Library, SCENARIOS } from "./library/client.ts";
import { mind } from "./library/mind.ts";
import { playLibrary } from "./library/run.ts";
import { type Played, type Row, resultsOf, table } from "./table.ts";

const LIBRARIES = join(import.meta.dirname, "libraries");
const AGENTS = join(import.meta.dirname, "agents");
const namesIn = (folder: string): string[] => readdirSync(folder).map((file) => basename(file, ".ts"));
const ALL_SCENARIOS = [...new Set<string>([...SCENARIOS, ...SCENARIO_NAMES])];

const USAGE = `npm run clients -- [options]

  --only NAMES       clients, with commas between them; --list names them
  --kind KIND        library or agent
  --scenario NAMES   ${ALL_SCENARIOS.join(", ")}
  --model NAME       one model instead of all that a client's users type
  --cached           the versions that are installed, without asking the registry for newer ones
  --folder FOLDER    where the clients are installed (${DEFAULT_CACHE})
  --json FILE        write the results as JSON
  --update-docs      write the results into docs/clients.md and docs/agents.md
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
		keep: { type: "boolean", default: false },
		record: { type: "string" },
		list: { type: "boolean", default: false },
	},
	USAGE,
);

type Client =
	| { kind: "library"; name: string; file: string; library: Library }
	| { kind: "agent"; name: string; agent: CodingAgent };

const clients: Client[] = [
	...(await Promise.all(
		namesIn(LIBRARIES).map(async (name): Promise<Client> => {
			const file = join(LIBRARIES, `${name}.ts`);
			const { client }: { client: Library } = await import(file);
			return { kind: "library", name, file, library: client };
		}),
	)),
	...(await Promise.all(
		namesIn(AGENTS).map(async (name): Promise<Client> => {
			const { agent }: { agent: CodingAgent } = await import(join(AGENTS, `${name}.ts`));
			return { kind: "agent", name, agent };
		}),
	)),
];
const packagesOf = (client: Client): readonly string[] =>
	client.kind === "library" ? client.library.packages : [client.agent.package];
const installScriptsOf = (client: Client): readonly string[] =>
	client.kind === "library"
		? (client.library.installScripts ?? [])
		: client.agent.installScript
			? [client.agent.package]
			: [];
const detailsOf = (client: Client) => (client.kind === "library" ? client.library : client.agent);
const scenariosOf = (client: Client) => (client.kind === "library" ? SCENARIOS : SCENARIO_NAMES);

if (options.list) {
	for (const client of clients)
		console.log(`${client.kind.padEnd(8)} ${client.name.padEnd(26)} ${packagesOf(client).join(" ")}`);
	process.exit(0);
}

const kinds = choose("--kind", options.kind, ["library", "agent"] as const);
const scenarioNames = choose("--scenario", options.scenario, ALL_SCENARIOS);
const only = choose(
	"--only",
	options.only,
	clients.map(({ name }) => name),
);
const cache = resolve(options.folder);
mkdirSync(cache, { recursive: true });
const runs = mkdtempSync(join(tmpdir(), "ganglion-clients-run-"));
const hosts = new Hosts(mind());
const outbound = new URL(await hosts.listen()).host;
const gateway = await Gateway.start(join(runs, "gateway"), SETTINGS, { outbound });
const token = (await gateway.createToken(ACCOUNT)).replace("Bearer ", "");
const rows: Row[] = [];

for (const client of clients)
	if (only.includes(client.name) && kinds.includes(client.kind)) rows.push(await rowOf(client));
await gateway.stop();
hosts.close();
if (options.keep) console.error(`the folders of the runs are in ${runs}`);
else rmSync(runs, { recursive: true, force: true, maxRetries: 5 });
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(rows, null, "\t")}\n`);
if (options["update-docs"]) updateDocs(rows);
for (const kind of kinds) {
	const ofKind = rows.filter((row) => row.kind === kind);
	if (ofKind.length > 0) console.log(table(ofKind, kind === "library" ? SCENARIOS : SCENARIO_NAMES));
}
process.exit(rows.some(({ results }) => results.some(({ outcome }) => outcome === "fail")) ? 1 : 0);

async function rowOf(client: Client): Promise<Row> {
	const { kind, name } = client;
	const packages = packagesOf(client);
	const { models: all, title, unsupported = {} } = detailsOf(client);
	const models = options.model === undefined ? all : [options.model];
	const scenarios = scenariosOf(client).filter((scenario) => scenarioNames.includes(scenario));
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
		return { ...row, version: "", date: "", results };
	}
	const { date, version } = installed;
	console.error(`${title}: ${row.package} ${version} of ${date}`);
	const played = await play(client, installed, models);
	for (const { failure, model, scenario } of played)
		if (failure !== undefined) console.error(`    ${scenario}, ${model}: ${failure}`);
	return { ...row, version, date, results: resultsOf(scenarios, unsupported, played) };
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

function asError(error: unknown): Error {
	return error instanceof Error ? error : new Error(String(error));
}
