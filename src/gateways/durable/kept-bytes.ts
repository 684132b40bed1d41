/**
 * How much the objects of an account's gateways keep on the disk, by class. Each gateway reports its bytes to the registry of its
 * account. If the account keeps too much, the gateway with the most deletes its oldest rows: down to an equal part of the bound, or to
 * what the others leave.
 */
import { hasPassed } from "../../core/elapsed.ts";
import { accountIn, gatewayIn } from "../object-name.ts";

type KeptClass = "logs" | "cache";

const TABLE = `CREATE TABLE IF NOT EXISTS kept_bytes (
	class TEXT NOT NULL, gateway TEXT NOT NULL, bytes INTEGER NOT NULL, evicts INTEGER NOT NULL,
	PRIMARY KEY (class, gateway)
) WITHOUT ROWID`;

export interface KeptReport {
	class: KeptClass;
	gateway: string;
	bytes: number;
	/** Of all gateways of the account. */
	max: number;
	/** The object may delete its oldest rows. */
	evicts: boolean;
}

/** Bytes that an object may keep. */
interface KeptAllowance {
	gateway: string;
	allowed: number;
}

export class KeptTable {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(TABLE);
	}

	/** Returns the bytes that the gateway may keep. */
	report({ class: kept, gateway, bytes, max, evicts }: KeptReport): number {
		this.#sql.exec(
			"INSERT OR REPLACE INTO kept_bytes VALUES (?, ?, ?, ?)",
			...[kept, gateway, bytes, evicts ? 1 : 0],
		);
		return this.#allowed(kept, bytes, max);
	}

	/** The gateway that must delete rows. `undefined`: the account keeps at most `max`, or none can delete any. */
	over(kept: KeptClass, max: number): KeptAllowance | undefined {
		const { bytes: total } = this.#sums(kept);
		if (total <= max) return undefined;
		const [largest] = this.#sql
			.exec<{ gateway: string; bytes: number }>(
				"SELECT gateway, bytes FROM kept_bytes WHERE class = ? AND evicts = 1 ORDER BY bytes DESC LIMIT 1",
				kept,
			)
			.toArray();
		if (!largest) return undefined;
		const allowed = this.#allowed(kept, largest.bytes, max);
		return largest.bytes > allowed ? { gateway: largest.gateway, allowed } : undefined;
	}

	set(kept: KeptClass, gateway: string, bytes: number): void {
		this.#sql.exec("UPDATE kept_bytes SET bytes = ? WHERE class = ? AND gateway = ?", bytes, kept, gateway);
	}

	/** Those that have reported. */
	gateways(): string[] {
		return this.#sql
			.exec<{ gateway: string }>("SELECT DISTINCT gateway FROM kept_bytes")
			.toArray()
			.map(({ gateway }) => gateway);
	}

	/** The gateway was deleted. */
	forget(gateway: string): void {
		this.#sql.exec("DELETE FROM kept_bytes WHERE gateway = ?", gateway);
	}

	#allowed(kept: KeptClass, own: number, max: number): number {
		const { bytes, gateways } = this.#sums(kept);
		return Math.max(Math.floor(max / gateways), max - (bytes - own));
	}

	#sums(kept: KeptClass): { bytes: number; gateways: number } {
		return this.#sql
			.exec<{ bytes: number; gateways: number }>(
				"SELECT coalesce(sum(bytes), 0) AS bytes, count(*) AS gateways FROM kept_bytes WHERE class = ?",
				kept,
			)
			.one();
	}
}

/** Calls of the registry of an account. */
interface KeptRegistry {
	keepBytes(report: KeptReport): Promise<number>;
}

export type KeptRegistries = { getByName(account: string): KeptRegistry };

/** An object reports again after a change by a part of the bound, the inverse of this number, or after this time. */
const STEPS = 64;
const REPORT_MS = 60_000;

/** The reports of one object. */
export class KeptReporter {
	readonly #class: KeptClass;
	/** `account/gateway`. Absent: the runtime does not tell the name. */
	readonly #name: string | undefined;
	readonly #registries: KeptRegistries | undefined;
	#reported: { bytes: number; at: number } | undefined;
	/** Bytes that the object may keep. */
	allowed = Number.POSITIVE_INFINITY;

	constructor(kept: KeptClass, name: string | undefined, registries: KeptRegistries | undefined) {
		this.#class = kept;
		this.#name = name;
		this.#registries = registries;
	}

	/** Reports the bytes if they have changed much. A registry that cannot be called changes nothing. */
	async report({ bytes, max, evicts }: Pick<KeptReport, "bytes" | "max" | "evicts">): Promise<void> {
		const now = Date.now();
		const last = this.#reported;
		if (last && Math.abs(bytes - last.bytes) < max / STEPS && !hasPassed(REPORT_MS, last.at, now)) return;
		const account = accountIn(this.#name ?? "");
		if (!this.#registries || this.#name === undefined || account === "") return;
		this.#reported = { bytes, at: now };
		const gateway = gatewayIn(this.#name);
		const registry = this.#registries.getByName(account);
		this.allowed = await registry
			.keepBytes({ class: this.#class, gateway, bytes, max, evicts })
			.catch(() => this.allowed);
	}
}
