/** `ganglion doctor`: checks that the engines and the store of objects match the configuration. */

import { readVariables } from "../../scripts/config-file.ts";
import { examine, type Finding } from "../../scripts/engines/doctor.ts";
import { fromEnvironment, orStop, warnings } from "../../scripts/settings.ts";
import { examineStorage } from "../../scripts/storage-doctor.ts";
import { configure } from "../../src/config/index.ts";
import { type ConfigFlags, type Defaults, locateConfig } from "../config-location.ts";

const MARKS: Readonly<Record<Finding["result"], string>> = { ok: "✓", warning: "!", failed: "✗" };

/** Returns the exit code: 1 if a check failed. */
export async function doctorCommand(
	flags: ConfigFlags & { json?: boolean },
	defaults: Defaults,
): Promise<number> {
	const { vars, secrets } = orStop(() => fromEnvironment(readVariables(locateConfig(flags, defaults))));
	const config = orStop(() => configure({ ...vars, ...secrets }));
	const findings = [...(await examine(config)), ...(await examineStorage(config))];
	if (flags.json) console.log(JSON.stringify(findings, undefined, 2));
	else {
		console.log(findings.length > 0 ? findings.map(lineOf).join("\n") : "No engine is configured.");
		const notes = warnings(config, { ...vars, ...secrets });
		if (notes) console.log(notes);
	}
	return findings.some(({ result }) => result === "failed") ? 1 : 0;
}

const lineOf = ({ backend, url, check, result, detail }: Finding): string =>
	`${MARKS[result]} ${backend}${url && ` ${url}`}  ${check}: ${detail}`;
