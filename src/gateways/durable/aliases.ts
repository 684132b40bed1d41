/** The aliases of an account's gateways, in the registry's object. A row is deleted with its gateway. */
import { RpcTarget } from "cloudflare:workers";
import type { AliasPool } from "../aliases/alias.ts";

/** Of one gateway. */
export const MAX_ALIASES = 100;

const TABLE = `CREATE TABLE IF NOT EXISTS aliases (
	gateway TEXT NOT NULL,
	name TEXT NOT NULL,
	pool TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	modified_at INTEGER NOT NULL,
	PRIMARY KEY (gateway, name)
) WITHOUT ROWID`;

export interface GatewayAlias extends AliasPool {
	name: string;
	/** Epoch milliseconds. */
	createdAt: number;
	modifiedAt: number;
}

export type AliasFailure = "nameTaken" | "tooMany";

interface AliasRow extends Record<string, SqlStorageValue> {
	name: string;
	pool: string;
	created_at: number;
	modified_at: number;
}

export class GatewayAliases extends RpcTarget {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		super();
		this.#sql = sql;
		sql.exec(TABLE);
	}

	/** Sorted by name. */
	list(gateway: string): GatewayAlias[] {
		return this.#sql
			.exec<AliasRow>("SELECT * FROM aliases WHERE gateway = ? ORDER BY name", gateway)
			.toArray()
			.map(aliasOf);
	}

	get(gateway: string, name: string): GatewayAlias | undefined {
		return this.list(gateway).find((alias) => alias.name === name);
	}

	create(gateway: string, name: string, pool: AliasPool): GatewayAlias | AliasFailure {
		const existing = this.list(gateway);
		if (existing.some((alias) => alias.name === name)) return "nameTaken";
		if (existing.length >= MAX_ALIASES) return "tooMany";
		return this.#write(gateway, { ...pool, name, createdAt: Date.now(), modifiedAt: Date.now() });
	}

	update(gateway: string, name: string, pool: AliasPool): GatewayAlias | undefined {
		const existing = this.get(gateway, name);
		return existing && this.#write(gateway, { ...existing, ...pool, modifiedAt: Date.now() });
	}

	delete(gateway: string, name: string): GatewayAlias | undefined {
		const existing = this.get(gateway, name);
		this.#sql.exec("DELETE FROM aliases WHERE gateway = ? AND name = ?", gateway, name);
		return existing;
	}

	deleteAll(gateway: string): void {
		this.#sql.exec("DELETE FROM aliases WHERE gateway = ?", gateway);
	}

	#write(gateway: string, alias: GatewayAlias): GatewayAlias {
		const { name, createdAt, modifiedAt, routing, models } = alias;
		const pool: AliasPool = { routing, models };
		this.#sql.exec(
			"INSERT OR REPLACE INTO aliases VALUES (?, ?, ?, ?, ?)",
			gateway,
			name,
			JSON.stringify(pool),
			createdAt,
			modifiedAt,
		);
		return alias;
	}
}

const aliasOf = ({ name, pool, created_at, modified_at }: AliasRow): GatewayAlias => ({
	name,
	...(JSON.parse(pool) as AliasPool),
	createdAt: created_at,
	modifiedAt: modified_at,
});
