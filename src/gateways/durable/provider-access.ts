/** The providers' keys and the custom providers of an account. The keys are stored as text: they are sent to the providers. */
import { RpcTarget } from "cloudflare:workers";
import { addColumns } from "../../core/sql-columns.ts";
import type { ProviderKey } from "../../providers/provider-key.ts";
import { MAX_CUSTOM_PROVIDERS } from "../gateway-bounds.ts";
import {
	type CustomProvider,
	type CustomProviderCreate,
	type CustomProviderUpdate,
	customName,
} from "../providers/custom-providers.ts";
import {
	keyLimitOf,
	type ProviderKeyCreate,
	type ProviderKeyInfo,
	previewOf,
} from "../providers/provider-keys.ts";
import { REDACTED } from "../secrets.ts";

export const MAX_KEYS = 200;

const TABLES = `
CREATE TABLE IF NOT EXISTS provider_keys (
	id TEXT PRIMARY KEY,
	gateway TEXT NOT NULL,
	provider TEXT NOT NULL,
	alias TEXT NOT NULL,
	is_default INTEGER NOT NULL,
	secret TEXT NOT NULL,
	modified_at INTEGER NOT NULL,
	UNIQUE (gateway, provider, alias)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS custom_providers (
	id TEXT PRIMARY KEY,
	slug TEXT NOT NULL UNIQUE,
	fields TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	modified_at INTEGER NOT NULL
) WITHOUT ROWID`;

interface KeyRow extends Record<string, SqlStorageValue> {
	id: string;
	gateway: string;
	provider: string;
	alias: string;
	is_default: number;
	secret: string;
	modified_at: number;
	/** JSON of `rate_limit` and `rate_limit_period`. */
	rate: string | null;
}

interface CustomRow extends Record<string, SqlStorageValue> {
	id: string;
	slug: string;
	fields: string;
	created_at: number;
	modified_at: number;
}

/** The keys and providers that requests to one gateway may use. */
export interface ProviderAccess {
	keys: ProviderKey[];
	/** Only those that are enabled. */
	customProviders: CustomProvider[];
}

