/** The Workers behind a binding, in the caller's workerd: a complete gateway, or a Worker that forwards to a running one. */
import { createHash, createHmac, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Service, ServiceDesignator, Worker_Binding } from "miniflare";
import { startConverter } from "../scripts/documents/converter.ts";
import { makeFolder } from "../scripts/make-folder.ts";
import { DOCUMENTS_BINDING } from "../src/config/worker-bindings.ts";
import { lazy } from "../src/core/lazy.ts";
import { completeModulesIn, isWasm, modulesIn } from "./modules.ts";
import { type EmbeddedSource, SETTINGS, type Source, type UrlSource } from "./options.ts";

/** Set by the package build: the compatibility flags in the gateway's `wrangler.jsonc`. */
declare const GATEWAY_COMPATIBILITY_FLAGS: string[];

/** Set by the package build: the gateway's Durable Objects. */
declare const GATEWAY_OBJECTS: { name: string; class_name: string }[];

/** Not newer than any runtime that can load this plugin. */
const COMPATIBILITY_DATE = "2026-08-01";

/** Files of the package, relative to this one. */
const GATEWAY = join(import.meta.dirname, "../worker");
const DOCUMENTS = join(import.meta.dirname, "../documents");
const FORWARDER = [{ name: "index.js", file: join(import.meta.dirname, "forward.js") }];

/** Service names appear in log lines, so the names are keyed hashes that reveal no secret. */
const NAME_KEY = randomBytes(32);

/** Bindings with the same settings share one gateway, also across accounts and Workers. */
export function serviceName(source: Source): string {
	const { kind, account, ...others } = source;
	const identity = source.kind === "embedded" ? source.variables : { account, ...others };
	return `ganglion:${kind}:${sessionDigest(identity)}`;
}

/** Not the same in two sessions. */
export const sessionDigest = (identity: unknown): string =>
	createHmac("sha256", NAME_KEY).update(JSON.stringify(identity)).digest("hex").slice(0, 12);

/** @param stateRoot folder for the gateways' storage (accounts). */
export async function servicesOf(source: Source, stateRoot: string): Promise<Service[]> {
	switch (source.kind) {
		case "embedded":
			return gateway(source, stateRoot);
		case "url":
			return [
				{
					name: serviceName(source),
					worker: await worker(FORWARDER, { bindings: forwarderBindings(source) }),
				},
			];
		default:
			return source satisfies never;
	}
}

/** The runtime's own `Ai` object. */
export const aiBinding = (name: string, service: ServiceDesignator): Worker_Binding => ({
	name,
	wrapped: { moduleName: "cloudflare-internal:ai-api", innerBindings: [{ name: "fetcher", service }] },
});

export type WorkerService = NonNullable<Extract<Service, { worker?: unknown }>["worker"]>;

export async function worker(
	files: readonly { name: string; file: string }[],
	parts: Partial<WorkerService>,
): Promise<WorkerService> {
	const modules = files.map(async ({ name, file }) =>
		isWasm(name) ? { name, wasm: await readFile(file) } : { name, esModule: await readFile(file, "utf8") },
	);
	return { modules: await Promise.all(modules), compatibilityDate: COMPATIBILITY_DATE, ...parts };
}

/** The gateway and the disk of its Durable Objects, named as in its `wrangler.jsonc`. */
async function gateway(source: EmbeddedSource, stateRoot: string): Promise<Service[]> {
	const name = serviceName(source);
	const disk = `${name}:state`;
	const path = join(stateRoot, stateName(source));
	makeFolder(path);
	const parts: Partial<WorkerService> = {
		bindings: [
			...(await gatewayBindings(source)),
			...GATEWAY_OBJECTS.map(({ name, class_name: className }) => ({
				name,
				durableObjectNamespace: { className },
			})),
		],
		compatibilityFlags: GATEWAY_COMPATIBILITY_FLAGS,
		durableObjectNamespaces: GATEWAY_OBJECTS.map(({ class_name: className }) => ({
			className,
			uniqueKey: `ganglion-${className}`,
			enableSql: true,
		})),
		durableObjectStorage: { localDisk: disk },
	};
	return [
		{ name, worker: await worker(completeModulesIn(GATEWAY), parts) },
		{ name: disk, disk: { path, writable: true } },
	];
}

/** A stable folder name per configuration: two gateways of one session use different files, and a restarted one finds its own. */
function stateName({ variables, written = variables }: EmbeddedSource): string {
	// These settings contain no secrets, only their names.
	const settings = SETTINGS.map((name) => written[name] ?? null);
	return createHash("sha256").update(JSON.stringify(settings)).digest("hex").slice(0, 12);
}

/** One for all gateways of the process. It starts processes when files are converted. */
const converter = lazy(() => startConverter(async () => modulesIn(DOCUMENTS)));

const gatewayBindings = async ({ variables }: EmbeddedSource): Promise<Worker_Binding[]> =>
	Object.entries({ ...variables, [DOCUMENTS_BINDING]: (await converter()).address }).map(([name, value]) =>
		typeof value === "string" ? { name, text: value } : { name, json: JSON.stringify(value) },
	);

const forwarderBindings = ({ account, token, url }: UrlSource): Worker_Binding[] => [
	{ name: "PROXY", text: `${url}/client/v4/accounts/${account}/ai/run/proxy` },
	{ name: "INDEXES", text: `${url}/client/v4/accounts/${account}/vectorize/v2/indexes` },
	...(token === undefined ? [] : [{ name: "TOKEN", text: token }]),
];
