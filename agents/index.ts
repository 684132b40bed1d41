/**
 * `npm run agents`: runs published coding agents against the built gateway in workerd, with a scripted engine. npm installs the agents into
 * a folder outside the project. They get none of the user's keys and no internet access.
 *
 *     npm run agents -- --only codex,claude --scenario turn,tools
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { readOptions } from "../scripts/options.ts";
import { stopWith } from "../scripts/settings.ts";
import type { ScenarioName } from "./client.ts";
import { CLIENTS } from "./clients/index.ts";
import { writeFixture } from "./fixtures.ts";
import { type Installed, install } from "./install.ts";
import { AGENTS, type AgentName, PACKAGES } from "./packages.ts";
import { Failure, Run } from "./run.ts";
import { SCENARIOS } from "./scenarios.ts";
import { type Result, type Row, table } from "./table.ts";

const SCENARIO_NAMES = Object.keys(SCENARIOS) as ScenarioName[];
/** The other scenarios send the same as `turn`. */
const RECORDED: readonly ScenarioName[] = ["turn", "tools", "resume"];
const USAGE = `npm run agents -- [options]

  --only NAMES       agents, with commas between them: ${AGENTS.join(", ")}
  --scenario NAMES   ${SCENARIO_NAMES.join(", ")}
  --model NAME       the model's name that the agents send (@cf/moonshotai/kimi-k2.6), such as gpt-5.6-sol
  --latest           the newest versions instead of the pinned ones
  --folder FOLDER    where the agents are installed (ganglion-agents in the system's temporary folder)
  --keep             keep the folders of the runs, with all requests and answers
  --record FOLDER    write the last requests of turn, tools and resume, for test/fixtures/agents
  --list             list the agents, their versions, and the scenarios`;

const options = readOptions(
	{
		only: { type: "string" },
		scenario: { type: "string" },
		model: { type: "string" },
		latest: { type: "boolean", default: false },
		folder: { type: "string", default: join(tmpdir(), "ganglion-agents") },
		keep: { type: "boolean", default: false },
		record: { type: "string" },
		list: { type: "boolean", default: false },
	},
	USAGE,
);

if (options.list) {
	for (const agent of AGENTS)
		console.log(`${agent.padEnd(10)} ${PACKAGES[agent].name}@${PACKAGES[agent].version}`);
	console.log("");
	for (const name of SCENARIO_NAMES) console.log(`${name.padEnd(10)} ${SCENARIOS[name].title}`);
	process.exit(0);
}

const agents = choose("--only", options.only, AGENTS);
const scenarios = choose("--scenario", options.scenario, SCENARIO_NAMES);
const cache = resolve(options.folder);
mkdirSync(cache, { recursive: true });
const runs = mkdtempSync(join(tmpdir(), "ganglion-agents-run-"));
const rows: Row[] = [];

for (const [index, agent] of agents.entries()) {
	const progress = `${index + 1}/${agents.length} ${agent}`;
	console.error(`${progress}: installing`);
	const installed = await install(agent, cache, options.latest ? "latest" : undefined).catch(asError);
	const version = installed instanceof Error ? PACKAGES[agent].version : installed.version;
	for (const scenario of scenarios) {
		console.error(`${progress} ${version}: ${SCENARIOS[scenario].title}`);
		const result = installed instanceof Error ? failure(installed) : await play(agent, scenario, installed);
		rows.push({ agent, version, scenario, ...result });
		console.error(`    ${result.outcome}: ${result.note}`);
	}
}
if (options.keep) console.error(`the folders of the runs are in ${runs}`);
else rmSync(runs, { recursive: true, force: true });
console.log(table(rows));
process.exit(rows.some(({ outcome }) => outcome === "fail") ? 1 : 0);

async function play(
	agent: AgentName,
	scenario: ScenarioName,
	{ command, version }: Installed,
): Promise<Result> {
	const client = CLIENTS[agent];
	const unshortened = scenario === "shorten" && !client.shortens;
	const reason = unshortened ? "it keeps its output limit" : client.unsupported?.[scenario];
	if (reason !== undefined) return { outcome: "not supported", note: reason };
	const folder = join(runs, `${agent}-${scenario}`);
	const run = await Run.open({ client, command }, folder, options.model);
	try {
		const note = await SCENARIOS[scenario].play(run);
		const fixture = run.fixture(`${PACKAGES[agent].title} ${version}`);
		if (options.record !== undefined && RECORDED.includes(scenario) && fixture)
			writeFixture(options.record, agent, scenario, fixture);
		return { outcome: "pass", note };
	} catch (error) {
		// An error of this program is not a failure of the agent.
		if (!(error instanceof Failure)) throw error;
		return failure(error);
	} finally {
		await run.close(options.keep ? folder : undefined);
	}
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

function failure({ message }: Error): Result {
	return { outcome: "fail", note: message };
}

function asError(error: unknown): Error {
	return error instanceof Error ? error : new Error(String(error));
}
