/**
 * The `GatewayRegistry` object: the gateways of one account and their settings. Isolates keep a copy of a gateway for some
 * seconds (`client/gateways.ts`).
 */
import { DurableObject } from "cloudflare:workers";
import { eraseObject } from "../../core/erase-object.ts";
import { MAX_GATEWAYS } from "../gateway-bounds.ts";
import { withStoredSecrets } from "../secrets.ts";
import { DEFAULT_GATEWAY, DEFAULT_SETTINGS, type GatewaySettings, type GatewayUpdate } from "../settings.ts";
import { GatewayAliases } from "./aliases.ts";
import { DynamicRoutes } from "./dynamic-routes.ts";
import { type KeptReport, KeptTable } from "./kept-bytes.ts";
import { ProviderAccessTables } from "./provider-access.ts";

const GATEWAYS = `CREATE TABLE IF NOT EXISTS gateways (
	id TEXT PRIMARY KEY,
	settings TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	modified_at INTEGER NOT NULL
) WITHOUT ROWID`;

/** Gateways that an open deployment has served without settings. */
const SERVED = "CREATE TABLE IF NOT EXISTS served (gateway TEXT PRIMARY KEY) WITHOUT ROWID";

/** The ids of resumable streams, so that a deletion of the account finds them. Each one deletes itself soon after its end. */
const RUNS =
	"CREATE TABLE IF NOT EXISTS stream_runs (id TEXT PRIMARY KEY, begun_at INTEGER NOT NULL) WITHOUT ROWID";
/** No stream is so old. */
const RUN_MS = 24 * 3_600_000;

interface GatewayRow extends Record<string, SqlStorageValue> {
	id: string;
	settings: string;
	created_at: number;
	modified_at: number;
}

export interface GatewayPage {
	gateways: GatewaySettings[];
	/** The number of rows on all pages. */
	total: number;
}

export type RegistryFailure = "exists" | "absent" | "tooMany";
export type RegistryResult = { ok: true; gateway: GatewaySettings } | { ok: false; failure: RegistryFailure };

/** The objects that {@link GatewayRegistry.keepBytes} calls. */
interface KeptObjects {
	getByName(name: string): { deleteDownTo(bytes: number): Promise<number> };
}

interface RegistryBindings {
	GATEWAY?: KeptObjects;
	RESPONSE_CACHE?: KeptObjects;
}

export class GatewayRegistry extends DurableObject<RegistryBindings> {
	readonly #sql: SqlStorage;
	readonly #dynamicRoutes: DynamicRoutes;
	readonly #providerAccess: ProviderAccessTables;
	readonly #aliases: GatewayAliases;
	readonly #kept: KeptTable;

	constructor(ctx: DurableObjectState, env: RegistryBindings) {
		super(ctx, env);
		this.#sql = ctx.storage.sql;
		this.#sql.exec(`${GATEWAYS}; ${SERVED}; ${RUNS}`);
		this.#dynamicRoutes = new DynamicRoutes(this.#sql);
		this.#providerAccess = new ProviderAccessTables(this.#sql);
		this.#aliases = new GatewayAliases(this.#sql);
		this.#kept = new KeptTable(this.#sql);
	}

	/** An object of a gateway reports its bytes. Returns those that it may keep. Others delete what the account keeps beyond its bound. */
	async keepBytes(report: KeptReport): Promise<number> {
		const { class: kept, gateway, max } = report;
		const allowed = this.#kept.report(report);
		const objects = kept === "logs" ? this.env.GATEWAY : this.env.RESPONSE_CACHE;
		for (let calls = 0; calls < MAX_GATEWAYS; calls++) {
			const over = this.#kept.over(kept, max);
			// It deletes its own rows when it knows the result.
			if (!objects || !over || over.gateway === gateway) break;
			const object = objects.getByName(`${this.ctx.id.name}/${over.gateway}`);
			this.#kept.set(kept, over.gateway, await object.deleteDownTo(over.allowed));
		}
		return allowed;
	}

	dynamicRoutes(): DynamicRoutes {
		return this.#dynamicRoutes;
	}

	providerAccess(): ProviderAccessTables {
		return this.#providerAccess;
	}

	aliases(): GatewayAliases {
		return this.#aliases;
	}

	get(id: string): GatewaySettings | undefined {
		const row = this.#row(id);
		return row ? settingsOf(row) : undefined;
	}

