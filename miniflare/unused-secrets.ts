/** Values for variables that are not set, in a session that replays answers: it calls no engine, so a build needs no keys. */
import { isRecord } from "../src/core/json.ts";

const NAME = /^[A-Za-z_]\w{0,63}$/;
const VALUE = "not-set-and-not-used";

/** By each text in the options that may be the name of a variable. */
export function unusedSecrets(options: unknown): Record<string, string> {
	if (typeof options === "string") return NAME.test(options) ? { [options]: VALUE } : {};
	const values = Array.isArray(options) ? options : isRecord(options) ? Object.values(options) : [];
	return Object.assign({}, ...values.map(unusedSecrets));
}
