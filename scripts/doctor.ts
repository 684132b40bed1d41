/** `npm run doctor`: checks that the engines match the configuration. Exits with 1 if a check fails. */
import { resolve } from "node:path";
import { configure } from "../src/config/index.ts";
import { examine, type Finding } from "./engines/doctor.ts";
import { readOptions } from "./options.ts";
import { fromEnvironment, orStop, readVariables, warnings } from "./settings.ts";

const USAGE = `npm run doctor -- [options]

  --config FILE   instead of wrangler.jsonc
  --env NAME      an environment of that file
  --json          for programs

Reads the settings as npm run serve does, and requests the list of models from each engine.
✓ correct   ! works, but may be a mistake   ✗ wrong: exits with 1`;

const values = readOptions(
	{
		config: { type: "string", short: "c" },
		env: { type: "string", short: "e" },
		json: { type: "boolean", default: false },
	},
	USAGE,
);
const where = {
	env: values.env,
	...(values.config !== undefined && {
		config: resolve(process.env.INIT_CWD ?? process.cwd(), values.config),
	}),
};
const { vars, secrets } = orStop(() => fromEnvironment(readVariables(where)));
const config = orStop(() => configure({ ...vars, ...secrets }));
const findings = await examine(config);

const MARKS: Readonly<Record<Finding["result"], string>> = { ok: "✓", warning: "!", failed: "✗" };
const lineOf = ({ backend, url, check, result, detail }: Finding): string =>
	`${MARKS[result]} ${backend}${url && ` ${url}`}  ${check}: ${detail}`;
if (values.json) console.log(JSON.stringify(findings, undefined, 2));
else {
	console.log(findings.length > 0 ? findings.map(lineOf).join("\n") : "No engine is configured.");
	const notes = warnings(config, { ...vars, ...secrets });
	if (notes) console.log(notes);
}
process.exitCode = findings.some(({ result }) => result === "failed") ? 1 : 0;
