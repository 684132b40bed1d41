/** An account's requests: rows for those that may still change, segments for those that are settled. */
import { jsonArrays } from "../../core/json-arrays.ts";
import type { Settlement } from "../admission.ts";
import {
	type LedgerRow,
	OPEN_COLUMNS,
	type OpenRequest,
	type OpenRow,
	openRequest,
	type RequestRecord,
	rateKeys,
	rateKeysText,
	requestRecord,
	SETTLED_COLUMNS,
} from "./request-rows.ts";
import { type AccountRows, RowTable, type TableOptions } from "./row-table.ts";
import { KEPT_MS, Segments, type SettledRow } from "./segments.ts";
import { WINDOW_MS } from "./windows.ts";

/**
 * A row is an open request, or a charge. Later reports reduce the charge of a lease, and its return removes it. A settlement replaces the
 * charge of an expired request. A settlement moves the request to a segment. Tables of earlier versions have settled requests too. The
 * alarm deletes settled rows after 7 days.
 *
 * The only index is the id: an index is a second write for each admission, and only the rebuild after a start reads by other
 * columns.
 */
const COLUMNS = { ...OPEN_COLUMNS, ...SETTLED_COLUMNS };
const OPEN_FIELDS = Object.keys(OPEN_COLUMNS) as (keyof OpenRow)[];

/** Ids of open requests are above those of all settled ones. A settled request gets a new id, in the order of settlement. */
const FIRST_OPEN_ID = 10 ** 14;
/** Starts the tickets of charged leases. */
const LEASE_PREFIX = "lease-";

const IN_LIST = "id IN (SELECT value FROM json_each(?))";
/** Its parameter is {@link FIRST_OPEN_ID}. In tables of earlier versions, open requests have such ids too. */
const SETTLED = "id < ? AND outcome IS NOT NULL";
const SETTLED_AT = "coalesce(settled_at, admitted_at)";
const settledAtOf = ({ settledAt, admittedAt }: LedgerRow): number => settledAt ?? admittedAt;

const DEFAULT_PAGE = 50;
const MAX_PAGE = 100;

export interface RequestsQuery {
	/** 1 to 100. Default: 50. */
	limit?: number;
	/** From the previous page. */
	cursor?: number;
	model?: string;
	task?: string;
	token?: string;
	outcome?: RequestRecord["outcome"];
	/** Only charged leases. */
	leases?: true;
}

/**
 * The open requests, then the settled ones. The latest is first: of the open ones by admission, of the others by settlement,
 * because a page then reads only the segments that it shows.
 */
export interface RequestsPage {
	requests: RequestRecord[];
	/** For the next page; absent on the last. */
	cursor?: number;
}

export class Requests {
	readonly #table: RowTable<LedgerRow>;
	readonly #segments: Segments;
	#nextOpenId: number;
	#nextSettledId: number;

