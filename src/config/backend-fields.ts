/** What messages say about fields of a backend that have another name, or belong to a route. */
import { isOfRoutes, isOfTargets } from "./route-settings.ts";

/** Names of other products, in lower case and without marks. */
const OTHER_NAMES: readonly { names: ReadonlySet<string>; note: string }[] = [
	{
		names: new Set([
			"apikey",
			"apitoken",
			"auth",
			"authtoken",
			"authorization",
			"bearer",
			"credential",
			"secret",
			"token",
		]),
		note: ': use "key", the name of a secret, as in "key": "ENGINE_KEY"',
	},
	{
		names: new Set(["address", "apibase", "baseuri", "baseurl", "endpoint", "host", "server"]),
		note: ': use "url"',
	},
	{ names: new Set(["provider", "type"]), note: ': use "kind"' },
];

/** The end of the sentence "expected no such field". */
export function backendFieldNote(field: string): string | undefined {
	if (isOfTargets(field)) return `: it is a field of a target, as in ROUTES.m[0].${field}`;
	if (isOfRoutes(field)) return `: it is a setting of a route, as in ROUTES.m.${field}`;
	const plain = field.toLowerCase().replace(/[^a-z]/g, "");
	return OTHER_NAMES.find(({ names }) => names.has(plain))?.note;
}
