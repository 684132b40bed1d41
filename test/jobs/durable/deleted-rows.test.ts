/** A list of files or batches continues after a deleted one only for those who could see it, in the API that has it. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { type BatchApi, type BatchRecord, NO_USAGE } from "../../../src/jobs/batches/records.ts";
import { BatchTable } from "../../../src/jobs/durable/batch-table.ts";
import { FileTable } from "../../../src/jobs/durable/file-table.ts";

const withSql = (run: (sql: SqlStorage) => void): Promise<void> =>
	runInDurableObject(env.RESPONSE_STORE.getByName(crypto.randomUUID()), (_, { storage }) => run(storage.sql));

const MINE = { owner: "mine", all: false };
const YOURS = { owner: "yours", all: false };
const ALL = { owner: "operator", all: true };

const record = (id: string, owner: string, api: BatchApi): BatchRecord => ({
	...{ id, owner, api, endpoint: "/messages", inputKey: id, status: "completed", createdAt: 0, expiresAt: 1 },
	...{ total: 0, succeeded: 0, failed: 0, unfinished: 0, mistakes: [], usage: NO_USAGE },
});

it("a list of files", () =>
	withSql((sql) => {
		const files = new FileTable(sql);
		const fields = { purpose: "batch", filename: "a", contentType: "text/plain", bytes: 1, createdAt: 0 };
		files.put({ id: "a", owner: "mine", ...fields });
		files.put({ id: "b", owner: "mine", ...fields });
		files.put({ id: "c", owner: "yours", ...fields });
		files.forget("b", 0);
		const after = (scope: typeof MINE) =>
			files.page({ limit: 10, order: "desc", after: "b" }, scope, 0)?.files.map(({ id }) => id);
		expect([after(MINE), after(ALL), after(YOURS)]).toEqual([["a"], ["a"], undefined]);
	}));

it("a list of batches", () =>
	withSql((sql) => {
		const batches = new BatchTable(sql);
		const request = { credential: { kind: "operator" }, headers: [] } as never;
		batches.insert(record("a", "mine", "anthropic"), request);
		batches.insert(record("b", "mine", "anthropic"), request);
		batches.forget("b", 0);
		const after = (scope: typeof MINE, api: BatchApi = "anthropic") =>
			batches.page({ api, limit: 10, after: "b" }, scope, 0)?.batches.map(({ id }) => id);
		expect([after(MINE), after(ALL), after(YOURS)]).toEqual([["a"], ["a"], undefined]);
		expect(after(MINE, "openai")).toBeUndefined();
	}));
