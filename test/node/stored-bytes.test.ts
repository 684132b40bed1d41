import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { bytesOnDisk, storedBytes } from "../../tools/soak/hostile/stored-bytes.ts";

const folder = mkdtempSync(join(tmpdir(), "stored-bytes-test-"));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("an open database counts with its used pages, a write-ahead log does not count, and other files count by size", () => {
	mkdirSync(join(folder, "objects"));
	const database = new DatabaseSync(join(folder, "objects", "account.sqlite"));
	database.exec(
		"PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; CREATE TABLE logs (id INTEGER, text TEXT)",
	);
	database.exec("INSERT INTO logs VALUES (1, 'first')");
	writeFileSync(join(folder, "secret"), "a".repeat(100));
	// One page of the schema, and one of the table.
	expect(storedBytes(folder)).toBe(2 * 4_096 + 100);
	const before = bytesOnDisk(folder);
	for (let count = 0; count < 20; count++) database.exec(`UPDATE logs SET text = 'text ${count}'`);
	expect(bytesOnDisk(folder) - before).toBeGreaterThan(20 * 4_096);
	expect(storedBytes(folder)).toBe(2 * 4_096 + 100);
	database.exec(`INSERT INTO logs VALUES (2, '${"a".repeat(3 * 4_096)}')`);
	expect(storedBytes(folder)).toBeGreaterThan(5 * 4_096);
	database.close();
});
