import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { ChunkTable } from "../../../src/retrieval/search/durable/chunk-table.ts";
import { keywordWords } from "../../../src/retrieval/search/keyword-words.ts";

it.each([
	["porter", "porter unicode61", "Passwords are secret", "password"],
	["trigram", "trigram", "忘记密码", "密码"],
] as const)("makes the index of an earlier version anew (%s)", async (tokenizer, tokenize, text, query) => {
	const object = env.SEARCH_INSTANCE.getByName(crypto.randomUUID());
	await runInDurableObject(object, (_, { storage: { sql } }) => {
		new ChunkTable(sql);
		sql.exec("CREATE TABLE items (id TEXT PRIMARY KEY, json TEXT)");
		sql.exec("INSERT INTO items VALUES ('a', '{}')");
		sql.exec(
			`CREATE VIRTUAL TABLE words USING fts5(text, content='chunks', content_rowid='number', tokenize='${tokenize}')`,
		);
		sql.exec("INSERT INTO chunks (item, seq, revision, text, start, end) VALUES ('a', 0, 1, ?, 0, 9)", text);
		sql.exec("INSERT INTO words(words) VALUES ('rebuild')");

		const chunks = new ChunkTable(sql);
		const search = { words: keywordWords(query, tokenizer), mode: "and", filter: [], limit: 5 } as const;
		expect(chunks.matches(search)).toMatchObject([{ id: "a.1.0" }]);
		chunks.remove("a");
		expect(chunks.matches(search)).toEqual([]);
		sql.exec("INSERT INTO keywords(keywords) VALUES ('integrity-check')");
		expect(sql.exec("SELECT name FROM sqlite_master WHERE name LIKE 'words%'").toArray()).toEqual([]);
	});
});
