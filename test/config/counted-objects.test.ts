/** Each class of objects is counted before its object is opened, so that no class can take all files of the process. */
import { describe, expect, it } from "vitest";
import { isReported } from "../../src/accounts/used-objects.ts";
import { accountObjects, countObject, withCountedObjects } from "../../src/config/counted-objects.ts";
import { OpenObjects } from "../../src/core/open-objects.ts";
import wrangler from "../../wrangler.jsonc?raw";

/** Not counted by their bindings. */
const ELSEWHERE: Readonly<Record<string, string>> = {
	ACCOUNT: "counted by the client of accounts",
	STREAM_RUN: "has ids instead of names, and is counted where its stubs are made",
	DIRECTORY: "one object for all accounts",
	FLEET: "one object for all accounts",
	WORK_QUEUE: "one object for all accounts",
};
const BINDINGS = [...wrangler.matchAll(/"name": "([A-Z_]+)", "class_name"/g)].map(([, name = ""]) => name);

/** A binding whose objects have one method. */
function counted(binding: string, max: number) {
	const openObjects = new OpenObjects({ max, now: () => 0 });
	const called: string[] = [];
	const namespace = { getByName: (name: string) => ({ call: () => void called.push(name) }) };
	const bindings = withCountedObjects({ [binding]: namespace } as never, { openObjects });
	const { getByName } = (bindings as Record<string, typeof namespace>)[binding] as typeof namespace;
	return { called, getByName, used: () => openObjects.report().used };
}

describe("the objects of each class", () => {
	it("are counted, or named as counted elsewhere", () => {
		expect(BINDINGS.length).toBeGreaterThan(10);
		expect(Object.keys(ELSEWHERE).filter((name) => !BINDINGS.includes(name))).toEqual([]);
	});

	it.each(BINDINGS.filter((name) => !(name in ELSEWHERE)))(
		"are refused while as many are open as may be: %s",
		(binding) => {
			const { called, getByName, used } = counted(binding, 2);
			for (const name of ["a/x", "b/x"]) getByName(name).call();
			expect(used()).toBe(2);
			expect(() => getByName("c/x")).toThrow(expect.objectContaining({ key: "outOfCapacity", status: 429 }));
			getByName("a/x").call();
			expect(called).toEqual(["a/x", "b/x", "a/x"]);
		},
	);

	it.each(BINDINGS.filter((name) => !(name in ELSEWHERE)))(
		"of one account leave room for another: %s",
		(binding) => {
			const { getByName } = counted(binding, 4);
			const isByName = ["GATEWAY", "RESPONSE_CACHE", "VECTOR_INDEX", "SEARCH_INSTANCE"].includes(binding);
			// The other classes have one object for each account.
			if (isByName) {
				for (const name of ["busy/1", "busy/2"]) getByName(name).call();
				expect(() => getByName("busy/3")).toThrow("open objects are in use");
			}
			getByName(isByName ? "calm/1" : "calm").call();
		},
	);

	it.each(BINDINGS.filter(isReported))("are recorded before their first call: %s", async (binding) => {
		const steps: string[] = [];
		const namespace = {
			getByName: (name: string) => ({ read: async () => void steps.push(`read ${name}`) }),
		};
		const useObject = async (object: string) => {
			steps.push(`use ${object}`);
			return [binding];
		};
		const deleted = new Set<string>();
		const checks = {
			openObjects: new OpenObjects({ max: 9, now: () => 0 }),
			deletedAccounts: {
				has: (account: string) => deleted.has(account),
				call: (_: string, call: () => object) => call(),
			} as never,
			of: () => ({ useObject, usedObjects: async () => [] }),
		};
		const { bindings, ownBindings, usedObjects } = accountObjects({ [binding]: namespace } as never, checks);
		const stubIn = (all: unknown) =>
			(all as Record<string, typeof namespace>)[binding]?.getByName("acme") as { read(): Promise<void> };
		await stubIn(ownBindings).read();
		expect(steps.splice(0)).toEqual(["read acme"]);
		await stubIn(bindings).read();
		await stubIn(bindings).read();
		expect(steps.splice(0)).toEqual([`use ${binding}`, "read acme", "read acme"]);
		usedObjects.forget("acme");
		deleted.add("acme");
		await stubIn(bindings).read();
		expect(steps).toEqual(["read acme"]);
	});

	it("leave a half of those that may be open to requests", () => {
		const openObjects = new OpenObjects({ max: 4, now: () => 0 });
		const of = () => ({ useObject: async () => [], usedObjects: async () => [] });
		const checks = { openObjects, deletedAccounts: {} as never, of };
		const { usedObjects } = accountObjects({} as never, checks);
		const mayReport = () => ["a", "b"].map((account) => usedObjects.mayReport(account, "BLOBS"));
		openObjects.recordCall("BLOBS/a", "a");
		expect(mayReport()).toEqual([true, true]);
		openObjects.recordCall("JOB_STORE/a", "a");
		expect(mayReport()).toEqual([true, false]);
	});

	it("are counted by a check alone", () => {
		const openObjects = new OpenObjects({ max: 1, now: () => 0 });
		const check = (name: string) => countObject("GATEWAY", name, { openObjects });
		expect(check("a/x")).toEqual({ account: "a", key: "GATEWAY/a/x" });
		check("a/x");
		expect(openObjects.report().used).toBe(1);
		expect(() => check("b/x")).toThrow(expect.objectContaining({ key: "outOfCapacity", status: 429 }));
	});
});
