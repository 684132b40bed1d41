/** Refuses settings that need a part which this build leaves out. */
import { isLeftOut } from "../core/left-out.ts";
import type { ConfiguredBackend } from "../pipeline/plan.ts";
import type { Route } from "../pipeline/route.ts";
import type { Path, Problems } from "./problems.ts";

interface Settings {
	/** Of `ROUTES`. */
	routes: readonly Pick<Route, "pattern" | "targets">[];
	/** Of `PROVIDER_KEYS`. */
	keyed: readonly ConfiguredBackend[];
	defaultBackend: ConfiguredBackend | undefined;
}

export function refuseLeftOut({ routes, keyed, defaultBackend }: Settings, problems: Problems): void {
	const refuse = (kind: string, path: Path) => {
		if (isLeftOut(kind))
			problems.add(
				path,
				`this build has no backends of kind "${kind}": remove the kind from --without in "build.command", or, if it has "unused", put the backend into the configuration file; then deploy again (docs/configuration.md)`,
			);
	};
	for (const { pattern, targets } of routes)
		for (const { backend } of targets) refuse(backend.kind, ["ROUTES", pattern]);
	for (const { backend, kind } of keyed) refuse(kind, ["PROVIDER_KEYS", backend]);
	if (defaultBackend) refuse(defaultBackend.kind, ["DEFAULT_BACKEND"]);
}
