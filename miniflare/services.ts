/** The Workers behind a binding, in the caller's own workerd: a whole gateway, or one that forwards to another. */
import { createHmac, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Service, Worker_Binding } from "miniflare";
import type { EmbeddedSource, Source, UrlSource } from "./options.ts";

/** Set where the package is built: the flags of the gateway's own `wrangler.jsonc`. */
declare const GATEWAY_COMPATIBILITY_FLAGS: string[];

/** Older than any runtime that can load this plugin, whichever the caller's wrangler brings. */
const COMPATIBILITY_DATE = "2026-08-01";

/** Beside this file, as the package has them. */
const GATEWAY = join(import.meta.dirname, "../worker/index.js");
const FORWARDER = join(import.meta.dirname, "forward.js");

/** Names of services end in log lines, so what is in them must not tell a secret that it was made from. */
const NAME_KEY = randomBytes(32);

/** Bindings with the same settings share one gateway, whatever their account and their Worker. */
export function serviceName(source: Source): string {
	const { kind, account, ...rest } = source;
	const made = source.kind === "embedded" ? source.variables : { account, ...rest };
	const digest = createHmac("sha256", NAME_KEY).update(JSON.stringify(made)).digest("hex");
	return `ganglion:${kind}:${digest.slice(0, 12)}`;
}

export async function service(source: Source): Promise<Service> {
	const name = serviceName(source);
	switch (source.kind) {
		case "embedded":
			return { name, worker: await worker(GATEWAY, gatewayBindings(source), GATEWAY_COMPATIBILITY_FLAGS) };
		case "url":
			return { name, worker: await worker(FORWARDER, forwarderBindings(source), []) };
		default:
			return source satisfies never;
	}
}

async function worker(
	file: string,
	bindings: Worker_Binding[],
	compatibilityFlags: string[],
): Promise<NonNullable<Extract<Service, { worker?: unknown }>["worker"]>> {
	const esModule = await readFile(file, "utf8");
	return {
		modules: [{ name: "index.js", esModule }],
		bindings,
		compatibilityDate: COMPATIBILITY_DATE,
		compatibilityFlags,
	};
}

const gatewayBindings = ({ variables }: EmbeddedSource): Worker_Binding[] =>
	Object.entries(variables).map(([name, value]) =>
		typeof value === "string" ? { name, text: value } : { name, json: JSON.stringify(value) },
	);

const forwarderBindings = ({ account, token, url }: UrlSource): Worker_Binding[] => [
	{ name: "PROXY", text: `${url}/client/v4/accounts/${account}/ai/run/proxy` },
	...(token === undefined ? [] : [{ name: "TOKEN", text: token }]),
];