	/** Sorted by id. `search`: part of the id. */
	list({ search = "", offset, limit }: { search?: string; offset: number; limit: number }): GatewayPage {
		const rows = this.#sql
			.exec<GatewayRow>("SELECT * FROM gateways WHERE instr(id, ?) > 0", search)
			.toArray();
		const hasDefault = rows.some(({ id }) => id === DEFAULT_GATEWAY);
		if (!hasDefault && DEFAULT_GATEWAY.includes(search)) rows.push(DEFAULT_ROW);
		// The default gateway has the same place in the list whether it is stored or not.
		rows.sort((a, b) => (a.id < b.id ? -1 : 1));
		return { gateways: rows.slice(offset, offset + limit).map(settingsOf), total: rows.length };
	}

	create(id: string, settings: GatewayUpdate): RegistryResult {
		if (this.#stored(id)) return { ok: false, failure: "exists" };
		const { gateways } = this.#sql
			.exec<{ gateways: number }>("SELECT count(*) AS gateways FROM gateways WHERE id <> ?", DEFAULT_GATEWAY)
			.one();
		if (id !== DEFAULT_GATEWAY && gateways >= MAX_GATEWAYS) return { ok: false, failure: "tooMany" };
		const now = Date.now();
		return this.#write({ id, settings: JSON.stringify(settings), created_at: now, modified_at: now });
	}

	update(id: string, settings: GatewayUpdate): RegistryResult {
		const row = this.#row(id);
		if (!row) return { ok: false, failure: "absent" };
		// An update that omits a field which only updates have keeps it.
		const stored: Record<string, unknown> = JSON.parse(row.settings);
		const merged = { ...stored, ...withStoredSecrets(settings, stored) };
		return this.#write({ ...row, settings: JSON.stringify(merged), modified_at: Date.now() });
	}

	/** An open deployment serves the gateway, with its settings if it exists. */
	serve(id: string): GatewaySettings | undefined {
		const settings = this.get(id);
		if (!settings) this.#sql.exec("INSERT OR IGNORE INTO served VALUES (?)", id);
		return settings;
	}

	/** The gateways that may have objects. */
	names(): string[] {
		const stored = this.#sql
			.exec<{ id: string }>("SELECT id FROM gateways UNION SELECT gateway FROM served")
			.toArray();
		return [...new Set([DEFAULT_GATEWAY, ...stored.map(({ id }) => id), ...this.#kept.gateways()])];
	}

	recordRun(id: string): void {
		const now = Date.now();
		this.#sql.exec("DELETE FROM stream_runs WHERE begun_at < ?", now - RUN_MS);
		this.#sql.exec("INSERT INTO stream_runs VALUES (?, ?)", id, now);
	}

	/** The ids of resumable streams that may exist. */
	runs(): string[] {
		return this.#sql
			.exec<{ id: string }>("SELECT id FROM stream_runs")
			.toArray()
			.map(({ id }) => id);
	}

	/** Deletes the account's gateways with their keys, routes and aliases. Returns the number of rows. */
	erase(): Promise<number> {
		return eraseObject(this.ctx);
	}

	/** The default gateway returns to its default settings. */
	delete(id: string): RegistryResult {
		const row = this.#row(id);
		if (!row) return { ok: false, failure: "absent" };
		this.#sql.exec("DELETE FROM gateways WHERE id = ?", id);
		this.#dynamicRoutes.deleteAll(id);
		this.#providerAccess.deleteKeys(id);
		this.#aliases.deleteAll(id);
		this.#kept.forget(id);
		return { ok: true, gateway: settingsOf(row) };
	}

	#write(row: GatewayRow): RegistryResult {
		this.#sql.exec(
			"INSERT OR REPLACE INTO gateways VALUES (?, ?, ?, ?)",
			row.id,
			row.settings,
			row.created_at,
			row.modified_at,
		);
		return { ok: true, gateway: settingsOf(row) };
	}

	#row(id: string): GatewayRow | undefined {
		return this.#stored(id) ?? (id === DEFAULT_GATEWAY ? DEFAULT_ROW : undefined);
	}

	#stored(id: string): GatewayRow | undefined {
		return this.#sql.exec<GatewayRow>("SELECT * FROM gateways WHERE id = ?", id).toArray()[0];
	}
}

const DEFAULT_ROW: GatewayRow = {
	id: DEFAULT_GATEWAY,
	settings: JSON.stringify(DEFAULT_SETTINGS),
	created_at: 0,
	modified_at: 0,
};

function settingsOf({ id, settings, created_at, modified_at }: GatewayRow): GatewaySettings {
	return {
		...(JSON.parse(settings) as GatewayUpdate),
		id,
		created_at: new Date(created_at).toISOString(),
		modified_at: new Date(modified_at).toISOString(),
		is_default: id === DEFAULT_GATEWAY,
	};
}
