/**
 * Folders and files of `src/`, outermost first. A file imports from its own folder, or from one further down this list.
 * `docs/architecture.md` has the same list.
 */
export const LAYERS: readonly (readonly string[])[] = [
	["index.ts"],
	["app.ts", "services.ts"],
	["persistent-services.ts"],
	["work-handlers.ts"],
	["config"],
	["surfaces"],
	["retrieval"],
	["gateways"],
	["jobs"],
	["responses"],
	["websearch"],
	["http"],
	["pipeline"],
	["providers", "telemetry"],
	["backends", "dialects"],
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

/** The same inside of a folder of `src/`, whose folders and files these are. */
export const INNER_LAYERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
	gateways: [
		["run"],
		["services.ts"],
		["middleware"],
		["client"],
		["export"],
		["ended-request.ts"],
		["durable"],
		["comparisons"],
		["logs"],
		["aliases", "auto", "cache", "dynamic", "resume"],
		["usage"],
		["scanning"],
		["answer-headers.ts"],
		["request.ts"],
		["bound-options.ts", "exchange.ts"],
		["dlp", "gateway-usage.ts", "guardrails", "options.ts"],
		["secrets.ts", "settings-notes.ts"],
		["settings.ts"],
		["profiles", "providers"],
		["absent-gateway.ts", "gateway-bounds.ts", "object-name.ts", "shadows"],
	],
};
