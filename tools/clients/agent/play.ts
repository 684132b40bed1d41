/** Runs a coding agent in the scenarios, with each of its models. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Hosts } from "../../../test/hosts/server.ts";
import { KIMI } from "../library/client.ts";
import type { Played } from "../table.ts";
import type { CodingAgent, ScenarioName } from "./client.ts";
import { writeFixture } from "./fixtures.ts";
import { Failure, Run } from "./run.ts";
import { SCENARIOS } from "./scenarios.ts";

/** The other scenarios send the same as `turn`. */
const RECORDED: readonly ScenarioName[] = ["turn", "tools", "resume"];

export interface AgentOrder {
	name: string;
	version: string;
	/** Where it is installed. */
	installed: string;
	scenarios: readonly ScenarioName[];
	models: readonly string[];
	/** An empty folder for the runs. */
	folder: string;
	/** Keeps all requests and answers in the folders of the runs. */
	keep: boolean;
	/** The folder for fixtures of requests. */
	record: string | undefined;
	hosts: Hosts;
	origin: string;
	token: string;
}

export async function playAgent(client: CodingAgent, order: AgentOrder): Promise<Played[]> {
	const played: Played[] = [];
	for (const model of order.models)
		for (const scenario of order.scenarios)
			played.push({ scenario, model, ...(await playOne(client, order, scenario, model)) });
	return played;
}

async function playOne(
	client: CodingAgent,
	{ folder, hosts, installed, keep, name, origin, record, token, version }: AgentOrder,
	scenario: ScenarioName,
	model: string,
): Promise<Pick<Played, "note" | "failure">> {
	const runFolder = join(folder, `${name}-${scenario}-${model.replaceAll("/", "-")}`);
	mkdirSync(runFolder, { recursive: true });
	const command = join(installed, "node_modules/.bin", client.bin);
	const run = await Run.open({ client, command }, { folder: runFolder, hosts, model, origin, token });
	try {
		const note = await SCENARIOS[scenario].play(run);
		const fixture = run.fixture(`${client.title} ${version}`);
		if (record !== undefined && RECORDED.includes(scenario) && fixture)
			writeFixture(
				record,
				name,
				model === KIMI ? scenario : `${model.replaceAll("/", "-")}-${scenario}`,
				fixture,
			);
		return { note };
	} catch (error) {
		// An error of this program is not a failure of the agent.
		if (!(error instanceof Failure)) throw error;
		return { note: "", failure: error.message };
	} finally {
		await run.close(keep ? runFolder : undefined);
	}
}
