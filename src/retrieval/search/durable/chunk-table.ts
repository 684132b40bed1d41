/** The chunks of an instance, and their index for keywords (sqlite.org/fts5.html). The vectors are in a vector index. */
import { matchesFilter } from "../filters.ts";
import {
	chunkId,
	type FoundChunk,
	type InstanceConfig,
	type KeywordMatch,
	type KeywordQuery,
	type NewItem,
	type StoredChunk,
	type TextChunk,
} from "../records.ts";
import { keywordExpression } from "./keyword-expression.ts";

/** Written when a revision of an item is complete. Rows die with the next one, or with the item. */
const CHUNKS = `CREATE TABLE IF NOT EXISTS chunks (
	number INTEGER PRIMARY KEY,
	item TEXT NOT NULL,
	seq INTEGER NOT NULL,
	revision INTEGER NOT NULL,
	text TEXT NOT NULL,
	start INTEGER NOT NULL,
	end INTEGER NOT NULL,
	UNIQUE (item, seq)
)`;

export type Tokenizer = InstanceConfig["indexing_options"]["keyword_tokenizer"];
const TOKENIZERS: Readonly<Record<Tokenizer, string>> = {
	porter: "porter unicode61",
	trigram: "trigram",
};
/** The spaces make terms of three characters that begin with the last ones of a text. */
const INDEXED_TEXT = "text || '  '";
/** The terms of `keywords`. Not stored. */
const TERMS = "CREATE VIRTUAL TABLE IF NOT EXISTS terms USING fts5vocab(keywords, row)";

interface Columns extends Record<string, SqlStorageValue> {
	number: number;
	item: string;
	seq: number;
	revision: number;
	text: string;
	start: number;
	end: number;
}

const chunkOf = ({ end, item, revision, seq, start, text }: Columns): StoredChunk => ({
	id: chunkId(item, revision, seq),
	...{ item, seq, text, start, end },
});

