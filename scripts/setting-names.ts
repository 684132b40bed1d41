import { configure } from "../src/config/index.ts";

/** The names of all variables that the configuration reads. */
export function settingNames(): ReadonlySet<string> {
	const names = new Set<string>();
	const recording = new Proxy(
		{},
		{
			get(_, name) {
				if (typeof name === "string") names.add(name);
				return undefined;
			},
		},
	);
	configure(recording);
	return names;
}
