/**
 * The dynamic routes of an account's gateways, with their versions and deployments. A new version serves nothing until it is
 * deployed; the last deployment serves.
 */
import { RpcTarget } from "cloudflare:workers";
import type { Element } from "../dynamic/elements.ts";

export const MAX_ROUTES = 100;
/** Older versions are removed, except the deployed one. */
const MAX_VERSIONS = 100;
const MAX_DEPLOYMENTS = 100;

const TABLES = `
CREATE TABLE IF NOT EXISTS routes (
	id TEXT PRIMARY KEY,
	gateway TEXT NOT NULL,
	name TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	modified_at INTEGER NOT NULL,
	UNIQUE (gateway, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS versions (
	number INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	route TEXT NOT NULL,
	elements TEXT NOT NULL,
	created_at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS versions_of_route ON versions (route, number);
CREATE TABLE IF NOT EXISTS deployments (
	number INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	route TEXT NOT NULL,
	version TEXT NOT NULL,
	created_at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS deployments_of_route ON deployments (route, number)`;

export interface RouteVersion {
	id: string;
	elements: Element[];
	/** Epoch milliseconds. */
	createdAt: number;
}

export interface RouteDeployment {
	id: string;
	version: string;
	/** Epoch milliseconds. */
	createdAt: number;
}

export interface DynamicRoute {
	id: string;
	gateway: string;
	name: string;
	/** Epoch milliseconds. */
	createdAt: number;
	modifiedAt: number;
	/** The newest. */
	version: RouteVersion;
	/** The one that serves. Absent: none is deployed. */
	deployment?: RouteDeployment;
}

/** The version of a route that serves. */
export interface DeployedRoute {
	/** The route's id. A route that is deleted and created again has another one. */
	id: string;
	elements: Element[];
}

export type RouteFailure = "nameTaken" | "tooMany";

interface RouteRow extends Record<string, SqlStorageValue> {
	id: string;
	gateway: string;
	name: string;
	created_at: number;
	modified_at: number;
}

interface VersionRow extends Record<string, SqlStorageValue> {
	id: string;
	elements: string;
	created_at: number;
}

interface DeploymentRow extends Record<string, SqlStorageValue> {
	id: string;
	version: string;
	created_at: number;
}

