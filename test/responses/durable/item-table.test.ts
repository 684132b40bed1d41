import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { ItemTable } from "../../../src/responses/durable/item-table.ts";
import { LongTexts } from "../../../src/responses/durable/long-texts.ts";
import type { Found, ItemsPage } from "../../../src/responses/records.ts";

const pageOf = (found: Found<ItemsPage | undefined>): ItemsPage | undefined =>
	found.ok ? found.value : undefined;

it("has an item that is added after the last one was deleted behind it, also after a restart of the object", () =>
	runInDurableObject(env.RESPONSE_STORE.getByName(crypto.randomUUID()), (_, { storage }) => {
		const opened = () => new ItemTable(storage.sql, new LongTexts(storage.sql));
		const items = opened();
		const add = (table: ItemTable, id: string) =>
			table.insert([{ id, json: `{"id":"${id}"}` }], { owner: "", conversation: "conv_1", held: false });
		add(items, "msg_1");
		add(items, "msg_2");
		items.leaveOne("conv_1", "msg_2", Date.now());
		const restarted = opened();
		add(restarted, "msg_3");
		const after = (order: "asc" | "desc") =>
			pageOf(restarted.page("conv_1", { after: "msg_2", limit: 10, order }))?.items;
		expect(after("asc")).toEqual(['{"id":"msg_3"}']);
		expect(after("desc")).toEqual(['{"id":"msg_1"}']);
	}));

it("has a page for an item that is larger than others may be", () =>
	runInDurableObject(env.RESPONSE_STORE.getByName(crypto.randomUUID()), (_, { storage }) => {
		const items = new ItemTable(storage.sql, new LongTexts(storage.sql));
		const large = (id: string) => ({ id, json: JSON.stringify({ id, text: "a".repeat(10_500_000) }) });
		const range = items.insert([{ id: "0", json: '{"id":"0"}' }, large("1"), large("2")], {
			...{ owner: "", conversation: "conv_1", held: false },
		});
		for (const [after, id, hasMore] of [
			[undefined, "0", true],
			["0", "1", true],
			["1", "2", false],
		] as const) {
			const query = { after, limit: 100, order: "asc" } as const;
			for (const page of [items.page("conv_1", query), items.pageOf([range], query)].map(pageOf)) {
				expect(page?.items.map((json) => JSON.parse(json).id)).toEqual([id]);
				expect(page?.hasMore).toBe(hasMore);
			}
		}
	}));

describe("a list in which large items have one id", () => {
	const TOO_LARGE = "too large";

	it.each([
		["that has an item of its own before them", "axxb", [["a"], TOO_LARGE]],
		["that begins with them", "xxb", [TOO_LARGE]],
		["of nothing else", "xxx", [TOO_LARGE]],
		["in which two ids take turns", "axyxy", [["a"], TOO_LARGE]],
		["that has others between them", "xabx", [["x", "a", "b"], ["x"]]],
	])("%s (%s) ends, and shows no item twice", (_, ids, expected) =>
		runInDurableObject(env.RESPONSE_STORE.getByName(crypto.randomUUID()), (_object, { storage }) => {
			const items = new ItemTable(storage.sql, new LongTexts(storage.sql));
			const records = [...ids].map((id) => ({
				id,
				json: JSON.stringify({ id, text: id === "x" || id === "y" ? "a".repeat(8_000_000) : "" }),
			}));
			const range = items.insert(records, { owner: "", conversation: "conv_1", held: false });
			for (const list of ["page", "pageOf"] as const) {
				const pages: unknown[] = [];
				for (let after: string | undefined; pages.length <= ids.length; ) {
					const query = { after, limit: 100, order: "asc" } as const;
					const found = list === "page" ? items.page("conv_1", query) : items.pageOf([range], query);
					const page = pageOf(found);
					const shown = page?.items.map((json) => JSON.parse(json).id);
					pages.push(found.ok ? shown : found.missing.tooLarge && TOO_LARGE);
					if (!page?.hasMore) break;
					after = shown?.at(-1);
				}
				expect(pages, list).toEqual(expected);
			}
		}),
	);
});

