/** The `SearchRegistry` object: the namespaces and instances of AI Search of one account, and the size of each instance. */
import { DurableObject } from "cloudflare:workers";
import { BoundedMap } from "../../../core/bounded-map.ts";
import { eraseObject } from "../../../core/erase-object.ts";
import type { Queue } from "../../../storage/queue/work.ts";
import { MAX_NAMESPACES } from "../limits.ts";
import { countPublicRequest, type PeriodCount, type PublicEndpoint } from "../public-endpoint.ts";
import {
	DEFAULT_NAMESPACE,
	type InstanceRecord,
	type InstanceSize,
	type Page,
	type SearchNamespace,
	type SearchUsage,
} from "../records.ts";
import { dropItem } from "../work-items.ts";

/** Written by the routes. A row dies when the namespace is deleted. `default` has no row. */
const NAMESPACES = `CREATE TABLE IF NOT EXISTS namespaces (
	name TEXT PRIMARY KEY,
	json TEXT NOT NULL
) WITHOUT ROWID`;
/** `json`: an `InstanceRecord`. The sizes: after the last item. A row dies when the instance is deleted. */
const INSTANCES = `CREATE TABLE IF NOT EXISTS instances (
	namespace TEXT NOT NULL,
	id TEXT NOT NULL,
	json TEXT NOT NULL,
	object TEXT NOT NULL UNIQUE,
	created_at INTEGER NOT NULL,
	bytes INTEGER NOT NULL DEFAULT 0,
	items INTEGER NOT NULL DEFAULT 0,
	chunks INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (namespace, id)
) WITHOUT ROWID`;
/** Deleted instances. A row dies when nothing of them is left. */
const DELETED = `CREATE TABLE IF NOT EXISTS deleted (
	object TEXT PRIMARY KEY,
	account TEXT NOT NULL,
	json TEXT NOT NULL
) WITHOUT ROWID`;

const ENQUEUE_AFTER_MS = 60_000;

/** Endpoints whose requests are counted: more than an account has instances and namespaces. */
const MAX_COUNTS = 10_000;

export interface PublicRequest<Target> {
	target: Target;
	/** By the rate limit. */
	isAllowed: boolean;
	retryAfterMs: number;
}
type Admission = Omit<PublicRequest<unknown>, "target">;

export interface InstanceQuery {
	namespace: string;
	page: number;
	perPage: number;
	search?: string | undefined;
	isDescending?: boolean | undefined;
}

export abstract class SearchRegistryObject extends DurableObject {
	readonly #sql: SqlStorage;
	/** Of public endpoints, by object. They are lost with the process. */
	readonly #requests = new BoundedMap<string, PeriodCount>(MAX_COUNTS);

	constructor(ctx: DurableObjectState, env: Env) {
		super(ctx, env);
		this.#sql = ctx.storage.sql;
		this.#sql.exec(`${NAMESPACES}; ${INSTANCES}; ${DELETED}`);
	}

	/** The Worker's class has it (`index.ts`). */
	protected abstract queue(): Pick<Queue, "enqueue">;

	createNamespace(namespace: SearchNamespace): "created" | "exists" | "too-many" {
		if (this.namespace(namespace.name)) return "exists";
		// One is `default`.
		const { count } = this.#sql.exec<{ count: number }>("SELECT count(*) AS count FROM namespaces").one();
		if (count + 1 >= MAX_NAMESPACES) return "too-many";
		this.putNamespace(namespace);
		return "created";
	}

