/**
 * npm's scripts load this file first (`node --import`): it says in one sentence that `npm install` has not run. Without it, a Node that is
 * too old for the script ends with a stack, and so does a missing package.
 */
import { existsSync } from "node:fs";
import { isNewEnough, NEEDED_NODE } from "./node-version.mjs";

if (!isNewEnough() || !existsSync(new URL("../node_modules", import.meta.url))) {
	console.error(
		`error: run npm install first (it adds the packages, and a newer Node if this one, ${process.version}, is older than ${NEEDED_NODE})`,
	);
	process.exit(1);
}