export class DynamicRoutes extends RpcTarget {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		super();
		this.#sql = sql;
		sql.exec(TABLES);
	}

	create(gateway: string, name: string, elements: Element[]): DynamicRoute | RouteFailure {
		const rows = this.#rows(gateway);
		if (rows.some((row) => row.name === name)) return "nameTaken";
		if (rows.length >= MAX_ROUTES) return "tooMany";
		const id = crypto.randomUUID();
		const now = Date.now();
		this.#sql.exec("INSERT INTO routes VALUES (?, ?, ?, ?, ?)", id, gateway, name, now, now);
		this.#insertVersion(id, elements, now);
		return this.#route({ id, gateway, name, created_at: now, modified_at: now });
	}

	/** In the order of their creation. */
	list(gateway: string): DynamicRoute[] {
		return this.#rows(gateway).map((row) => this.#route(row));
	}

	get(gateway: string, id: string): DynamicRoute | undefined {
		const row = this.#row(gateway, id);
		return row && this.#route(row);
	}

	/** `undefined`: the gateway has no such route, or none of its versions is deployed. */
	deployed(gateway: string, name: string): DeployedRoute | undefined {
		const row = this.#rows(gateway).find((candidate) => candidate.name === name);
		const deployment = row && this.deployments(row.id)[0];
		const version = deployment && this.version(row.id, deployment.version);
		return version && { id: row.id, elements: version.elements };
	}

	rename(gateway: string, id: string, name: string): DynamicRoute | RouteFailure | undefined {
		const row = this.#row(gateway, id);
		if (!row) return undefined;
		if (this.#rows(gateway).some((other) => other.name === name && other.id !== id)) return "nameTaken";
		return this.#route(this.#modified({ ...row, name }));
	}

	/** Returns the route that was deleted. */
	delete(gateway: string, id: string): DynamicRoute | undefined {
		const route = this.get(gateway, id);
		if (route) this.#deleteRoute(id);
		return route;
	}

	deleteAll(gateway: string): void {
		for (const { id } of this.#rows(gateway)) this.#deleteRoute(id);
	}

	createVersion(gateway: string, id: string, elements: Element[]): DynamicRoute | undefined {
		const row = this.#row(gateway, id);
		if (!row) return undefined;
		this.#insertVersion(id, elements, Date.now());
		return this.#route(this.#modified(row));
	}

	/** `undefined`: the route or the version does not exist. */
	deploy(gateway: string, id: string, version: string): DynamicRoute | undefined {
		const row = this.#row(gateway, id);
		if (!row || !this.version(id, version)) return undefined;
		this.#insertDeployment(id, version, Date.now());
		return this.#route(this.#modified(row));
	}

	/** Newest first. */
	versions(route: string): RouteVersion[] {
		return this.#sql
			.exec<VersionRow>("SELECT * FROM versions WHERE route = ? ORDER BY number DESC", route)
			.toArray()
			.map(versionOf);
	}

	version(route: string, id: string): RouteVersion | undefined {
		const [row] = this.#sql
			.exec<VersionRow>("SELECT * FROM versions WHERE route = ? AND id = ?", route, id)
			.toArray();
		return row && versionOf(row);
	}

	/** Newest first. */
	deployments(route: string): RouteDeployment[] {
		return this.#sql
			.exec<DeploymentRow>("SELECT * FROM deployments WHERE route = ? ORDER BY number DESC", route)
			.toArray()
			.map(({ id, version, created_at }) => ({ id, version, createdAt: created_at }));
	}

	#route({ id, gateway, name, created_at, modified_at }: RouteRow): DynamicRoute {
		// Of up to 100 versions of 64 KB, only the newest is read.
		const [version] = this.#sql
			.exec<VersionRow>("SELECT * FROM versions WHERE route = ? ORDER BY number DESC LIMIT 1", id)
			.toArray()
			.map(versionOf);
		if (!version) throw new Error("A dynamic route has no version");
		const [deployment] = this.deployments(id);
		return {
			id,
			gateway,
			name,
			createdAt: created_at,
			modifiedAt: modified_at,
			version,
			...(deployment && { deployment }),
		};
	}

	#modified(row: RouteRow): RouteRow {
		const modified = { ...row, modified_at: Date.now() };
		this.#sql.exec(
			"UPDATE routes SET name = ?, modified_at = ? WHERE id = ?",
			row.name,
			modified.modified_at,
			row.id,
		);
		return modified;
	}

	#insertVersion(route: string, elements: readonly Element[], now: number): void {
		const text = JSON.stringify(elements);
		this.#sql.exec(
			"INSERT INTO versions (id, route, elements, created_at) VALUES (?, ?, ?, ?)",
			crypto.randomUUID(),
			route,
			text,
			now,
		);
		const deployed = this.deployments(route)[0]?.version ?? "";
		this.#sql.exec(
			`DELETE FROM versions WHERE route = ?1 AND id <> ?2 AND number NOT IN
				(SELECT number FROM versions WHERE route = ?1 ORDER BY number DESC LIMIT ?3)`,
			route,
			deployed,
			MAX_VERSIONS,
		);
	}

	#insertDeployment(route: string, version: string, now: number): void {
		this.#sql.exec(
			"INSERT INTO deployments (id, route, version, created_at) VALUES (?, ?, ?, ?)",
			crypto.randomUUID(),
			route,
			version,
			now,
		);
		this.#sql.exec(
			`DELETE FROM deployments WHERE route = ?1 AND number NOT IN
				(SELECT number FROM deployments WHERE route = ?1 ORDER BY number DESC LIMIT ?2)`,
			route,
			MAX_DEPLOYMENTS,
		);
	}

	#deleteRoute(id: string): void {
		this.#sql.exec("DELETE FROM routes WHERE id = ?", id);
		this.#sql.exec("DELETE FROM versions WHERE route = ?", id);
		this.#sql.exec("DELETE FROM deployments WHERE route = ?", id);
	}

	#rows(gateway: string): RouteRow[] {
		return this.#sql
			.exec<RouteRow>("SELECT * FROM routes WHERE gateway = ? ORDER BY created_at, id", gateway)
			.toArray();
	}

	#row(gateway: string, id: string): RouteRow | undefined {
		return this.#sql
			.exec<RouteRow>("SELECT * FROM routes WHERE gateway = ? AND id = ?", gateway, id)
			.toArray()[0];
	}
}

const versionOf = ({ id, elements, created_at }: VersionRow): RouteVersion => ({
	id,
	elements: JSON.parse(elements) as Element[],
	createdAt: created_at,
});
