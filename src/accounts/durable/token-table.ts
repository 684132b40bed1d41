/** The table of an account's tokens. */
import type { Token } from "../token-command.ts";

const SCHEMA = `
-- One row for each token, written by the token routes. A use writes last_used_on, at most once a minute.
-- Deleted with the token, or some time after its expiry, when another token is created.
CREATE TABLE IF NOT EXISTS tokens (
	id TEXT PRIMARY KEY,
	hash TEXT NOT NULL UNIQUE,
	name TEXT NOT NULL,
	policies TEXT NOT NULL,
	disabled INTEGER NOT NULL,
	not_before INTEGER,
	expires_on INTEGER,
	daily_micro_neurons INTEGER,
	monthly_micro_neurons INTEGER,
	requests_per_minute INTEGER,
	issued_on INTEGER NOT NULL,
	modified_on INTEGER NOT NULL,
	last_used_on INTEGER
)`;

type Row = {
	id: string;
	hash: string;
	name: string;
	policies: string;
	disabled: number;
	not_before: number | null;
	expires_on: number | null;
	daily_micro_neurons: number | null;
	monthly_micro_neurons: number | null;
	requests_per_minute: number | null;
	issued_on: number;
	modified_on: number;
	last_used_on: number | null;
};

export class TokenTable {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(SCHEMA);
		// Tables of earlier versions lack the column.
		if (!sql.exec("SELECT * FROM tokens LIMIT 0").columnNames.includes("monthly_micro_neurons"))
			sql.exec("ALTER TABLE tokens ADD COLUMN monthly_micro_neurons INTEGER");
	}

	/** Each token with the hash of its text, in the order of issue. */
	*all(): Iterable<[hash: string, token: Token]> {
		for (const row of this.#sql.exec<Row>("SELECT * FROM tokens ORDER BY issued_on, rowid"))
			yield [row.hash, read(row)];
	}

	delete(id: string): void {
		this.#sql.exec("DELETE FROM tokens WHERE id = ?", id);
	}

	writeUse(id: string, lastUsedOn: number): void {
		this.#sql.exec("UPDATE tokens SET last_used_on = ? WHERE id = ?", lastUsedOn, id);
	}

	write(hash: string, token: Token): void {
		const { limits } = token;
		this.#sql.exec(
			`INSERT INTO tokens (id, hash, name, policies, disabled, not_before, expires_on, daily_micro_neurons,
				monthly_micro_neurons, requests_per_minute, issued_on, modified_on, last_used_on)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, name = excluded.name, policies = excluded.policies,
				disabled = excluded.disabled, not_before = excluded.not_before, expires_on = excluded.expires_on,
				daily_micro_neurons = excluded.daily_micro_neurons,
				monthly_micro_neurons = excluded.monthly_micro_neurons,
				requests_per_minute = excluded.requests_per_minute, modified_on = excluded.modified_on,
				last_used_on = excluded.last_used_on`,
			token.id,
			hash,
			token.name,
			JSON.stringify(token.policies),
			token.disabled ? 1 : 0,
			token.notBefore ?? null,
			token.expiresOn ?? null,
			limits.dailyMicroNeurons ?? null,
			limits.monthlyMicroNeurons ?? null,
			limits.requestsPerMinute ?? null,
			token.issuedOn,
			token.modifiedOn,
			token.lastUsedOn ?? null,
		);
	}
}

function read(row: Row): Token {
	return {
		id: row.id,
		name: row.name,
		policies: JSON.parse(row.policies),
		disabled: row.disabled === 1,
		...(row.not_before !== null && { notBefore: row.not_before }),
		...(row.expires_on !== null && { expiresOn: row.expires_on }),
		limits: {
			...(row.daily_micro_neurons !== null && { dailyMicroNeurons: row.daily_micro_neurons }),
			...(row.monthly_micro_neurons !== null && { monthlyMicroNeurons: row.monthly_micro_neurons }),
			...(row.requests_per_minute !== null && { requestsPerMinute: row.requests_per_minute }),
		},
		issuedOn: row.issued_on,
		modifiedOn: row.modified_on,
		...(row.last_used_on !== null && { lastUsedOn: row.last_used_on }),
	};
}