describe.each(["asc", "desc"] as const)(
	"a list in the order %s, in which an id has several items",
	(order) => {
		it.each([
			["between others", ["a", "x", "b", "x", "c", "x", "d"]],
			["one after the other", ["a", "x", "x", "x", "b"]],
			["at both ends", ["x", "a", "b", "c", "x"]],
			["and every other one, too", ["x", "y", "x", "y"]],
		])("has each item on one page, %s", (_, ids) =>
			runInDurableObject(env.RESPONSE_STORE.getByName(crypto.randomUUID()), (_object, { storage }) => {
				const items = new ItemTable(storage.sql, new LongTexts(storage.sql));
				const records = ids.map((id, place) => ({ id, json: JSON.stringify({ id, place }) }));
				const range = items.insert(records, { owner: "", conversation: "conv_1", held: false });
				const expected = order === "asc" ? records : records.toReversed();
				for (const limit of [1, 2, 3, 4, 10])
					for (const list of ["page", "pageOf"] as const) {
						const listed: string[] = [];
						for (let after: string | undefined, pages = 0; pages <= ids.length; pages++) {
							const query = { after, limit, order };
							const page = pageOf(
								list === "page" ? items.page("conv_1", query) : items.pageOf([range], query),
							);
							listed.push(...(page?.items ?? []));
							if (!page?.hasMore) break;
							after = JSON.parse(page.items.at(-1) ?? "{}").id;
						}
						expect(listed, `${list}, ${limit}`).toEqual(expected.map(({ json }) => json));
					}
			}),
		);
	},
);

const ADA = "ada";
const BEN = "ben";
const OPERATOR = "operator";

/** Runs in an object of its own. `put` inserts one row, and returns its number. */
const withItems = (
	test: (world: {
		sql: SqlStorage;
		opened(): ItemTable;
		put(row: { id: string; owner: string; json?: string; referencedOwner?: string }): number;
	}) => void,
) =>
	runInDurableObject(env.RESPONSE_STORE.getByName(crypto.randomUUID()), (_, { storage: { sql } }) => {
		const opened = () => new ItemTable(sql, new LongTexts(sql));
		const items = opened();
		const put = ({
			id,
			json = "{}",
			owner,
			referencedOwner,
		}: {
			id: string;
			owner: string;
			json?: string;
			referencedOwner?: string;
		}) =>
			items.insert([{ id, json, ...(referencedOwner !== undefined && { referencedOwner }) }], {
				owner,
				held: true,
			}).first;
		test({ sql, opened, put });
	});

/** The storage, and the cursors of its queries. */
function countedSql(sql: SqlStorage) {
	const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
	const counted = {
		exec(...parameters: Parameters<SqlStorage["exec"]>) {
			const cursor = sql.exec(...parameters);
			cursors.push(cursor);
			return cursor;
		},
	} as SqlStorage;
	return { counted, cursors };
}

