/**
 * `npm run clients`: runs published clients, in their newest versions, against the built gateway in workerd, in front of scripted hosts that
 * refuse what the real hosts refuse. npm installs the clients into a folder outside the project. They get none of the user's keys and no
 * internet access.
 *
 *     npm run clients -- --only openai-chat,langchain-openai --scenario turn,tools
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { readOptions } from "../scripts/options.ts";
import { stopWith } from "../scripts/settings.ts";
import { Gateway } from "../soak/gateway.ts";
import { Hosts } from "../test/hosts/server.ts";
import { ACCOUNT, SETTINGS } from "./gateway.ts";
import { DEFAULT_CACHE, type Installed, install } from "./install.ts";
import { type Library, SCENARIOS } from "./library/client.ts";
import { mind } from "./library/mind.ts";
import { playLibrary } from "./library/run.ts";
import { type Row, table } from "./table.ts";

const LIBRARIES = join(import.meta.dirname, "libraries");
const NAMES = readdirSync(LIBRARIES).map((file) => basename(file, ".ts"));
const USAGE = `npm run clients -- [options]

  --only NAMES       clients, with commas between them; --list names them
  --scenario NAMES   ${SCENARIOS.join(", ")}
  --model NAME       one model instead of all that a client's users type
  --cached           the versions that are installed, without asking the registry for newer ones
  --folder FOLDER    where the clients are installed (${DEFAULT_CACHE})
  --json FILE        write the results as JSON
  --list             list the clients and their packages`;

const options = readOptions(
	{
		only: { type: "string" },
		scenario: { type: "string" },
		model: { type: "string" },
		cached: { type: "boolean", default: false },
		folder: { type: "string", default: DEFAULT_CACHE },
		json: { type: "string" },
		list: { type: "boolean", default: false },
	},
	USAGE,
);

const libraries = new Map<string, Library>();
for (const name of NAMES) {
	const { client }: { client: Library } = await import(join(LIBRARIES, `${name}.ts`));
	libraries.set(name, client);
}

if (options.list) {
	for (const [name, { packages }] of libraries) console.log(`${name.padEnd(24)} ${packages.join(" ")}`);
	process.exit(0);
}

const scenarios = choose("--scenario", options.scenario, SCENARIOS);
const cache = resolve(options.folder);
mkdirSync(cache, { recursive: true });
const home = mkdtempSync(join(tmpdir(), "ganglion-clients-run-"));
const hosts = new Hosts(mind());
const outbound = new URL(await hosts.listen()).host;
const gateway = await Gateway.start(join(home, "gateway"), SETTINGS, { outbound });
const token = (await gateway.createToken(ACCOUNT)).replace("Bearer ", "");
const rows: Row[] = [];

for (const name of choose("--only", options.only, NAMES)) {
	const library = libraries.get(name);
	if (!library) continue;
	const { packages, title } = library;
	const installed = await install({ client: name, packages }, cache, options.cached).catch(asError);
	if (installed instanceof Error) {
		rows.push({
			name,
			title,
			version: "",
			date: "",
			results: scenarios.map((scenario) => ({ scenario, outcome: "fail", note: installed.message })),
		});
		continue;
	}
	console.error(`${title}: ${packages[0]} ${installed.version} of ${installed.date}`);
	rows.push({
		name,
		title,
		version: installed.version,
		date: installed.date,
		results: await play(name, library, installed),
	});
}
await gateway.stop();
hosts.close();
rmSync(home, { recursive: true, force: true, maxRetries: 5 });
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(rows, null, "\t")}\n`);
console.log(table(rows, SCENARIOS));
process.exit(rows.some(({ results }) => results.some(({ outcome }) => outcome === "fail")) ? 1 : 0);

async function play(name: string, library: Library, { folder }: Installed): Promise<Row["results"]> {
	const { env, models, unsupported = {} } = library;
	const played = await playLibrary(
		{
			file: join(LIBRARIES, `${name}.ts`),
			folder,
			origin: gateway.url,
			account: ACCOUNT,
			token,
			scenarios: scenarios.filter((scenario) => unsupported[scenario] === undefined),
			models: options.model === undefined ? models : [options.model],
		},
		hosts,
		{ env, home },
	);
	for (const { failure, model, scenario } of played)
		if (failure !== undefined) console.error(`    ${scenario}, ${model}: ${failure}`);
	return scenarios.map((scenario) => {
		const reason = unsupported[scenario];
		if (reason !== undefined) return { scenario, outcome: "not supported", note: reason };
		const mine = played.filter((one) => one.scenario === scenario);
		const failed = mine.filter(({ failure }) => failure !== undefined);
		if (failed.length > 0 || mine.length === 0)
			return {
				scenario,
				outcome: "fail",
				note: failed.map(({ failure, model }) => `${model}: ${failure}`).join("\n") || "it did not run",
			};
		return { scenario, outcome: "pass", note: [...new Set(mine.map(({ note }) => note))].join(", ") };
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