export class ProviderAccessTables extends RpcTarget {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		super();
		this.#sql = sql;
		sql.exec(TABLES);
		addColumns(sql, "provider_keys", { rate: "TEXT" });
	}

	access(gateway: string): ProviderAccess {
		return {
			keys: this.#keyRows(gateway).map(providerKey),
			customProviders: this.customProviders().filter(({ enable }) => enable),
		};
	}

	keys(gateway: string): ProviderKeyInfo[] {
		return this.#keyRows(gateway).map(keyInfo);
	}

	/** Replaces the key with the same provider and alias. `undefined`: the account has too many keys. */
	saveKey(
		gateway: string,
		{ alias, default_config, provider_slug, secret, rate_limit, rate_limit_period }: ProviderKeyCreate,
	): ProviderKeyInfo | undefined {
		const existing = this.#sql
			.exec<KeyRow>(
				"SELECT * FROM provider_keys WHERE gateway = ? AND provider = ? AND alias = ?",
				gateway,
				provider_slug,
				alias,
			)
			.toArray()[0];
		const { count } = this.#sql.exec<{ count: number }>("SELECT count(*) AS count FROM provider_keys").one();
		if (!existing && count >= MAX_KEYS) return undefined;
		if (default_config)
			this.#sql.exec(
				"UPDATE provider_keys SET is_default = 0 WHERE gateway = ? AND provider = ?",
				gateway,
				provider_slug,
			);
		const row: KeyRow = {
			id: existing?.id ?? crypto.randomUUID(),
			gateway,
			provider: provider_slug,
			alias,
			is_default: default_config ? 1 : 0,
			secret,
			modified_at: Date.now(),
			rate: rate_limit ? JSON.stringify({ rate_limit, rate_limit_period }) : null,
		};
		this.#sql.exec(
			"INSERT OR REPLACE INTO provider_keys VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			...Object.values(row),
		);
		return keyInfo(row);
	}

	deleteKey(gateway: string, id: string): ProviderKeyInfo | undefined {
		const row = this.#keyRows(gateway).find((key) => key.id === id);
		if (!row) return undefined;
		this.#sql.exec("DELETE FROM provider_keys WHERE id = ?", id);
		return keyInfo(row);
	}

	/** Deletes the keys of a gateway that no longer exists. */
	deleteKeys(gateway: string): void {
		this.#sql.exec("DELETE FROM provider_keys WHERE gateway = ?", gateway);
	}

	/** Sorted by slug. */
	customProviders(): CustomProvider[] {
		return this.#sql
			.exec<CustomRow>("SELECT * FROM custom_providers ORDER BY slug")
			.toArray()
			.map(customProvider);
	}

	createCustomProvider(fields: CustomProviderCreate): CustomProvider | "slugTaken" | "tooMany" {
		const all = this.customProviders();
		if (all.some(({ slug }) => slug === fields.slug)) return "slugTaken";
		if (all.length >= MAX_CUSTOM_PROVIDERS) return "tooMany";
		const now = Date.now();
		return this.#write({ ...fields, id: crypto.randomUUID(), createdAt: now, modifiedAt: now });
	}

	/**
	 * A provider with a new address loses its stored keys and headers: otherwise a change could send them to another server. The
	 * placeholders of the headers are replaced here, in the same step, because another change could come between two steps.
	 */
	updateCustomProvider(id: string, changed: CustomProviderUpdate): CustomProvider | undefined {
		const stored = this.customProviders().find((provider) => provider.id === id);
		if (!stored) return undefined;
		const { headers: sent, ...fields } = Object.fromEntries(
			Object.entries(changed).filter(([, value]) => value !== undefined),
		) as CustomProviderUpdate;
		const moves = changed.base_url !== undefined && changed.base_url !== stored.base_url;
		if (moves) this.#deleteKeysOf(stored);
		const kept = moves ? {} : (stored.headers ?? {});
		const headers = sent === undefined ? kept : withStoredHeaders(sent ?? {}, kept);
		return this.#write({ ...stored, ...fields, headers, modifiedAt: Date.now() });
	}

	deleteCustomProvider(id: string): CustomProvider | undefined {
		const stored = this.customProviders().find((provider) => provider.id === id);
		if (!stored) return undefined;
		this.#sql.exec("DELETE FROM custom_providers WHERE id = ?", id);
		this.#deleteKeysOf(stored);
		return stored;
	}

	#deleteKeysOf({ slug }: CustomProvider): void {
		this.#sql.exec("DELETE FROM provider_keys WHERE provider = ?", customName(slug));
	}

	#keyRows(gateway: string): KeyRow[] {
		return this.#sql
			.exec<KeyRow>("SELECT * FROM provider_keys WHERE gateway = ? ORDER BY provider, alias", gateway)
			.toArray();
	}

	#write(provider: CustomProvider): CustomProvider {
		const { id, slug, createdAt, modifiedAt, ...fields } = provider;
		this.#sql.exec(
			"INSERT OR REPLACE INTO custom_providers VALUES (?, ?, ?, ?, ?)",
			id,
			slug,
			JSON.stringify(fields),
			createdAt,
			modifiedAt,
		);
		return provider;
	}
}

/** A placeholder without a stored header is left out. */
const withStoredHeaders = (
	sent: Readonly<Record<string, string>>,
	stored: Readonly<Record<string, string>>,
): Record<string, string> =>
	Object.fromEntries(
		Object.entries(sent).flatMap(([name, value]) => {
			const kept = value === REDACTED ? stored[name] : value;
			return kept === undefined ? [] : [[name, kept]];
		}),
	);

type Rate = Pick<ProviderKeyCreate, "rate_limit" | "rate_limit_period">;

const rateIn = ({ rate }: Pick<KeyRow, "rate">): Rate => (rate === null ? {} : (JSON.parse(rate) as Rate));

function providerKey({ id, provider, alias, is_default, secret, modified_at, rate }: KeyRow): ProviderKey {
	const key = { id, provider, alias };
	const limit = keyLimitOf(key, rateIn({ rate }));
	return { ...key, isDefault: is_default === 1, secret, modifiedAt: modified_at, limit };
}

function keyInfo({
	id,
	gateway,
	provider,
	alias,
	is_default,
	secret,
	modified_at,
	rate,
}: KeyRow): ProviderKeyInfo {
	const { rate_limit, rate_limit_period } = rateIn({ rate });
	return {
		id,
		gateway_id: gateway,
		provider_slug: provider,
		alias,
		default_config: is_default === 1,
		secret_id: id,
		secret_preview: previewOf(secret),
		modified_at: new Date(modified_at).toISOString(),
		rate_limit: rate_limit ?? 0,
		rate_limit_period: rate_limit_period ?? null,
	};
}

const customProvider = ({ id, slug, fields, created_at, modified_at }: CustomRow): CustomProvider => ({
	...(JSON.parse(fields) as Omit<CustomProviderCreate, "slug">),
	id,
	slug,
	createdAt: created_at,
	modifiedAt: modified_at,
});
