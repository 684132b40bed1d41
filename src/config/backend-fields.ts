/** What messages say about fields of a backend that have another name, or belong to a route. */
import { FIELDS_OF_ROUTES, FIELDS_OF_TARGETS } from "./route-settings.ts";

/** By the other names, in lower case and without marks. */
const OTHER_NAMES = new Map(
	Object.entries({
		': use "key", the name of a secret, as in "key": "ENGINE_KEY"':
			"apikey apitoken auth authtoken authorization bearer credential secret token",
		': use "url"': "address apibase baseuri baseurl endpoint host server",
		': use "kind"': "provider type",
	}).flatMap(([note, names]) => names.split(" ").map((name): [string, string] => [name, note])),
);

const plain = (field: string): string => field.toLowerCase().replace(/[^a-z]/g, "");

/** The end of the sentence "expected no such field". */
export function backendFieldNote(field: string): string | undefined {
	if (FIELDS_OF_TARGETS.has(field)) return `: it is a field of a target, as in ROUTES.m[0].${field}`;
	if (FIELDS_OF_ROUTES.has(field)) return `: it is a setting of a route, as in ROUTES.m.${field}`;
	return OTHER_NAMES.get(plain(field));
}