	putNamespace(namespace: SearchNamespace): void {
		this.#sql.exec(
			"INSERT OR REPLACE INTO namespaces VALUES (?, ?)",
			namespace.name,
			JSON.stringify(namespace),
		);
	}

	namespace(name: string): SearchNamespace | undefined {
		if (name === DEFAULT_NAMESPACE) return { name, createdAt: 0 };
		const [row] = this.#sql
			.exec<{ json: string }>("SELECT json FROM namespaces WHERE name = ?", name)
			.toArray();
		return row && JSON.parse(row.json);
	}

	namespaces(): SearchNamespace[] {
		const own = this.#sql
			.exec<{ json: string }>("SELECT json FROM namespaces ORDER BY name")
			.toArray()
			.map(({ json }): SearchNamespace => JSON.parse(json));
		return [{ name: DEFAULT_NAMESPACE, createdAt: 0 }, ...own];
	}

	deleteNamespace(name: string): "deleted" | "missing" | "not-empty" {
		if (!this.namespace(name)) return "missing";
		const { count } = this.#sql
			.exec<{ count: number }>("SELECT count(*) AS count FROM instances WHERE namespace = ?", name)
			.one();
		if (count > 0) return "not-empty";
		this.#sql.exec("DELETE FROM namespaces WHERE name = ?", name);
		return "deleted";
	}

	create(record: InstanceRecord, maxInstances: number): "created" | "exists" | "too-many" | "no-namespace" {
		const { createdAt, id, namespace, object } = record;
		if (!this.namespace(namespace)) return "no-namespace";
		if (this.get(namespace, id)) return "exists";
		if (this.usage().instances >= maxInstances) return "too-many";
		this.#sql.exec(
			"INSERT INTO instances (namespace, id, json, object, created_at) VALUES (?, ?, ?, ?, ?)",
			namespace,
			id,
			JSON.stringify(record),
			object,
			createdAt,
		);
		return "created";
	}

	get(namespace: string, id: string): InstanceRecord | undefined {
		const [row] = this.#sql
			.exec<{ json: string }>("SELECT json FROM instances WHERE namespace = ? AND id = ?", namespace, id)
			.toArray();
		return row && JSON.parse(row.json);
	}

	list({ isDescending, namespace, page, perPage, search = "" }: InstanceQuery): Page<InstanceRecord> {
		const all = this.#sql
			.exec<{ json: string }>(
				`SELECT json FROM instances WHERE namespace = ? AND instr(id, ?) > 0 ORDER BY created_at ${isDescending ? "DESC" : "ASC"}, id`,
				namespace,
				search,
			)
			.toArray();
		const values = all.slice((page - 1) * perPage, page * perPage).map(({ json }) => JSON.parse(json));
		return { values, total: all.length };
	}

	/** Replaces the record, if its object is still the same. */
	replace(record: InstanceRecord): boolean {
		const { id, namespace, object } = record;
		return (
			this.#sql.exec(
				"UPDATE instances SET json = ? WHERE namespace = ? AND id = ? AND object = ?",
				JSON.stringify(record),
				namespace,
				id,
				object,
			).rowsWritten > 0
		);
	}

	/** The deleted instance. The durable queue deletes what belongs to it. */
	async delete(account: string, namespace: string, id: string): Promise<InstanceRecord | undefined> {
		const record = this.get(namespace, id);
		if (!record) return undefined;
		this.#sql.exec("DELETE FROM instances WHERE namespace = ? AND id = ?", namespace, id);
		this.#sql.exec(
			"INSERT OR REPLACE INTO deleted VALUES (?, ?, ?)",
			record.object,
			account,
			JSON.stringify(record),
		);
		await this.ctx.storage.setAlarm(Date.now());
		return record;
	}

	withObject(object: string): InstanceRecord | undefined {
		const [row] = this.#sql
			.exec<{ json: string }>("SELECT json FROM instances WHERE object = ?", object)
			.toArray();
		return row && JSON.parse(row.json);
	}

	/** Counts a request of a public endpoint. `undefined`: there is no instance with this object. */
	publicRequest(object: string, now: number): PublicRequest<InstanceRecord> | undefined {
		const record = this.withObject(object);
		return (
			record && { target: record, ...this.#admission(object, record.config.public_endpoint_params, now) }
		);
	}

	/** Of a namespace. `undefined`: none has an endpoint with this id. */
	publicNamespaceRequest(id: string, now: number): PublicRequest<SearchNamespace> | undefined {
		const namespace = this.namespaces().find(({ endpointId }) => endpointId === id);
		return namespace && { target: namespace, ...this.#admission(id, namespace.endpoint, now) };
	}

	#admission(key: string, endpoint: PublicEndpoint | undefined, now: number): Admission {
		if (!endpoint?.enabled) return { isAllowed: true, retryAfterMs: 0 };
		const { count, ...admission } = countPublicRequest(this.#requests.get(key), endpoint.rate_limit, now);
		this.#requests.set(key, count);
		return admission;
	}

	/** Deletes all instances and namespaces. Returns the number of rows, or nothing while something of an instance is left. */
	async erase(account: string): Promise<number | undefined> {
		const all = this.#sql
			.exec<{ namespace: string; id: string }>("SELECT namespace, id FROM instances")
			.toArray();
		for (const { id, namespace } of all) await this.delete(account, namespace, id);
		const isLeft = this.#sql.exec("SELECT 1 FROM deleted LIMIT 1").toArray().length > 0;
		if (!isLeft) return eraseObject(this.ctx);
		// The queue may have lost an item with its process.
		await this.ctx.storage.setAlarm(Date.now());
		return undefined;
	}

	/** Nothing of a deleted instance is left. */
	dropped(object: string): void {
		this.#sql.exec("DELETE FROM deleted WHERE object = ?", object);
	}

	/** Counts bytes that are going to be written. Returns whether the account has room for them. */
	reserve(object: string, bytes: number, maxBytes: number): boolean {
		if (this.usage().bytes + bytes > maxBytes) return false;
		this.#sql.exec("UPDATE instances SET bytes = bytes + ? WHERE object = ?", bytes, object);
		return true;
	}

	report(object: string, { bytes, chunks, items }: InstanceSize): void {
		this.#sql.exec(
			"UPDATE instances SET bytes = ?, items = ?, chunks = ? WHERE object = ?",
			bytes,
			items,
			chunks,
			object,
		);
	}

	usage(): SearchUsage {
		return this.#sql
			.exec<SearchUsage & Record<string, number>>(
				`SELECT count(*) AS instances, coalesce(sum(items), 0) AS items, coalesce(sum(chunks), 0) AS chunks,
				coalesce(sum(bytes), 0) AS bytes FROM instances`,
			)
			.one();
	}

	override async alarm(): Promise<void> {
		const deleted = this.#sql
			.exec<{ account: string; json: string }>("SELECT account, json FROM deleted")
			.toArray();
		if (deleted.length === 0) return;
		await this.ctx.storage.setAlarm(Date.now() + ENQUEUE_AFTER_MS);
		const work = deleted.map(({ account, json }) => {
			const { id, indexVersion, namespace, object }: InstanceRecord = JSON.parse(json);
			return dropItem({ account, namespace, object, instance: id }, indexVersion);
		});
		// The queue is full or unreachable: the next alarm tries again.
		await this.queue()
			.enqueue(work)
			.catch(() => 0);
	}
}
