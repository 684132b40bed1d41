/** `npm run catalog -- --check DIR`: compares src/models/*.json with the product's model files in a folder. */
import { compare, describe, isEqual } from "./catalog/compare.ts";
import { ownFacts } from "./catalog/own-facts.ts";
import { readProductFiles } from "./catalog/product-files.ts";
import { readOptions } from "./options.ts";
import { stopWith } from "./stop-with.ts";

const USAGE = `Usage: npm run catalog -- --check DIR [--json]

Compares the catalogue (src/models/*.json) with the product's model files in DIR: catalog-models/*.json, workers-ai-models/*.json,
or both in one folder. Prints missing, changed and gone models. Exit code: 0 without a difference, else 1.`;

const { check, json } = readOptions({ check: { type: "string" }, json: { type: "boolean" } }, USAGE);
if (check === undefined) stopWith(USAGE);
else {
	const files = readFolder(check);
	if (files.models.length + files.unreadable.length === 0) stopWith(`${check} has no .json file`);
	const comparison = compare(ownFacts(), files);
	console.log(json ? JSON.stringify(comparison, null, "\t") : describe(comparison));
	process.exitCode = isEqual(comparison) ? 0 : 1;
}

function readFolder(folder: string) {
	try {
		return readProductFiles(folder);
	} catch (error) {
		return stopWith(`${folder}: ${error instanceof Error ? error.message : error}`);
	}
}
