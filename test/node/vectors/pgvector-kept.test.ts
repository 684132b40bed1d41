/** The connections that an object keeps between the queries of its account. */
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { DATABASE_CALL } from "../../../src/outbound/limits.ts";
import type { ExternalIndex, StoreServices } from "../../../src/retrieval/vectors/stores/external-store.ts";
import { SqlConnections } from "../../../src/retrieval/vectors/stores/pgvector/database.ts";
import { KEEP_MS, KeptConnections } from "../../../src/retrieval/vectors/stores/pgvector/kept-connections.ts";
import type { PgvectorSetting } from "../../../src/retrieval/vectors/stores/store-settings.ts";
import { connectOnNode } from "./postgres.ts";
import { failure, READY, type Statement, scriptedPostgres } from "./scripted-postgres.ts";

let server: Awaited<ReturnType<typeof scriptedPostgres>>;
afterEach(() => server.stop());

const services: StoreServices & { totalMs: number } = {
	...{ fetch, connect: connectOnNode, now: () => Date.now(), totalMs: 20_000 },
	wait: (ms) => wait(ms),
};

function connectionsOf({ maxConnections = 4, password = "p" } = {}): SqlConnections {
	const setting: PgvectorSetting = {
		...{ kind: "pgvector", schema: "public", maxConnections, efSearch: 100 },
		server: { hostname: "127.0.0.1", port: server.port, hasTls: false, user: "u", password, database: "d" },
	};
	return new SqlConnections(setting);
}

const externalOf = (options: Partial<ExternalIndex> = {}, account = "local"): ExternalIndex =>
	({ name: "pg", index: { name: "docs", object: `${account}/x` }, ...options }) as ExternalIndex;

/** Asks for its own text. */
const ask = async (
	connections: SqlConnections,
	text: string,
	options: Partial<ExternalIndex> = {},
	own = services,
): Promise<string | undefined> => {
	const rows = await connections.session((run) => run<{ text: string }>(text), externalOf(options), own);
	return rows[0]?.text;
};

