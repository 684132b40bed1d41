/** Refuses settings that need a part which this build leaves out. */
import { isLeftOut } from "../core/left-out.ts";
import type { ConfiguredBackend } from "./backends.ts";
import type { Path, Problems } from "./problems.ts";
import type { Route } from "./routes.ts";

export function refuseLeftOut(
	routes: readonly Pick<Route, "pattern" | "targets">[],
	defaultBackend: ConfiguredBackend | undefined,
	problems: Problems,
): void {
	const refuse = (kind: string, path: Path) => {
		if (isLeftOut(kind))
			problems.add(
				path,
				`this build has no backends of kind "${kind}": see --without in docs/configuration.md`,
			);
	};
	for (const { pattern, targets } of routes)
		for (const { backend } of targets) refuse(backend.kind, ["ROUTES", pattern]);
	if (defaultBackend) refuse(defaultBackend.kind, ["DEFAULT_BACKEND"]);
}
