/** The table of an account's tokens. */
import { present } from "../../core/present.ts";
import type { Token, TokenLimits } from "../token-command.ts";
import { type AccountRows, RowTable } from "./row-table.ts";

interface TokenRow extends TokenLimits, Omit<Token, "policies" | "disabled" | "limits" | "gateway"> {
	hash: string;
	/** JSON. */
	policies: string;
	disabled: number;
	/** JSON. */
	gateway?: string;
}

const COLUMNS = {
	id: "TEXT",
	hash: "TEXT NOT NULL",
	name: "TEXT NOT NULL",
	policies: "TEXT NOT NULL",
	disabled: "INTEGER NOT NULL",
	notBefore: "INTEGER",
	expiresOn: "INTEGER",
	dailyMicroNeurons: "INTEGER",
	monthlyMicroNeurons: "INTEGER",
	requestsPerMinute: "INTEGER",
	issuedOn: "INTEGER NOT NULL",
	modifiedOn: "INTEGER NOT NULL",
	lastUsedOn: "INTEGER",
	gateway: "TEXT",
};

/**
 * One row for each token, written by the token routes. A use writes the time, at most once a minute. Deleted with the token, or
 * some time after its expiry, when another token is created.
 */
export class TokenTable {
	readonly #table: RowTable<TokenRow>;

	constructor(rows: AccountRows) {
		this.#table = new RowTable<TokenRow>({
			rows,
			name: "tokens",
			columns: COLUMNS,
			key: ["id"],
			rowIds: true,
		});
	}

	/** Each token with the hash of its text, in the order of issue. */
	all(): [hash: string, token: Token][] {
		return this.#table.select({ order: "issued_on, rowid" }).map((row) => {
			const { hash, policies, disabled, dailyMicroNeurons, monthlyMicroNeurons, ...others } = row;
			const { requestsPerMinute, gateway, ...fields } = others;
			const limits = present({ dailyMicroNeurons, monthlyMicroNeurons, requestsPerMinute });
			const parsed = { policies: JSON.parse(policies), ...(gateway && { gateway: JSON.parse(gateway) }) };
			return [hash, { ...fields, ...parsed, disabled: disabled === 1, limits }];
		});
	}

	delete(id: string): void {
		this.#table.delete("id = ?", id);
	}

	writeUse(id: string, lastUsedOn: number): void {
		this.#table.set("lastUsedOn", lastUsedOn, "id = ?", id);
	}

	write(hash: string, { policies, disabled, limits, gateway, ...fields }: Token): void {
		const row = {
			hash,
			...fields,
			...limits,
			policies: JSON.stringify(policies),
			disabled: Number(disabled),
			...(gateway && { gateway: JSON.stringify(gateway) }),
		};
		this.#table.write(row);
	}
}
