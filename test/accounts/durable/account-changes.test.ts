import { expect, it } from "vitest";
import { AccountChanges } from "../../../src/accounts/durable/account-changes.ts";

it("names the accounts that have changed since a revision, each once", () => {
	const changes = new AccountChanges();
	const start = changes.since(undefined);
	expect(start.accounts).toBe("all");
	for (const account of ["a", "b", "a"]) changes.record(account);
	const later = changes.since(start.revision);
	expect(later.accounts).toEqual(["b", "a"]);
	expect(changes.since(later.revision).accounts).toEqual([]);
	changes.record("c");
	expect(changes.since(later.revision).accounts).toEqual(["c"]);
	// Asked again: the first answer may be lost.
	expect(changes.since(start.revision).accounts).toEqual(["b", "a", "c"]);
});

it("names all accounts if the revision is of another start, or older than the changes that are kept", () => {
	const changes = new AccountChanges();
	const { revision } = changes.since(undefined);
	expect(new AccountChanges().since(revision).accounts).toBe("all");
	for (let i = 0; i < 1_000; i++) changes.record(`account-${i}`);
	expect(changes.since(revision).accounts).toHaveLength(1_000);
	changes.record("one more");
	expect(changes.since(revision).accounts).toBe("all");
	const { revision: next } = changes.since(undefined);
	changes.record("the next");
	expect(changes.since(next).accounts).toEqual(["the next"]);
});