describe("a kept connection", () => {
	it("has one query after another, and ends after its time without one", async () => {
		server = await scriptedPostgres();
		const timers: { ms: number; onTime: () => void; isCancelled: boolean }[] = [];
		const kept = new KeptConnections((ms, onTime) => {
			const timer = { ms, onTime, isCancelled: false };
			timers.push(timer);
			return {
				cancel() {
					timer.isCancelled = true;
				},
			};
		});
		const connections = connectionsOf();
		for (const text of ["a", "b", "c"]) expect(await ask(connections, text, { kept })).toBe(text);
		expect(server.statements).toEqual(["1: a", "1: b", "1: c"]);
		expect(timers.map(({ isCancelled, ms }) => [ms, isCancelled])).toEqual([
			[KEEP_MS, true],
			[KEEP_MS, true],
			[KEEP_MS, false],
		]);
		timers.at(-1)?.onTime();
		await expect.poll(server.open).toBe(0);
		expect(await ask(connections, "d", { kept })).toBe("d");
		expect(server.opened()).toBe(2);
		kept.close();
	});

	it("is not for sessions that may write, which have one of their own", async () => {
		server = await scriptedPostgres();
		const kept = new KeptConnections();
		const connections = connectionsOf();
		await ask(connections, "read", { kept });
		await ask(connections, "write");
		expect(server.statements).toEqual(["1: read", "2: write"]);
		await expect.poll(server.open).toBe(1);
		kept.close();
		await expect.poll(server.open).toBe(0);
	});

	it.each<[string, (statement: Statement) => void]>([
		["the server has closed it", ({ socket }) => void socket.destroy()],
		["the server has ended it in order", ({ socket }) => void socket.end()],
		["the server stops", ({ socket }) => void socket.end(failure("57P01"))],
		["the server ends idle connections", ({ socket }) => void socket.end(failure("57P05"))],
	])("is replaced once if %s", async (_, lose) => {
		server = await scriptedPostgres((statement) =>
			statement.connection === 1 && statement.text === "second" ? lose(statement) : statement.answer(),
		);
		const kept = new KeptConnections();
		const connections = connectionsOf();
		await ask(connections, "first", { kept });
		expect(await ask(connections, "second", { kept })).toBe("second");
		expect(server.statements).toEqual(["1: first", "1: second", "2: second"]);
		kept.close();
	});

	it("is replaced before a query if it was lost between two", async () => {
		let first: Statement | undefined;
		server = await scriptedPostgres((statement) => {
			first ??= statement;
			statement.answer();
		});
		const kept = new KeptConnections();
		const connections = connectionsOf();
		await ask(connections, "first", { kept });
		first?.socket.destroy();
		await expect.poll(server.open).toBe(0);
		expect(await ask(connections, "second", { kept })).toBe("second");
		expect(server.statements).toEqual(["1: first", "2: second"]);
		kept.close();
	});

	it("is not replaced a second time, and a new one not at all", async () => {
		server = await scriptedPostgres(({ answer, socket, text }) =>
			text === "first" ? answer() : void socket.destroy(),
		);
		const kept = new KeptConnections();
		const connections = connectionsOf();
		await ask(connections, "first", { kept });
		const lost = { status: 502 };
		await expect(ask(connections, "second", { kept })).rejects.toMatchObject(lost);
		expect(server.statements).toEqual(["1: first", "1: second", "2: second"]);
		await expect(ask(connections, "third", { kept })).rejects.toMatchObject(lost);
		await expect(ask(connections, "write")).rejects.toMatchObject(lost);
		expect(server.statements.slice(3)).toEqual(["3: third", "4: write"]);
	});

	it("ends with a query that the server refuses, and the query is not repeated", async () => {
		server = await scriptedPostgres(({ answer, socket, text }) =>
			text === "bad" ? void socket.write(Buffer.concat([failure("42601"), READY])) : answer(),
		);
		const kept = new KeptConnections();
		const connections = connectionsOf();
		await ask(connections, "good", { kept });
		await expect(ask(connections, "bad", { kept })).rejects.toMatchObject({
			description: 'The vector store "pg" has refused a query (SQLSTATE 42601)',
		});
		expect(server.statements).toEqual(["1: good", "1: bad"]);
		await expect.poll(server.open).toBe(0);
	});

	it("ends when its caller leaves. That of another caller goes on", async () => {
		const waiting: Statement[] = [];
		server = await scriptedPostgres((statement) => void waiting.push(statement));
		const kept = new KeptConnections();
		const connections = connectionsOf();
		const leaver = new AbortController();
		const left = ask(connections, "leaves", { kept, signal: leaver.signal });
		const stays = ask(connections, "stays", { kept, signal: new AbortController().signal });
		await expect.poll(() => waiting.length).toBe(2);
		leaver.abort();
		await expect(left).rejects.toMatchObject({ key: "aborted" });
		await expect.poll(server.open).toBe(1);
		for (const { answer } of waiting) answer();
		expect(await stays).toBe("stays");
		kept.close();
	});

	it("ends when the server is silent", async () => {
		server = await scriptedPostgres(({ answer, text }) => (text === "silent" ? undefined : answer()));
		const kept = new KeptConnections();
		const connections = connectionsOf();
		await ask(connections, "first", { kept });
		await expect(ask(connections, "silent", { kept }, { ...services, totalMs: 300 })).rejects.toMatchObject({
			description: 'The vector store "pg" did not answer within 300 ms',
		});
		await expect.poll(server.open).toBe(0);
		expect(await ask(connections, "next", { kept })).toBe("next");
		expect(server.statements).toEqual(["1: first", "1: silent", "2: next"]);
		kept.close();
	});

	it("is of the configuration that opened it: a changed password opens another one", async () => {
		server = await scriptedPostgres();
		const kept = new KeptConnections();
		await ask(connectionsOf({ password: "old" }), "a", { kept });
		expect(await ask(connectionsOf({ password: "new" }), "b", { kept })).toBe("b");
		expect(server.passwords).toEqual(["old", "new"]);
		kept.close();
		await expect.poll(server.open).toBe(0);
	});

	it("may receive as much in each use as the only use of another one", async () => {
		const large = "x".repeat(DATABASE_CALL.maxBytes * 0.6);
		server = await scriptedPostgres(({ answer }) => answer(large));
		const kept = new KeptConnections();
		const connections = connectionsOf();
		for (let at = 0; at < 3; at++)
			expect((await ask(connections, "large", { kept }))?.length).toBe(large.length);
		expect(server.opened()).toBe(1);
		kept.close();
	});
});

