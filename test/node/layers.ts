/**
 * Folders and files of `src/`, outermost first. A file imports from its own folder, or from one further down this list.
 * `docs/architecture.md` has the same list.
 */
export const LAYERS: readonly (readonly string[])[] = [
	["index.ts"],
	["app.ts", "services.ts"],
	["work-handlers.ts"],
	["config"],
	["surfaces"],
	["gateways"],
	["responses"],
	["websearch"],
	["http"],
	["pipeline"],
	["providers", "telemetry"],
	["backends", "dialects", "markdown"],
	["accounts", "fleet"],
	["pools"],
	["tasks"],
	["counting"],
	["models"],
	["storage"],
	["outbound"],
	["streams", "schemas"],
	["core"],
	["media"],
];