export class ChunkTable {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(CHUNKS);
		this.#replaceWords();
	}

	/** Creates the index of keywords, or creates it again with another tokenizer. */
	index(tokenizer: Tokenizer): void {
		this.#sql.exec("DROP TABLE IF EXISTS terms; DROP TABLE IF EXISTS keywords");
		this.#sql.exec(
			`CREATE VIRTUAL TABLE keywords USING fts5(text, content='chunks', content_rowid='number', tokenize='${TOKENIZERS[tokenizer]}')`,
		);
		this.#sql.exec(TERMS);
		this.#sql.exec(`INSERT INTO keywords(rowid, text) SELECT number, ${INDEXED_TEXT} FROM chunks`);
	}

	/** The index of earlier versions, `words`, has texts without the spaces. */
	#replaceWords(): void {
		const [words] = this.#sql
			.exec<{ sql: string }>("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'words'")
			.toArray();
		if (!words) return;
		this.index(words.sql.includes(`tokenize='${TOKENIZERS.trigram}'`) ? "trigram" : "porter");
		this.#sql.exec("DROP TABLE words");
	}

	get count(): number {
		return this.#sql.exec<{ count: number }>("SELECT count(*) AS count FROM chunks").one().count;
	}

	/** Replaces the chunks of an item. */
	replace(item: string, revision: number, chunks: readonly TextChunk[]): void {
		this.remove(item);
		for (const [seq, { end, start, text }] of chunks.entries()) {
			const { number } = this.#sql
				.exec<{ number: number }>(
					"INSERT INTO chunks (item, seq, revision, text, start, end) VALUES (?, ?, ?, ?, ?, ?) RETURNING number",
					item,
					seq,
					revision,
					text,
					start,
					end,
				)
				.one();
			this.#sql.exec(
				`INSERT INTO keywords(rowid, text) SELECT number, ${INDEXED_TEXT} FROM chunks WHERE number = ?`,
				number,
			);
		}
	}

	remove(item: string): void {
		// An index of another table's text needs the text of a row that it removes.
		this.#sql.exec(
			`INSERT INTO keywords(keywords, rowid, text) SELECT 'delete', number, ${INDEXED_TEXT} FROM chunks WHERE item = ?`,
			item,
		);
		this.#sql.exec("DELETE FROM chunks WHERE item = ?", item);
	}

	/** The chunks of an item, in their order. */
	of(
		item: string,
		{ limit, offset }: { limit: number; offset: number },
	): { chunks: StoredChunk[]; total: number } {
		const chunks = this.#sql
			.exec<Columns>("SELECT * FROM chunks WHERE item = ? ORDER BY seq LIMIT ? OFFSET ?", item, limit, offset)
			.toArray()
			.map(chunkOf);
		const { total } = this.#sql
			.exec<{ total: number }>("SELECT count(*) AS total FROM chunks WHERE item = ?", item)
			.one();
		return { chunks, total };
	}

	matches({ filter, limit, ...query }: KeywordQuery): KeywordMatch[] {
		const expression = keywordExpression(query, (beginning, most) => this.#termsWith(beginning, most));
		if (expression === undefined) return [];
		const found: KeywordMatch[] = [];
		const indexed = new Map<string, boolean>();
		const rows = this.#sql.exec<Pick<Columns, "item" | "seq" | "revision"> & { json: string; rank: number }>(
			`SELECT chunks.item, chunks.seq, chunks.revision, items.json, keywords.rank FROM keywords
			JOIN chunks ON chunks.number = keywords.rowid JOIN items ON items.id = chunks.item
			WHERE keywords MATCH ? ORDER BY keywords.rank, chunks.number`,
			expression,
		);
		for (const { item, json, rank, revision, seq } of rows) {
			let isMatch = filter.length === 0 || indexed.get(item);
			if (isMatch === undefined) {
				isMatch = matchesFilter((JSON.parse(json) as NewItem).indexed, filter);
				indexed.set(item, isMatch);
			}
			if (!isMatch) continue;
			// BM25 of SQLite is negative.
			found.push({ id: chunkId(item, revision, seq), score: -rank });
			if (found.length === limit) break;
		}
		return found;
	}

	#termsWith(beginning: string, limit: number): string[] {
		return this.#sql
			.exec<{ term: string }>(
				"SELECT term FROM terms WHERE term >= ? AND term < ? ORDER BY doc DESC, term LIMIT ?",
				...[beginning, `${beginning}\u{10FFFF}`, limit],
			)
			.toArray()
			.map(({ term }) => term);
	}

	/** Those that exist, in any order. */
	found(ids: readonly string[]): FoundChunk[] {
		return ids.flatMap((id) => {
			const [item = "", revision = "", seq = ""] = id.split(".");
			const [row] = this.#sql
				.exec<Columns & { key: string; json: string; modified_at: number }>(
					`SELECT chunks.*, items.key, items.json, items.modified_at FROM chunks JOIN items ON items.id = chunks.item
					WHERE chunks.item = ? AND chunks.seq = ? AND chunks.revision = ?`,
					item,
					Number(seq),
					Number(revision),
				)
				.toArray();
			if (!row) return [];
			const { indexed, metadata } = JSON.parse(row.json) as NewItem;
			return [{ ...chunkOf(row), key: row.key, timestamp: row.modified_at, metadata, indexed }];
		});
	}

	/** The text of a chunk with those beside it. */
	expanded(id: string, beside: number): string | undefined {
		const [item = "", , seq = ""] = id.split(".");
		const rows = this.#sql
			.exec<Columns>(
				"SELECT * FROM chunks WHERE item = ? AND seq BETWEEN ? AND ? ORDER BY seq",
				item,
				Number(seq) - beside,
				Number(seq) + beside,
			)
			.toArray();
		const [first] = rows;
		if (!first) return undefined;
		let { end, text } = first;
		for (const row of rows.slice(1)) {
			// A chunk begins with the end of the one before it.
			const shared = Math.max(0, end - row.start);
			text += (shared > 0 ? "" : "\n") + Buffer.from(row.text).subarray(shared).toString();
			end = row.end;
		}
		return text;
	}
}
