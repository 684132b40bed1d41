/** Rows of accounts are read and written only by statements that name the account. */
import { runInDurableObject } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import type { Account } from "../../../src/accounts/durable/account.ts";
import type { AccountMethod } from "../../../src/accounts/durable/account-methods.ts";
import { admission, newAccount, settlement, stubOf, TASK, tokenOf } from "../fixtures.ts";

const SOURCES = import.meta.glob<string>("../../../src/accounts/durable/*.ts", {
	eager: true,
	query: "?raw",
	import: "default",
});

it("are in the files for rows of accounts, and in those of tables without an account", () => {
	const found = Object.entries(SOURCES).flatMap(([path, text]) =>
		/sql\s*\.exec\b/.test(text) ? (path.split("/").at(-1) ?? "") : [],
	);
	expect(found.sort()).toEqual(["account-copy.ts", "account-table.ts", "directory.ts", "row-table.ts"]);
});

const OPERATOR = { kind: "operator" } as const;

it("each have the account, in all methods and moves", async () => {
	const account = newAccount();
	const credential = await tokenOf(account, { dailyMicroNeurons: 100 });
	const statements = await runInDurableObject(stubOf(account), async (object: Account, { storage }) => {
		const exec = vi.spyOn(storage.sql, "exec");
		const call = (method: AccountMethod, ...parameters: unknown[]) =>
			object.call(account, method, parameters);
		const lease = { id: "lease-1", requests: 2, microNeurons: 0 };
		const request = admission({ credential, lease });
		const batch = {
			journal: "j",
			sequence: 1,
			requests: [],
			settlements: [],
			renewals: [],
			returned: ["lease-1"],
		};
		const rates = [{ key: `task:${TASK}`, perMinute: 1 }];
		call("admitAll", [request], []);
		call("admitAll", [admission({ credential, rates })], []);
		call("admitAll", [admission({ credential, rates })], []);
		call("settle", [settlement(request.ticket)]);
		call("journal", batch);
		call("checkLeases", [{ credential, leases: ["lease-1"] }]);
		call("verify", credential, "run", { task: TASK, rates });
		call("tokens", {
			kind: "list",
			maker: OPERATOR,
			page: 1,
			perPage: 5,
			direction: "asc",
			includeExpired: true,
		});
		call("setAlias", { alias: "a", model: "m", modified_on: 1 });
		call("aliases");
		call("deleteAlias", "a");
		call("setBoundGateway", { id: "shop", mode: "default" });
		call("boundGateway");
		call("useObject", "BLOBS");
		call("usedObjects");
		call("setBoundGateway", undefined);
		call("usage", { by: ["day"], model: "m' OR true --" });
		call("refusals", { by: ["code"] });
		call("requests", { token: "token-1" });
		call("forgiveLease", "lease-1");
		call("limitStatus", { credential, rates, budgets: [], allTokens: true });
		await object.alarm();
		const { move = 0, tables = [] } = object.leave(account, "elsewhere") ?? {};
		for (const table of tables) object.page(account, move, table, 0);
		object.forget(account, move);
		return exec.mock.calls.map(([text]) => text.replace(/\s+/g, " ").trim());
	});
	// Definitions of tables, and the table of the object's accounts.
	const others =
		/^(CREATE|ALTER|PRAGMA) |^SELECT \* FROM \w+ LIMIT 0$|(FROM|INTO|UPDATE) (accounts|sqlite_master)\b/;
	const ofRows = [...new Set(statements)].filter((text) => !others.test(text));
	expect(ofRows.length).toBeGreaterThan(30);
	for (const text of ofRows)
		expect(text).toMatch(/^INSERT INTO \w+ \(account, |^(SELECT|UPDATE|DELETE) .* WHERE account = \?/);
});
