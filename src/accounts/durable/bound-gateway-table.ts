/** The gateway that an account binds for all its requests. */
import type { BoundGateway } from "../bound-gateway.ts";
import { type AccountRows, RowTable } from "./row-table.ts";

/** One row at most, written and deleted by the operator's route. Also in memory, because every admission reads it. */
export class BoundGatewayTable {
	readonly #table: RowTable<{ gateway: string }>;
	#value: BoundGateway | undefined;

	constructor(rows: AccountRows) {
		const columns = { gateway: "TEXT NOT NULL" };
		this.#table = new RowTable<{ gateway: string }>({ rows, name: "bound_gateway", columns, key: [] });
		const [row] = this.#table.select();
		this.#value = row && JSON.parse(row.gateway);
	}

	get value(): BoundGateway | undefined {
		return this.#value;
	}

	set(gateway: BoundGateway | undefined): void {
		if (gateway) this.#table.write({ gateway: JSON.stringify(gateway) });
		else this.#table.delete("true");
		this.#value = gateway;
	}
}
