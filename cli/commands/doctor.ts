/**
 * `ganglion doctor`: checks that the engines, the search providers and the store of objects match the configuration, and that this
 * machine has room and files.
 * With `--url` or `GANGLION_URL` also the guards and the collectors of the gateways there.
 */
import { setTimeout as wait } from "node:timers/promises";
import * as z from "zod";
import { readVariables } from "../../scripts/config-file.ts";
import { examine, type Finding } from "../../scripts/engines/doctor.ts";
import { examineLocalModels, RunningModel } from "../../scripts/local-engine/doctor.ts";
import { examineMachine } from "../../scripts/machine-doctor.ts";
import { examineSearch } from "../../scripts/search-doctor.ts";
import { fromEnvironment, orStop, warnings } from "../../scripts/settings.ts";
import { examineStorage } from "../../scripts/storage-doctor.ts";
import { configure } from "../../src/config/index.ts";
import { type ConfigFlags, type Defaults, locateConfig } from "../config-location.ts";
import { CommandError, type ConnectionFlags, GatewayClient } from "../gateway-client.ts";
import { examineGateways } from "./doctor-gateways.ts";

const MARKS: Readonly<Record<Finding["result"], string>> = { ok: "✓", warning: "!", failed: "✗" };

/** Returns the exit code: 1 if a check failed. */
export async function doctorCommand(
	flags: ConfigFlags & ConnectionFlags & { state: string; engine?: "local" },
	defaults: Defaults,
): Promise<number> {
	const { vars, secrets } = orStop(() => fromEnvironment(readVariables(locateConfig(flags, defaults))));
	const config = orStop(() => configure({ ...vars, ...secrets }));
	const engines = await examine(config);
	const isRemote = flags.url !== undefined || Boolean(process.env.GANGLION_URL);
	const gateways = isRemote ? await remoteFindings(new GatewayClient(flags)) : [];
	const findings = [
		...engines,
		...(flags.engine === undefined ? [] : await examineLocalModels(process.env, await runningModels(flags))),
		...(await examineSearch(config)),
		...(await examineStorage(config)),
		...gateways,
		...(await examineMachine(flags.state)),
	];
	if (flags.json) console.log(JSON.stringify(findings, undefined, 2));
	else {
		if (engines.length === 0 && flags.engine === undefined) console.log("No engine is configured.");
		console.log(findings.map(lineOf).join("\n"));
		const notes = warnings(config, { ...vars, ...secrets }, process.env);
		if (notes) console.log(notes);
	}
	return findings.some(({ result }) => result === "failed") ? 1 : 0;
}

const LocalModels = z.object({ result: z.object({ models: z.array(RunningModel) }) });

/** Another program may have the port of a gateway, and be silent. */
const ANSWER_MS = 3_000;

/** None: no gateway with models of this machine answers. */
async function runningModels(flags: ConnectionFlags): Promise<z.output<typeof RunningModel>[]> {
	try {
		const answered = new GatewayClient(flags).operatorEnvelope("/local-models", LocalModels);
		const reply = await Promise.race([answered, wait(ANSWER_MS, undefined, { ref: false })]);
		return reply?.result.models ?? [];
	} catch (error) {
		if (error instanceof CommandError) return [];
		throw error;
	}
}

/** A deployment that refuses the command, or does not answer, does not stop the other checks. */
async function remoteFindings(client: GatewayClient): Promise<Finding[]> {
	try {
		return await examineGateways(client);
	} catch (error) {
		if (!(error instanceof CommandError)) throw error;
		const { account, url } = client;
		return [
			{ backend: `account ${account}`, url, check: "gateways", result: "failed", detail: error.message },
		];
	}
}

const lineOf = ({ backend, url, check, result, detail }: Finding): string =>
	`${MARKS[result]} ${backend}${url && ` ${url}`}  ${check}: ${detail}`;