describe("callers at the same time", () => {
	it("wait for the connections that max_connections allows, and each gets the answer to its query", async () => {
		server = await scriptedPostgres(({ answer }) => void setTimeout(answer, 5));
		const kept = new KeptConnections();
		const connections = connectionsOf({ maxConnections: 3 });
		let most = 0;
		const texts = Array.from({ length: 60 }, (_, at) => `query ${at}`);
		const answers = await Promise.all(
			texts.map(async (text) => {
				const answer = await ask(connections, text, { kept });
				most = Math.max(most, server.open());
				return answer;
			}),
		);
		expect(answers).toEqual(texts);
		expect(server.statements).toHaveLength(texts.length);
		expect(most).toBeLessThanOrEqual(3);
		// Half of them may wait for a further query.
		await expect.poll(server.open).toBe(1);
		kept.close();
	});

	it("are refused after the time in which a connection should be free", async () => {
		server = await scriptedPostgres(() => {});
		const kept = new KeptConnections();
		const connections = connectionsOf({ maxConnections: 1 });
		const leaver = new AbortController();
		const first = ask(connections, "silent", { kept, signal: leaver.signal });
		await expect.poll(() => server.statements.length).toBe(1);
		let now = Date.now();
		const later = {
			...services,
			now: () => now,
			async wait() {
				now += DATABASE_CALL.silentMs / 2;
			},
		};
		await expect(ask(connections, "late", { kept }, later)).rejects.toMatchObject({
			status: 502,
			description: 'The vector store "pg" has no free connection of its 1 (max_connections)',
		});
		leaver.abort();
		await expect(first).rejects.toMatchObject({ key: "aborted" });
	});

	it("of another account get a connection while one account has more queries than connections", async () => {
		server = await scriptedPostgres(({ answer }) => void setTimeout(answer, 5));
		const connections = connectionsOf({ maxConnections: 4 });
		const busy = new KeptConnections();
		let isOver = false;
		let answered = 0;
		const crowd = Array.from({ length: 16 }, async () => {
			for (; !isOver; answered++) await ask(connections, "busy", { kept: busy });
		});
		await expect.poll(() => answered).toBeGreaterThan(20);
		const other = new KeptConnections();
		const rows = await connections.session(
			(run) => run<{ text: string }>("other"),
			externalOf({ kept: other }, "other"),
			services,
		);
		expect(rows).toMatchObject([{ text: "other" }]);
		isOver = true;
		await Promise.all(crowd);
		busy.close();
		other.close();
	});

	it("are ended with the account: a connection that is used ends with its query", async () => {
		const waiting: Statement[] = [];
		server = await scriptedPostgres((statement) =>
			statement.text === "slow" ? void waiting.push(statement) : statement.answer(),
		);
		const kept = new KeptConnections();
		const connections = connectionsOf();
		const slow = ask(connections, "slow", { kept });
		await ask(connections, "fast", { kept });
		await expect.poll(() => waiting.length).toBe(1);
		kept.close();
		await expect.poll(server.open).toBe(1);
		for (const { answer } of waiting) answer();
		expect(await slow).toBe("slow");
		await expect.poll(server.open).toBe(0);
	});
});
