/** The gateway that an account binds for all its requests. */
import type { BoundGateway } from "../bound-gateway.ts";

/** One row at most, written and deleted by the operator's route. Also in memory, because every admission reads it. */
export class BoundGatewayTable {
	readonly #sql: SqlStorage;
	#value: BoundGateway | undefined;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(
			"CREATE TABLE IF NOT EXISTS bound_gateway (id INTEGER PRIMARY KEY CHECK (id = 1), gateway TEXT NOT NULL)",
		);
		const [row] = sql.exec<{ gateway: string }>("SELECT gateway FROM bound_gateway").toArray();
		this.#value = row && JSON.parse(row.gateway);
	}

	get value(): BoundGateway | undefined {
		return this.#value;
	}

	set(gateway: BoundGateway | undefined): void {
		if (gateway)
			this.#sql.exec(
				"INSERT OR REPLACE INTO bound_gateway (id, gateway) VALUES (1, ?)",
				JSON.stringify(gateway),
			);
		else this.#sql.exec("DELETE FROM bound_gateway");
		this.#value = gateway;
	}
}
