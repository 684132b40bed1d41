import { expect, it, vi } from "vitest";
import { UsedObjects } from "../../../src/accounts/client/used-objects.ts";
import type { ReportedObject } from "../../../src/accounts/used-objects.ts";

/** An account whose object has these classes. */
function world(...stored: ReportedObject[]) {
	const useObject = vi.fn(async (object: ReportedObject) => {
		if (!stored.includes(object)) stored.push(object);
		return [...stored];
	});
	const store = { useObject, usedObjects: async () => [...stored] };
	return { useObject, used: new UsedObjects({ of: () => store, mayReport: () => true }) };
}

it("records a class once, and remembers the others of the account", async () => {
	const { used, useObject } = world("BLOBS");
	await used.record("acme", "JOB_STORE");
	expect(used.record("acme", "JOB_STORE")).toBeUndefined();
	expect(used.record("acme", "BLOBS")).toBeUndefined();
	expect(useObject.mock.calls).toEqual([["JOB_STORE"]]);
	expect(await used.of("acme")).toEqual(new Set(["BLOBS", "JOB_STORE"]));
});

it("records it again after a failure, and for an account whose data were deleted", async () => {
	const { used, useObject } = world();
	useObject.mockRejectedValueOnce(new Error("The object cannot be called"));
	await expect(used.record("acme", "BLOBS")).rejects.toThrow("cannot be called");
	await used.record("acme", "BLOBS");
	used.forget("acme");
	await used.record("acme", "BLOBS");
	expect(useObject).toHaveBeenCalledTimes(3);
});
