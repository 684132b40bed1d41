/**
 * Secrets in the settings of a gateway: the credentials of collectors and of Stripe. The management API never shows them. An
 * update that contains the placeholder keeps the stored secret, so that a client can read the settings, change a field, and
 * write them back.
 */
import { isRecord } from "../core/json.ts";
import type { GatewaySettings, GatewayUpdate } from "./settings.ts";

export const REDACTED = "[redacted]";

type Fields = Record<string, unknown>;

/** The settings without their secrets. */
export const redacted = (settings: GatewaySettings): GatewaySettings => ({
	...settings,
	...mapHolders(settings, (holder) => replaceSecrets(holder, (secret) => (secret === "" ? "" : REDACTED))),
});

/**
 * Replaces each placeholder with the stored secret, or with an empty text if there is none. A collector receives only the secrets of the stored
 * collector with the same address: otherwise an update could send a secret to another server.
 */
export const withStoredSecrets = (update: GatewayUpdate, stored: Fields): GatewayUpdate => ({
	...update,
	...mapHolders(update, (holder, url) => {
		const previous = storedHolder(stored, url);
		return replaceSecrets(holder, (secret, read) => {
			if (secret !== REDACTED) return secret;
			const kept = previous && read(previous);
			return typeof kept === "string" ? kept : "";
		});
	}),
});

/** Replaces the objects that have secrets. `url`: the address of a collector; absent for Stripe. */
function mapHolders(
	{ otel, stripe }: Fields,
	change: (holder: Fields, url?: unknown) => Fields,
): Partial<GatewayUpdate> {
	const changed: Fields = {
		...(Array.isArray(otel) && {
			otel: otel.map((target: unknown) => (isRecord(target) ? change(target, target.url) : target)),
		}),
		...(isRecord(stripe) && { stripe: change(stripe) }),
	};
	return changed;
}

function storedHolder({ otel, stripe }: Fields, url: unknown): Fields | undefined {
	const holder =
		url === undefined
			? stripe
			: Array.isArray(otel) && otel.find((target: unknown) => isRecord(target) && target.url === url);
	return isRecord(holder) ? holder : undefined;
}

/** `read`: reads the same field of another object. */
function replaceSecrets(
	holder: Fields,
	replace: (secret: string, read: (other: Fields) => unknown) => string,
): Fields {
	const { authorization, headers } = holder;
	const replaceHeader = (value: unknown, name: string): unknown =>
		typeof value === "string"
			? replace(value, (other) => (isRecord(other.headers) ? other.headers[name] : undefined))
			: value;
	return {
		...holder,
		...(typeof authorization === "string" && {
			authorization: replace(authorization, (other) => other.authorization),
		}),
		...(isRecord(headers) && {
			headers: Object.fromEntries(
				Object.entries(headers).map(([name, value]) => [name, replaceHeader(value, name)]),
			),
		}),
	};
}