describe("an id that has many rows", () => {
	const MANY = 1_000;

	it("is found by reading one of them, in the scope of the caller", () =>
		withItems(({ opened, put, sql }) => {
			for (let index = 0; index < MANY; index++) put({ id: "x", owner: ADA, json: `{"index":${index}}` });
			put({ id: "x", owner: BEN, json: '{"of":"ben"}' });
			for (let index = 0; index < MANY; index++) put({ id: "x", owner: BEN, referencedOwner: ADA });
			const { counted, cursors } = countedSql(sql);
			const items = new ItemTable(counted, new LongTexts(sql));
			cursors.length = 0;
			const json = (scope: { owner: string; all: boolean }) => {
				const found = items.find("x", scope);
				return found.ok ? items.jsonOf(found.value) : found.missing;
			};
			expect(json({ owner: ADA, all: false })).toBe(`{"index":${MANY - 1}}`);
			expect(json({ owner: ADA, all: true })).toBe(`{"index":${MANY - 1}}`);
			expect(json({ owner: BEN, all: false })).toBe('{"of":"ben"}');
			expect(cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0)).toBeLessThan(20);
			expect(json({ owner: OPERATOR, all: true })).toBe('{"of":"ben"}');
			expect(json({ owner: OPERATOR, all: false })).toEqual({ kind: "item", id: "x", foreign: true });
			expect(opened().find("y", { owner: ADA, all: true })).toEqual({
				ok: false,
				missing: { kind: "item", id: "y" },
			});
		}));

	it.each(["page", "pageOf"] as const)("is read a few times in the list of them: %s", (list) =>
		withItems(({ sql }) => {
			const rows = 100_000;
			// Half of them are in another conversation.
			sql.exec(
				`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rows})
				INSERT INTO items SELECT n, 300, 'x', '${ADA}', 0, 1, iif(n > ${rows / 2}, 'conv_1', 'conv_0'), '{}' FROM numbers`,
			);
			const { counted, cursors } = countedSql(sql);
			const items = new ItemTable(counted, new LongTexts(sql));
			cursors.length = 0;
			const query = { after: undefined, limit: 1, order: "asc" } as const;
			const found =
				list === "page"
					? items.page("conv_1", query)
					: items.pageOf([{ first: rows / 2 + 1, last: rows }], query);
			expect(found.ok && found.value).toMatchObject({ items: { length: rows / 2 }, hasMore: false });
			expect(cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0)).toBeLessThan(3 * rows);
		}),
	);

	it("stands in a reference for the last one before it, also in the count of its bytes", () =>
		withItems(({ opened, put }) => {
			const long = JSON.stringify({ text: "a".repeat(5_000) });
			put({ id: "x", owner: ADA, json: long });
			const last = put({ id: "x", owner: ADA, json: '{"text":"last"}' });
			const reference = put({ id: "x", owner: BEN, referencedOwner: ADA });
			put({ id: "x", owner: ADA, json: long });
			const items = opened();
			const range = { first: reference, last: reference };
			expect(items.ofRange(range)).toEqual({ ok: true, value: ['{"text":"last"}'] });
			expect(items.bytesOf(range)).toBe(items.bytesOf({ first: last, last }));
		}));

	it("is not read as often as references of one response name it, if that is too much", () =>
		withItems(({ opened, put }) => {
			put({ id: "x", owner: ADA, json: JSON.stringify({ text: "a".repeat(3_000_000) }) });
			const first = put({ id: "x", owner: ADA, referencedOwner: ADA });
			put({ id: "x", owner: ADA, referencedOwner: ADA });
			const third = put({ id: "x", owner: ADA, referencedOwner: ADA });
			put({ id: "x", owner: ADA, referencedOwner: ADA });
			const items = opened();
			expect(items.ofRange({ first, last: third })).toMatchObject({ ok: true, value: { length: 3 } });
			expect(items.ofRange({ first, last: third + 1 })).toEqual({
				ok: false,
				missing: { kind: "item", id: "x", tooLarge: true },
			});
		}));
});

describe("a reference of a version that stored the writer as its owner", () => {
	/** As that version had it. */
	const withOldItems = (
		rows: readonly { id: string; owner: string; reference: 0 | 1; text: string }[],
		test: (world: { sql: SqlStorage; text(seq: number): string | undefined }) => void,
	) =>
		withItems(({ opened, sql }) => {
			sql.exec("DROP INDEX items_by_owner; CREATE INDEX items_by_id ON items (id)");
			for (const [index, { id, owner, reference, text }] of rows.entries())
				sql.exec(
					"INSERT INTO items VALUES (?, 300, ?, ?, ?, 1, NULL, ?)",
					...[index + 1, id, owner, reference, text],
				);
			const text = (seq: number) => {
				const found = opened().ofRange({ first: seq, last: seq });
				return found.ok ? found.value[0] : undefined;
			};
			test({ sql, text });
		});

	it("stands for the last item before it", () =>
		withOldItems(
			[
				{ id: "m", owner: BEN, reference: 0, text: "Ben's" },
				{ id: "m", owner: ADA, reference: 0, text: "Ada's" },
				{ id: "m", owner: OPERATOR, reference: 1, text: "" },
				{ id: "m", owner: "the token after a roll", reference: 1, text: "" },
				{ id: "m", owner: "c", reference: 0, text: "a later one" },
				{ id: "unknown", owner: OPERATOR, reference: 1, text: "" },
			],
			({ text }) => {
				expect(text(3)).toBe("Ada's");
				expect(text(4)).toBe("Ada's");
				expect(text(6)).toBeUndefined();
			},
		));

	it("stands for the writer's own item, and for no other one after its deletion", () =>
		withOldItems(
			[
				{ id: "m", owner: BEN, reference: 0, text: "Ben's" },
				{ id: "m", owner: ADA, reference: 0, text: "Ada's" },
				{ id: "m", owner: BEN, reference: 1, text: "" },
			],
			({ sql, text }) => {
				expect(text(3)).toBe("Ben's");
				sql.exec("DELETE FROM items WHERE seq = 1");
				expect(text(3)).toBeUndefined();
			},
		));
});