	constructor(rows: AccountRows, { isNew = false }: TableOptions = {}) {
		this.#table = new RowTable<LedgerRow>({
			rows,
			name: "requests",
			columns: COLUMNS,
			key: ["id"],
			inserted: OPEN_FIELDS,
		});
		this.#segments = new Segments(rows);
		const lastId = (condition: string): number | undefined =>
			this.#table.readOne<{ last: number | null }>(
				"max(id) AS last",
				{ where: `id ${condition}` },
				FIRST_OPEN_ID,
			).last ?? undefined;
		this.#nextOpenId = ((isNew ? undefined : lastId(">= ?")) ?? FIRST_OPEN_ID) + 1;
		this.#nextSettledId = isNew ? 1 : Math.max(lastId("< ?") ?? 0, this.#segments.lastId()) + 1;
	}

	/** Assigns the next id. {@link insert} writes the row. */
	open(request: Omit<OpenRequest, "id">): OpenRequest {
		return { id: this.#nextOpenId++, ...request };
	}

	insert(requests: readonly OpenRequest[]): void {
		const rows: unknown[][] = [];
		for (const { rateKeys: keys, ...request } of requests) {
			const row: OpenRow = { ...request, rateKeys: rateKeysText(keys) };
			const values: unknown[] = [];
			for (const field of OPEN_FIELDS) values.push(row[field]);
			rows.push(values);
		}
		for (const { text } of jsonArrays(rows)) this.#table.insertAll(text);
	}

	/** Moves the requests to a segment. They need not have rows; that of an expired one is its charge. */
	settle(settledAt: number, settled: readonly (readonly [OpenRequest, Settlement])[]): void {
		const ids: number[] = [];
		const rows: SettledRow[] = [];
		for (const each of settled) {
			ids.push(each[0].id);
			rows.push(this.#settledRow(settledAt, each));
		}
		this.#close(ids);
		this.#segments.add(rows);
	}

	/** Deletes rows of requests whose state changes. */
	#close(ids: readonly number[]): void {
		this.#table.delete(IN_LIST, JSON.stringify(ids));
	}

	/** Writes the charges of expired requests. Returns the requests with the ids of these rows. */
	expire(settledAt: number, charges: readonly (readonly [OpenRequest, Settlement])[]): OpenRequest[] {
		this.#close(charges.map(([{ id }]) => id));
		return charges.map((charge) => ({ ...charge[0], id: this.charge(settledAt, charge) }));
	}

	/** Moves charges that are final to a segment. `ids`: of their rows, oldest first. */
	finish(ids: readonly number[]): void {
		const rows = this.#table.select({ where: IN_LIST, order: "id" }, JSON.stringify(ids));
		this.#close(ids);
		this.#segments.add(
			rows.map((row) => ({ ...row, settledAt: settledAtOf(row), id: this.#nextSettledId++ })),
		);
	}

	/** Writes a charge. Returns the id of its row. */
	charge(settledAt: number, charge: readonly [OpenRequest, Settlement]): number {
		const row = { ...this.#settledRow(settledAt, charge), expiresAt: charge[0].expiresAt };
		this.#table.write(row);
		return row.id;
	}

	/** Reduces the cost of a charged lease. */
	reduceCharge(id: number, microNeurons: number): void {
		this.#table.subtract("microNeurons", microNeurons, "id = ?", id);
	}

	/** Removes the charge of a lease. */
	removeCharge(id: number): void {
		this.#close([id]);
	}

	/** Finds a charged lease by its ticket. */
	charged(ticket: string): LedgerRow | undefined {
		return this.#table.select({ where: "ticket = ? AND outcome = 'expired'" }, ticket).find(isCharge);
	}

	/** Sets the cost of a charged lease to 0, and marks its row. */
	forgive(row: LedgerRow, now: number): void {
		this.#table.write({ ...row, microNeurons: 0, forgivenAt: now });
	}

	/** The latest that are charged, oldest first. */
	expiredRequests(most: number): OpenRequest[] {
		const where = `outcome = 'expired' AND ticket NOT LIKE '${LEASE_PREFIX}%'`;
		return this.#table.select({ where, order: "id DESC", limit: most }).reverse().map(openRequest);
	}

	/** In the order of admission. */
	openRequests(): OpenRequest[] {
		return this.#table.select({ where: "outcome IS NULL", order: "id" }).map(openRequest);
	}

	/** The admission times and rate keys of the last minute's requests, oldest first. */
	lastMinute(now: number): Pick<OpenRequest, "admittedAt" | "rateKeys">[] {
		const rows = this.#table.select({ where: "admitted_at > ? AND admitted_at <= ?" }, now - WINDOW_MS, now);
		const settled = this.#segments.lastMinute(now);
		return [...rows, ...settled]
			.filter(({ admittedAt }) => admittedAt > now - WINDOW_MS && admittedAt <= now)
			.sort((one, other) => one.admittedAt - other.admittedAt)
			.map((row) => ({ admittedAt: row.admittedAt, rateKeys: rateKeys(row.rateKeys) }));
	}

	/** The latest time of any request; 0 without any. */
	latest(): number {
		const row = this.#table.readOne<{ latest: number | null }>(
			"max(max(admitted_at), coalesce(max(settled_at), 0)) AS latest",
		);
		return Math.max(row.latest ?? 0, this.#segments.latest());
	}

	page({ limit = DEFAULT_PAGE, cursor = Number.MAX_SAFE_INTEGER, ...filters }: RequestsQuery): RequestsPage {
		const size = Math.min(Math.max(1, Math.floor(limit)), MAX_PAGE);
		const find = (rows: Iterable<Omit<LedgerRow, "expiresAt">>): (readonly [number, RequestRecord])[] => {
			const found: (readonly [number, RequestRecord])[] = [];
			for (const row of rows) {
				const record = requestRecord(row);
				if (matches(row, record, filters)) found.push([row.id, record]);
				if (found.length > size) break;
			}
			return found;
		};
		const rows = find(this.#table.each({ where: "id < ?", order: "id DESC" }, cursor));
		const all = [...rows, ...find(this.#segments.before(cursor))].sort(([one], [other]) => other - one);
		const [last] = (all.length > size ? all[size - 1] : undefined) ?? [];
		return {
			requests: all.slice(0, size).map(([, record]) => record),
			...(last !== undefined && { cursor: last }),
		};
	}

	/** Deletes old settled requests. Returns whether there may be further ones. */
	deleteExpired(now: number): boolean {
		if ((this.#oldestSettled() ?? now) <= now - KEPT_MS)
			this.#table.delete(`${SETTLED} AND ${SETTLED_AT} <= ?`, FIRST_OPEN_ID, now - KEPT_MS);
		return this.#segments.deleteExpired(now, this.#nextSettledId - 1);
	}

	/** When the oldest settled request reaches its age limit. */
	nextExpiry(): number | undefined {
		const oldest = this.#oldestSettled();
		const times = [oldest === undefined ? undefined : oldest + KEPT_MS, this.#segments.nextExpiry()];
		const due = times.filter((time) => time !== undefined);
		return due.length > 0 ? Math.min(...due) : undefined;
	}

	/** When the first row of a settled request was settled. Reads no other row, because the alarm may be frequent. */
	#oldestSettled(): number | undefined {
		const [oldest] = this.#table.select({ where: SETTLED, order: "id", limit: 1 }, FIRST_OPEN_ID);
		return oldest && settledAtOf(oldest);
	}

	#settledRow(settledAt: number, [request, settlement]: readonly [OpenRequest, Settlement]): SettledRow {
		const { admittedAt, model, task, token, rateKeys: keys, reserved } = request;
		const { calls } = settlement;
		return {
			...settlement,
			...{ admittedAt, model, task, token, rateKeys: rateKeysText(keys), reserved, settledAt },
			estimated: Number(settlement.estimated),
			calls: calls && JSON.stringify(calls),
			id: this.#nextSettledId++,
		};
	}
}

const isCharge = ({ outcome, ticket }: Pick<LedgerRow, "outcome" | "ticket">): boolean =>
	outcome === "expired" && ticket.startsWith(LEASE_PREFIX);

const matches = (
	row: Omit<LedgerRow, "expiresAt">,
	record: RequestRecord,
	{ model, task, token, outcome, leases }: Omit<RequestsQuery, "limit" | "cursor">,
): boolean =>
	(model ?? row.model) === row.model &&
	(task ?? row.task) === row.task &&
	(token ?? row.token) === row.token &&
	(outcome ?? record.outcome) === record.outcome &&
	(!leases || isCharge(row));
