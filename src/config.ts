/**
 * The variables of the deployment, parsed once at the start: `BACKENDS`, `ROUTES`, `LIMITS`, `MODELS`,
 * `DEFAULT_BACKEND` and `ALLOW_ANONYMOUS`, each as JSON or as its text. Any mistake stops the start, and all of them
 * are told at once. Secrets are variables of their own, which `BACKENDS` and `ROUTES` name.
 *
 * Runs on plain Node too: `npm run dev` reads the same configuration before it starts anything.
 */
import * as z from "zod";
import { type ConfiguredBackend, readBackends } from "./config/backends.ts";
import type { Env } from "./config/headers.ts";
import { readModels } from "./config/models.ts";
import { ConfigError, expectedName, kindOf, Problems } from "./config/problems.ts";
import { isExact, RouteTable, type RouteTarget, readDefaultBackend, readRoutes } from "./config/routes.ts";
import { adHocModel, Catalog } from "./models/catalog.ts";
import type { Limits } from "./request.ts";

export { ConfigError };

export interface Config {
	/** By name, the simulator among them. Holds secrets. */
	backends: ReadonlyMap<string, ConfiguredBackend>;
	routing: RouteTable;
	limits: Limits;
	/** The product's models, the operator's, and those that only a route names. */
	catalog: Catalog;
	/** Ids of the last. */
	adHoc: readonly string[];
	allowAnonymous: boolean;
}

const DEFAULT_JSON_BYTES = 10_000_000;
const DEFAULT_UPLOAD_BYTES = 25 * 1024 * 1024;
const DEFAULT_JSON_DEPTH = 64;

const count = z.int().min(1);

const LimitsSchema = z
	.strictObject({
		json_bytes: count.default(DEFAULT_JSON_BYTES),
		upload_bytes: count.default(DEFAULT_UPLOAD_BYTES),
		json_depth: count.default(DEFAULT_JSON_DEPTH),
	})
	.transform(
		({ json_bytes, upload_bytes, json_depth }): Limits => ({
			jsonBytes: json_bytes,
			uploadBytes: upload_bytes,
			jsonDepth: json_depth,
		}),
	);

/** Throws a `ConfigError` that lists every mistake. */
export function configure(variables: object): Config {
	// Bindings have types of their own; here each is looked at for what it is.
	const env = variables as Env;
	const problems = new Problems();
	const backendEntries = new Map(readEntries("BACKENDS", env, problems));
	const backends = readBackends(backendEntries, env, problems);
	const world = { env, backends, backendEntries, problems };
	const routes = readRoutes(readEntries("ROUTES", env, problems), world);
	const limits = problems.parse(LimitsSchema, Object.fromEntries(readEntries("LIMITS", env, problems)), [
		"LIMITS",
	]);
	const product = new Catalog();
	const models = readModels(readEntries("MODELS", env, problems), product, problems);
	const defaultBackend = readDefaultBackend(env.DEFAULT_BACKEND, world);
	const allowAnonymous = readFlag("ALLOW_ANONYMOUS", env, problems);
	problems.throwIfAny();

	const known = product.with(models);
	const adHoc = routes
		.filter((route) => isExact(route) && !known.find(route.pattern))
		.map(({ pattern }) => pattern);
	return {
		backends,
		routing: new RouteTable(routes, defaultBackend),
		limits: limits ?? LimitsSchema.parse({}),
		catalog: known.with(adHoc.map(adHocModel)),
		adHoc,
		allowAnonymous,
	};
}

/** The entries of a variable that holds an object, as JSON or as its text; none where it is not set. */
function readEntries(name: string, env: Env, problems: Problems): [string, unknown][] {
	let value = env[name];
	if (value === undefined || (typeof value === "string" && value.trim() === "")) return [];
	if (typeof value === "string") {
		try {
			value = JSON.parse(value);
		} catch {
			// The parser's own message quotes the text.
			problems.add([name], "expected JSON, found text that is not JSON");
			return [];
		}
	}
	if (typeof value === "object" && value !== null && !Array.isArray(value)) return Object.entries(value);
	problems.add([name], `expected an object, found ${kindOf(value)}`);
	return [];
}

function readFlag(name: string, env: Env, problems: Problems): boolean {
	const value = env[name];
	if (value === true || value === "true") return true;
	if (value !== undefined && value !== "" && value !== false && value !== "false")
		problems.add([name], expectedName(["true", "false"], value));
	return false;
}

/** What serves which models, a line each, for the banner of a start. Never a secret: names, addresses, models. */
export function describeRouting({ routing, adHoc }: Config): string[] {
	const rows = routing.routes.map(({ pattern, targets }): [string, string] => [
		pattern,
		targets.map(describeTarget).join("; ") +
			(adHoc.includes(pattern) ? " (not in the catalogue: a text model)" : ""),
	]);
	const { defaultBackend } = routing;
	rows.push([
		rows.length > 0 ? "everything else" : "every model",
		defaultBackend ? describeTarget({ backend: defaultBackend, headers: {} }) : "nothing",
	]);
	const width = Math.max(...rows.map(([pattern]) => pattern.length));
	return rows.map(([pattern, served]) => `${pattern.padEnd(width)}  ->  ${served}`);
}

function describeTarget({ backend, model, weight }: RouteTarget): string {
	const [first, ...others] = backend.urls;
	const more = others.length > 0 ? ` and ${others.length} more` : "";
	return [
		backend.backend,
		...(first ? [`(${first}${more})`] : []),
		...(model === undefined ? [] : [model]),
		...(weight === undefined ? [] : [`weight ${weight}`]),
	].join(" ");
}
